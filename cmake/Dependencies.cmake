# SPDX-License-Identifier: BSD-3-Clause
find_package(MPI REQUIRED COMPONENTS CXX)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)

set(LUPINE_HAVE_LIBZIP OFF)
if(NOT LUPINE_LIBZIP STREQUAL "OFF")
  pkg_check_modules(LIBZIP IMPORTED_TARGET libzip>=1.7)
  set(LUPINE_HAVE_LIBZIP ${LIBZIP_FOUND})
  if(LUPINE_LIBZIP STREQUAL "ON" AND NOT LIBZIP_FOUND)
    message(FATAL_ERROR "LUPINE_LIBZIP=ON, but libzip was not found (Debian: libzip-dev)")
  endif()
endif()

# The OpenMP build of OpenBLAS shares its threads with oneDNN's and our loops; any other serves too.
find_library(LUPINE_OPENBLAS openblas
             PATH_SUFFIXES openblas-openmp openblas-pthread openblas REQUIRED)
find_path(LUPINE_OPENBLAS_INCLUDE cblas.h
          PATH_SUFFIXES ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp
                        ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-pthread
                        ${CMAKE_LIBRARY_ARCHITECTURE} openblas REQUIRED)
# MiB of address space that OpenBLAS takes for a thread, in the builds that take most (x86-64). What
# a limit of the process (ulimit -v) leaves is compared with it, by the command and in Python.
set(LUPINE_BLAS_BUFFER_MIB 128)
# OpenBLAS's families of kernels, best first, and what the processor must have for them. Kernels are
# too slow for a processor that could run a better row; it then gets the first family of this row.
set(LUPINE_BLAS_KERNELS "SkylakeX Cooperlake SapphireRapids" "avx512f avx512bw avx512dq avx512vl"
                        "Haswell Zen" "avx2 fma")
list(JOIN LUPINE_BLAS_KERNELS "\", \"" LUPINE_BLAS_KERNELS)
set(LUPINE_BLAS_KERNELS "\"${LUPINE_BLAS_KERNELS}\"")
add_library(lupine_openblas INTERFACE)
target_link_libraries(lupine_openblas INTERFACE ${LUPINE_OPENBLAS})
target_include_directories(lupine_openblas SYSTEM INTERFACE ${LUPINE_OPENBLAS_INCLUDE})
# The library that is called in its place where the environment names none: by FindBLAS's names, all
# with integers of 32 bits, or a file. It is loaded when a program starts, and is not linked.
set(lupine_blas_vendors openblas "" mkl Intel10_64_dyn blis FLAME aocl AOCL_mt nvpl NVPL armpl Arm_mp
                        flexiblas FlexiBLAS)
set(LUPINE_OTHER_BLAS)
list(FIND lupine_blas_vendors "${LUPINE_BLAS}" place)
if(place EQUAL -1)
  if(NOT EXISTS "${LUPINE_BLAS}")
    message(FATAL_ERROR "LUPINE_BLAS=${LUPINE_BLAS}: there is no such file; allowed: openblas, mkl, "
                        "blis, aocl, nvpl, armpl, flexiblas, or the path of a library")
  endif()
  get_filename_component(LUPINE_OTHER_BLAS "${LUPINE_BLAS}" ABSOLUTE)
elseif(NOT LUPINE_BLAS STREQUAL "openblas")
  math(EXPR place "${place} + 1")
  list(GET lupine_blas_vendors ${place} BLA_VENDOR)
  find_package(BLAS QUIET)
  if(NOT BLAS_FOUND)
    message(FATAL_ERROR "LUPINE_BLAS=${LUPINE_BLAS}: FindBLAS finds no ${BLA_VENDOR}; name its file")
  endif()
  list(GET BLAS_LIBRARIES 0 LUPINE_OTHER_BLAS)
endif()
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
message(STATUS "OpenBLAS: ${LUPINE_OPENBLAS}; other BLAS: ${LUPINE_OTHER_BLAS}; oneDNN: ${LUPINE_HAVE_ONEDNN}; libzip: ${LUPINE_HAVE_LIBZIP}")
