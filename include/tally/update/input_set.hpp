// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The inputs of one update, found by their source at compile time, with the checks that turn a wrong call into a clear
// sentence: a missing input, one given twice, one that nobody asks for, sizes that differ.
#pragma once

#include <tally/core/errors.hpp>
#include <tally/core/inputs.hpp>
#include <tally/core/metric.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/type_list.hpp>
#include <tally/core/weighting.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace tally::detail {

template <class R>
inline constexpr bool needs_target = std::is_same_v<R, target_rank>;
template <class T, class P>
inline constexpr bool needs_target<target_log_probability<T, P>> = true;
template <class T, class P>
inline constexpr bool needs_target<target_probability<T, P>> = true;

template <class R>
inline constexpr bool needs_class_probability = false;
template <class T>
inline constexpr bool needs_class_probability<class_probability<T>> = true;

template <class... Given>
class input_set {
public:
    using sources = type_list<typename Given::source...>;
    static_assert(unique_t<sources>::size == sizeof...(Given), "tally: update was given the same input twice");

    template <class Source>
    static constexpr bool has = contains_v<sources, Source>;
    static constexpr bool has_rows = has<source::scores> || has<source::probabilities>;
    static_assert(!(has<source::scores> && has<source::probabilities>),
                  "tally: give either scores (logits) or probabilities, not both");
    static constexpr bool sized = (!std::is_same_v<typename Given::view_type, counting_view> || ...);

    explicit input_set(Given const&... inputs) : inputs_{inputs...} {}

    template <class Source>
    [[nodiscard]] auto const& view() const {
        constexpr auto index = index_of_v<sources, Source>;
        return std::get<index>(inputs_).view;
    }
    template <class Source>
    static constexpr bool is_matrix = [] {
        if constexpr (has<Source>) {
            using input = std::tuple_element_t<index_of_v<sources, Source>, std::tuple<Given...>>;
            return input::view_type::rank == 2;
        } else {
            return false;
        }
    }();

    static constexpr bool any_matrix = ((Given::view_type::rank == 2) || ...);

    /// Where row features come from.
    using row_source = std::conditional_t<has<source::scores>, source::scores, source::probabilities>;

    /// Number of samples (rows). Throws shape_error, which names both inputs, if sizes differ; matrices must also agree
    /// in their columns.
    [[nodiscard]] std::size_t samples() const {
        std::size_t n = 0;
        std::size_t columns = 0;
        std::string_view first_sized;
        std::string_view matrix;
        auto const check = [&]<class Source, class View>(given<Source, View> const& input) {
            if constexpr (!std::is_same_v<View, counting_view>) {
                auto const size = samples_in(input.view);
                if (!first_sized.empty() && size != n) {
                    throw shape_error(describe(first_sized, n) + " but " + describe(Source::call.view(), size));
                }
                first_sized = Source::call.view();
                n = size;
            }
            if constexpr (View::rank == 2) {
                auto const width = columns_in(input.view);
                if (!matrix.empty() && width != columns) {
                    throw shape_error(describe(matrix, columns, " columns") + " but " +
                                      describe(Source::call.view(), width, " columns"));
                }
                matrix = Source::call.view();
                columns = width;
            }
        };
        std::apply([&](auto const&... input) { (check(input), ...); }, inputs_);
        return n;
    }

    template <class F>
    void for_each_view(F&& f) const {
        std::apply([&](auto const&... input) { (f(input.view), ...); }, inputs_);
    }

    /// Columns of the matrices among the inputs; 0 if there is none.
    [[nodiscard]] std::size_t columns() const {
        std::size_t columns = 0;
        auto const look = [&]<class Source, class View>(given<Source, View> const& input) {
            if constexpr (View::rank == 2) {
                columns = columns_in(input.view);
            }
        };
        std::apply([&](auto const&... input) { (look(input), ...); }, inputs_);
        return columns;
    }

private:
    static std::string describe(std::string_view input, std::size_t n, char const* what = " samples") {
        return std::string(input) + "(...) has " + std::to_string(n) + what;
    }

    std::tuple<Given...> inputs_;
};

/// Whether role R is answered by an element of an input (else by a row feature or a matrix cell).
template <class R, class Inputs>
inline constexpr bool is_element = R::kind == role_kind::element;
/// Labels may be given where the predicted class is asked for.
template <class Inputs>
inline constexpr bool is_element<predicted_class, Inputs> = !Inputs::has_rows;

template <class R>
struct source_of {
    using type = typename R::source;
};
template <>
struct source_of<predicted_class> {
    using type = source::predictions;
};

