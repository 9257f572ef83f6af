# SPDX-License-Identifier: BSD-3-Clause
include(CMakePackageConfigHelpers)
if(SPEEDWELL_PROGRAMS)
  install(TARGETS speedwell_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  include(cmake/Manual.cmake)
endif()
if(TARGET speedwell_paper)
  install(DIRECTORY share/speedwell/machines DESTINATION ${CMAKE_INSTALL_DATADIR}/speedwell)
endif()
if(SPEEDWELL_HAVE_CUDA)
  install(TARGETS speedwell_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(TARGETS speedwell_library speedwell_fortran EXPORT SpeedwellTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/speedwell)
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT SpeedwellTargets NAMESPACE Speedwell::
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Speedwell)
configure_package_config_file(cmake/speedwell-config.cmake.in speedwell-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Speedwell)
write_basic_package_version_file(speedwell-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/speedwell-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/speedwell-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Speedwell)
# By the place of its file, since the prefix may be another one when it is installed.
string(REGEX REPLACE "[^/]+" ".." SPEEDWELL_PC_PREFIX ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
configure_file(cmake/speedwell.pc.in speedwell.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/speedwell.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(PROJECT_IS_TOP_LEVEL)
  add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -DFOLDER=${PROJECT_BINARY_DIR}
                                      -P ${PROJECT_SOURCE_DIR}/cmake/Uninstall.cmake)
  include(cmake/Package.cmake)
endif()
