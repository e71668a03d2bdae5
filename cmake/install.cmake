# `cmake --install`: the headers, a package for find_package(espalier COMPONENTS ...) and a pkg-config file.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_DATADIR}/cmake/espalier)
install(DIRECTORY include/espalier DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT headers
  FILES_MATCHING PATTERN *.hpp PATTERN *.inc)
install(TARGETS espalier EXPORT espalier_targets)
install(EXPORT espalier_targets NAMESPACE espalier:: DESTINATION ${package_dir} FILE targets.cmake COMPONENT headers)

configure_package_config_file(cmake/espalier-config.cmake.in ${PROJECT_BINARY_DIR}/package/espalier-config.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/espalier-config-version.cmake
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/package/espalier-config.cmake
              ${PROJECT_BINARY_DIR}/package/espalier-config-version.cmake cmake/components.cmake
  DESTINATION ${package_dir} COMPONENT headers)

configure_file(cmake/espalier.pc.in ${PROJECT_BINARY_DIR}/package/espalier.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/espalier.pc
  DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig COMPONENT headers)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT headers)
