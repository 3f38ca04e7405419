// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A collection of 30 metrics with states of all kinds, and what each replica of a test has seen.
#pragma once

#include <tally/tally.hpp>

#include <cstddef>
#include <type_traits>
#include <vector>

namespace tally::testing {

/// A state of its own for each K: in turn one that is summed, one that is maximised and one merged in rank order.
template <int K>
struct shifted {
    using accumulator =
        std::conditional_t<K % 3 == 0, sum<double>, std::conditional_t<K % 3 == 1, maximum<float>, moments>>;
    struct state {
        accumulator total;
    };
    TALLY_HD static auto observe(value<float> x) { return contribute(x.value * K); }
    TALLY_HD static auto finalize(state const& s) { return s.total; }
};

/// 30 metrics with a state each, one of them a confusion of 100 x 100.
using thirty =
    tally::collection<tally::named<"confusion", tally::confusion_matrix<100>>, tally::named<"mean", tally::mean<>>,
                      tally::named<"variance", tally::variance<>>, tally::named<"smallest", tally::smallest<>>, //
                      tally::named<"1", shifted<1>>, tally::named<"2", shifted<2>>, tally::named<"3", shifted<3>>,
                      tally::named<"4", shifted<4>>, tally::named<"5", shifted<5>>, tally::named<"6", shifted<6>>,
                      tally::named<"7", shifted<7>>, tally::named<"8", shifted<8>>, tally::named<"9", shifted<9>>,
                      tally::named<"10", shifted<10>>, tally::named<"11", shifted<11>>, tally::named<"12", shifted<12>>,
                      tally::named<"13", shifted<13>>, tally::named<"14", shifted<14>>, tally::named<"15", shifted<15>>,
                      tally::named<"16", shifted<16>>, tally::named<"17", shifted<17>>, tally::named<"18", shifted<18>>,
                      tally::named<"19", shifted<19>>, tally::named<"20", shifted<20>>, tally::named<"21", shifted<21>>,
                      tally::named<"22", shifted<22>>, tally::named<"23", shifted<23>>, tally::named<"24", shifted<24>>,
                      tally::named<"25", shifted<25>>, tally::named<"26", shifted<26>>>;

/// The states of what a replica has seen: nothing on replica 0, more on later ones; the confusion also has labels out of
/// range.
states_of<thirty> samples_of(int rank);

/// The snapshot of all of `size` replicas' samples, combined over threads on the host.
std::vector<std::byte> combined_by_threads(int size);

} // namespace tally::testing
