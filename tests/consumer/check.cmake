# SPDX-License-Identifier: BSD-3-Clause
# Installs the build into a fresh prefix, builds the consumer against it and runs it.
# Then it is uninstalled. cmake -DBUILD= -DSOURCE= -DMPIEXEC= -DGENERATOR= -DCXX= -P check.cmake
set(prefix ${BUILD}/consumer/prefix)
set(source ${BUILD}/consumer/source)
file(REMOVE_RECURSE ${BUILD}/consumer)
file(COPY ${CMAKE_CURRENT_LIST_DIR}/ DESTINATION ${source})
file(COPY ${CMAKE_CURRENT_LIST_DIR}/../c_interface DESTINATION ${source})
file(COPY ${CMAKE_CURRENT_LIST_DIR}/../../examples DESTINATION ${BUILD}/consumer)
set(examples ${BUILD}/consumer/examples)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "status ${status}: ${command}")
  endif()
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
file(GLOB_RECURSE installed ${prefix}/*.cmake ${prefix}/*.hpp ${prefix}/*.h)
foreach(file ${installed})
  file(STRINGS ${file} leaks REGEX "${SOURCE}/(src|include|kernels|cmake)")
  if(leaks)
    message(FATAL_ERROR "${file} names the source tree: ${leaks}")
  endif()
endforeach()

foreach(file man/man1/speedwell.1 man/man1/speedwell-predict-mxp.1 bash-completion/completions/speedwell
        zsh/site-functions/_speedwell)
  file(READ ${prefix}/share/${file} text)
  if(NOT text MATCHES "speedwell")
    message(FATAL_ERROR "${file} is not what the command prints")
  endif()
endforeach()

function(build project)
  run(${CMAKE_COMMAND} -S ${project} -B ${project}/build -G ${GENERATOR} ${ARGN}
      -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)
  run(${CMAKE_COMMAND} --build ${project}/build)
endfunction()

build(${source} -DCMAKE_CXX_COMPILER=${CXX})
build(${examples} -DCMAKE_CXX_COMPILER=${CXX})
build(${source}/c)
separate_arguments(mpiexec UNIX_COMMAND "${MPIEXEC}")
run(${mpiexec} ${source}/build/consumer)
foreach(example function block_cyclic factor_once)
  run(${mpiexec} ${examples}/build/example_${example})
endforeach()
run(${examples}/build/example_solve)
run(${source}/c/build/consumer)
run(${mpiexec} ${source}/build/c_interface/c_interface own-mpi)
if(EXISTS ${examples}/build/example_fortran)
  run(${examples}/build/example_fortran)
endif()
run(${prefix}/bin/speedwell info)

# By pkg-config, for a compiler that knows no MPI.
file(GLOB_RECURSE pc ${prefix}/*/speedwell.pc)
get_filename_component(folder ${pc} DIRECTORY)
set(ENV{PKG_CONFIG_PATH} ${folder})
execute_process(COMMAND pkg-config --cflags --libs speedwell OUTPUT_VARIABLE flags
                COMMAND_ERROR_IS_FATAL ANY OUTPUT_STRIP_TRAILING_WHITESPACE)
separate_arguments(flags UNIX_COMMAND "${flags}")
run(cc ${examples}/solve.c ${flags} -Wl,-rpath,${folder}/.. -o ${source}/by_pkg_config)
run(${source}/by_pkg_config)

run(${CMAKE_COMMAND} -DFOLDER=${BUILD} -P ${SOURCE}/cmake/Uninstall.cmake)
file(GLOB_RECURSE left ${prefix}/*)
if(left)
  message(FATAL_ERROR "left after the package was uninstalled: ${left}")
endif()
