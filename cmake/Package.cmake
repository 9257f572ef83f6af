# SPDX-License-Identifier: BSD-3-Clause
# Debian's package of the installation, which `cpack` makes and run/package calls. dpkg-shlibdeps names
# the packages that it depends on; CUDA's libraries, which a GPU needs, are of no package.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME speedwell)
set(CPACK_PACKAGE_CONTACT "The Speedwell authors")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "dense linear systems to FP64's accuracy by 16-bit arithmetic")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"Speedwell solves A x = b to the accuracy of FP64 with nearly all multiplications of 16-bit numbers,
and runs the benchmarks HPL-MxP and HPL by their rules, on processors and on NVIDIA GPUs, across
MPI ranks. This package has the command, the library and its headers.")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)  # so that ldconfig runs
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "openmpi-bin, libopenblas0-openmp")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libopenmpi-dev")
# What Debian asks for beside the files of every installation.
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/speedwell RENAME copyright
        COMPONENT debian EXCLUDE_FROM_ALL)
set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};Speedwell;ALL;/"
                                 "${PROJECT_BINARY_DIR};Speedwell;debian;/")
include(CPack)
