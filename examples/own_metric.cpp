// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A metric of your own: a state of accumulators, what one sample contributes, and the value of a state. It runs on every
// engine, travels between replicas, and can be saved, without another line.
#include <tally/tally.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

// listing-begin
/// Share of predictions within 10 % of the target. Targets of zero have no relative error; they are counted apart.
struct within_ten_percent {
    struct state {
        tally::count close;         // added up between replicas
        tally::count samples;       // likewise
        tally::occurrences no_base; // likewise
    };
    TALLY_HD static auto observe(tally::prediction<float> p, tally::target<float> t) {
        bool const has_base = t != 0.0F;
        bool const close = std::fabs(p - t) <= 0.1F * std::fabs(t);
        return tally::contribute(when(has_base && close, tally::one), when(has_base, tally::one),
                                 when(!has_base, tally::one));
    }
    TALLY_HD static auto finalize(state const& s) {
        return tally::ratio(s.close, s.samples).with_dropped(s.no_base.value());
    }
};
// listing-end

int main() {
    std::vector<float> const predictions{1.05F, 2.5F, 2.9F, 0.1F};
    std::vector<float> const targets{1.0F, 2.0F, 3.0F, 0.0F};
    auto const shares = tally::replicas{2}.run([&](tally::thread_communicator& comm) {
        std::size_t const begin = comm.rank() == 0 ? 0 : 1; // one sample here, three there
        std::size_t const n = comm.rank() == 0 ? 1 : 3;
        tally::host::tracker<within_ten_percent> tracker;
        tracker.update(tally::predictions(predictions.data() + begin, n), tally::targets(targets.data() + begin, n));
        return tracker.combine(comm).get();
    });
    std::printf("within 10 %%: %.4f of the samples, %d without a base\n", shares[0].value(),
                static_cast<int>(shares[0].dropped()));
    return shares[0].value() == 2.0 / 3.0 && shares[1].dropped() == 1 ? 0 : 1;
}
