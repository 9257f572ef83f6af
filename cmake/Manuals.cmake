# SPDX-License-Identifier: BSD-3-Clause
# Man pages, which the command prints from its own table of options.
set(manuals ${PROJECT_BINARY_DIR}/manuals)
add_custom_command(OUTPUT ${manuals}/written
  COMMAND ${CMAKE_COMMAND} -DCOMMAND=$<TARGET_FILE:speedwell_command> -DFOLDER=${manuals}
          -P ${PROJECT_SOURCE_DIR}/cmake/WriteManuals.cmake
  DEPENDS speedwell_command ${PROJECT_SOURCE_DIR}/cmake/WriteManuals.cmake
  COMMENT "Writing man pages")
add_custom_target(speedwell_manuals ALL DEPENDS ${manuals}/written)
install(DIRECTORY ${manuals}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} OPTIONAL)
