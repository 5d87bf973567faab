# The Python package's extension modules. The wheel carries libndpool and, where it is a shared
# library, Highway beside them.
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module NumPy)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
                OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE nanobind_ROOT
                COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)

# Under the name that the loader looks for: wheels hold no links.
macro(ndpool_carry library)
  install(PROGRAMS $<TARGET_FILE:${library}> DESTINATION ndpool COMPONENT python
          RENAME $<TARGET_SONAME_FILE_NAME:${library}>)
endmacro()
ndpool_carry(ndpool)
get_target_property(highway_type hwy::hwy TYPE)
if(highway_type STREQUAL "SHARED_LIBRARY")
  ndpool_carry(hwy::hwy)
endif()

function(ndpool_extension target name)
  target_link_libraries(${target} PRIVATE ndpool_flags ndpool::ndpool)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} INSTALL_RPATH "$ORIGIN")
  install(TARGETS ${target} LIBRARY DESTINATION ndpool COMPONENT python)
endfunction()

file(GLOB core_sources CONFIGURE_DEPENDS python/core/*.cc)
nanobind_add_module(ndpool_python_core NB_STATIC NB_SUPPRESS_WARNINGS NOMINSIZE ${core_sources})
target_include_directories(ndpool_python_core SYSTEM PRIVATE ${Python_NumPy_INCLUDE_DIRS})
ndpool_extension(ndpool_python_core _core)

# ---- JAX ----------------------------------------------------------------------------------------
# Handlers of XLA's foreign function interface, from the headers in jaxlib alone: nothing links to it.
execute_process(COMMAND ${Python_EXECUTABLE} -c
                "import jaxlib, os; print(os.path.join(os.path.dirname(jaxlib.__file__), 'include'))"
                OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE jaxlib_include
                RESULT_VARIABLE jaxlib_missing ERROR_QUIET)
if(jaxlib_missing)
  message(STATUS "jaxlib not found: ndpool.jax is left out")
else()
  file(GLOB jax_sources CONFIGURE_DEPENDS python/jax/*.cc)
  # XLA names members like their types. With -Wpedantic GCC refuses that, even in a system header.
  set_source_files_properties(${jax_sources} PROPERTIES COMPILE_OPTIONS -Wno-pedantic)
  nanobind_add_module(ndpool_python_jax NB_STATIC NB_SUPPRESS_WARNINGS NOMINSIZE ${jax_sources})
  target_include_directories(ndpool_python_jax SYSTEM PRIVATE ${jaxlib_include})
  ndpool_extension(ndpool_python_jax _jax)
endif()
