// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What remains over MPI when a replica never comes, comes late, gives up, or combines something else: the right error on
// every replica that is there, within the deadline, with the local state as it was; then a new communicator works.
#include "mpi/support.hpp"

#include <tally/comm/mpi.hpp>
#include <tally/comm/self.hpp>
#include <tally/tally.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using namespace tally::testing;

namespace {

using evaluation =
    tally::collection<tally::named<"top-1", tally::accuracy<>>, tally::named<"confusion", tally::confusion_matrix<>>>;
constexpr std::size_t classes = 40;

/// A tracker with samples of this replica, and whether it still has them and no others.
class replica_state {
public:
    replica_state() {
        std::vector<int> labels;
        std::vector<int> predicted;
        for (int i = 0; i != 100 * (world_rank() + 1); ++i) {
            labels.push_back(i % static_cast<int>(classes));
            predicted.push_back(i * i % static_cast<int>(classes));
        }
        tracker.update(tally::predictions(predicted), tally::targets(labels));
        before_ = bytes();
    }

    [[nodiscard]] bool intact() const { return bytes() == before_; }

    tally::host::tracker<evaluation> tracker{tally::num_classes{classes}};

private:
    [[nodiscard]] std::vector<std::byte> bytes() const {
        tally::self_communicator self;
        return tracker.snapshot(self);
    }

    std::vector<std::byte> before_;
};

/// Samples in the combined state.
double samples(tally::combined<evaluation> const& all) {
    using namespace tally::literals;
    return static_cast<double>(all["confusion"_metric].total());
}

/// A fresh communicator over all processes combines all samples.
bool all_combine_anew(replica_state const& own) {
    auto comm = world();
    return samples(own.tracker.combine(comm)) == 100.0 * world_size() * (world_size() + 1) / 2;
}

constexpr auto slack = 1500ms; // more processes than cores, and a roll call of half a second at most

} // namespace

TEST_CASE(
    "mpi failures: a replica that never arrives ends combine at the deadline, by name; when it comes it is told") {
    if (world_size() == 1) {
        return;
    }
    replica_state own;
    auto const late = world_size() - 1;
    {
        auto comm = world();
        CHECK(works(comm));
        comm.set_deadline(400ms);
        if (comm.rank() != late) {
            stopwatch watch;
            auto const text = text_of<tally::replica_lost>([&] { (void)own.tracker.combine(comm); });
            CHECK(text.find(" waited longer than 400 ms in all_gather of 24 bytes; missing: replica " +
                            std::to_string(late)) != std::string::npos);
            CHECK(watch.elapsed() >= 300ms); // of others, who may have begun earlier
            CHECK(watch.elapsed() < 400ms + slack);
            stopwatch again;
            CHECK(text_of<tally::replica_lost>([&] { (void)own.tracker.combine(comm); }) == text);
            CHECK(again.elapsed() < 100ms); // at once
            comm.abort("too late to give another reason");
            CHECK(text_of<tally::replica_lost>([&] { (void)works(comm); }) == text);
        }
        meet();
        if (comm.rank() == late) {
            stopwatch watch;
            auto const text = text_of<tally::replica_lost>([&] { (void)own.tracker.combine(comm); });
            CHECK(text.find("; missing: replica " + std::to_string(late)) != std::string::npos);
            CHECK(watch.elapsed() < 300ms);
        }
    }
    CHECK(own.intact());
    CHECK(all_combine_anew(own));
}

TEST_CASE("mpi failures: at least one replica throws deadline_exceeded, and each of the others replica_lost") {
    if (world_size() == 1) {
        return;
    }
    auto comm = world();
    comm.set_deadline(comm.rank() == 0 ? 200ms : 30s);
    meet();
    if (comm.rank() == 0) {
        CHECK(text_of<tally::deadline_exceeded>([&] { (void)works(comm); }) ==
              "replica 0 waited longer than 200 ms in all_reduce_sum of 8 bytes; missing: replica " +
                  std::to_string(world_size() - 1));
    } else if (comm.rank() != world_size() - 1) {
        stopwatch watch;
        CHECK_THROWS_AS((void)works(comm), tally::replica_lost); // long before its own deadline
        CHECK(watch.elapsed() < 200ms + slack);
    }
    meet();
}

TEST_CASE("mpi failures: a replica that throws in update tells the others as its communicator goes") {
    if (world_size() == 1) {
        return;
    }
    replica_state own;
    stopwatch watch;
    auto const text = text_of<tally::error>([&] {
        auto comm = world(30s);
        if (comm.rank() == 1) {
            std::vector<int> const three(3);
            std::vector<int> const two(2);
            own.tracker.update(tally::predictions(three), tally::targets(two));
        }
        (void)own.tracker.combine(comm);
    });
    CHECK(watch.elapsed() < slack); // not after 30 seconds
    if (world_rank() == 1) {
        CHECK(text.find("aborted") == std::string::npos); // its own error
        CHECK(text.find("samples") != std::string::npos);
    } else {
        CHECK(text == "replica 1 aborted: an exception ended its use of the communicator");
    }
    CHECK(own.intact());
    meet();
    CHECK(all_combine_anew(own));
}

