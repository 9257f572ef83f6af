# SPDX-License-Identifier: BSD-3-Clause
# A project around this one links these by way of the library, and so has to know those that are found
# here.
set(imported MPI::MPI_CXX OpenMP::OpenMP_CXX Threads::Threads fmt::fmt PkgConfig::HWLOC
             PkgConfig::LIBZIP)
foreach(target ${imported})
  if(TARGET ${target})
    list(REMOVE_ITEM imported ${target})
  endif()
endforeach()
find_package(MPI REQUIRED COMPONENTS CXX)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)

set(SPEEDWELL_HAVE_LIBZIP OFF)
if(NOT SPEEDWELL_LIBZIP STREQUAL "OFF")
  pkg_check_modules(LIBZIP IMPORTED_TARGET libzip>=1.7)
  set(SPEEDWELL_HAVE_LIBZIP ${LIBZIP_FOUND})
  if(SPEEDWELL_LIBZIP STREQUAL "ON" AND NOT LIBZIP_FOUND)
    message(FATAL_ERROR "SPEEDWELL_LIBZIP=ON, but libzip was not found (Debian: libzip-dev)")
  endif()
endif()
foreach(target ${imported})
  if(TARGET ${target})
    set_target_properties(${target} PROPERTIES IMPORTED_GLOBAL TRUE)
  endif()
endforeach()

# The OpenMP build of OpenBLAS shares its threads with oneDNN's and our loops; any other serves too.
find_library(SPEEDWELL_OPENBLAS openblas
             PATH_SUFFIXES openblas-openmp openblas-pthread openblas REQUIRED)
find_path(SPEEDWELL_OPENBLAS_INCLUDE cblas.h
          PATH_SUFFIXES ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp
                        ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-pthread
                        ${CMAKE_LIBRARY_ARCHITECTURE} openblas REQUIRED)
# MiB of address space that OpenBLAS takes for a thread, in the builds that take most (x86-64). What
# a limit of the process (ulimit -v) leaves is compared with it, by the command and in Python.
set(SPEEDWELL_BLAS_BUFFER_MIB 128)
# OpenBLAS's families of kernels, best first, and what the processor must have for them. Kernels are
# too slow for a processor that could run a better row; it then gets the first family of this row.
set(SPEEDWELL_BLAS_KERNELS "SkylakeX Cooperlake SapphireRapids" "avx512f avx512bw avx512dq avx512vl"
                        "Haswell Zen" "avx2 fma")
list(JOIN SPEEDWELL_BLAS_KERNELS "\", \"" SPEEDWELL_BLAS_KERNELS)
set(SPEEDWELL_BLAS_KERNELS "\"${SPEEDWELL_BLAS_KERNELS}\"")
add_library(speedwell_openblas INTERFACE)
target_link_libraries(speedwell_openblas INTERFACE ${SPEEDWELL_OPENBLAS})
target_include_directories(speedwell_openblas SYSTEM INTERFACE ${SPEEDWELL_OPENBLAS_INCLUDE})
# The library that is called in its place where the environment names none: by FindBLAS's names, all
# with integers of 32 bits, or a file. It is loaded when a program starts, and is not linked.
set(speedwell_blas_vendors openblas "" mkl Intel10_64_dyn blis FLAME aocl AOCL_mt nvpl NVPL armpl Arm_mp
                        flexiblas FlexiBLAS)
set(SPEEDWELL_OTHER_BLAS)
list(FIND speedwell_blas_vendors "${SPEEDWELL_BLAS}" place)
if(place EQUAL -1)
  if(NOT EXISTS "${SPEEDWELL_BLAS}")
    message(FATAL_ERROR "SPEEDWELL_BLAS=${SPEEDWELL_BLAS}: there is no such file; allowed: openblas, mkl, "
                        "blis, aocl, nvpl, armpl, flexiblas, or the path of a library")
  endif()
  get_filename_component(SPEEDWELL_OTHER_BLAS "${SPEEDWELL_BLAS}" ABSOLUTE)
elseif(NOT SPEEDWELL_BLAS STREQUAL "openblas")
  math(EXPR place "${place} + 1")
  list(GET speedwell_blas_vendors ${place} BLA_VENDOR)
  find_package(BLAS QUIET)
  if(NOT BLAS_FOUND)
    message(FATAL_ERROR "SPEEDWELL_BLAS=${SPEEDWELL_BLAS}: FindBLAS finds no ${BLA_VENDOR}; name its file")
  endif()
  list(GET BLAS_LIBRARIES 0 SPEEDWELL_OTHER_BLAS)
endif()
# What `speedwell compare` compares with; an OpenBLAS may be built without it.
include(CheckFunctionExists)
set(CMAKE_REQUIRED_LIBRARIES ${SPEEDWELL_OPENBLAS})
check_function_exists(dsgesv_ SPEEDWELL_OPENBLAS_HAS_LAPACK)
unset(CMAKE_REQUIRED_LIBRARIES)

# By path and not by its package file, which asks for OpenCL's headers.
set(SPEEDWELL_HAVE_ONEDNN OFF)
if(NOT SPEEDWELL_ONEDNN STREQUAL "OFF")
  find_library(SPEEDWELL_ONEDNN_LIBRARY dnnl)
  find_path(SPEEDWELL_ONEDNN_INCLUDE oneapi/dnnl/dnnl.hpp)
  if(SPEEDWELL_ONEDNN_LIBRARY AND SPEEDWELL_ONEDNN_INCLUDE)
    set(SPEEDWELL_HAVE_ONEDNN ON)
    add_library(speedwell_onednn INTERFACE)
    target_link_libraries(speedwell_onednn INTERFACE ${SPEEDWELL_ONEDNN_LIBRARY})
    target_include_directories(speedwell_onednn SYSTEM INTERFACE ${SPEEDWELL_ONEDNN_INCLUDE})
  elseif(SPEEDWELL_ONEDNN STREQUAL "ON")
    message(FATAL_ERROR "SPEEDWELL_ONEDNN=ON, but oneDNN was not found (Debian: libdnnl-dev)")
  endif()
endif()
