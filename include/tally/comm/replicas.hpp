// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// `replicas`: runs one function as several replicas, each in a thread with its communicator. The shortest way to
// data-parallel evaluation inside one process. An exception in one replica ends all of them and reaches the caller as
// itself, not as the `replica_lost` that it causes in the others.
#pragma once

#include <tally/comm/thread.hpp>
#include <tally/core/errors.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace tally {

/// Runs functions as `count` replicas.
///
///     auto parts = tally::replicas{4}.run([&](tally::thread_communicator& comm) { return work(comm.rank()); });
///
/// Each `run` makes a fresh `thread_group` and starts `count` threads, which it joins before it returns: tens of
/// microseconds a thread, so call it once per job rather than once per batch. Runs are independent of each other; one
/// that failed leaves nothing behind.
class replicas {
public:
    /// `replica_count` >= 1 and `deadline` >= 0 (longest wait in one collective), else `configuration_error`.
    explicit replicas(int replica_count, std::chrono::milliseconds deadline = std::chrono::minutes{5})
        : count_(replica_count), deadline_(deadline) {
        (void)thread_group{replica_count, deadline}; // says at once what `run` would refuse
    }

    [[nodiscard]] int count() const noexcept { return count_; }

    /// Calls `function(thread_communicator&)` once per replica, concurrently, on one shared object, and returns
    /// the results in rank order (nothing if it returns void).
    ///
    /// If replicas throw, all are joined, then the first cause is rethrown: the exception of the lowest rank that isn't
    /// a plain `replica_lost`, or that of the lowest rank if there are only those (a replica returned too early).
    template <class Function>
    auto run(Function&& function) const {
        using result = std::invoke_result_t<Function&, thread_communicator&>;
        if constexpr (std::is_void_v<result>) {
            run_all(function);
        } else {
            using value = std::remove_cvref_t<result>;
            std::vector<std::optional<value>> slots(static_cast<std::size_t>(count_));
            auto const keep = [&](thread_communicator& comm) {
                auto& slot = slots[static_cast<std::size_t>(comm.rank())]; // before `function` can move `comm` away
                slot.emplace(function(comm));
            };
            run_all(keep);
            std::vector<value> values;
            values.reserve(slots.size());
            for (auto& slot : slots) {
                values.push_back(*std::move(slot));
            }
            return values;
        }
    }

    /// Only says what is wrong with a function that can't be called.
    template <class Function>
        requires(!std::is_invocable_v<Function&, thread_communicator&>)
    void run(Function&&) const {
        static_assert(std::is_invocable_v<Function&, thread_communicator&>,
                      "tally: run calls function(thread_communicator&): take the communicator by reference");
    }

private:
    struct outcome {
        std::exception_ptr exception;
        bool consequence = false;
    };

    template <class Function>
    void run_all(Function& function) const {
        thread_group const group{count_, deadline_};
        std::vector<outcome> outcomes(static_cast<std::size_t>(count_));
        std::vector<std::thread> threads;
        threads.reserve(outcomes.size());
        std::exception_ptr not_started;
        try {
            for (auto& each : outcomes) {
                auto const rank = static_cast<int>(threads.size());
                threads.emplace_back([&each, &function, &group, comm = group.communicator(rank)]() mutable {
                    each = run_one(function, std::move(comm), group);
                });
            }
        } catch (...) {
            // The communicator of the thread that didn't start has left the group: those that run get `replica_lost`.
            not_started = std::current_exception();
        }
        for (auto& each : threads) {
            each.join();
        }
        if (not_started) {
            std::rethrow_exception(not_started);
        }
        for (auto const consequence : {false, true}) {
            for (auto const& each : outcomes) {
                if (each.exception && each.consequence == consequence) {
                    std::rethrow_exception(each.exception);
                }
            }
        }
    }

    template <class Function>
    static outcome run_one(Function& function, thread_communicator comm, thread_group const& group) {
        // `function` may have moved `comm` away before it threw, or put the communicator of another group there.
        auto const give_up = [&comm, &group, rank = comm.rank()](std::string_view reason) {
            group.abort(rank, reason);
            comm.abort(reason);
        };
        try {
            function(comm);
            return {};
        } catch (deadline_exceeded const& lost) {
            give_up(lost.what());
            return {std::current_exception(), false};
        } catch (replica_lost const& lost) {
            give_up(lost.what());
            return {std::current_exception(), true};
        } catch (std::exception const& cause) {
            give_up(cause.what());
            return {std::current_exception(), false};
        } catch (...) {
            give_up("it threw something that isn't a std::exception");
            return {std::current_exception(), false};
        }
    }

    int count_;
    std::chrono::milliseconds deadline_;
};

} // namespace tally