TEST_CASE("mpi failures: another collection on one replica is a layout_mismatch on all, which names the metric") {
    if (world_size() == 1) {
        return;
    }
    using other = tally::collection<tally::named<"top-1", tally::accuracy<>>, tally::named<"loss", tally::mean<>>>;
    replica_state own;
    tally::host::tracker<other> foreign;
    auto comm = world(30s);
    auto const last = comm.size() - 1;
    auto const text = text_of<tally::layout_mismatch>([&] {
        if (comm.rank() == last) {
            (void)foreign.combine(comm);
        } else {
            (void)own.tracker.combine(comm);
        }
    });
    CHECK(text == "replicas 0 and " + std::to_string(last) +
                      R"( combine different layouts: metric 1 is "confusion" on replica 0 and "loss" on replica )" +
                      std::to_string(last) + " (or has another type, policy or shape)");
    CHECK(own.intact());
    CHECK(samples(own.tracker.combine(comm)) == 100.0 * world_size() * (world_size() + 1) / 2); // the same communicator
}

TEST_CASE("mpi failures: another number of classes on one replica is a layout_mismatch on all") {
    if (world_size() == 1) {
        return;
    }
    replica_state own;
    tally::host::tracker<evaluation> more{tally::num_classes{classes + 1}};
    auto comm = world(30s);
    auto const last = comm.size() - 1;
    auto const text =
        text_of<tally::layout_mismatch>([&] { (void)(comm.rank() == last ? more : own.tracker).combine(comm); });
    CHECK(text.find(R"(metric 1 is "confusion" on replica 0 and "confusion" on replica )") != std::string::npos);

    // Also when each has been combined before, so that only the calls themselves differ.
    (void)own.tracker.combine(comm);
    (void)more.combine(comm);
    auto const later =
        text_of<tally::layout_mismatch>([&] { (void)(comm.rank() == last ? more : own.tracker).combine(comm); });
    CHECK(later.find("replica 0 called all_reduce_sum of ") == 0);
    CHECK(own.intact());
    CHECK(samples(own.tracker.combine(comm)) == 100.0 * world_size() * (world_size() + 1) / 2);
}

TEST_CASE("mpi failures: same sizes but another metric of those agreed on is a layout_mismatch on all") {
    if (world_size() == 1) {
        return;
    }
    tally::host::tracker<tally::collection<tally::named<"train", tally::accuracy<>>>> train;
    tally::host::tracker<tally::collection<tally::named<"validation", tally::accuracy<>>>> validation;
    auto comm = world(30s);
    (void)train.combine(comm);
    (void)validation.combine(comm);
    auto const text = text_of<tally::layout_mismatch>([&] {
        if (comm.rank() == 0) {
            (void)train.combine(comm);
        } else {
            (void)validation.combine(comm);
        }
    });
    CHECK(text.find("all must make the same calls in the same order") != std::string::npos);
    CHECK(works(comm));
}

TEST_CASE("mpi failures: a replica that never comes to make a communicator ends the others at the deadline") {
    if (world_size() == 1) {
        return;
    }
    // Each on its own duplicate, since what was begun on it can't be ended any more.
    MPI_Comm own = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    if (world_rank() != 0) {
        stopwatch watch;
        CHECK(text_of<tally::deadline_exceeded>([&] {
                  tally::mpi_communicator{own, 300ms, tested_transport()};
              }) == "waited longer than 300 ms for all replicas to duplicate the communicator");
        CHECK(watch.elapsed() < 300ms + slack);
    }
    meet();
    auto comm = world();
    CHECK(works(comm));
}

TEST_CASE("mpi failures: two communicators of which one has failed are independent, in any order of their ends") {
    for (bool const first_goes_first : {true, false}) {
        std::optional<tally::mpi_communicator> first{world(30s)};
        std::optional<tally::mpi_communicator> second{world(30s)};
        auto part = second->split(0);
        if (world_rank() == 0) {
            first->abort("over");
        }
        CHECK(text_of<tally::replica_lost>([&] { (void)works(*first); }) == "replica 0 aborted: over");
        CHECK(works(*second));
        meet();
        second->abort("over as well");
        CHECK_THROWS_AS((void)works(*second), tally::replica_lost);
        CHECK(works(part));
        (first_goes_first ? first : second).reset();
        (first_goes_first ? second : first).reset();
        CHECK(works(part));
    }
}

TEST_CASE("mpi failures: a destructor with a collective on its way does not wait") {
    if (world_size() == 1) {
        return;
    }
    std::optional<tally::mpi_communicator> comm{world(30s)};
    CHECK(works(*comm));
    if (world_rank() == 0) {
        comm->set_deadline(50ms);
        CHECK_THROWS_AS((void)works(*comm), tally::deadline_exceeded);
        stopwatch watch;
        comm.reset();
        CHECK(watch.elapsed() < 200ms);
    }
    meet();
}

TEST_CASE("mpi failures: with shared memory, a replica that has left ends the wait of the others at once") {
    auto comm = world(30s);
    if (!comm.shares_memory()) {
        return;
    }
    meet();
    if (world_rank() == 0) {
        auto const gone = std::move(comm);
    } else {
        stopwatch watch;
        CHECK(text_of<tally::replica_lost>([&] { (void)works(comm); }) ==
              "replica 0 left its group before taking part in all_reduce_sum of 8 bytes");
        CHECK(watch.elapsed() < slack);
    }
    meet();
}
