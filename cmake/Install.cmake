# SPDX-License-Identifier: BSD-3-Clause
include(CMakePackageConfigHelpers)
install(TARGETS lupine_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
include(cmake/Manuals.cmake)
if(LUPINE_HAVE_CUDA)
  install(TARGETS lupine_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(TARGETS lupine_library EXPORT LupineTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/lupine)
install(DIRECTORY share/lupine/machines DESTINATION ${CMAKE_INSTALL_DATADIR}/lupine)
install(DIRECTORY include/lupine DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES include/lupine.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT LupineTargets NAMESPACE Lupine::
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Lupine)
configure_package_config_file(cmake/LupineConfig.cmake.in LupineConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Lupine)
write_basic_package_version_file(LupineConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/LupineConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/LupineConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Lupine)
if(PROJECT_IS_TOP_LEVEL)
  include(cmake/Package.cmake)
endif()
