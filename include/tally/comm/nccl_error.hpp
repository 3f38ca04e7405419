// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// `nccl_error`: a call of NCCL failed, or a communicator found a fault while data moved. Needs no NCCL to be caught.
#pragma once

#include <tally/core/errors.hpp>

#include <string>

namespace tally {

/// NCCL reported an error. The communicator is unusable and local states are intact, as with every `replica_lost`;
/// `what()` names the call, the replica and its device, and holds NCCL's own text.
class nccl_error : public replica_lost {
public:
    /// `result` is the ncclResult_t.
    nccl_error(std::string const& what, int result, int rank, int device)
        : replica_lost(what), result_(result), rank_(rank), device_(device) {}

    /// The ncclResult_t, such as ncclRemoteError.
    [[nodiscard]] int result() const noexcept { return result_; }
    /// The replica that throws; -1 before it has a rank.
    [[nodiscard]] int rank() const noexcept { return rank_; }
    /// Its device; -1 if that is not known.
    [[nodiscard]] int device() const noexcept { return device_; }

private:
    int result_;
    int rank_;
    int device_;
};

} // namespace tally
