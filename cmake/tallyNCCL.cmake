# SPDX-FileCopyrightText: 2026 The tally authors
# SPDX-License-Identifier: Apache-2.0

# tally::nccl: tally::tally, the CUDA run-time and NCCL, for tally/nccl.hpp. Included in the same ways as tallyMPI.cmake.
# TALLY_NCCL_INCLUDE_DIR and TALLY_NCCL_LIBRARY may be set where NCCL lies in an unusual place.
if(NOT TARGET tally::nccl)
    find_package(CUDAToolkit QUIET)
    if(CUDAToolkit_FOUND)
        find_path(TALLY_NCCL_INCLUDE_DIR nccl.h PATHS ${CUDAToolkit_INCLUDE_DIRS})
        find_library(TALLY_NCCL_LIBRARY NAMES nccl libnccl.so.2 PATHS ${CUDAToolkit_LIBRARY_DIR})
        mark_as_advanced(TALLY_NCCL_INCLUDE_DIR TALLY_NCCL_LIBRARY)
        if(TALLY_NCCL_INCLUDE_DIR AND TALLY_NCCL_LIBRARY)
            add_library(tally::nccl INTERFACE IMPORTED GLOBAL)
            target_include_directories(tally::nccl SYSTEM INTERFACE "${TALLY_NCCL_INCLUDE_DIR}")
            target_link_libraries(tally::nccl INTERFACE tally::tally CUDA::cudart "${TALLY_NCCL_LIBRARY}")
        endif()
    endif()
endif()
