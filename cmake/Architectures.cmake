# SPDX-License-Identifier: BSD-3-Clause
# speedwell_cuda_architectures(known gpus result): the GPUs to compile for, of those that nvcc knows
# (its --list-gpu-arch). ALL: machine code for the data-centre GPUs, and portable code of the newest of
# them for what comes later. HERE: machine code for the GPUs of this machine alone. Where none is seen,
# as on a login node, or one that nvcc does not know: machine code for the oldest, and portable code,
# which the driver compiles for every later GPU when it is first used.
function(speedwell_cuda_architectures known gpus result)
  set(all "")
  foreach(architecture 80 90 100)
    if(known MATCHES "compute_${architecture}(\n|$)")
      list(APPEND all ${architecture})
    endif()
  endforeach()
  if(gpus STREQUAL "ALL")
    list(TRANSFORM all APPEND "-real")
    list(TRANSFORM all REPLACE "-real$" "" AT -1)
  elseif(gpus STREQUAL "HERE")
    execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                    OUTPUT_VARIABLE found ERROR_QUIET RESULT_VARIABLE failed)  # or is not there
    string(REGEX MATCHALL "[0-9]+[.][0-9]+" here "${found}")
    list(TRANSFORM here REPLACE "[.]" "")
    list(REMOVE_DUPLICATES here)
    set(strange ${here})
    foreach(architecture ${here})
      if(architecture GREATER_EQUAL 80 AND known MATCHES "compute_${architecture}(\n|$)")
        list(REMOVE_ITEM strange ${architecture})
      endif()
    endforeach()
    if(here AND NOT strange)
      list(TRANSFORM here APPEND "-real" OUTPUT_VARIABLE all)
    else()
      list(GET all 0 all)
    endif()
  else()
    message(FATAL_ERROR "SPEEDWELL_GPUS is ${gpus}; allowed: ALL, HERE")
  endif()
  set(${result} ${all} PARENT_SCOPE)
endfunction()
