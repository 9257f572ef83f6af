# SPDX-License-Identifier: BSD-3-Clause
# The man page, which the command prints from its own table of options.
set(manual ${PROJECT_BINARY_DIR}/manual/speedwell.1)
add_custom_command(OUTPUT ${manual}
  COMMAND ${CMAKE_COMMAND} -DCOMMAND=$<TARGET_FILE:speedwell_command> -DMANUAL=${manual}
          -P ${PROJECT_SOURCE_DIR}/cmake/WriteManual.cmake
  DEPENDS speedwell_command ${PROJECT_SOURCE_DIR}/cmake/WriteManual.cmake
  COMMENT "Writing the man page")
add_custom_target(speedwell_manual ALL DEPENDS ${manual})
install(FILES ${manual} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)
