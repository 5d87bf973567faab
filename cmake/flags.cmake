# ndpool_flags: how everything in this repository is compiled. Nothing here reaches a consumer.
add_library(ndpool_flags INTERFACE)
target_compile_features(ndpool_flags INTERFACE cxx_std_20)

# Results are promised to the bit: a fused multiply-add or a reordered sum would change them.
target_compile_options(ndpool_flags INTERFACE
  -ffp-contract=off -fno-math-errno
  -Wall -Wextra -Wpedantic -Wshadow -Wno-psabi
  $<$<BOOL:${NDPOOL_WERROR}>:-Werror>)
# GCC 12 sees overlapping copies in its own std::string at -O3. Only there, because clang-tidy, which
# reads the other presets' commands, does not know the option.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13
   AND CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_options(ndpool_flags INTERFACE -Wno-restrict)
endif()

# Passed to tests too, so that they see the same list of targets as the kernels.
if(NDPOOL_DISABLED_TARGETS)
  target_compile_definitions(ndpool_flags INTERFACE
    "HWY_DISABLED_TARGETS=(${NDPOOL_DISABLED_TARGETS})")
endif()

if(NDPOOL_SANITIZE)
  # Directory-wide, because every program that loads the library needs the runtime as well. GCC sees
  # uninitialised values that are not there once the checks have been woven in.
  add_compile_options(-fsanitize=${NDPOOL_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer -Wno-maybe-uninitialized)
  add_link_options(-fsanitize=${NDPOOL_SANITIZE})
endif()
