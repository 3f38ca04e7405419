# SPDX-FileCopyrightText: 2026 The tally authors
# SPDX-License-Identifier: Apache-2.0

# How tests that need a device are compiled and run: on vgpu, which interprets their PTX on the CPU, checked in several
# ways; on the GPU of this machine; or, without either, not at all (tests/run.sh says so).
set(TALLY_TEST_GPU OFF CACHE BOOL "Run the device tests on this machine's GPU")
set(TALLY_VGPU_DEVICES 8 CACHE STRING "Number of vgpu's devices in the tests")
find_path(TALLY_VGPU_DIR libcudart.so.13 PATHS "${PROJECT_SOURCE_DIR}/build/vgpu/lib" NO_DEFAULT_PATH
          DOC "Folder of vgpu's libraries"
)
find_package(CUDAToolkit REQUIRED)

# vgpu replaces the shared run-time, and a program that brings its own can't be replaced under.
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)

# Each way a device test runs on vgpu. They find different things: the plain run is lazy, on compute capability 9.0, and
# counts; "thread" runs every thread by itself until it has to wait, which shows a missing __syncwarp.
set(tally_vgpu_runs plain check thread random1 random2 eager cc75 cc80)
set(tally_vgpu_plain VGPU_COUNT=1)
set(tally_vgpu_check VGPU_CHECK=race,init)
set(tally_vgpu_thread VGPU_CHECK=race,init VGPU_LANES=thread)
set(tally_vgpu_random1 VGPU_SCHEDULE=random:1)
set(tally_vgpu_random2 VGPU_SCHEDULE=random:2)
set(tally_vgpu_eager VGPU_SCHEDULE=eager)
set(tally_vgpu_cc75 VGPU_CC=7.5)
set(tally_vgpu_cc80 VGPU_CC=8.0)

