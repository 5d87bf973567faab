# One program per folder rather than per file: linking costs more than compiling most tests.
#   src/**/NAME_test.cc, spec/NAME_test.cc, tests/NAME_test.cc   GoogleTest
#   NAME_alone_test.cc   a program of its own, for tests that replace something global (operator new)
#   tests/NAME_test.c    C11, a program of its own, linked to the library as a user would
#   tests/support/NAME.cc   helpers, linked into every test program
include(GoogleTest)
find_package(GTest REQUIRED)
find_package(Boost REQUIRED)

file(GLOB_RECURSE src_tests CONFIGURE_DEPENDS src/*_test.cc)
file(GLOB spec_tests CONFIGURE_DEPENDS spec/*_test.cc)
file(GLOB tests_tests CONFIGURE_DEPENDS tests/*_test.cc)
file(GLOB c_tests CONFIGURE_DEPENDS tests/*_test.c)
file(GLOB helpers CONFIGURE_DEPENDS tests/support/*.cc)

add_library(ndpool_test_base INTERFACE)
target_include_directories(ndpool_test_base INTERFACE ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_options(ndpool_test_base INTERFACE ${NDPOOL_TEST_OPTIMIZATION})
target_link_libraries(ndpool_test_base INTERFACE
  ndpool_flags GTest::gtest GTest::gtest_main Boost::boost)
# GCC 12 sees uninitialised limbs in Boost's big integers at -O3.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_options(ndpool_test_base INTERFACE -Wno-maybe-uninitialized)
endif()
set(linked_objects ndpool_objects)
if(helpers)
  add_library(ndpool_test_helpers OBJECT ${helpers})
  target_link_libraries(ndpool_test_helpers PRIVATE ndpool_test_base ndpool_objects)
  list(APPEND linked_objects ndpool_test_helpers)
endif()

# Makes program `name` from `files`, leaving out those that NDPOOL_TEST_FILES does not select, and
# tells ctest about each of its tests. Tests are listed when ctest runs, not when the program is
# linked, so that building needs no emulator and no working sanitizer runtime.
function(ndpool_test_program name)
  set(files ${ARGN})
  list(FILTER files INCLUDE REGEX "${NDPOOL_TEST_FILES}")
  if(files)
    add_executable(${name} ${files})
    target_link_libraries(${name} PRIVATE ndpool_test_base ${linked_objects})
    gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
      PROPERTIES ENVIRONMENT NDPOOL_TEST_PROBLEMS=${NDPOOL_TEST_PROBLEMS})
  endif()
endfunction()

foreach(folder src spec tests)
  set(alone ${${folder}_tests})
  list(FILTER alone INCLUDE REGEX "_alone_test\\.cc$")
  list(FILTER ${folder}_tests EXCLUDE REGEX "_alone_test\\.cc$")
  ndpool_test_program(${folder}_tests ${${folder}_tests})
  foreach(file ${alone})
    cmake_path(GET file STEM name)
    ndpool_test_program(${name} ${file})
  endforeach()
endforeach()

list(FILTER c_tests INCLUDE REGEX "${NDPOOL_TEST_FILES}")
foreach(file ${c_tests})
  cmake_path(GET file STEM name)
  add_executable(${name}_c ${file})
  target_compile_options(${name}_c PRIVATE -Wall -Wextra -Wpedantic -Werror)
  set_target_properties(${name}_c PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF)
  target_link_libraries(${name}_c PRIVATE ndpool::ndpool)
  add_test(NAME c.${name} COMMAND ${name}_c)
endforeach()

if(NOT NDPOOL_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  include(cmake/package_tests.cmake)
endif()

# For tools/test-tiny: what boards must print, from the engine.
add_executable(tiny_lines_by_engine EXCLUDE_FROM_ALL tests/tiny/lines_by_engine.cc)
target_include_directories(tiny_lines_by_engine PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(tiny_lines_by_engine PRIVATE ndpool::ndpool ndpool_flags)
