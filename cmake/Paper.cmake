# SPDX-License-Identifier: BSD-3-Clause
# lupine-predict: the layers of a run, compiled against SimGrid's MPI (SMPI) and CUDA on paper. What
# does not know MPI is linked as it is.
set(LUPINE_HAVE_SIMGRID OFF)
if(NOT LUPINE_SIMGRID STREQUAL "OFF")
  find_library(LUPINE_SIMGRID_LIBRARY simgrid)
  find_path(LUPINE_SIMGRID_INCLUDE simgrid/s4u.hpp)
  find_path(LUPINE_SMPI_INCLUDE mpi.h PATHS ${LUPINE_SIMGRID_INCLUDE}/smpi NO_DEFAULT_PATH)
  set(simgrid_version 0)
  if(LUPINE_SIMGRID_LIBRARY AND LUPINE_SIMGRID_INCLUDE AND LUPINE_SMPI_INCLUDE)
    file(READ ${LUPINE_SIMGRID_INCLUDE}/simgrid/version.h simgrid_header)
    string(REGEX REPLACE ".*VERSION_MAJOR +([0-9]+).*VERSION_MINOR +([0-9]+).*" "\\1.\\2"
           simgrid_version "${simgrid_header}")
  endif()
  if(simgrid_version VERSION_GREATER_EQUAL 3.32)
    set(LUPINE_HAVE_SIMGRID ON)
  elseif(LUPINE_SIMGRID STREQUAL "ON")
    message(FATAL_ERROR
      "LUPINE_SIMGRID=ON, but SimGrid 3.32 or later was not found (Debian: libsimgrid-dev)")
  endif()
endif()
message(STATUS "SimGrid: ${LUPINE_HAVE_SIMGRID}")
# The shipped machines, where the program looks for them beside itself.
file(COPY ${PROJECT_SOURCE_DIR}/share/lupine/machines DESTINATION ${PROJECT_BINARY_DIR}/share/lupine)
if(NOT LUPINE_HAVE_SIMGRID)
  return()
endif()

set(src ${PROJECT_SOURCE_DIR}/src)
file(GLOB paper_sources CONFIGURE_DEPENDS ${src}/paper/*.cpp ${src}/paper/cuda/*.cpp
     ${src}/comm/*.cpp ${src}/matrix/*.cpp ${src}/transport/*.cpp ${src}/generate/*.cpp
     ${src}/factor/*.cpp ${src}/refine/*.cpp ${src}/setup/*.cpp)
list(FILTER paper_sources EXCLUDE REGEX "/setup/memory[.]cpp$")
foreach(source buffer device device_traits cuda/blas cuda/check cuda/cuda_device
        cuda/cuda_pivoting cuda/cuda_refinement cuda/lane cuda/nccl_api cuda/peers cuda/products)
  list(APPEND paper_sources ${src}/device/${source}.cpp)
endforeach()
foreach(source benchmark campaign comparison first_steps run_tracer step_window)
  list(APPEND paper_sources ${src}/bench/${source}.cpp)
endforeach()
foreach(source benchmark_json benchmark_report option_lines progress report_parts trace_report)
  list(APPEND paper_sources ${src}/report/${source}.cpp)
endforeach()
foreach(source arguments benchmark_command command_options files option output profile_place)
  list(APPEND paper_sources ${src}/app/${source}.cpp)
endforeach()
add_executable(lupine_paper ${paper_sources})
set_target_properties(lupine_paper PROPERTIES OUTPUT_NAME lupine-predict UNITY_BUILD OFF)
target_include_directories(lupine_paper SYSTEM BEFORE PRIVATE
  ${LUPINE_SMPI_INCLUDE} ${LUPINE_SIMGRID_INCLUDE} ${src}/paper/cuda/include)
target_include_directories(lupine_paper PRIVATE ${PROJECT_BINARY_DIR}/generated)
# Inline variables have one place in a program; smpi/mpi.h would replace malloc. Later versions of
# SimGrid deprecate functions that have no successor in 3.32.
target_compile_options(lupine_paper PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>
  -Wno-deprecated-declarations)
target_compile_definitions(lupine_paper PRIVATE SMPI_NO_OVERRIDE_MALLOC
  LUPINE_LIBRARY_VERSION="${PROJECT_VERSION}")
target_link_libraries(lupine_paper PRIVATE lupine_model lupine_io lupine_kernels lupine_grid
  lupine_core fmt::fmt nlohmann_json::nlohmann_json CLI11::CLI11 OpenMP::OpenMP_CXX
  Threads::Threads ${LUPINE_SIMGRID_LIBRARY})
add_dependencies(lupine_paper lupine_revision)

install(TARGETS lupine_paper RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
