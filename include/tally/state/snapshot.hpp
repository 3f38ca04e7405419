// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Snapshots: the combined state of a metric or collection as one self-describing buffer, restored at any replica count
// (the state on one replica, identity on the others). Damaged, truncated, foreign or newer buffers are refused with a
// reason. Format: docs/snapshot.md.
#pragma once

#include <tally/core/errors.hpp>
#include <tally/results.hpp>
#include <tally/state/fingerprint.hpp>
#include <tally/state/message.hpp>
#include <tally/state/store.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace tally {

inline constexpr std::uint32_t snapshot_version = 1;

/// What a snapshot says about itself.
struct snapshot_info {
    std::uint32_t version;            ///< format version
    std::uint64_t layout;             ///< layout_hash of the metric or collection
    std::uint64_t replicas;           ///< how many replicas its state covers
    std::vector<std::string> metrics; ///< names, in the order of the collection
};

namespace detail {

inline constexpr char snapshot_magic[8] = {'T', 'A', 'L', 'L', 'Y', 'S', 'N', 'P'};

struct snapshot_header {
    char magic[8];
    std::uint32_t version;
    std::uint32_t byte_order; ///< 0x01020304 as the writer's machine holds it
    std::uint64_t total_bytes;
    std::uint64_t layout;
    std::uint64_t replicas;
    std::uint64_t metrics; ///< number of metric lines that follow
    std::uint64_t sums;    ///< 64-bit words of the three lanes that follow the metric lines
    std::uint64_t maxes;
    std::uint64_t bytes;
};
static_assert(sizeof(snapshot_header) == 72);
inline constexpr std::uint32_t native_byte_order = 0x01020304;

struct snapshot_metric {
    std::uint64_t hash;
    char name[56];
};

inline std::uint64_t checksum(std::span<std::byte const> bytes) {
    // FNV-1a, 64 bits: every step is invertible, so one changed byte always changes it.
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    for (auto const b : bytes) {
        hash = (hash ^ std::to_integer<std::uint64_t>(b)) * 0x100000001b3ULL;
    }
    return hash;
}

[[noreturn]] inline void refuse(std::string const& why) { throw snapshot_error("snapshot refused: " + why); }

/// A checked snapshot: everything in range, the checksum right.
struct snapshot_parts {
    snapshot_header header;
    std::span<std::byte const> metrics;
    std::span<std::byte const> lanes;

    [[nodiscard]] snapshot_metric metric(std::size_t i) const {
        snapshot_metric line;
        std::memcpy(&line, metrics.data() + i * sizeof(line), sizeof(line));
        line.name[sizeof(line.name) - 1] = '\0';
        return line;
    }
};

/// Numbers in the buffer are compared with its size before they are used; nothing is allocated from them.
inline snapshot_parts parse_snapshot(std::span<std::byte const> buffer) {
    snapshot_parts parts{};
    auto& header = parts.header;
    if (buffer.size() < sizeof(header.magic) ||
        std::memcmp(buffer.data(), snapshot_magic, sizeof(snapshot_magic)) != 0) {
        refuse("not a tally snapshot");
    }
    if (buffer.size() < sizeof(header) + sizeof(std::uint64_t)) {
        refuse("truncated: " + std::to_string(buffer.size()) + " bytes are less than a header");
    }
    std::memcpy(&header, buffer.data(), sizeof(header));
    if (header.byte_order != native_byte_order) {
        refuse("written on a machine of another byte order");
    }
    if (header.version != snapshot_version) {
        refuse("format version " + std::to_string(header.version) + ", this library reads version " +
               std::to_string(snapshot_version));
    }
    if (header.total_bytes != buffer.size()) {
        refuse("truncated or extended: " + std::to_string(buffer.size()) + " bytes, the header says " +
               std::to_string(header.total_bytes));
    }
    auto const body = buffer.first(buffer.size() - sizeof(std::uint64_t));
    std::uint64_t expected = 0;
    std::memcpy(&expected, buffer.data() + body.size(), sizeof(expected));
    if (checksum(body) != expected) {
        refuse("damaged: the checksum does not match");
    }
    auto rest = body.subspan(sizeof(header));
    if (header.metrics > rest.size() / sizeof(snapshot_metric)) {
        refuse("damaged: more metrics than bytes");
    }
    parts.metrics = rest.first(header.metrics * sizeof(snapshot_metric));
    parts.lanes = rest.subspan(parts.metrics.size());
    auto const words = parts.lanes.size() / sizeof(std::uint64_t);
    if (header.sums > words || header.maxes > words - header.sums ||
        header.bytes != parts.lanes.size() - (header.sums + header.maxes) * sizeof(std::uint64_t)) {
        refuse("damaged: the sizes of its parts don't add up");
    }
    if (header.replicas == 0) {
        refuse("damaged: it covers no replica");
    }
    return parts;
}

/// Says which metric differs, as far as names and hashes tell.
template <class M>
void require_layout(snapshot_parts const& parts, states_of<M> const& states) {
    auto const expected = layout_hash<M>(states);
    auto const lanes = lanes_of_states(states);
    if (parts.header.layout != expected) {
        auto const mine = metric_fingerprints<M>(states);
        for (std::size_t i = 0; i < std::max<std::size_t>(mine.size(), parts.header.metrics); ++i) {
            auto const theirs = i < parts.header.metrics ? parts.metric(i) : snapshot_metric{};
            if (i >= mine.size()) {
                refuse("another layout: it holds a further metric \"" + std::string(theirs.name) + "\"");
            }
            if (theirs.hash != mine[i].hash) {
                refuse("another layout: metric " + std::to_string(i) + " is \"" + std::string(theirs.name) +
                       "\" there and \"" + std::string(mine[i].name) +
                       "\" here (or has another type, policy or shape)");
            }
        }
        refuse("another layout: written with another version of the library");
    }
    if (parts.header.metrics != metric_fingerprints<M>(states).size() || parts.header.sums != lanes.sums ||
        parts.header.maxes != lanes.maxes || parts.header.bytes != lanes.bytes) {
        refuse("damaged: its sizes don't fit its layout");
    }
}

} // namespace detail

