// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What observe must look like.
// expect: a metric needs one static observe\(\.\.\.\), neither overloaded nor a template
// expect: the parameters of observe must be roles, such as prediction<float> or value<float>
// expect: observe asks twice for the same role: name the inputs, as input<.?"name.?", T>
// expect: observe must return contribute\(\.\.\.\), one entry for each field of the state
// expect: a metric needs a static finalize\(state const&\)
#include <tally/core/metric.hpp>

struct one_count {
    struct state {
        tally::count samples;
    };
    static double finalize(state const&) { return 0.0; }
};

struct overloaded : one_count {
    static auto observe(tally::value<float>) { return tally::contribute(tally::one); }
#ifndef TALLY_OK
    static auto observe(tally::value<double>) { return tally::contribute(tally::one); }
#endif
};

#ifdef TALLY_OK
struct generic : one_count {
    static auto observe(tally::value<float>) { return tally::contribute(tally::one); }
};
struct not_static : one_count {
    static auto observe(tally::value<float>) { return tally::contribute(tally::one); }
};
struct no_role : one_count {
    static auto observe(tally::value<float>) { return tally::contribute(tally::one); }
};
struct one_role_twice : one_count {
    static auto observe(tally::input<"left", float>, tally::input<"right", float>) {
        return tally::contribute(tally::one);
    }
};
#else
struct generic : one_count {
    template <class T>
    static auto observe(tally::value<T>) {
        return tally::contribute(tally::one);
    }
};
struct not_static : one_count {
    auto observe(tally::value<float>) { return tally::contribute(tally::one); }
};
struct no_role : one_count {
    static auto observe(float) { return tally::contribute(tally::one); }
};
struct one_role_twice : one_count {
    static auto observe(tally::value<float>, tally::value<float>) { return tally::contribute(tally::one); }
};
#endif

struct returns_a_number : one_count {
    static auto observe(tally::value<float>) {
#ifdef TALLY_OK
        return tally::contribute(tally::one);
#else
        return tally::one;
#endif
    }
};

struct no_finalize {
    struct state {
        tally::count samples;
    };
    static auto observe(tally::value<float>) { return tally::contribute(tally::one); }
#ifdef TALLY_OK
    static double finalize(state const&) { return 0.0; }
#endif
};

static_assert(tally::check_metric<overloaded>());
static_assert(tally::check_metric<generic>());
static_assert(tally::check_metric<not_static>());
static_assert(tally::check_metric<no_role>());
static_assert(tally::check_metric<one_role_twice>());
static_assert(tally::check_metric<returns_a_number>());
static_assert(tally::check_metric<no_finalize>());
