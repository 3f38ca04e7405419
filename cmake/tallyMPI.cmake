# SPDX-FileCopyrightText: 2026 The tally authors
# SPDX-License-Identifier: Apache-2.0

# tally::mpi: tally::tally and the MPI that FindMPI finds, for tally/mpi.hpp. Included by the installed package where the
# component is asked for, and by whoever has tally as a part of a build: nothing looks for MPI otherwise.
if(NOT TARGET tally::mpi)
    find_package(MPI QUIET COMPONENTS CXX)
    if(MPI_CXX_FOUND)
        add_library(tally::mpi INTERFACE IMPORTED GLOBAL)
        target_link_libraries(tally::mpi INTERFACE tally::tally MPI::MPI_CXX)
    endif()
endif()
