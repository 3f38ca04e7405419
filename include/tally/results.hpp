// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What a tracker gives when asked: local<M> covers one replica, combined<M> all of a communicator. They have values and
// no update, so nothing can be counted twice. Values, not views: they stay as they are when the tracker goes on.
#pragma once

#include <tally/collection.hpp>
#include <tally/core/fixed_string.hpp>
#include <tally/core/type_list.hpp>
#include <tally/state/fingerprint.hpp>
#include <tally/state/store.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace tally {

/// Values of a metric or collection M. Copying copies the states (tables included).
template <class M>
class results {
    using plan = detail::plan<M>;

public:
    explicit results(states_of<M> states) : states_{std::move(states)} {}

    /// The value of one metric of a collection: result["loss"_metric]. Misspelt names do not compile.
    template <class Name> // a metric_name; nvcc does not deduce the string itself
        requires(detail::is_collection_v<M> && Name::selects_metric)
    [[nodiscard]] auto operator[](Name) const {
        using entries = typename plan::entries;
        constexpr auto index = detail::find_name<Name::name>(entries{});
        static_assert(index < entries::size, "tally: the collection has no metric of this name");
        if constexpr (index < entries::size) {
            return finalized<typename detail::at_t<entries, index>::metric>();
        }
    }

    /// The value of a single metric: what its finalize returns, usually result<double>.
    [[nodiscard]] auto get() const
        requires(!detail::is_collection_v<M>)
    {
        return finalized<M>();
    }

    /// The number itself; throws no_value_error, which names the reason, if there is none.
    [[nodiscard]] auto value() const
        requires(!detail::is_collection_v<M>)
    {
        return get().value();
    }

    /// Calls f(name, value) for each metric, in the order of the collection.
    template <class F>
    void for_each(F&& f) const {
        detail::for_each_type(typename plan::entries{},
                              [&]<class Named>() { f(Named::name.view(), finalized<typename Named::metric>()); });
    }

    /// Samples that took part, were masked, or were left out because their weight was NaN or infinite.
    [[nodiscard]] std::uint64_t samples() const { return states_.template get<0>().samples.value(); }
    [[nodiscard]] std::uint64_t masked() const { return states_.template get<0>().masked.value(); }
    [[nodiscard]] std::uint64_t weights_lost() const { return states_.template get<0>().weights_lost.value(); }

    /// The state of a metric of M, for values that finalize does not offer. Its tables are views into this object, also
    /// in a copy of the state: keep the results while you read it.
    template <class Metric>
    [[nodiscard]] auto const& state() const& {
        return states_.template get<plan::template counter_index<Metric> + 1>();
    }
    template <class Metric>
    [[nodiscard]] auto state() const&& {
        using State = state_of<Metric>;
        constexpr bool has_tables = []<class... F>(type_list<F...>) {
            return (detail::is_table_v<F> || ...);
        }(field_types<State>{});
        static_assert(!has_tables,
                      "tally: the tables of a temporary result are gone at once: keep the result in a variable");
        return State{states_.template get<plan::template counter_index<Metric> + 1>()};
    }
    [[nodiscard]] states_of<M> const& states() const& { return states_; }
    states_of<M> const& states() const&& = delete;

private:
    template <class Metric>
    [[nodiscard]] auto finalized() const {
        return Metric::finalize(state<Metric>());
    }

    states_of<M> states_;
};

/// Values of this replica alone.
template <class M>
class local : public results<M> {
public:
    using results<M>::results;
};

/// Values of all replicas of a communicator.
template <class M>
class combined : public results<M> {
public:
    combined(states_of<M> states, int replicas) : results<M>(std::move(states)), replicas_{replicas} {}

    /// How many replicas these values cover.
    [[nodiscard]] int replicas() const { return replicas_; }

private:
    int replicas_;
};

} // namespace tally
