// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Roles: the typed inputs that `observe` asks for by its parameter types, and the inputs of `update` that satisfy them.
//
// | role                          | input of update                  | value                                              |
// |-------------------------------|----------------------------------|----------------------------------------------------|
// | prediction<T>                 | predictions(...)                 | one element                                        |
// | target<T>                     | targets(...)                     | one element; target<class_index> for labels        |
// | weight<T>                     | weights(...)                     | one element                                        |
// | value<T>                      | values(...)                      | one element                                        |
// | sample_position               | positions(...)                   | global index of the sample                         |
// | group_index                   | groups(...)                      | index of the sample's group                        |
// | input<"name", T>              | inputs<"name">(...)              | one element of an input with a name of your own    |
// | predicted_class               | scores, probabilities, or integer| lowest index of the highest score; the label       |
// |                               | predictions(...)                 | itself if labels are given                         |
// | target_rank                   | scores or probabilities, targets | scores above and equal to the target's             |
// | target_log_probability<T>     | scores or probabilities, targets | log softmax of the target's score                  |
// | max_probability<T>            | scores or probabilities          | softmax probability of the predicted class         |
// | squared_probabilities<T>      | scores or probabilities          | sum of squared softmax probabilities               |
// | target_probability<T>         | scores or probabilities, targets | softmax probability of the target                  |
// | row_log_sum_exp<T>            | scores                           | log of the softmax denominator                     |
// | column_index                  | any matrix                       | index of the column; one sample per matrix element |
// | class_probability<T>          | scores or probabilities          | one sample per (row, class)                        |
// | row_pairs<F>                  | matrices predictions and targets | F over the pairs (prediction, target) of a row     |
//
// Roles that come from a softmax take a policy of `row_sums` as their last argument.
//
// `scores` are unnormalised (logits); `probabilities` are taken as they are. The caller says which: never guessed.
#pragma once

#include <tally/config.hpp>
#include <tally/core/class_index.hpp>
#include <tally/core/fixed_string.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace tally {

/// Tags of inputs. `call` is what a user writes, for messages.
namespace source {

struct predictions {
    static constexpr fixed_string call = "predictions";
};
struct targets {
    static constexpr fixed_string call = "targets";
};
struct weights {
    static constexpr fixed_string call = "weights";
};
struct values {
    static constexpr fixed_string call = "values";
};
struct mask {
    static constexpr fixed_string call = "mask";
};
struct positions {
    static constexpr fixed_string call = "positions";
};
struct groups {
    static constexpr fixed_string call = "groups";
};
struct scores {
    static constexpr fixed_string call = "scores";
};
struct probabilities {
    static constexpr fixed_string call = "probabilities";
};
/// A name of the user's own, letter by letter: nvcc can't print a string among the template arguments of a kernel.
template <char... Letter>
struct custom {
    static constexpr char letters[] = {Letter..., '\0'};
    static constexpr fixed_string call = letters;
};

} // namespace source

namespace detail {

template <fixed_string Name>
struct spell {
    template <std::size_t... Index>
    static source::custom<Name.text[Index]...> letters(std::index_sequence<Index...>);
    using type = decltype(letters(std::make_index_sequence<Name.view().size()>{}));
};
template <fixed_string Name>
using custom_source = typename spell<Name>::type;

/// What a role is taken from: an element of an input, a feature of a row of scores, a cell of a matrix, or the pairs of
/// elements of two rows.
enum class role_kind : std::uint8_t { element, row, cell, pairs };

/// What a role converts to: its value, or the number in a class_index, so that labels compare and count as integers.
template <class T>
using number_in = std::conditional_t<std::is_same_v<T, class_index>, std::int32_t, T>;

template <class Source, class T>
struct element_role {
    static constexpr role_kind kind = role_kind::element;
    using source = Source;
    using value_type = T;
    T value;
    TALLY_HD constexpr operator number_in<T>() const { return value; } // NOLINT(google-explicit-constructor)
};

template <class T>
struct row_role {
    static constexpr role_kind kind = role_kind::row;
    using value_type = T;
    T value;
    TALLY_HD constexpr operator number_in<T>() const { return value; } // NOLINT(google-explicit-constructor)
};

} // namespace detail

template <class T>
using prediction = detail::element_role<source::predictions, T>;
template <class T>
using target = detail::element_role<source::targets, T>;
template <class T>
using weight = detail::element_role<source::weights, T>;
template <class T>
using value = detail::element_role<source::values, T>;
using sample_position = detail::element_role<source::positions, std::uint64_t>;
using group_index = detail::element_role<source::groups, class_index>;
template <fixed_string Name, class T>
using input = detail::element_role<detail::custom_source<Name>, T>;

/// How the target's score ranks in its row. `classes` is the number of columns. The target is in range exactly if
/// 0 <= target < classes; otherwise, and if the row holds a NaN, no score ranks above or beside it.
struct rank_of_target {
    std::int32_t target;
    std::int32_t classes;
    std::int32_t greater;
    std::int32_t equal_before;
    std::int32_t equal_after;
    bool row_has_nan;
    [[nodiscard]] TALLY_HD constexpr bool target_valid() const { return target >= 0 && target < classes; }
};

/// How the exponentials of a row of scores are computed and added up; see docs/sums.md, "exp and log". The rows of an
/// update are summed in one way: the fast one if all of its metrics ask for it.
namespace row_sums {

/// The same bits on the host and on devices, from every compiler, for every instruction set. A row in which one class
/// has nearly all of the probability keeps the digits of its small loss.
struct reproducible {};
/// Without both: a loss is right to about 5e-7 (double: 1e-15), however small it is, and a device uses its own
/// exponential function for float. See the page for what that saves.
struct fast {};

} // namespace row_sums

struct predicted_class : detail::row_role<class_index> {};
struct target_rank : detail::row_role<rank_of_target> {};
template <class T, class RowSums = row_sums::reproducible>
struct target_log_probability : detail::row_role<T> {};
template <class T, class RowSums = row_sums::reproducible>
struct target_probability : detail::row_role<T> {};
template <class T, class RowSums = row_sums::reproducible>
struct max_probability : detail::row_role<T> {};
template <class T, class RowSums = row_sums::reproducible>
struct squared_probabilities : detail::row_role<T> {};
template <class T, class RowSums = row_sums::reproducible>
struct row_log_sum_exp : detail::row_role<T> {};

/// Column of the matrix element; asking for it makes every matrix element a sample.
struct column_index {
    static constexpr detail::role_kind kind = detail::role_kind::cell;
    using value_type = std::int32_t;
    std::int32_t value;
    TALLY_HD constexpr operator std::int32_t() const { return value; } // NOLINT(google-explicit-constructor)
};
/// Probability of the class in `column_index`; asking for it makes every (row, class) a sample.
template <class T>
struct class_probability {
    static constexpr detail::role_kind kind = detail::role_kind::cell;
    using value_type = T;
    T value;
    TALLY_HD constexpr operator T() const { return value; } // NOLINT(google-explicit-constructor)
};

/// What F makes of a row of predictions and the row of targets beside it: F{}, then take(p, t) for each column, p as
/// F::prediction_type and t as class_index. The row is the sample.
template <class F>
struct row_pairs {
    static constexpr detail::role_kind kind = detail::role_kind::pairs;
    using value_type = F;
    F value;
};

/// True for the types above.
template <class R>
concept role = requires {
    { R::kind } -> std::convertible_to<detail::role_kind>;
    typename R::value_type;
};

} // namespace tally
