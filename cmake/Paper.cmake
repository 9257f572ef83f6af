# SPDX-License-Identifier: BSD-3-Clause
# speedwell-predict: comm/ and the CUDA device, compiled against SimGrid's MPI (SMPI) and simulated CUDA.
# The other layers of a run are linked as they are.
find_library(SPEEDWELL_SIMGRID_LIBRARY simgrid)
find_path(SPEEDWELL_SIMGRID_INCLUDE simgrid/s4u.hpp)
find_path(SPEEDWELL_SMPI_INCLUDE mpi.h PATHS ${SPEEDWELL_SIMGRID_INCLUDE}/smpi NO_DEFAULT_PATH)
set(simgrid_version 0)
if(SPEEDWELL_SIMGRID_LIBRARY AND SPEEDWELL_SIMGRID_INCLUDE AND SPEEDWELL_SMPI_INCLUDE)
  file(READ ${SPEEDWELL_SIMGRID_INCLUDE}/simgrid/version.h simgrid_header)
  string(REGEX REPLACE ".*VERSION_MAJOR +([0-9]+).*VERSION_MINOR +([0-9]+).*" "\\1.\\2"
         simgrid_version "${simgrid_header}")
endif()
if(simgrid_version VERSION_LESS 3.32)
  message(FATAL_ERROR
    "SPEEDWELL_PREDICT=ON, but SimGrid 3.32 or later was not found (Debian: libsimgrid-dev)")
endif()
# The shipped machines, where the program looks for them beside itself.
file(GLOB machines CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/share/speedwell/machines/*.json)
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${machines})
file(REMOVE_RECURSE ${PROJECT_BINARY_DIR}/share/speedwell/machines)  # which may have others of before
file(COPY ${machines} DESTINATION ${PROJECT_BINARY_DIR}/share/speedwell/machines)

set(src ${PROJECT_SOURCE_DIR}/src)
add_executable(speedwell_paper ${src}/paper/main.cpp)
set_target_properties(speedwell_paper PROPERTIES OUTPUT_NAME speedwell-predict)

# What the program and the objects of its layers have in common. SMPI's headers would replace malloc.
add_library(speedwell_paper_flags INTERFACE)
target_include_directories(speedwell_paper_flags SYSTEM BEFORE INTERFACE
  ${SPEEDWELL_SMPI_INCLUDE} ${SPEEDWELL_SIMGRID_INCLUDE} ${PROJECT_SOURCE_DIR}/kernels/cuda/declarations)
target_include_directories(speedwell_paper_flags INTERFACE ${PROJECT_BINARY_DIR}/generated)
target_compile_options(speedwell_paper_flags INTERFACE $<$<CONFIG:Release>:-O2> -Wno-deprecated-declarations)
target_compile_definitions(speedwell_paper_flags INTERFACE SMPI_NO_OVERRIDE_MALLOC
  SPEEDWELL_LIBRARY_VERSION="${PROJECT_VERSION}")
target_link_libraries(speedwell_paper_flags INTERFACE speedwell_flags OpenMP::OpenMP_CXX fmt::fmt
                      nlohmann_json::nlohmann_json CLI11::CLI11)

# speedwell_paper_objects(name patterns...): objects of the program alone, of sources by their names below
# src/. They stand before those of the same functions in the layers.
function(speedwell_paper_objects name)
  list(TRANSFORM ARGN PREPEND ${src}/)
  file(GLOB sources CONFIGURE_DEPENDS ${ARGN})
  list(FILTER sources EXCLUDE REGEX "/(comm/host_name|paper/main)[.]cpp$")
  add_library(speedwell_paper_${name} OBJECT ${sources})
  target_link_libraries(speedwell_paper_${name} PRIVATE speedwell_paper_flags)
  add_dependencies(speedwell_paper_${name} speedwell_revision)
  if(NOT name MATCHES "^paper")  # clang-tidy has read these sources once
    set_target_properties(speedwell_paper_${name} PROPERTIES EXPORT_COMPILE_COMMANDS OFF)
  endif()
  target_sources(speedwell_paper PRIVATE $<TARGET_OBJECTS:speedwell_paper_${name}>)
endfunction()

speedwell_paper_objects(comm comm/*.cpp)
speedwell_paper_objects(cuda ${speedwell_cuda_device})
set_source_files_properties(${src}/device/cuda/products.cpp  # see src/CMakeLists.txt
                            PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
speedwell_paper_objects(app app/arguments.cpp app/benchmark_command.cpp app/command_options.cpp app/command_table.cpp
  app/examples.cpp app/man_page.cpp app/submission_folder.cpp app/suggestion.cpp
  app/system_facts.cpp
  app/files.cpp app/monitor.cpp app/option.cpp app/output.cpp app/profile_place.cpp app/recorded_command.cpp)
speedwell_paper_objects(paper paper/*.cpp)
speedwell_paper_objects(paper_cuda paper/cuda/*.cpp ../kernels/cuda/green_contexts.cpp)
set_target_properties(speedwell_paper_paper_cuda PROPERTIES UNITY_BUILD OFF)  # structs of CUDA's handles

# The layers of a run as they are, by their archives: their targets would link MPI and BLAS.
set(layers)
foreach(layer document report compare bench solve setup refine factor generate transport matrix device host)
  list(APPEND layers $<TARGET_FILE:speedwell_${layer}>)
  add_dependencies(speedwell_paper speedwell_${layer})
endforeach()
# A unity build must not have in one object what the program takes and what it has not: functions that
# paper/host.cpp replaces, and what computes on processors. Where a source is missing here, the linker
# finds a function twice or not at all.
set(alone
  refine/vector_memory.cpp factor/equal_memory.cpp setup/memory.cpp
  device/buffer.cpp device/checksum_keys.cpp device/device.cpp device/device_traits.cpp
  device/emulation_workspace.cpp host/process_seed.cpp solve/attempt.cpp compare/comparison.cpp
  bench/memory_passes.cpp bench/memory_trial.cpp bench/tune.cpp bench/tune_search.cpp
  report/check_report.cpp report/compare_report.cpp
  report/solve_report.cpp report/tune_report.cpp)
list(TRANSFORM alone PREPEND ${src}/)
set_source_files_properties(${alone} DIRECTORY ${src} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

target_link_libraries(speedwell_paper PRIVATE speedwell_paper_flags -Wl,--start-group ${layers} -Wl,--end-group
  speedwell_model speedwell_io speedwell_sensors speedwell_kernels
  speedwell_grid speedwell_core Threads::Threads ${SPEEDWELL_SIMGRID_LIBRARY})
add_dependencies(speedwell_paper speedwell_revision)

install(TARGETS speedwell_paper RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
