# SPDX-FileCopyrightText: 2026 The tally authors
# SPDX-License-Identifier: Apache-2.0

# Finds every MPI that is installed, by its compiler wrapper: Debian has two that live side by side under names of their
# own, of which FindMPI would find one; elsewhere there is one. Sets
#   TALLY_MPIS                      a suffix for each: .openmpi and .mpich, or . where there is one without a suffix
# and for each of them, say .openmpi,
#   tally_mpi.openmpi               a target to link to: MPI and tally::tally
#   TALLY_MPI_LAUNCH.openmpi        the start of a command line, to be followed by -n <processes> <program>
#   TALLY_MPI_IS_OPEN_MPI.openmpi   whether it is Open MPI, whose launcher has options of its own
include_guard(DIRECTORY)

# tally_mpi_target(<target> <wrapper>): an INTERFACE target with what the wrapper adds to the command line, less the C++
# bindings of old, which tally does without.
function(tally_mpi_target target wrapper)
    execute_process(
        COMMAND "${wrapper}" -show
        OUTPUT_VARIABLE line
        RESULT_VARIABLE status
        OUTPUT_STRIP_TRAILING_WHITESPACE
    )
    if(NOT status EQUAL 0)
        message(FATAL_ERROR "${wrapper} -show ended with ${status}")
    endif()
    separate_arguments(words UNIX_COMMAND "${line}")
    list(POP_FRONT words)
    set(folders ${words})
    list(FILTER folders INCLUDE REGEX "^-I.")
    list(TRANSFORM folders REPLACE "^-I" "")
    set(links ${words})
    list(FILTER links INCLUDE REGEX "^-(L|l|Wl,)")
    list(FILTER links EXCLUDE REGEX "^-l(mpi_cxx|mpichcxx|mpicxx)$")
    add_library(${target} INTERFACE)
    target_include_directories(${target} SYSTEM INTERFACE ${folders})
    target_link_options(${target} INTERFACE ${links})
    target_link_libraries(${target} INTERFACE ${links} tally::tally)
endfunction()

set(TALLY_MPIS "")
foreach(name .openmpi .mpich "")
    if(name STREQUAL "" AND TALLY_MPIS)
        break() # it is one of those
    endif()
    set(suffix "${name}")
    if(suffix STREQUAL "")
        set(suffix ".")
    endif()
    find_program(TALLY_MPICXX${suffix} NAMES mpicxx${name})
    find_program(TALLY_MPIEXEC${suffix} NAMES mpiexec${name})
    mark_as_advanced(TALLY_MPICXX${suffix} TALLY_MPIEXEC${suffix})
    if(NOT TALLY_MPICXX${suffix} OR NOT TALLY_MPIEXEC${suffix})
        continue()
    endif()
    list(APPEND TALLY_MPIS "${suffix}")
    if(NOT TARGET tally_mpi${suffix})
        tally_mpi_target(tally_mpi${suffix} "${TALLY_MPICXX${suffix}}")
    endif()
    set(TALLY_MPI_LAUNCH${suffix} "${TALLY_MPIEXEC${suffix}}")
    execute_process(COMMAND "${TALLY_MPIEXEC${suffix}}" --version OUTPUT_VARIABLE version ERROR_VARIABLE version)
    set(TALLY_MPI_IS_OPEN_MPI${suffix} NO)
    if(version MATCHES "Open MPI|OpenRTE|open-mpi")
        set(TALLY_MPI_IS_OPEN_MPI${suffix} YES)
        # More processes than cores, and root in a container: it wants to be told that this is meant.
        list(APPEND TALLY_MPI_LAUNCH${suffix} --allow-run-as-root --oversubscribe)
    endif()
endforeach()
