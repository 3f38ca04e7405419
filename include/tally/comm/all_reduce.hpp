// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// all_reduce: combines users' own arrays over the replicas of a communicator, in place: op::sum, op::mean (sum, then
// divide in the accumulator type), op::min, op::max. For tensors such as gradients; metrics are combined by trackers.
#pragma once

#include <tally/comm/communicator.hpp>
#include <tally/comm/gather_all.hpp>
#include <tally/config.hpp>
#include <tally/core/bits.hpp>
#include <tally/core/errors.hpp>
#include <tally/core/half_bits.hpp>
#include <tally/core/order_key.hpp>
#include <tally/core/type_name.hpp>
#include <tally/core/widen.hpp>
#include <tally/op/ops.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tally {

namespace detail {

template <class T>
concept reducible = element<T> && !std::same_as<T, class_index> && !std::same_as<T, bool>;

template <class T>
using widened = widened_t<T>;

/// The float next to x whose last bit is set unless it is exactly x. It is no tie of a narrower type, so rounding it once
/// more gives what rounding x once would have given ("rounding to odd", Boldo, Melquiond 2008).
TALLY_HD constexpr float float_for_narrowing(double x) {
    auto const nearest = static_cast<float>(x);
    auto const bits = bit_cast<std::uint32_t>(nearest);
    auto const wide = static_cast<double>(nearest);
    if (wide == x || x != x || bits % 2 != 0) {
        return nearest;
    }
    bool const outward = (x < 0 ? -x : x) > (wide < 0 ? -wide : wide);
    return bit_cast<float>(outward ? bits + 1 : bits - 1);
}

/// Back to the user's type; 16-bit types round once, to even.
template <class T, class Wide>
TALLY_HD constexpr T narrow(Wide x) {
    if constexpr (std::same_as<T, half_bits> || std::same_as<T, bfloat16_bits>) {
        return narrow_to<T>(float_for_narrowing(x));
    } else if constexpr (std::is_arithmetic_v<T>) {
        return static_cast<T>(x);
    } else {
        return static_cast<T>(float_for_narrowing(x));
    }
}

/// One element of all replicas, `stride` elements apart in rank order, as one. The same bits on hosts and devices, but for
/// those of a NaN.
template <class T, class Op>
TALLY_HD constexpr T reduced_element(T const* parts, std::size_t stride, std::size_t replicas) {
    if constexpr (std::same_as<Op, op::min> || std::same_as<Op, op::max>) {
        constexpr bool largest = std::same_as<Op, op::max>;
        std::uint64_t key = 0;
        for (std::size_t replica = 0; replica < replicas; ++replica) {
            auto const next = reduction_key<largest>(widening<T>::widen(parts[replica * stride]));
            key = next > key ? next : key;
        }
        return narrow<T>(from_reduction_key<largest, widened<T>>(key));
    } else if constexpr (std::is_integral_v<T>) {
        std::uint64_t sum = 0;
        for (std::size_t replica = 0; replica < replicas; ++replica) {
            sum += static_cast<std::uint64_t>(parts[replica * stride]);
        }
        return static_cast<T>(sum);
    } else {
        double sum = 0.0;
        for (std::size_t replica = 0; replica < replicas; ++replica) {
            sum += static_cast<double>(widening<T>::widen(parts[replica * stride]));
        }
        return narrow<T>(std::same_as<Op, op::mean> ? sum / static_cast<double>(replicas) : sum);
    }
}

template <class T, class Op>
constexpr void check_operation() {
    static_assert(
        !std::is_integral_v<T> || !std::same_as<Op, op::mean>,
        "tally: op::mean of integers truncates: all_reduce op::sum and divide where the result may be a fraction");
    static_assert(std::same_as<Op, op::sum> || std::same_as<Op, op::mean> || std::same_as<Op, op::min> ||
                      std::same_as<Op, op::max>,
                  "tally: all_reduce takes op::sum, op::mean, op::min or op::max");
}

/// What a replica asks of all_reduce. Replicas compare it before any data moves: the messages that follow don't tell a
/// sum from a mean, nor floats from integers of the same size.
struct reduction_request {
    std::uint64_t elements = 0;
    std::uint64_t type_hash = 0;
    char operation[8] = {};
    char type_name[48] = {}; // for people; longer names are cut

