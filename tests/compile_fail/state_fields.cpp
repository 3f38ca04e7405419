// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What a state may be made of.
// expect: every field of a state must be an accumulator \(count, sum<double>, \.\.\.\) or a table
// expect: a state must be trivially copyable: hold accumulators and tables, no containers
// expect: a state must be an aggregate: no constructors, private members or virtual functions
// expect: a metric needs a nested aggregate `state` of accumulators
#include <tally/host/tracker.hpp>

#include <vector>

struct plain_number {
    struct state {
#ifdef TALLY_OK
        tally::sum<double> total;
#else
        double total;
#endif
    };
    static auto observe(tally::value<float> x) { return tally::contribute(x.value); }
    static double finalize(state const&) { return 0.0; }
};

struct container {
    struct state {
        tally::count samples;
#ifdef TALLY_OK
        tally::sum<double> seen;
#else
        std::vector<float> seen;
#endif
    };
    static auto observe(tally::value<float> x) { return tally::contribute(tally::one, x.value); }
    static double finalize(state const&) { return 0.0; }
};

struct private_members {
    class state {
#ifdef TALLY_OK
    public:
#endif
        tally::count samples;
    };
    static auto observe(tally::value<float>) { return tally::contribute(tally::one); }
    static double finalize(state const&) { return 0.0; }
};

struct no_state {
#ifdef TALLY_OK
    struct state {
        tally::count samples;
    };
#endif
    static auto observe(tally::value<float>) { return tally::contribute(tally::one); }
    template <class State>
    static double finalize(State const&) {
        return 0.0;
    }
};

static_assert(tally::check_metric<plain_number>());
static_assert(tally::check_metric<container>());
static_assert(tally::check_metric<private_members>());
static_assert(tally::check_metric<no_state>());
