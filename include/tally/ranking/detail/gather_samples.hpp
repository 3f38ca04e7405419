// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The samples of the ranking buffers of all replicas in one place. Always the same two collectives: the numbers of
// samples, then the samples, padded to the largest number. Replicas without samples take part.
#pragma once

#include <tally/comm/communicator.hpp>
#include <tally/comm/gather_all.hpp>
#include <tally/core/errors.hpp>
#include <tally/core/type_name.hpp>
#include <tally/ranking/ranking_counts.hpp>
#include <tally/state/fingerprint.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tally::detail {

/// First message.
struct ranking_header {
    std::uint64_t hash;
    std::uint64_t record_bytes;
    ranking_counts counts;
    char name[24];
};

template <class Samples>
struct gathered_samples {
    ranking_counts counts; ///< of all replicas together
    std::vector<typename Samples::record::key_type> keys;
    std::vector<typename Samples::record::payload_type> payloads;
};

template <class Samples>
ranking_header header_of(ranking_counts const& counts) {
    ranking_header header{};
    header.hash = hasher{}.add(wire_version).add(type_spelling<Samples>()).value();
    header.record_bytes = sizeof(typename Samples::record::key_type) + sizeof(typename Samples::record::payload_type);
    header.counts = counts;
    auto const name = Samples::name.view();
    std::memcpy(header.name, name.data(), std::min(name.size(), sizeof(header.name) - 1));
    return header;
}

/// Every replica holds the same headers, so every replica throws the same text.
inline void check_headers(std::vector<ranking_header> const& headers) {
    auto const describe = [](ranking_header const& header) {
        return std::string(header.name) + " with " + std::to_string(header.record_bytes) + " bytes a sample";
    };
    std::uint64_t samples = 0;
    for (std::size_t replica = 0; replica < headers.size(); ++replica) {
        if (headers[replica].hash != headers[0].hash) {
            throw layout_mismatch("replicas 0 and " + std::to_string(replica) +
                                  " combine different rankings: " + describe(headers[0]) + " and " +
                                  describe(headers[replica]) + " (or with other types or policies)");
        }
        samples += headers[replica].counts.samples;
    }
    if (samples > most_ranked) {
        throw configuration_error("the replicas hold " + std::to_string(samples) +
                                  " samples together; a ranking takes at most " + std::to_string(most_ranked));
    }
}

/// `copy(keys, payloads)` writes this replica's samples to memory of any alignment. Empty on all replicas but `root`,
/// if there is one. Memory: all samples, and replicas x the largest number of samples of one.
template <class Samples, host_communicator Communicator, class Copy>
std::optional<gathered_samples<Samples>> gather_samples(Communicator& communicator, ranking_counts const& counts,
                                                        std::optional<int> root, Copy copy) {
    using record = typename Samples::record;
    constexpr auto key_bytes = sizeof(typename record::key_type);
    constexpr auto payload_bytes = sizeof(typename record::payload_type);
    auto const header = header_of<Samples>(counts);
    auto const headers = gather_all<ranking_header>(communicator, std::span<ranking_header const>(&header, 1));
    check_headers(headers);

    std::uint64_t longest = 0;
    gathered_samples<Samples> all;
    for (auto const& each : headers) {
        longest = std::max(longest, each.counts.samples);
        all.counts += each.counts;
    }
    auto const part = static_cast<std::size_t>(longest) * (key_bytes + payload_bytes);
    auto const payloads_from = static_cast<std::size_t>(longest) * key_bytes;
    bool const receives = !root || *root == communicator.rank();
    std::vector<std::byte> mine(part);
    std::vector<std::byte> gathered(receives ? part * headers.size() : 0);
    copy(mine.data(), mine.data() + payloads_from);
    if (root) {
        communicator.gather(std::span<std::byte const>(mine), std::span<std::byte>(gathered), *root);
    } else {
        communicator.all_gather(std::span<std::byte const>(mine), std::span<std::byte>(gathered));
    }
    if (!receives) {
        return std::nullopt;
    }
    all.keys.resize(static_cast<std::size_t>(all.counts.samples));
    all.payloads.resize(static_cast<std::size_t>(all.counts.samples));
    std::size_t next = 0;
    for (std::size_t replica = 0; replica < headers.size(); ++replica) {
        auto const n = static_cast<std::size_t>(headers[replica].counts.samples);
        auto const* const from = gathered.data() + replica * part;
        if (n != 0) {
            std::memcpy(all.keys.data() + next, from, n * key_bytes);
            std::memcpy(all.payloads.data() + next, from + payloads_from, n * payload_bytes);
        }
        next += n;
    }
    return all;
}

} // namespace tally::detail
