// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// `hierarchical_communicator`: replicas in groups, such as threads in processes, whose leaders talk to each other over
// another communicator. Models `communicator` in host memory over any two communicators that do.
#pragma once

#include <tally/comm/communicator.hpp>
#include <tally/comm/detail/batching.hpp>
#include <tally/comm/detail/call_batch.hpp>
#include <tally/core/errors.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tally {

/// One replica of several groups. `Inner` is the communicator of its own group, of which rank 0 is the leader; `Outer`
/// that of the leaders. Ranks count through the groups in the order of their leaders. Not copyable, used by one thread.
///
///     tally::hierarchical_communicator comm{threads, threads.rank() == 0 ? &processes : nullptr};
///
/// - Only the leader calls `Outer`: with MPI_THREAD_FUNNELED, the thread that initialised MPI must be rank 0 of its group.
/// - Results are those of one group of all replicas, in every bit. Calls that differ make all replicas throw the same
///   `layout_mismatch`, also across groups; likewise `shape_error` and `configuration_error`. The group stays usable.
/// - A loss inside a group or between leaders ends the collective on all replicas that are there: `replica_lost` or
///   `deadline_exceeded`. Local states are intact; the communicators below stay failed.
/// - Cost: a comparison of 24 bytes for each group of calls; then what each group has is collected by its leader, the
///   leaders make one call for each call, and hand the result back.
template <host_communicator Inner, host_communicator Outer>
class hierarchical_communicator : public detail::batching<hierarchical_communicator<Inner, Outer>> {
    using base = detail::batching<hierarchical_communicator<Inner, Outer>>;

public:
    /// Collective. `outer` is given by the leader (rank 0 of `inner`) and null on the others, else configuration_error.
    /// Both must outlive this object, and their deadlines belong to it.
    hierarchical_communicator(Inner& inner, Outer* outer) : base(inner.deadline()), inner_(inner), outer_(outer) {
        if ((inner.rank() == 0) != (outer != nullptr)) {
            throw configuration_error("a hierarchical_communicator needs the communicator between groups on rank 0 of "
                                      "each group, and only there");
        }
        std::uint64_t place[2] = {0, 0}; // of this group, number of groups
        if (outer_ != nullptr) {
            place[0] = static_cast<std::uint64_t>(outer_->rank());
            place[1] = static_cast<std::uint64_t>(outer_->size());
        }
        guarded([&] {
            broadcast(place);
            std::vector<std::uint64_t> sizes(place[1]);
            if (outer_ != nullptr) {
                auto const own = static_cast<std::uint64_t>(inner_.size());
                across([&] {
                    outer_->all_gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(sizes)));
                });
            }
            broadcast(sizes);
            group_ = place[0];
            for (auto const each : sizes) {
                first_.push_back(size_);
                size_ += static_cast<int>(each);
                widest_ = std::max(widest_, static_cast<std::size_t>(each));
            }
        });
    }

    hierarchical_communicator(hierarchical_communicator const&) = delete;
    hierarchical_communicator& operator=(hierarchical_communicator const&) = delete;
    ~hierarchical_communicator() {
        if (std::uncaught_exceptions() > exceptions_) {
            try {
                abort("an exception ended its use of the communicator");
            } catch (...) { // NOLINT(bugprone-empty-catch): the others find out at their deadline
            }
        }
    }

    [[nodiscard]] int rank() const { return first_[group_] + inner_.rank(); }
    [[nodiscard]] int size() const noexcept { return size_; }

    /// Gives up for all groups that this replica can reach: its own, and from a leader, all others.
    void abort(std::string_view reason) {
        if constexpr (requires { outer_->abort(reason); }) {
            if (outer_ != nullptr) {
                outer_->abort(reason);
            }
        }
        if constexpr (requires { inner_.abort(reason); }) {
            inner_.abort(reason);
        }
    }

