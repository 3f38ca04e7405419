// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What observe contributes must fit the fields of the state.
// expect: observe must contribute exactly one entry for each field of the state
// expect: a field of the state does not accept what observe contributes to it
// expect: a field of a weighted metric can't take weights: use count_of<Weighting> for counts
#include <tally/metric/mean.hpp>
#include <tally/weighted.hpp>

struct too_few {
    struct state {
        tally::sum<double> total;
        tally::count samples;
    };
    static auto observe(tally::value<float> x) {
#ifdef TALLY_OK
        return tally::contribute(x.value, tally::one);
#else
        return tally::contribute(x.value);
#endif
    }
    static double finalize(state const&) { return 0.0; }
};

struct count_of_a_fraction {
    struct state {
        tally::count samples;
    };
    static auto observe(tally::value<float> x) {
#ifdef TALLY_OK
        return tally::contribute(tally::when(x.value > 0, tally::one));
#else
        return tally::contribute(x.value);
#endif
    }
    static double finalize(state const&) { return 0.0; }
};

template <class Weighting = tally::unweighted>
struct mean_of_squares {
#ifdef TALLY_OK
    using weighting = Weighting;
    template <class Other>
    using with_weighting = mean_of_squares<Other>;
#endif
    struct state {
        tally::sum<double> total;
        tally::count_of<Weighting> samples; // a count, unless the metric passes the weighting on
    };
    static auto observe(tally::value<float> x) { return tally::contribute(x.value * x.value, tally::one); }
    static auto finalize(state const& s) { return tally::ratio(s.total, s.samples); }
};

static_assert(tally::check_metric<too_few>());
static_assert(tally::check_metric<count_of_a_fraction>());
static_assert(tally::check_metric<tally::weighted<mean_of_squares<>>>());
