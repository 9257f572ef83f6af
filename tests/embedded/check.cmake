# SPDX-License-Identifier: BSD-3-Clause
# Configures the project with Speedwell in it. TEST=embedded-shared, embedded-static: builds it with such a
# library and runs its programs. A static one is then installed, and the examples are built with it.
# cmake -DBUILD= -DTEST= -DSOURCE= -DGENERATOR= -DCXX= -DLAUNCHER= -P check.cmake
set(folder ${BUILD}/${TEST})
file(REMOVE_RECURSE ${folder})
set(common -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})
if(TEST STREQUAL "embedded-static")
  list(APPEND common -DBUILD_SHARED_LIBS=OFF)
endif()

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${folder} ${common} -DSPEEDWELL_SOURCE=${SOURCE}
    -DSPEEDWELL_CUDA=OFF -DCMAKE_UNITY_BUILD=ON)
if(TEST STREQUAL "embedded")
  return()
endif()
run(${CMAKE_COMMAND} --build ${folder})
foreach(program alone solve fortran)
  if(EXISTS ${folder}/${program})
    run(${folder}/${program})
  endif()
endforeach()
if(TEST STREQUAL "embedded-shared")
  return()
endif()
run(${CMAKE_COMMAND} --install ${folder} --prefix ${folder}/prefix)
file(GLOB_RECURSE shared ${folder}/prefix/*.so*)
file(GLOB_RECURSE archive ${folder}/prefix/*/libspeedwell.a)
if(shared OR NOT archive)
  message(FATAL_ERROR "installed as a static library: '${archive}', and '${shared}'")
endif()
run(${CMAKE_COMMAND} -S ${SOURCE}/examples -B ${folder}/examples ${common}
    -DCMAKE_PREFIX_PATH=${folder}/prefix -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)
run(${CMAKE_COMMAND} --build ${folder}/examples)
run(${folder}/examples/example_alone)
run(${folder}/examples/example_solve)
get_filename_component(library ${archive} DIRECTORY)
set(ENV{PKG_CONFIG_PATH} ${library}/pkgconfig)
execute_process(COMMAND pkg-config --cflags --libs speedwell OUTPUT_VARIABLE flags
                COMMAND_ERROR_IS_FATAL ANY OUTPUT_STRIP_TRAILING_WHITESPACE)
separate_arguments(flags UNIX_COMMAND "${flags}")
run(cc ${SOURCE}/examples/solve.c ${flags} -o ${folder}/by_pkg_config)
run(${folder}/by_pkg_config)