    [[nodiscard]] bool same_as(reduction_request const& other) const {
        return elements == other.elements && type_hash == other.type_hash &&
               std::string_view(operation) == std::string_view(other.operation);
    }
    [[nodiscard]] std::string text() const {
        return "all_reduce of " + std::to_string(elements) + " elements of type " + type_name +
               " with op::" + operation;
    }
};

/// By size and kind rather than spelling: int64 may be `long` on one replica and `long long` on another.
template <class T>
std::string element_name() {
    auto const bits = std::to_string(8 * sizeof(T));
    if constexpr (std::is_integral_v<T>) {
        return (std::is_signed_v<T> ? "int" : "uint") + bits;
    } else if constexpr (std::is_floating_point_v<T>) {
        return "float" + bits;
    } else {
        return std::string(type_name<T>());
    }
}

/// Throws the same layout_mismatch on all replicas unless all ask for the same. One all-gather of 72 bytes.
template <class T, class Op, host_communicator Communicator>
void agree_on_reduction(Communicator& communicator, std::size_t elements) {
    reduction_request mine;
    auto const name = element_name<T>();
    mine.elements = elements;
    mine.type_hash = hasher{}.add(std::is_arithmetic_v<T> ? std::string_view(name) : type_spelling<T>()).value();
    Op::name.view().copy(mine.operation, sizeof(mine.operation) - 1);
    name.copy(mine.type_name, sizeof(mine.type_name) - 1);
    auto const all = gather_all<reduction_request>(communicator, std::span<reduction_request const>(&mine, 1));
    auto const other = std::find_if_not(all.begin(), all.end(), [&](auto const& each) { return each.same_as(all[0]); });
    if (other != all.end()) {
        throw layout_mismatch("replica 0 called " + all[0].text() + ", replica " + std::to_string(other - all.begin()) +
                              " called " + other->text());
    }
}

/// Elements of a message of all_reduce; larger arrays take several, which bounds the memory to replicas times this.
inline constexpr std::size_t all_reduce_chunk = std::size_t{1} << 16;

template <class T, host_communicator Communicator>
void all_reduce_extreme(Communicator& communicator, std::span<T> data, auto largest) {
    constexpr bool is_maximum = decltype(largest)::value;
    std::vector<std::uint64_t> keys(data.size());
    std::transform(data.begin(), data.end(), keys.begin(),
                   [](T const& x) { return reduction_key<is_maximum>(widening<T>::widen(x)); });
    communicator.all_reduce_max(std::span<std::uint64_t>(keys));
    std::transform(keys.begin(), keys.end(), data.begin(),
                   [](std::uint64_t key) { return narrow<T>(from_reduction_key<is_maximum, widened<T>>(key)); });
}

template <class T, host_communicator Communicator>
void all_reduce_integers(Communicator& communicator, std::span<T> data) {
    std::vector<std::uint64_t> words(data.size());
    std::transform(data.begin(), data.end(), words.begin(), [](T x) { return static_cast<std::uint64_t>(x); });
    communicator.all_reduce_sum(std::span<std::uint64_t>(words));
    std::transform(words.begin(), words.end(), data.begin(), [](std::uint64_t word) { return static_cast<T>(word); });
}

template <class Op, class T, host_communicator Communicator>
void all_reduce_reals(Communicator& communicator, std::span<T> data) {
    auto const replicas = static_cast<std::size_t>(communicator.size());
    std::vector<T> all(data.size() * replicas);
    communicator.all_gather(std::as_bytes(std::span<T const>(data)), std::as_writable_bytes(std::span<T>(all)));
    for (std::size_t i = 0; i < data.size(); ++i) {
        data[i] = reduced_element<T, Op>(all.data() + i, data.size(), replicas);
    }
}

} // namespace detail

/// Combines data[i] over all replicas, in place, for every i; all replicas get the same bits. All must pass the same
/// size, element type and operation, which a small message compares first: if they differ, all replicas throw the same
/// layout_mismatch and no data has changed. Integer sums wrap modulo 2^64; floating-point sums are formed in double in
/// rank order and rounded once, so they are repeatable for the same replica count. op::mean is not offered for
/// integers, where it would truncate. min and max: -0 < +0, and a NaN on any replica gives NaN.
/// Allocates replicas x size elements (in chunks of 65,536). Throws layout_mismatch, replica_lost, deadline_exceeded;
/// after the last two, the chunks before the loss are combined and the others are not.
template <class T, host_communicator Communicator, class Op>
    requires detail::reducible<T>
void all_reduce(Communicator& communicator, std::span<T> data, Op) {
    constexpr bool integer = std::is_integral_v<T>;
    detail::check_operation<T, Op>();
    detail::agree_on_reduction<T, Op>(communicator, data.size());
    for (std::size_t first = 0; first < data.size();) {
        auto const chunk = data.subspan(first, std::min(detail::all_reduce_chunk, data.size() - first));
        if constexpr (std::same_as<Op, op::min>) {
            detail::all_reduce_extreme(communicator, chunk, std::false_type{});
        } else if constexpr (std::same_as<Op, op::max>) {
            detail::all_reduce_extreme(communicator, chunk, std::true_type{});
        } else if constexpr (integer) {
            detail::all_reduce_integers(communicator, chunk);
        } else {
            detail::all_reduce_reals<Op>(communicator, chunk);
        }
        first += chunk.size();
    }
}

} // namespace tally
