# SPDX-License-Identifier: BSD-3-Clause
# Writes the man page that COMMAND prints to MANUAL; of a command that does not run here, as one
# built for another machine, an empty one.
execute_process(COMMAND ${COMMAND} man OUTPUT_VARIABLE text RESULT_VARIABLE status
                ERROR_VARIABLE complaint)
if(NOT status EQUAL 0)
  message(WARNING "no man page: ${complaint}")
endif()
file(WRITE ${MANUAL} "${text}")
