# SPDX-License-Identifier: BSD-3-Clause
# speedwell_layer(name [QUICKLY] [SOURCES ...] [DEPENDS ...] [PRIVATE ...]): one folder, one static library
# speedwell_<name>, which is compiled where something is linked to it. SOURCES: all of the folder where
# they are not given. QUICKLY: for code that runs once in a run.
add_library(speedwell_flags INTERFACE)
set(cxx_options
  -ffp-contract=off  # the same bits from every instruction set
  -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
  # Clang compares parameters with names of other sources too, where these are compiled together.
  $<$<NOT:$<AND:$<CXX_COMPILER_ID:Clang>,$<BOOL:${CMAKE_UNITY_BUILD}>>>:-Wshadow>
  # Clang 19 with GCC 12's library; and loops of which Clang does not vectorize each.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations;-Wno-pass-failed>
  $<$<BOOL:${SPEEDWELL_WERROR}>:-Werror>
  # GCC's flow analysis reports false ones inside the standard library, others with each version.
  $<$<AND:$<BOOL:${SPEEDWELL_WERROR}>,$<CXX_COMPILER_ID:GNU>>:
    -Wno-error=array-bounds;-Wno-error=restrict;-Wno-error=stringop-overflow>)
set(cuda_options
  -lineinfo  # compute-sanitizer and profilers then name source lines; the code stays the same
  -fmad=false --expt-relaxed-constexpr -Xcompiler=-Wall,-Wextra
  "$<$<BOOL:${SPEEDWELL_WERROR}>:SHELL:-Werror all-warnings>")
target_compile_options(speedwell_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:${cxx_options}>" "$<$<COMPILE_LANGUAGE:CUDA>:${cuda_options}>")
# What SPEEDWELL_EXPECTS (core/expects.hpp) does.
target_compile_definitions(speedwell_flags INTERFACE
  SPEEDWELL_CHECK_PRECONDITIONS=$<BOOL:${SPEEDWELL_CHECKS}>)
# MPI is called from C++ by its C interface. The C++ one, long withdrawn, costs every file that
# includes mpi.h half a second.
target_compile_definitions(speedwell_flags INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
target_include_directories(speedwell_flags INTERFACE
  ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/kernels)

# Headers of others that most of the code includes take longer to parse than it does: they are parsed
# once for code that runs often, and once for code that runs once in a run, as tests do: compiling
# that takes longer than running it. All of the former is compiled for OpenMP, so that one serves.
set(standard_headers <algorithm> <array> <bit> <charconv> <chrono> <cmath> <complex> <cstdint> <filesystem>
    <fstream> <functional> <limits> <map> <memory> <numeric> <optional> <span> <sstream> <string> <string_view>
    <utility> <variant> <vector>)
set(speedwell_for_ccache $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
set(speedwell_quickly_compiled $<$<CONFIG:Release>:-O1>)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/precompiled.cpp CONTENT "")

# speedwell_headers(name OPTIONS options... HEADERS headers... LINKS libraries...): what targets with these
# options take by speedwell_compile().
function(speedwell_headers name)
  cmake_parse_arguments(ARG "" "" "OPTIONS;HEADERS;LINKS" ${ARGN})
  add_library(speedwell_headers_${name} OBJECT EXCLUDE_FROM_ALL
              ${PROJECT_BINARY_DIR}/generated/precompiled.cpp)
  target_link_libraries(speedwell_headers_${name} PRIVATE speedwell_flags ${ARG_LINKS})
  target_compile_options(speedwell_headers_${name} PRIVATE ${ARG_OPTIONS} ${speedwell_for_ccache})
  target_precompile_headers(speedwell_headers_${name} PRIVATE ${ARG_HEADERS})
endfunction()
speedwell_headers(often OPTIONS ${OpenMP_CXX_FLAGS} HEADERS ${standard_headers})
speedwell_headers(quickly OPTIONS ${speedwell_quickly_compiled} LINKS fmt::fmt nlohmann_json::nlohmann_json
                  HEADERS ${standard_headers} <fmt/format.h> <fmt/ranges.h> <nlohmann/json.hpp>)

# speedwell_compile(target often|quickly)
function(speedwell_compile target how)
  get_target_property(options speedwell_headers_${how} COMPILE_OPTIONS)
  target_compile_options(${target} PRIVATE ${options})
  target_precompile_headers(${target} REUSE_FROM speedwell_headers_${how})
endfunction()

function(speedwell_layer name)
  cmake_parse_arguments(ARG "QUICKLY" "" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  if(NOT ARG_SOURCES)
    file(GLOB ARG_SOURCES CONFIGURE_DEPENDS ${name}/*.cpp)
  endif()
  if(NOT ARG_SOURCES)
    message(FATAL_ERROR "speedwell_layer(${name}): no sources")
  endif()
  add_library(speedwell_${name} STATIC EXCLUDE_FROM_ALL ${ARG_SOURCES})
  target_link_libraries(speedwell_${name} PUBLIC speedwell_flags ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE})
  if(ARG_QUICKLY)
    speedwell_compile(speedwell_${name} quickly)
  else()
    speedwell_compile(speedwell_${name} often)
  endif()
endfunction()
