# SPDX-License-Identifier: BSD-3-Clause
cmake_minimum_required(VERSION 3.22)
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12
                OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT revision)
  set(revision "unknown")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT
"#pragma once
#define SPEEDWELL_VERSION \"@VERSION@\"
#define SPEEDWELL_REVISION \"@revision@\"
" @ONLY)
