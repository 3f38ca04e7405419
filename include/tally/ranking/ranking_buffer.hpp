// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// host::ranking_buffer: keeps samples, up to a number chosen at construction, for values that need the order of all of
// them: exact AUROC, exact average precision, Spearman's rank correlation. cuda::ranking_buffer is its device twin.
#pragma once

#include <tally/comm/communicator.hpp>
#include <tally/core/inputs.hpp>
#include <tally/core/roles.hpp>
#include <tally/host/load.hpp>
#include <tally/host/selection.hpp>
#include <tally/host/tile.hpp>
#include <tally/host/update.hpp>
#include <tally/ranking/detail/gather_samples.hpp>
#include <tally/ranking/detail/ranking_inputs.hpp>
#include <tally/ranking/detail/summarise.hpp>
#include <tally/ranking/ranking_counts.hpp>
#include <tally/update/input_set.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace tally::host {

/// Samples: ranked_labels<T, Weighting> or ranked_pairs<T, Nan>.
/// The first `capacity` valid samples are kept, in the order in which they are given; those beyond are counted and
/// reported with every value. Values depend on the samples kept alone, not on their order, the updates they came in or
/// the replicas that hold them: the same bits. A buffer is used by one thread at a time.
template <class Samples>
class ranking_buffer {
    using record = typename Samples::record;
    using key_type = typename record::key_type;
    using payload_type = typename record::payload_type;
    using sample = tally::detail::keyed<key_type, payload_type>;

public:
    using samples_type = Samples;
    using values_type = typename Samples::values;

    /// Allocates the memory of `capacity` samples. Throws configuration_error unless it is from 1 to 2^31 - 1.
    explicit ranking_buffer(std::size_t capacity) : capacity_{tally::detail::checked_capacity(capacity)} {
        samples_.reserve(capacity_);
    }
    ranking_buffer(ranking_buffer const&) = delete; // a copy of the samples would have no room for more
    ranking_buffer& operator=(ranking_buffer const&) = delete;
    ranking_buffer(ranking_buffer&&) noexcept = default;
    ranking_buffer& operator=(ranking_buffer&&) noexcept = default;
    ~ranking_buffer() = default;

    /// Takes samples: predictions(...), targets(...), for weighted samples weights(...), and optionally mask(...), as
    /// vectors of the same size, else shape_error. Allocates nothing.
    template <class... Source, class... View>
    void update(given<Source, View> const&... inputs) {
        using pass = tally::detail::ranking_inputs<Samples, given<Source, View>...>;
        tally::detail::input_set<given<Source, View>...> const set{inputs...};
        auto const n = pass::check(set);
        if constexpr (pass::complete) {
            set.for_each_view([](auto const& view) { detail::require_host_memory(view); });
            for (std::size_t first = 0; first < n; first += tile_samples) {
                take<pass>(set, first, std::min(tile_samples, n - first));
            }
        }
    }

    /// Values of this replica alone. Copies and sorts: O(n log n).
    [[nodiscard]] values_type finalize() const { return values_of(counts_, samples_); }

    /// Values over all replicas; every replica of the communicator must call it, also one without samples. Two
    /// collectives; all samples are gathered on every replica. The buffer is not changed. Throws layout_mismatch,
    /// replica_lost, deadline_exceeded; configuration_error if the replicas hold more than 2^31 - 1 samples together.
    template <tracker_communicator Communicator>
    [[nodiscard]] values_type combine(Communicator& communicator) const {
        return *exchange(communicator, std::nullopt);
    }
    /// The same where only `root` needs the values; empty on the other replicas.
    template <tracker_communicator Communicator>
    [[nodiscard]] std::optional<values_type> combine_to(Communicator& communicator, int root) const {
        return exchange(communicator, root);
    }

    /// Back to "never updated".
    void reset() {
        samples_.clear();
        counts_ = {};
    }

    [[nodiscard]] std::size_t capacity() const { return capacity_; }
    [[nodiscard]] ranking_counts const& counts() const { return counts_; }

private:
    static constexpr std::size_t tile_samples = detail::tile_samples;

    static values_type values_of(ranking_counts const& counts, std::vector<sample> samples) {
        return {counts, tally::detail::summarise(std::move(samples), typename Samples::summary{})};
    }

    template <class Pass, class Set>
    void take(Set const& set, std::size_t first, std::size_t n) {
        using prediction_role = typename Pass::prediction_role;
        using target_role = typename Pass::target_role;
        using weight_value = typename Pass::weight_value;
        typename prediction_role::value_type prediction_buffer[tile_samples];
        typename target_role::value_type target_buffer[tile_samples];
        [[maybe_unused]] weight_value weight_buffer[tile_samples];
        std::uint32_t kept[tile_samples];

        auto const* const predictions =
            detail::load(set.template view<source::predictions>(), first, n, prediction_buffer);
        auto const* const targets = detail::load(set.template view<source::targets>(), first, n, target_buffer);
        [[maybe_unused]] weight_value const* weights = nullptr;
        if constexpr (Pass::weighted) {
            weights = detail::load(set.template view<source::weights>(), first, n, weight_buffer);
        }
        auto count = n;
        if constexpr (Pass::masked) {
            count = detail::list_unmasked(set.template view<source::mask>(), first, n, kept);
            counts_.masked += n - count;
        }
        for (std::size_t k = 0; k < count; ++k) {
            auto const i = Pass::masked ? kept[k] : k;
            auto each = Samples::observe(prediction_role{predictions[i]}, target_role{targets[i]});
            if constexpr (Pass::weighted) {
                if (weights[i] - weights[i] != 0) { // NaN and infinities
                    ++counts_.weights_lost;
                    continue;
                }
                each = Samples::weigh(each, weights[i]);
            }
            keep(each);
        }
    }

    void keep(record const& each) {
        if (!each.valid) {
            ++counts_.dropped;
        } else if (samples_.size() == capacity_) {
            ++counts_.overflow;
        } else {
            samples_.push_back({each.key, each.payload});
            ++counts_.samples;
        }
    }

    template <class Communicator>
    std::optional<values_type> exchange(Communicator& communicator, std::optional<int> root) const {
        auto const all = tally::detail::gather_samples<Samples>(
            tally::detail::on_host(communicator), counts_, root, [this](std::byte* keys, std::byte* payloads) {
                for (auto const& each : samples_) {
                    std::memcpy(keys, &each.key, sizeof(key_type));
                    std::memcpy(payloads, &each.value, sizeof(payload_type));
                    keys += sizeof(key_type);
                    payloads += sizeof(payload_type);
                }
            });
        if (!all) {
            return std::nullopt;
        }
        std::vector<sample> samples(all->keys.size());
        for (std::size_t i = 0; i < samples.size(); ++i) {
            samples[i] = {all->keys[i], all->payloads[i]};
        }
        return values_of(all->counts, std::move(samples));
    }

    std::size_t capacity_;
    std::vector<sample> samples_;
    ranking_counts counts_;
};

} // namespace tally::host
