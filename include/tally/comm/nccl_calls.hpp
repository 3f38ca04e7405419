// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The calls of NCCL that move data, as plain functions: one collective of a batch, and an exchange between all replicas.
// They stop at the first error and name the call that it came from; the caller opens and closes the group.
#pragma once

#include <tally/comm/detail/call_batch.hpp>
#include <tally/comm/nccl_handle.hpp>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstddef>
#include <cstdint>

namespace tally::detail {

/// Who calls, and on which stream.
struct nccl_caller {
    ncclComm_t comm;
    int rank;
    int size;
    cudaStream_t stream;
};

/// Only 64-bit integers are reduced, and only by sums and maxima. Gathers to a root are sends, which every version has.
inline ncclResult_t nccl_issue(nccl_caller const& from, pending_call const& each, char const*& call) {
    auto const& root = each.call.root;
    auto const bytes = each.call.bytes;
    if (bytes == 0) {
        return ncclSuccess;
    }
    if (each.what != pending_call::kind::gather) {
        auto* const words = each.words.data();
        auto const count = bytes / sizeof(std::uint64_t);
        auto const op = each.what == pending_call::kind::sum ? ncclSum : ncclMax;
        if (!root) {
            call = "ncclAllReduce";
            return ncclAllReduce(words, words, count, ncclUint64, op, from.comm, from.stream);
        }
        call = "ncclReduce";
        auto* const result = *root == from.rank ? words : nullptr;
        return ncclReduce(words, result, count, ncclUint64, op, *root, from.comm, from.stream);
    }
    if (!root) {
        call = "ncclAllGather";
        return ncclAllGather(each.mine.data(), each.all.data(), bytes, ncclUint8, from.comm, from.stream);
    }
    if (*root == from.rank) {
        call = "ncclRecv";
        for (int other = 0; other != from.size; ++other) {
            auto* const place = each.all.data() + static_cast<std::size_t>(other) * bytes;
            auto const result = ncclRecv(place, bytes, ncclUint8, other, from.comm, from.stream);
            if (nccl_failed(result)) {
                return result;
            }
        }
    }
    call = "ncclSend";
    return ncclSend(each.mine.data(), bytes, ncclUint8, *root, from.comm, from.stream);
}

/// Sends mine(k) to each replica k and receives theirs(k) from it.
template <class Mine, class Theirs>
ncclResult_t nccl_exchange(nccl_caller const& from, Mine& mine, Theirs& theirs, char const*& call) {
    for (int other = 0; other != from.size; ++other) {
        auto const sent = mine(static_cast<std::size_t>(other));
        auto const received = theirs(static_cast<std::size_t>(other));
        bool const in_place = other == from.rank && sent.data() == received.data();
        call = "ncclSend";
        if (!sent.empty() && !in_place) {
            auto const result = ncclSend(sent.data(), sent.size(), ncclUint8, other, from.comm, from.stream);
            if (nccl_failed(result)) {
                return result;
            }
        }
        call = "ncclRecv";
        if (!received.empty() && !in_place) {
            auto const result = ncclRecv(received.data(), received.size(), ncclUint8, other, from.comm, from.stream);
            if (nccl_failed(result)) {
                return result;
            }
        }
    }
    return ncclSuccess;
}

} // namespace tally::detail
