# SPDX-License-Identifier: BSD-3-Clause
# The CUDA device is a library of its own.
include(${CMAKE_CURRENT_LIST_DIR}/Architectures.cmake)
set(SPEEDWELL_GPUS ALL
    CACHE STRING "GPUs to compile for without CMAKE_CUDA_ARCHITECTURES: ALL that serve, or those HERE")
set(SPEEDWELL_NVIDIA_DRIVER /proc/driver/nvidia/version
    CACHE FILEPATH "What is there on a machine with NVIDIA's driver")
mark_as_advanced(SPEEDWELL_NVIDIA_DRIVER)
set(SPEEDWELL_HAVE_CUDA OFF)
set(without_cuda "")

# nvcc is often installed and not in PATH. What was not found before may be there now.
macro(speedwell_find_nvcc)
  if(NOT CMAKE_CUDA_COMPILER)
    unset(CMAKE_CUDA_COMPILER CACHE)
    if("$ENV{CUDACXX}" STREQUAL "")
      find_program(SPEEDWELL_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda
                   PATH_SUFFIXES bin)
      mark_as_advanced(SPEEDWELL_NVCC)
      if(SPEEDWELL_NVCC)
        set(ENV{CUDACXX} ${SPEEDWELL_NVCC})
      endif()
    endif()
    include(CheckLanguage)
    check_language(CUDA)
  endif()
endmacro()

macro(speedwell_enable_cuda)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-arch
                    OUTPUT_VARIABLE known ERROR_QUIET)
    speedwell_cuda_architectures("${known}" "${SPEEDWELL_GPUS}" CMAKE_CUDA_ARCHITECTURES)
  endif()
  enable_language(CUDA)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake before 3.26 does not know it
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  find_package(CUDAToolkit)
endmacro()

if(NOT SPEEDWELL_CUDA STREQUAL "OFF")
  speedwell_find_nvcc()
  if(NOT CMAKE_CUDA_COMPILER)
    set(without_cuda "no nvcc that works was found (CUDACXX, CUDA_HOME, PATH, /usr/local/cuda)")
  else()
    speedwell_enable_cuda()
    if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12)
      set(without_cuda
          "${CMAKE_CUDA_COMPILER} is of CUDA ${CMAKE_CUDA_COMPILER_VERSION}; needed is 12 or later")
    elseif(NOT TARGET CUDA::cublasLt OR NOT TARGET CUDA::cublas)
      set(without_cuda "cuBLAS was not found beside ${CMAKE_CUDA_COMPILER}")
    else()
      set(SPEEDWELL_HAVE_CUDA ON)
    endif()
  endif()
endif()
if(SPEEDWELL_CUDA STREQUAL "ON" AND NOT SPEEDWELL_HAVE_CUDA)
  message(FATAL_ERROR "SPEEDWELL_CUDA=ON, but ${without_cuda}")
elseif(without_cuda AND EXISTS "${SPEEDWELL_NVIDIA_DRIVER}")
  message(NOTICE "This machine has NVIDIA's driver, but ${without_cuda}: "
                 "Speedwell will compute on the CPU alone")
endif()

# speedwell_load_cuda(targets...): programs and libraries that load the CUDA device have it beside them.
function(speedwell_load_cuda)
  if(SPEEDWELL_HAVE_CUDA)
    foreach(target ${ARGN})
      add_dependencies(${target} speedwell_cuda)
    endforeach()
  endif()
endfunction()

# The sources of the CUDA device: for GPUs, for emulated ones, and for simulated machines.
set(speedwell_cuda_device blas blas_emulation check cuda_device cuda_diagonal cuda_pivoting
                       cuda_refinement cuda_sharing cuda_solves cuda_trials gpu_memory gpu_resources
                       green_parts lane launch_grid nccl_api peers product_call product_trials products variants)
list(TRANSFORM speedwell_cuda_device REPLACE "(.+)" "device/cuda/\\1.cpp")
