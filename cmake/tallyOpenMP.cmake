# SPDX-FileCopyrightText: 2026 The tally authors
# SPDX-License-Identifier: Apache-2.0

# tally::openmp: tally::tally compiled and linked with OpenMP. Used by the build tree and by the installed package, so
# the package never names an OpenMP run-time of the machine that it was made on.
if(NOT TARGET tally::openmp)
    find_package(OpenMP QUIET COMPONENTS CXX)
    if(OpenMP_CXX_FOUND)
        add_library(tally::openmp INTERFACE IMPORTED GLOBAL)
        target_link_libraries(tally::openmp INTERFACE tally::tally OpenMP::OpenMP_CXX)
    endif()
endif()
