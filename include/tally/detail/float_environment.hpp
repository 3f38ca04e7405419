// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The processor's own proof that additions were exact: IEEE 754 arithmetic sets a sticky flag as soon as one result had to
// be rounded. While an object of this class lives, its thread rounds to nearest, keeps subnormals, traps nothing and has
// that flag clear; afterwards everything is as it was before.
#pragma once

#include <cstddef>
#if !(defined(__x86_64__) && defined(__SSE2_MATH__))
#include <cfenv>
#endif

namespace tally::detail {

#if defined(__x86_64__) && defined(__SSE2_MATH__)

class float_environment {
public:
    float_environment() {
        asm volatile("stmxcsr %0" : "=m"(before_) : : "memory");
        clear();
    }
    ~float_environment() { asm volatile("ldmxcsr %0" : : "m"(before_) : "memory"); }
    float_environment(float_environment const&) = delete;
    float_environment& operator=(float_environment const&) = delete;

    /// Clears the flag.
    void clear() const {
        unsigned const masked = 0x1f80; // all exceptions masked, none seen; nearest; no flushing to zero
        asm volatile("ldmxcsr %0" : : "m"(masked) : "memory");
    }
    /// True if no operation since clear() was rounded, among them all that `results` depend on.
    template <class T, std::size_t N>
    [[nodiscard]] bool exact(T const (&results)[N]) const {
        unsigned now;
        asm volatile("stmxcsr %0" : "=m"(now) : "m"(results) : "memory");
        return (now & 0x20U) == 0;
    }

private:
    unsigned before_;
};

#else

class float_environment {
public:
    float_environment() {
        std::fegetenv(&before_);
        clear();
    }
    ~float_environment() {
        asm volatile("" : : : "memory");
        std::fesetenv(&before_);
    }
    float_environment(float_environment const&) = delete;
    float_environment& operator=(float_environment const&) = delete;

    void clear() const {
        asm volatile("" : : : "memory");
        std::fesetenv(FE_DFL_ENV);
        asm volatile("" : : : "memory");
    }
    template <class T, std::size_t N>
    [[nodiscard]] bool exact(T const (&results)[N]) const {
        asm volatile("" : : "m"(results) : "memory");
#if defined(FE_INEXACT)
        return std::fetestexcept(FE_INEXACT) == 0;
#else
        return false;
#endif
    }

private:
    std::fenv_t before_;
};

#endif

/// The same pointer, of which the compiler knows nothing: what is read through it is read now, and computed at run time.
template <class T>
[[gnu::always_inline]] inline T const* opaque(T const* pointer) {
    asm volatile("" : "+r"(pointer) : : "memory");
    return pointer;
}

/// The same value, of which the compiler forgets how it was computed: no algebra across this point, whatever the flags.
template <class Vector>
[[gnu::always_inline]] inline void forget_origin(Vector& value) {
#if defined(__x86_64__)
    asm("" : "+x"(value));
#elif defined(__aarch64__)
    asm("" : "+w"(value));
#else
    asm("" : "+m"(value));
#endif
}

/// False where the flag is not to be trusted: an emulator that doesn't keep it (Valgrind), and excess precision. A property
/// of the processor, so it is found out once.
[[nodiscard]] inline bool flag_works() {
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0
    return false;
#else
    static bool const works = [] {
        float_environment const environment;
        double const operands[2] = {1.0, 0x1p-60};
        double const* const probe = opaque(operands);
        double const sum[1] = {probe[0] + probe[1]};
        return !environment.exact(sum);
    }();
    return works;
#endif
}

} // namespace tally::detail
