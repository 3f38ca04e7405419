// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Each input that a metric asks for and update does not get, by name.
// expect: a metric asks for predictions: pass tally::predictions\(\.\.\.\) to update
// expect: a metric asks for targets: pass tally::targets\(\.\.\.\) to update
// expect: a metric asks for values: pass tally::values\(\.\.\.\) to update
// expect: a metric counts by weight: pass tally::weights\(\.\.\.\) to update
// expect: a metric asks for positions: pass tally::positions\(first\) to update
// expect: a grouped metric asks for groups: pass tally::groups\(\.\.\.\) to update
// expect: a metric asks for scores: pass tally::scores\(\.\.\.\) or tally::probabilities\(\.\.\.\) to update
// expect: a metric asks for an input of its own: pass tally::inputs<.?"name.?">\(\.\.\.\) to update
#include <tally/host/tracker.hpp>
#include <tally/layout/grouped.hpp>
#include <tally/metric/extremes.hpp>
#include <tally/metric/mean.hpp>
#include <tally/weighted.hpp>

#include <type_traits>

template <class Role>
struct samples_with {
    struct state {
        tally::count samples;
    };
    static auto observe(Role) { return tally::contribute(tally::one); }
    static std::uint64_t finalize(state const& s) { return s.samples.value(); }
};

template <class M, class... Complete>
void update(Complete const&... complete) {
    tally::host::tracker<M> tracker;
#ifdef TALLY_OK
    tracker.update(complete...);
#else
    // Everything but the first one.
    [&](auto const&, auto const&... rest) { tracker.update(rest...); }(complete...);
#endif
}

void use(float const* x, int const* labels) {
    using namespace tally;
    update<samples_with<prediction<float>>>(predictions(x, 4));
    update<samples_with<target<float>>>(targets(x, 4));
    update<mean<>>(values(x, 4));
    update<weighted<mean<>>>(weights(x, 4), values(x, 4));
    update<largest_at<>>(positions(17), values(x, 4));
    update<grouped<mean<>, 3>>(groups(labels, 4), values(x, 4));
    update<samples_with<target_rank>>(scores(x, 4, 2), targets(labels, 4));
    update<samples_with<target_rank>>(targets(labels, 4), scores(x, 4, 2));
    update<samples_with<input<"depth", float>>>(inputs<"depth">(x, 4));
}
