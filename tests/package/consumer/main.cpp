// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

// Two translation units include the umbrella, so a function that is not inline fails to link. Both name a type of
// theirs from it, so that the headers found are tally's.
#include <tally/tally.hpp>

#include <cstddef>
#include <cstdio>

std::size_t bytes_in_second_unit();

int main() {
    static_assert(__cplusplus >= 202002L, "tally::tally brings C++20");
    if (bytes_in_second_unit() != sizeof(tally::mean<>)) {
        std::puts("the two units disagree about tally");
        return 1;
    }
    std::puts("consumer: ok");
    return 0;
}