/// Says which input is missing. Returns whether it is there, so that nothing else is said about it.
template <class Source, bool Given>
consteval bool require_input() {
    if constexpr (std::is_same_v<Source, source::predictions>) {
        static_assert(Given, "tally: a metric asks for predictions: pass tally::predictions(...) to update");
    } else if constexpr (std::is_same_v<Source, source::targets>) {
        static_assert(Given, "tally: a metric asks for targets: pass tally::targets(...) to update");
    } else if constexpr (std::is_same_v<Source, source::values>) {
        static_assert(Given, "tally: a metric asks for values: pass tally::values(...) to update");
    } else if constexpr (std::is_same_v<Source, source::weights>) {
        static_assert(Given, "tally: a metric counts by weight: pass tally::weights(...) to update");
    } else if constexpr (std::is_same_v<Source, source::positions>) {
        static_assert(Given, "tally: a metric asks for positions: pass tally::positions(first) to update");
    } else if constexpr (std::is_same_v<Source, source::groups>) {
        static_assert(Given, "tally: a grouped metric asks for groups: pass tally::groups(...) to update");
    } else if constexpr (std::is_same_v<Source, source::scores>) {
        static_assert(Given, "tally: a metric asks for scores: pass tally::scores(...) or tally::probabilities(...) to "
                             "update");
    } else {
        static_assert(Given,
                      "tally: a metric asks for an input of its own: pass tally::inputs<\"name\">(...) to update");
    }
    return Given;
}

template <class Inputs, class R>
consteval bool require_role() {
    if constexpr (is_element<R, Inputs>) {
        using wanted = typename source_of<R>::type;
        return require_input<wanted, Inputs::template has<wanted>>();
    } else if constexpr (R::kind == role_kind::pairs) {
        constexpr bool given = require_input<source::predictions, Inputs::template has<source::predictions>>() &&
                               require_input<source::targets, Inputs::template has<source::targets>>();
        constexpr bool matrices =
            !given || (Inputs::template is_matrix<source::predictions> && Inputs::template is_matrix<source::targets>);
        static_assert(matrices,
                      "tally: a metric compares whole rows: pass predictions(matrix(p, columns)) and such targets");
        return given && matrices;
    } else if constexpr (std::is_same_v<R, column_index>) {
        static_assert(Inputs::any_matrix, "tally: a metric asks for columns, so an input must be a matrix: "
                                          "predictions(matrix(p, columns))");
        return Inputs::any_matrix;
    } else {
        constexpr bool rows = require_input<source::scores, Inputs::has_rows>();
        if constexpr (needs_target<R>) {
            return require_input<source::targets, Inputs::template has<source::targets>>() && rows;
        }
        return rows;
    }
}

/// Labels are integers; probabilities would be compared with the targets as if they were labels.
template <class View>
void require_labels(View const& view) {
    using element = typename View::element_type;
    if constexpr (is_dynamic_v<View>) {
        with_element_type(view.type, [&]<class E>() {
            if constexpr (std::is_floating_point_v<widened_t<E>>) {
                throw shape_error("predictions(...) of type " + to_string(view.type) +
                                  " are numbers, not labels: use accuracy<binary<>> or give scores(...)");
            }
        });
    } else if constexpr (tally::element<element>) {
        static_assert(!std::is_floating_point_v<widened_t<element>>,
                      "tally: predictions(...) are numbers, not labels: use accuracy<binary<>> or give scores(...)");
    }
}

/// True if role R reads the input Source.
template <class Inputs, class R, class Source>
inline constexpr bool reads = [] {
    if constexpr (is_element<R, Inputs>) {
        return std::is_same_v<typename source_of<R>::type, Source>;
    } else if constexpr (R::kind == role_kind::pairs) {
        return std::is_same_v<Source, source::predictions> || std::is_same_v<Source, source::targets>;
    } else if constexpr (std::is_same_v<R, column_index>) {
        return false;
    } else {
        return std::is_same_v<typename Inputs::row_source, Source> ||
               (needs_target<R> && std::is_same_v<Source, source::targets>);
    }
}();

template <class Weighting>
struct weight_roles {
    using type = type_list<>;
};
template <class T>
struct weight_roles<by_weight<T>> {
    using type = type_list<weight<T>>;
};

/// All roles that counters C ask for, the weight included if they count by weight.
template <class C>
using all_roles_of = concat_t<roles_of<C>, typename weight_roles<typename weighting_of<C>::type>::type>;

template <class Inputs, class Roles>
struct role_check;
template <class Inputs, class... R>
struct role_check<Inputs, type_list<R...>> {
    template <class Source>
    static constexpr bool read = std::is_same_v<Source, source::mask> || (reads<Inputs, R, Source> || ...);

    template <class Source>
    static consteval void require_use() {
        if constexpr (std::is_same_v<Source, source::weights>) {
            static_assert(read<Source>,
                          "tally: weights(...) was given but no metric counts by weight: use weighted<M>");
        } else {
            static_assert(read<Source>, "tally: update was given an input that no metric of this tracker asks for");
        }
    }
    /// Whether every input that is asked for is there.
    template <class... Source>
    static consteval bool run(type_list<Source...>) {
        (require_use<Source>(), ...);
        constexpr bool given = (require_role<Inputs, R>() && ...);
        static_assert(!given || Inputs::sized,
                      "tally: no input of update says how many samples there are: pass one besides positions(first)");
        return given && Inputs::sized;
    }
};

} // namespace tally::detail
