# SPDX-FileCopyrightText: 2026 The tally authors
# SPDX-License-Identifier: Apache-2.0

# What the tests, examples and benchmarks of this repository share. None of it reaches a project that uses tally.

if(PROJECT_IS_TOP_LEVEL)
    set_property(GLOBAL PROPERTY USE_FOLDERS ON)
    set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
    if(NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
        find_program(TALLY_CCACHE ccache)
        if(TALLY_CCACHE)
            set(CMAKE_CXX_COMPILER_LAUNCHER "${TALLY_CCACHE}")
        endif()
    endif()
endif()

# tally_own_code(<target>): our warnings, as errors (cmake --compile-no-warning-as-error turns that off), and no GNU
# dialect. PRIVATE on purpose: a user's code is judged by the user's own flags.
function(tally_own_code target)
    # CMake 3.25 doesn't know C++20 for nvcc; and nvcc's own host code isn't free of the other warnings.
    target_compile_options(
        ${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wconversion;-Wshadow;-Wpedantic>
                          $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20;-Xcompiler=-Wall,-Wextra>
    )
    set_target_properties(${target} PROPERTIES COMPILE_WARNING_AS_ERROR ON CXX_EXTENSIONS OFF)
endfunction()

# tally_skipped(<what> <why>): one line in a fixed form, which tests/run.sh repeats to whoever reads the result.
function(tally_skipped what why)
    message(STATUS "tally: skipped ${what}: ${why}")
endfunction()