private:
    friend base;
    using kind = detail::pending_call::kind;
    using lane = std::vector<std::uint64_t>;

    void make(std::span<detail::pending_call const> batch) {
        auto maximum = detail::batch_digest::of(batch, 0, rank(), size());
        std::vector<detail::wire_batch> wire;
        guarded([&] {
            compare(maximum);
            if (!maximum.all_the_same()) {
                wire = exchange(detail::on_wire(batch, 0));
            }
        });
        if (!wire.empty()) {
            detail::throw_different_calls(wire);
        }
        detail::throw_if_unfit(batch, maximum, size());
        guarded([&] {
            staged_.resize(batch.size());
            for (std::size_t i = 0; i != batch.size(); ++i) {
                collect(batch[i], staged_[i]);
            }
            if (outer_ != nullptr) {
                across([&] {
                    outer_->grouped([&] {
                        for (std::size_t i = 0; i != batch.size(); ++i) {
                            exchange_between_leaders(batch[i], staged_[i]);
                        }
                    });
                });
            }
            for (std::size_t i = 0; i != batch.size(); ++i) {
                hand_back(batch[i], staged_[i]);
            }
        });
    }

    /// What one call has on the leader: the words of a reduction, or the bytes of a gather in whole words.
    struct stage {
        lane mine; // of the group
        lane all;  // of all groups, for gathers
    };

    /// A failure on this level fails the other one as well, so that nobody waits for replicas that have given up.
    template <class Function>
    void guarded(Function function) {
        try {
            function();
        } catch (std::exception const& failure) {
            abort(failure.what());
            throw;
        }
    }

    /// The leader talks to the other leaders; its group waits for it, twice as long, in what follows.
    template <class Function>
    void across(Function function) {
        outer_->set_deadline(this->deadline());
        function();
    }

    [[nodiscard]] std::chrono::milliseconds wait_for_leader() const {
        auto const year = std::chrono::milliseconds{std::chrono::hours{24 * 365}};
        return 2 * std::min(this->deadline(), year) + std::chrono::seconds{2};
    }

    /// The leader's words on all replicas of the group.
    void broadcast(std::span<std::uint64_t> data) {
        if (outer_ == nullptr) {
            std::fill(data.begin(), data.end(), 0);
        }
        inner_.set_deadline(wait_for_leader());
        inner_.all_reduce_max(data);
    }

    void compare(detail::batch_digest& digest) {
        inner_.set_deadline(this->deadline());
        inner_.reduce_max(digest.words, 0);
        if (outer_ != nullptr) {
            across([&] { outer_->all_reduce_max(digest.words); });
        }
        broadcast(digest.words);
    }

    /// The batches of all replicas, on all of them.
    std::vector<detail::wire_batch> exchange(detail::wire_batch const& own) {
        detail::pending_call call{kind::gather, {"all_gather", sizeof(own)}, std::as_bytes(std::span(&own, 1)), {}, {}};
        std::vector<detail::wire_batch> all(static_cast<std::size_t>(size()));
        call.all = std::as_writable_bytes(std::span(all));
        stage staged;
        collect(call, staged);
        if (outer_ != nullptr) {
            across([&] { exchange_between_leaders(call, staged); });
        }
        hand_back(call, staged);
        return all;
    }

    void collect(detail::pending_call const& each, stage& staged) {
        inner_.set_deadline(this->deadline());
        if (each.what == kind::gather) {
            auto const room =
                each.call.bytes * widest_; // leaders of smaller groups send as much as those of larger ones
            staged.mine.resize(outer_ != nullptr ? words_for(room) : 0);
            inner_.gather(each.mine, bytes_of(staged.mine, outer_ != nullptr ? each.call.bytes * inner_size() : 0), 0);
        } else {
            staged.mine.assign(each.words.begin(), each.words.end());
            if (each.what == kind::sum) {
                inner_.reduce_sum(staged.mine, 0);
            } else {
                inner_.reduce_max(staged.mine, 0);
            }
        }
    }

    void exchange_between_leaders(detail::pending_call const& each, stage& staged) {
        auto const root = each.call.root ? group_of(*each.call.root) : 0;
        if (each.what == kind::gather) {
            auto const room = each.call.bytes * widest_;
            auto const receives = !each.call.root || root == group_;
            auto const all = receives ? room * first_.size() : 0;
            staged.all.resize(words_for(all));
            if (each.call.root) {
                outer_->gather(bytes_of(staged.mine, room), bytes_of(staged.all, all), static_cast<int>(root));
            } else {
                outer_->all_gather(bytes_of(staged.mine, room), bytes_of(staged.all, all));
            }
        } else if (each.call.root) {
            each.what == kind::sum ? outer_->reduce_sum(staged.mine, static_cast<int>(root))
                                   : outer_->reduce_max(staged.mine, static_cast<int>(root));
        } else {
            each.what == kind::sum ? outer_->all_reduce_sum(staged.mine) : outer_->all_reduce_max(staged.mine);
        }
    }

    void hand_back(detail::pending_call const& each, stage& staged) {
        if (each.call.root && group_of(*each.call.root) != group_) {
            return;
        }
        auto& result = each.what == kind::gather ? staged.all : staged.mine;
        if (each.what == kind::gather) {
            result.resize(words_for(each.call.bytes * widest_ * first_.size()));
        }
        broadcast(result);
        if (!each.call.received_by(rank())) {
            return;
        }
        if (each.what != kind::gather) {
            std::copy(result.begin(), result.end(), each.words.begin());
            return;
        }
        auto const bytes = std::as_bytes(std::span(result));
        for (std::size_t group = 0; group != first_.size(); ++group) {
            auto const last = group + 1 == first_.size() ? size_ : first_[group + 1];
            auto const from = bytes.subspan(group * widest_ * each.call.bytes,
                                            static_cast<std::size_t>(last - first_[group]) * each.call.bytes);
            std::copy(from.begin(), from.end(),
                      each.all.subspan(static_cast<std::size_t>(first_[group]) * each.call.bytes).begin());
        }
    }

    [[nodiscard]] std::size_t inner_size() const { return static_cast<std::size_t>(inner_.size()); }

    [[nodiscard]] std::size_t group_of(int rank) const {
        return static_cast<std::size_t>(std::upper_bound(first_.begin(), first_.end(), rank) - first_.begin() - 1);
    }

    static std::size_t words_for(std::size_t bytes) {
        return (bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
    }
    static std::span<std::byte> bytes_of(lane& data, std::size_t bytes) {
        return std::as_writable_bytes(std::span(data)).first(bytes);
    }

    Inner& inner_;
    Outer* outer_; // null but on the leader
    std::size_t group_ = 0;
    std::vector<int> first_; // rank of each group's leader
    int size_ = 0;
    std::size_t widest_ = 0; // replicas of the largest group
    std::vector<stage> staged_;
    int exceptions_ = std::uncaught_exceptions();
};

} // namespace tally
