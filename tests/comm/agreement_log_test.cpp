// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// `agreement_log` against a std::set.
#include <tally/comm/agreement_log.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <set>

TEST_CASE("agreement_log: holds what was inserted and nothing else") {
    tally::agreement_log log;
    std::set<std::uint64_t> reference;
    CHECK(log.size() == 0);
    CHECK_FALSE(log.contains(0));

    std::uint64_t hash = 0; // 0 and 2^64 - 1 are hashes like any other
    for (int i = 0; i != 200; ++i) {
        log.insert(hash);
        reference.insert(hash);
        CHECK(log.size() == reference.size());
        for (auto const probe : {hash - 1, hash, hash + 1}) {
            CHECK(log.contains(probe) == reference.contains(probe));
        }
        hash = i % 3 == 0 ? ~hash : (hash + 0x9E3779B97F4A7C15ULL) % 97; // repeats, in no order
    }
    CHECK(log.contains(0xFFFFFFFFFFFFFFFFULL));
}
