# SPDX-License-Identifier: BSD-3-Clause
# Writes what COMMAND prints as man pages into FOLDER. Where the command does not run,
# as one built for another machine, there are none.
cmake_minimum_required(VERSION 3.22)
function(write file)
  execute_process(COMMAND ${COMMAND} ${ARGN} OUTPUT_VARIABLE text RESULT_VARIABLE status
                  ERROR_VARIABLE complaint)
  if(status EQUAL 0)
    file(WRITE ${FOLDER}/${file} "${text}")
  else()
    message(WARNING "no ${file}: ${complaint}")
  endif()
  set(text "${text}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${FOLDER})
write(man1/speedwell.1 man)
string(REGEX MATCHALL "speedwell\\\\-[a-z\\\\-]+ \\(1\\)" pages "${text}")
foreach(page ${pages})
  string(REGEX REPLACE "^speedwell\\\\-(.*) \\(1\\)$" "\\1" page "${page}")
  string(REPLACE "\\-" "-" page "${page}")
  write(man1/speedwell-${page}.1 man ${page})
endforeach()
file(WRITE ${FOLDER}/written "")
