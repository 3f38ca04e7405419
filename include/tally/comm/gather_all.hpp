// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// all_gather of plain structs instead of bytes: for the small messages in which replicas compare what they are about to
// do.
#pragma once

#include <tally/comm/communicator.hpp>

#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

namespace tally::detail {

/// The elements of replica 0, 1, ... in this order. All replicas pass the same number. Allocates the result.
template <class T, communicator Communicator>
std::vector<T> gather_all(Communicator& communicator, std::span<T const> mine) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all(mine.size() * static_cast<std::size_t>(communicator.size()));
    communicator.all_gather(std::as_bytes(mine), std::as_writable_bytes(std::span<T>(all)));
    return all;
}

} // namespace tally::detail
