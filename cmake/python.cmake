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
