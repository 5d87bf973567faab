# Each examples/NAME.cc or NAME.c (and examples/tiny/NAME.cc) is a program of its own, linked as a user
# would link it, and run as a test.
file(GLOB example_sources CONFIGURE_DEPENDS examples/*.cc examples/*.c examples/tiny/*.cc)
foreach(source ${example_sources})
  cmake_path(GET source STEM name)
  if(source MATCHES "\\.c$")
    set(name ${name}_c)
  endif()
  add_executable(example_${name} ${source})
  set_target_properties(example_${name} PROPERTIES
    OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY examples C_STANDARD 11 C_EXTENSIONS OFF)
  target_link_libraries(example_${name} PRIVATE ndpool::ndpool ndpool_flags)
  add_test(NAME example.${name} COMMAND example_${name})
endforeach()