# tally_device_executable(<name> SOURCES <file>... [ARCHITECTURES <arch>...] [DEFINITIONS <name>...]
#                         [LIBRARIES <target>...])
#
# A doctest program of CUDA sources. Only PTX is made, for compute capability 7.5 unless told otherwise: every device
# runs it, and each further architecture costs another pass of the compiler.
function(tally_device_executable name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;ARCHITECTURES;DEFINITIONS;LIBRARIES")
    if(NOT arg_ARCHITECTURES)
        set(arg_ARCHITECTURES 75-virtual)
    endif()
    add_executable(${name} EXCLUDE_FROM_ALL ${arg_SOURCES})
    set_target_properties(${name} PROPERTIES CUDA_ARCHITECTURES "${arg_ARCHITECTURES}")
    target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
    if(TALLY_DLPACK_INCLUDE_DIR)
        target_include_directories(${name} SYSTEM PRIVATE "${TALLY_DLPACK_INCLUDE_DIR}")
    endif()
    if(TALLY_VGPU_DIR)
        target_include_directories(${name} SYSTEM PRIVATE "${TALLY_VGPU_DIR}/../include") # vgpu.h: its counters
    endif()
    target_compile_definitions(${name} PRIVATE ${arg_DEFINITIONS})
    target_link_libraries(${name} PRIVATE tally_test_main tally::tally ${arg_LIBRARIES})
    tally_own_code(${name})
    add_dependencies(tally_device_tests ${name})
endfunction()

# tally_vgpu_test(<test> <executable> <environment> [ARGUMENT...]), tally_gpu_test(<test> <executable> [ARGUMENT...]):
# one CTest test each. vgpu reports a fault in a line of its own, which fails the test even if no check noticed.
function(tally_vgpu_test test executable environment)
    tally_add_doctest(${test} ${executable} "device;vgpu" ${ARGN})
    set_tests_properties(
        ${test}
        PROPERTIES ENVIRONMENT "TALLY_TEST_DEVICE=vgpu;VGPU_DEVICES=${TALLY_VGPU_DEVICES};${environment}"
                   ENVIRONMENT_MODIFICATION "LD_LIBRARY_PATH=path_list_prepend:${TALLY_VGPU_DIR}"
                   FAIL_REGULAR_EXPRESSION "test cases: +0 ;(^|\n)vgpu:;no kernel was launched by"
    )
endfunction()

function(tally_gpu_test test executable)
    tally_add_doctest(${test} ${executable} "device;gpu" ${ARGN})
    set_tests_properties(
        ${test} PROPERTIES ENVIRONMENT TALLY_TEST_DEVICE=gpu RESOURCE_LOCK gpu
                           ENVIRONMENT_MODIFICATION "LD_LIBRARY_PATH=path_list_prepend:${CUDAToolkit_LIBRARY_DIR}"
    )
endfunction()

# tally_add_device_tests(<name> [RUNS <run>...] <as tally_device_executable>)
#
# The program and a CTest test for each way to run it. Files named *_slow_test.cu and cases of the suite "plain" are in
# the plain run and the GPU's alone.
function(tally_add_device_tests name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "RUNS")
    tally_device_executable(${name} ${arg_UNPARSED_ARGUMENTS})
    if(NOT arg_RUNS)
        set(arg_RUNS ${tally_vgpu_runs})
    endif()
    if(TALLY_VGPU_DIR)
        foreach(run IN LISTS arg_RUNS)
            set(filter --source-file-exclude=*_slow_test.cu --test-suite-exclude=plain)
            if(run STREQUAL "plain")
                set(filter "")
            endif()
            tally_vgpu_test(${name}.${run} ${name} "${tally_vgpu_${run}}" ${filter})
        endforeach()
    endif()
    if(TALLY_TEST_GPU)
        tally_gpu_test(${name}.gpu ${name})
    endif()
endfunction()

# tally_add_fault_test(<executable> <fault> <case>): one case of a program, run on vgpu where the call named by <fault>
# (as in VGPU_FAULT: "cuda:malloc:1:cudaErrorMemoryAllocation") fails. What vgpu reports then is no failure of the test.
# The case is decorated with doctest::skip(), so that it runs here alone.
function(tally_add_fault_test executable fault case)
    if(NOT TALLY_VGPU_DIR)
        return()
    endif()
    string(MAKE_C_IDENTIFIER "${fault}" suffix)
    set(test ${executable}.fault.${suffix})
    tally_vgpu_test(
        ${test} ${executable} "VGPU_FAULT=${fault};VGPU_NCCL_TIMEOUT_S=2" "--test-case=${case}" --no-skip=true
    )
    set_tests_properties(${test} PROPERTIES FAIL_REGULAR_EXPRESSION "test cases: +0 ")
endfunction()

# tally_add_device_engine_tests(<folder> [TOGETHER <n>] FILES <file>...): host tests of tests/<folder> compiled again,
# by nvcc and with TALLY_TEST_DEVICE_ENGINE, so that the trackers of the same test bodies are those of the device
# engine. A file that launches no kernel fails. Up to n files (default: 1) are one translation unit, each in a
# namespace of its own below the headers of all: headers, and kernels that files share, are most of the compiler's work.
function(tally_add_device_engine_tests folder)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "TOGETHER" "FILES")
    if(NOT arg_TOGETHER)
        set(arg_TOGETHER 1)
    endif()
    set(units "")
    set(files ${arg_FILES})
    while(files)
        list(SUBLIST files 0 ${arg_TOGETHER} joined)
        list(REMOVE_ITEM files ${joined})
        set(includes "")
        set(bodies "")
        foreach(file IN LISTS joined)
            set(source "${PROJECT_SOURCE_DIR}/tests/${folder}/${file}")
            set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
            file(STRINGS "${source}" lines REGEX "^#include")
            list(APPEND includes ${lines})
            string(MAKE_C_IDENTIFIER "${folder}_${file}" name)
            string(APPEND bodies "\nnamespace ${name} {\n#include \"${folder}/${file}\"\n}\n")
        endforeach()
        list(REMOVE_DUPLICATES includes)
        list(JOIN includes "\n" includes)
        string(APPEND includes "\n")
        list(GET joined 0 first)
        if(joined STREQUAL first) # alone it may do what only works outside a namespace
            set(includes "")
            set(bodies "#include \"${folder}/${first}\"\n")
        endif()
        cmake_path(REPLACE_EXTENSION first LAST_ONLY cu OUTPUT_VARIABLE unit)
        set(unit "${CMAKE_CURRENT_BINARY_DIR}/device_engine/${folder}/${unit}")
        file(CONFIGURE OUTPUT "${unit}" CONTENT "${includes}${bodies}" @ONLY)
        list(APPEND units "${unit}")
    endwhile()
    tally_add_device_tests(
        tally_test_device_${folder}
        SOURCES ${units} "${PROJECT_SOURCE_DIR}/tests/cuda/launch_watch.cpp"
        DEFINITIONS TALLY_TEST_DEVICE_ENGINE
        RUNS plain check random1
    )
endfunction()
