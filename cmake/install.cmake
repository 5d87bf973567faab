# Headers, library, CMake package and pkg-config file.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ndpool)

install(TARGETS ndpool EXPORT ndpool)
install(DIRECTORY include/ndpool DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT ndpool FILE ndpoolTargets.cmake NAMESPACE ndpool:: DESTINATION ${package_dir})

configure_package_config_file(cmake/ndpoolConfig.cmake.in ndpoolConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(ndpoolConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ndpoolConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/ndpoolConfigVersion.cmake
        DESTINATION ${package_dir})

# The file finds its prefix from its own place, so that an installed tree can be moved.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
           BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig OUTPUT_VARIABLE pc_prefix)
configure_file(cmake/ndpool.pc.in ndpool.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ndpool.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
