# SPDX-License-Identifier: BSD-3-Clause
# The git revision, asked at every build so that it is never stale.
add_custom_target(speedwell_revision
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DVERSION=${PROJECT_VERSION}
          -DOUTPUT=${PROJECT_BINARY_DIR}/generated/revision.hpp
          -P ${PROJECT_SOURCE_DIR}/cmake/WriteRevision.cmake
  BYPRODUCTS ${PROJECT_BINARY_DIR}/generated/revision.hpp
  COMMENT "")
