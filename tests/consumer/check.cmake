# Installs the build into a fresh prefix, builds the consumer against it and runs it.
# cmake -DBUILD= -DSOURCE= -DMPIEXEC= -DGENERATOR= -DCXX= -P check.cmake
set(prefix ${BUILD}/consumer/prefix)
set(source ${BUILD}/consumer/source)
file(REMOVE_RECURSE ${BUILD}/consumer)
file(COPY ${CMAKE_CURRENT_LIST_DIR}/ DESTINATION ${source})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "status ${status}: ${command}")
  endif()
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
file(GLOB_RECURSE installed ${prefix}/*.cmake ${prefix}/*.hpp)
foreach(file ${installed})
  file(STRINGS ${file} leaks REGEX "${SOURCE}/(src|include|kernels|cmake)")
  if(leaks)
    message(FATAL_ERROR "${file} names the source tree: ${leaks}")
  endif()
endforeach()

run(${CMAKE_COMMAND} -S ${source} -B ${source}/build -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX}
    -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)
run(${CMAKE_COMMAND} --build ${source}/build)
separate_arguments(mpiexec UNIX_COMMAND "${MPIEXEC}")
run(${mpiexec} ${source}/build/consumer)
run(${prefix}/bin/lupine info)
