// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Evaluation of one metric over a tile of samples: observe is called for each sample, its contributions go field by
// field into small arrays, and each field then takes a whole block. This is what lets compilers vectorise observe and
// what exact accumulators need.
#pragma once

#include <tally/core/accumulator.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/metric.hpp>
#include <tally/core/type_list.hpp>
#include <tally/host/tile.hpp>
#include <tally/layout/table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace tally::host::detail {

/// Values of a tile for one field. Pairs are kept as two arrays.
template <class Y>
struct value_array {
    Y values[tile_samples];
    void set(std::size_t i, Y const& x) { values[i] = x; }
    [[nodiscard]] Y const* block() const { return values; }
    /// Moves the values whose flag is set to the front.
    void compact(unsigned char const* keep, std::size_t n) { compact(values, keep, n); }
    template <class T>
    static void compact(T* x, unsigned char const* keep, std::size_t n) {
        std::size_t to = 0;
        for (std::size_t i = 0; i < n; ++i) {
            x[to] = x[i];
            to += keep[i];
        }
    }
};
template <class X, class Y>
struct value_array<value_pair<X, Y>> {
    value_array<X> first;
    value_array<Y> second;
    void set(std::size_t i, value_pair<X, Y> const& pair) {
        first.set(i, pair.first);
        second.set(i, pair.second);
    }
    [[nodiscard]] pair_block<X, Y> block() const { return {first.values, second.values}; }
    void compact(unsigned char const* keep, std::size_t n) {
        first.compact(keep, n);
        second.compact(keep, n);
    }
};
template <>
struct value_array<one_t> {
    void set(std::size_t, one_t) {}
    [[nodiscard]] one_t const* block() const { return &one; }
    void compact(unsigned char const*, std::size_t) {}
};
template <>
struct value_array<nothing_t> {
    void set(std::size_t, nothing_t) {}
};

/// Contributions of a tile to one field. Whether they are wanted is only counted at first: a tile in which all or none
/// are, the usual case, needs no flags. A mixed one is evaluated again to get them (mark).
template <class X>
class contribution_buffer {
    using Y = typename tally::detail::kept<X>::type;
    static constexpr bool conditional = tally::detail::kept<X>::conditional;
    static constexpr bool constant = std::is_same_v<Y, one_t>;

public:
    void set(std::size_t i, X const& x, std::uint32_t& kept) {
        if constexpr (conditional) {
            kept += static_cast<std::uint32_t>(x.keep);
            values_.set(i, x.value);
        } else {
            values_.set(i, x);
        }
    }
    void mark(std::size_t i, X const& x) {
        if constexpr (conditional) {
            keep_[i] = static_cast<unsigned char>(x.keep);
        }
    }
    /// Whether `deposit_into` needs flags.
    template <bool Weighted>
    static bool is_mixed(std::size_t kept, std::size_t n) {
        return conditional && (Weighted || !constant) && kept != 0 && kept != n;
    }

    template <class Field>
    void deposit_into(Field& field, std::size_t n, std::size_t kept) {
        if constexpr (conditional) {
            if (is_mixed<false>(kept, n)) {
                values_.compact(keep_, n);
            }
            n = kept;
        }
        deposit(field, n);
    }

    template <class Field, class Weight>
    void deposit_into(Field& field, Weight const* weights, std::size_t n, std::size_t kept) {
        if constexpr (conditional) {
            if (is_mixed<true>(kept, n)) {
                Weight kept_weights[tile_samples] = {};
                std::copy_n(weights, n, kept_weights);
                value_array<Weight>::compact(kept_weights, keep_, n);
                values_.compact(keep_, n);
                deposit(field, kept, static_cast<Weight const*>(kept_weights));
                return;
            }
            n = kept;
        }
        deposit(field, n, weights);
    }

private:
    template <class Field, class... Weights>
    void deposit(Field& field, std::size_t n, Weights... weights) const {
        if constexpr (!std::is_same_v<Y, nothing_t>) {
            if (n == 0) {
                return;
            }
            if constexpr (tally::detail::is_table_v<Field>) {
                for (std::size_t i = 0; i < n; ++i) {
                    field.deposit(values_.block()[i], weights[i]...);
                }
            } else {
                tally::deposit_block(field, values_.block(), weights..., n);
            }
        }
    }

    struct no_flags {};
    [[no_unique_address]] value_array<Y> values_;
    [[no_unique_address]] std::conditional_t<conditional, unsigned char[tile_samples], no_flags> keep_;
};

template <class Contributions, class Indices>
struct contribution_buffers;
template <std::size_t Index, class X>
struct indexed_buffer {
    contribution_buffer<X> buffer;
};
template <class... X, std::size_t... Index>
struct contribution_buffers<type_list<X...>, std::index_sequence<Index...>> : indexed_buffer<Index, X>... {
    void set(std::size_t i, contribution<X...> const& c, std::uint32_t* kept) {
        (this->indexed_buffer<Index, X>::buffer.set(i, tally::detail::slot<Index>(c), kept[Index]), ...);
    }
    void mark(std::size_t i, contribution<X...> const& c) {
        (this->indexed_buffer<Index, X>::buffer.mark(i, tally::detail::slot<Index>(c)), ...);
    }
    template <bool Weighted>
    static bool any_mixed(std::uint32_t const* kept, std::size_t n) {
        return (contribution_buffer<X>::template is_mixed<Weighted>(kept[Index], n) || ...);
    }
    template <class State, class... Weights>
    void deposit_into(State& state, std::size_t n, std::uint32_t const* kept, Weights... weights) {
        with_fields(state, [&](auto&... field) {
            (this->indexed_buffer<Index, X>::buffer.deposit_into(field, weights..., n, kept[Index]), ...);
        });
    }
};

/// Evaluates counters C for n samples (at most tile_samples). `slots` offers role_data<R>() for each role R of observe:
/// a pointer to n values of R::value_type. `weights` is null for unweighted metrics.
template <class C, class Slots, class... Role>
void evaluate(Slots const& slots, std::size_t n, typename C::state& state, type_list<Role...>) {
    using contributions = contributions_of<C>;
    using weighting = typename tally::detail::weighting_of<C>::type;
    constexpr bool weighted = tally::detail::is_weighted_v<weighting>;
    using buffers_type = contribution_buffers<contributions, std::make_index_sequence<contributions::size>>;
    buffers_type buffers;
    std::uint32_t kept[contributions::size] = {};
    // Local copies of the pointers: the loops must not reload them.
    auto const evaluate_tile = [&](typename Role::value_type const*... data) {
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC ivdep
#endif
        for (std::size_t i = 0; i < n; ++i) {
            buffers.set(i, C::observe(Role{data[i]}...), kept);
        }
        if (buffers_type::template any_mixed<weighted>(kept, n)) {
            for (std::size_t i = 0; i < n; ++i) {
                buffers.mark(i, C::observe(Role{data[i]}...));
            }
        }
    };
    evaluate_tile(slots.template role_data<Role>()...);
    if constexpr (weighted) {
        buffers.deposit_into(state, n, kept, slots.template role_data<weight<typename weighting::type>>());
    } else {
        buffers.deposit_into(state, n, kept);
    }
}

} // namespace tally::host::detail
