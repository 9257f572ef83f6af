find_package(MPI REQUIRED COMPONENTS CXX)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)

# The OpenMP build of OpenBLAS shares its threads with oneDNN's and our loops; any other serves too.
find_library(LUPINE_OPENBLAS openblas
             PATH_SUFFIXES openblas-openmp openblas-pthread openblas REQUIRED)
find_path(LUPINE_OPENBLAS_INCLUDE cblas.h
          PATH_SUFFIXES ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp
                        ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-pthread
                        ${CMAKE_LIBRARY_ARCHITECTURE} openblas REQUIRED)
add_library(lupine_openblas INTERFACE)
target_link_libraries(lupine_openblas INTERFACE ${LUPINE_OPENBLAS})
target_include_directories(lupine_openblas SYSTEM INTERFACE ${LUPINE_OPENBLAS_INCLUDE})
# What `lupine compare` compares with; an OpenBLAS may be built without it.
include(CheckFunctionExists)
set(CMAKE_REQUIRED_LIBRARIES ${LUPINE_OPENBLAS})
check_function_exists(dsgesv_ LUPINE_OPENBLAS_HAS_LAPACK)
unset(CMAKE_REQUIRED_LIBRARIES)

# By path and not by its package file, which asks for OpenCL's headers.
set(LUPINE_HAVE_ONEDNN OFF)
if(NOT LUPINE_ONEDNN STREQUAL "OFF")
  find_library(LUPINE_ONEDNN_LIBRARY dnnl)
  find_path(LUPINE_ONEDNN_INCLUDE oneapi/dnnl/dnnl.hpp)
  if(LUPINE_ONEDNN_LIBRARY AND LUPINE_ONEDNN_INCLUDE)
    set(LUPINE_HAVE_ONEDNN ON)
    add_library(lupine_onednn INTERFACE)
    target_link_libraries(lupine_onednn INTERFACE ${LUPINE_ONEDNN_LIBRARY})
    target_include_directories(lupine_onednn SYSTEM INTERFACE ${LUPINE_ONEDNN_INCLUDE})
  elseif(LUPINE_ONEDNN STREQUAL "ON")
    message(FATAL_ERROR "LUPINE_ONEDNN=ON, but oneDNN was not found (Debian: libdnnl-dev)")
  endif()
endif()
message(STATUS "OpenBLAS: ${LUPINE_OPENBLAS}; oneDNN: ${LUPINE_HAVE_ONEDNN}")

# The CUDA device is a library of its own. Machine code for the data-centre GPUs that the compiler
# knows, and portable code of the newest of them for what comes later.
set(LUPINE_HAVE_CUDA OFF)
if(NOT LUPINE_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-arch
                      OUTPUT_VARIABLE known ERROR_QUIET)
      foreach(architecture 80 90 100)
        if(known MATCHES "compute_${architecture}(\n|$)")
          list(APPEND CMAKE_CUDA_ARCHITECTURES ${architecture})
        endif()
      endforeach()
      list(TRANSFORM CMAKE_CUDA_ARCHITECTURES APPEND "-real")
      list(TRANSFORM CMAKE_CUDA_ARCHITECTURES REPLACE "-real$" "" AT -1)
    endif()
    enable_language(CUDA)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake before 3.26 does not know it
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    endif()
    find_package(CUDAToolkit)
    if(TARGET CUDA::cublasLt AND TARGET CUDA::cublas)
      set(LUPINE_HAVE_CUDA ON)
    endif()
  endif()
  if(LUPINE_CUDA STREQUAL "ON" AND NOT LUPINE_HAVE_CUDA)
    message(FATAL_ERROR "LUPINE_CUDA=ON, but nvcc or cuBLAS was not found (set CUDACXX?)")
  endif()
endif()
message(STATUS "CUDA: ${LUPINE_HAVE_CUDA} ${CMAKE_CUDA_COMPILER_VERSION} "
               "${CMAKE_CUDA_ARCHITECTURES}")