/// The values of a local or combined result as a buffer. O(bytes of the state); allocates the buffer.
template <class M>
std::vector<std::byte> snapshot(results<M> const& values, int replicas = 1) {
    auto const& states = values.states();
    auto const fingerprints = detail::metric_fingerprints<M>(states);
    auto const lanes = detail::lanes_of_states(states);
    auto const words = (lanes.sums + lanes.maxes) * sizeof(std::uint64_t);
    auto const metrics = fingerprints.size() * sizeof(detail::snapshot_metric);

    detail::snapshot_header header{};
    std::memcpy(header.magic, detail::snapshot_magic, sizeof(header.magic));
    header.version = snapshot_version;
    header.byte_order = detail::native_byte_order;
    header.total_bytes = sizeof(header) + metrics + words + lanes.bytes + sizeof(std::uint64_t);
    header.layout = layout_hash<M>(states);
    header.replicas = static_cast<std::uint64_t>(replicas);
    header.metrics = fingerprints.size();
    header.sums = lanes.sums;
    header.maxes = lanes.maxes;
    header.bytes = lanes.bytes;

    std::vector<std::byte> buffer(header.total_bytes);
    auto* next = buffer.data();
    auto const append = [&](void const* from, std::size_t bytes) {
        if (bytes != 0) {
            std::memcpy(next, from, bytes);
            next += bytes;
        }
    };
    append(&header, sizeof(header));
    for (auto const& fingerprint : fingerprints) {
        detail::snapshot_metric line{fingerprint.hash, {}};
        auto const name = fingerprint.name.substr(0, sizeof(line.name) - 1);
        std::memcpy(line.name, name.data(), name.size());
        append(&line, sizeof(line));
    }
    std::vector<std::uint64_t> packed(lanes.sums + lanes.maxes); // aligned; the buffer need not be
    auto* const bytes = next + words;
    detail::pack(states, packed.data(), packed.data() + lanes.sums, bytes);
    append(packed.data(), words);
    next += lanes.bytes;
    auto const sum = detail::checksum(std::span<std::byte const>(buffer.data(), next));
    append(&sum, sizeof(sum));
    return buffer;
}

template <class M>
std::vector<std::byte> snapshot(combined<M> const& values) {
    return snapshot(static_cast<results<M> const&>(values), values.replicas());
}

/// What a buffer says about itself. Throws snapshot_error if it is no intact snapshot of a known version.
inline snapshot_info inspect_snapshot(std::span<std::byte const> buffer) {
    auto const parts = detail::parse_snapshot(buffer);
    snapshot_info info{parts.header.version, parts.header.layout, parts.header.replicas, {}};
    for (std::size_t i = 0; i < parts.header.metrics; ++i) {
        info.metrics.emplace_back(parts.metric(i).name);
    }
    return info;
}

/// States of M from a buffer; `blank` gives the shapes and must be at identity. Throws snapshot_error with a reason if
/// the buffer is damaged or was written by another metric, policy, shape or version.
template <class M>
states_of<M> restore_states(std::span<std::byte const> buffer, states_of<M> blank) {
    auto const parts = detail::parse_snapshot(buffer);
    detail::require_layout<M>(parts, blank);
    std::vector<std::uint64_t> words(parts.header.sums + parts.header.maxes);
    if (!words.empty()) {
        std::memcpy(words.data(), parts.lanes.data(), words.size() * sizeof(std::uint64_t));
    }
    detail::unpack(blank, words.data(), words.data() + parts.header.sums,
                   parts.lanes.data() + words.size() * sizeof(std::uint64_t), parts.header.bytes, 1);
    return blank;
}

} // namespace tally
