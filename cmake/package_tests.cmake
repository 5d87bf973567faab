# What users receive: headers that stand alone, and a package that other projects find.

# Every public header compiles by itself; ndpool.h as C11; axis.hpp and tiny.hpp without any C++
# library, because micro-controller compilers may have none.
file(GLOB_RECURSE headers CONFIGURE_DEPENDS include/ndpool/*.h include/ndpool/*.hpp)
set(syntax_only -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I${CMAKE_CURRENT_SOURCE_DIR}/include)
foreach(header ${headers})
  cmake_path(RELATIVE_PATH header BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/include/ndpool
             OUTPUT_VARIABLE name)
  add_test(NAME header.${name}.cxx20
           COMMAND ${CMAKE_CXX_COMPILER} ${syntax_only} -std=c++20 -x c++ -include ${header} /dev/null)
endforeach()
add_test(NAME header.ndpool.h.c11
         COMMAND ${CMAKE_C_COMPILER} ${syntax_only} -std=c11 -x c
                 -include ${CMAKE_CURRENT_SOURCE_DIR}/include/ndpool/ndpool.h /dev/null)
foreach(header axis tiny)
  add_test(NAME header.${header}.hpp.cxx17_without_library
           COMMAND ${CMAKE_CXX_COMPILER} ${syntax_only} -std=c++17 -ffreestanding -nostdinc++
                   -fno-exceptions -fno-rtti -x c++
                   -include ${CMAKE_CURRENT_SOURCE_DIR}/include/ndpool/${header}.hpp /dev/null)
endforeach()

# tests/consumer is built as a user would build it, in each of the three ways.
set(consumer ${CMAKE_CURRENT_SOURCE_DIR}/tests/consumer/run
    ${CMAKE_COMMAND} ${CMAKE_GENERATOR} ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR})
add_test(NAME consumer.install COMMAND ${consumer} install)
set_tests_properties(consumer.install PROPERTIES FIXTURES_SETUP installed_package)
foreach(way find_package pkg_config)
  add_test(NAME consumer.${way} COMMAND ${consumer} ${way})
  set_tests_properties(consumer.${way} PROPERTIES FIXTURES_REQUIRED installed_package)
endforeach()
add_test(NAME consumer.add_subdirectory COMMAND ${consumer} add_subdirectory)
set_tests_properties(consumer.add_subdirectory PROPERTIES PROCESSORS 2)
