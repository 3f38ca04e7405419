// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

// The one translation unit that holds doctest and main(); every test executable links it.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>

namespace {

bool all_cases_ran = false;

// Without this a test case that calls std::exit(0) would pass, and so would all those after it.
void refuse_early_exit() {
    if (!all_cases_ran) {
        std::fputs("a test case ended the process\n", stderr);
        std::_Exit(EXIT_FAILURE);
    }
}

} // namespace

int main(int argc, char** argv) {
    if (std::atexit(refuse_early_exit) != 0) {
        return EXIT_FAILURE;
    }
    int const result = doctest::Context(argc, argv).run();
    all_cases_ran = true;
    return result;
}
