// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Row features from inputs that have none.
// expect: row_log_sum_exp needs scores\(\.\.\.\): probabilities are already normalised
// expect: with scores, targets\(\.\.\.\) must hold one label a row
// expect: mask\(\.\.\.\) holds one element a sample
#include <tally/host/tracker.hpp>

template <class Role>
struct samples_with {
    struct state {
        tally::count samples;
    };
    static auto observe(Role) { return tally::contribute(tally::one); }
    static std::uint64_t finalize(state const& s) { return s.samples.value(); }
};

void use(float const* x, int const* labels) {
    tally::host::tracker<samples_with<tally::row_log_sum_exp<float>>> normaliser;
    tally::host::tracker<samples_with<tally::target_rank>> rank;
    tally::host::tracker<samples_with<tally::value<float>>> values;
#ifdef TALLY_OK
    normaliser.update(tally::scores(x, 4, 2));
    rank.update(tally::scores(x, 4, 2), tally::targets(labels, 4));
    values.update(tally::values(x, 4, 2), tally::mask(labels, 4));
#else
    normaliser.update(tally::probabilities(x, 4, 2));
    rank.update(tally::scores(x, 4, 2), tally::targets(labels, 4, 2));
    values.update(tally::values(x, 4, 2), tally::mask(labels, 4, 2));
#endif
}
