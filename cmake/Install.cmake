# SPDX-License-Identifier: BSD-3-Clause
include(CMakePackageConfigHelpers)
install(TARGETS speedwell_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
include(cmake/Manuals.cmake)
if(SPEEDWELL_HAVE_CUDA)
  install(TARGETS speedwell_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(TARGETS speedwell_library EXPORT SpeedwellTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/speedwell)
install(DIRECTORY share/speedwell/machines DESTINATION ${CMAKE_INSTALL_DATADIR}/speedwell)
install(DIRECTORY include/speedwell DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES include/speedwell.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT SpeedwellTargets NAMESPACE Speedwell::
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Speedwell)
configure_package_config_file(cmake/SpeedwellConfig.cmake.in SpeedwellConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Speedwell)
write_basic_package_version_file(SpeedwellConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/SpeedwellConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/SpeedwellConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Speedwell)
if(PROJECT_IS_TOP_LEVEL)
  include(cmake/Package.cmake)
endif()
