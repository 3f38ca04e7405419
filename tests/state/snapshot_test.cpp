// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Snapshots: what is written at one replica count is read at any other; nothing damaged or foreign is ever read.
#include <tally/comm/replicas.hpp>
#include <tally/host/tracker.hpp>
#include <tally/metric/confusion_matrix.hpp>
#include <tally/metric/extremes.hpp>
#include <tally/metric/mean.hpp>
#include <tally/metric/total.hpp>
#include <tally/metric/variance.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace {

using bytes = std::vector<std::byte>;

/// All three lanes of a message, a table and a shared state.
using everything = tally::collection<tally::named<"loss", tally::mean<>>, tally::named<"items", tally::total<int>>,
                                     tally::named<"spread", tally::variance<>>, tally::named<"best", tally::largest<>>,
                                     tally::named<"confusion", tally::confusion_matrix<>>>;
using everything_tracker = tally::host::tracker<everything>;

everything_tracker make() { return everything_tracker{tally::num_classes{3}}; }

/// 60 samples of small integers, so that every sum is exact.
struct sample_data {
    std::vector<float> values;
    std::vector<int> predictions;
    std::vector<int> targets;
};
sample_data data() {
    sample_data d;
    for (int i = 0; i < 60; ++i) {
        d.values.push_back(static_cast<float>(i * 11 % 17 - 5));
        d.predictions.push_back(i * 5 % 3);
        d.targets.push_back(i % 7 == 6 ? -1 : i % 4); // some are no class
    }
    return d;
}

void update(everything_tracker& t, std::size_t begin, std::size_t end) {
    static auto const d = data();
    std::vector<std::int16_t> const values(d.values.begin() + static_cast<std::ptrdiff_t>(begin),
                                           d.values.begin() + static_cast<std::ptrdiff_t>(end));
    t.update(tally::values(values), tally::predictions(d.predictions.data() + begin, end - begin),
             tally::targets(d.targets.data() + begin, end - begin));
}

bytes snapshot_of_one() {
    auto t = make();
    update(t, 0, 60);
    return tally::snapshot(t.finalize());
}

void check_same(tally::results<everything> const& a, tally::results<everything> const& b) {
    using namespace tally::literals;
    CHECK(a["loss"_metric].value() == b["loss"_metric].value());
    CHECK(a["items"_metric].value() == b["items"_metric].value());
    CHECK(a["spread"_metric].value() == doctest::Approx(b["spread"_metric].value()).epsilon(1e-13));
    CHECK(a["best"_metric].value() == b["best"_metric].value());
    CHECK(a["confusion"_metric].cells() == b["confusion"_metric].cells());
    CHECK(a["confusion"_metric].outside() == b["confusion"_metric].outside());
    CHECK(a.samples() == b.samples());
}

/// Rewrites the checksum, so that what lies behind it is reached.
bytes sealed(bytes snapshot) {
    auto const body = snapshot.size() - sizeof(std::uint64_t);
    auto const sum = tally::detail::checksum(std::span<std::byte const>(snapshot).first(body));
    std::memcpy(snapshot.data() + body, &sum, sizeof(sum));
    return snapshot;
}

template <class T>
bytes with(bytes snapshot, std::size_t offset, T value) {
    std::memcpy(snapshot.data() + offset, &value, sizeof(value));
    return snapshot;
}

/// The reason for which a tracker refuses a buffer; checks that it keeps its state.
std::string refusal(std::span<std::byte const> buffer) {
    auto t = make();
    update(t, 0, 7);
    auto const before = tally::snapshot(t.finalize());
    std::string reason = "accepted";
    try {
        t.restore(buffer);
    } catch (tally::snapshot_error const& refused) {
        reason = refused.what();
        CHECK(tally::snapshot(t.finalize()) == before);
    }
    return reason;
}

bool contains(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("snapshot: of 4 replicas, restored on 1, 3 and 8, then updated on") {
    auto whole = make();
    update(whole, 0, 60);
    auto const saved = tally::replicas{4}.run([](tally::thread_communicator& comm) {
        auto t = make();
        std::size_t const at[] = {0, 11, 11, 12, 40}; // unequal parts, one of them empty
        auto const rank = static_cast<std::size_t>(comm.rank());
        update(t, at[rank], at[rank + 1]);
        return t.snapshot(comm);
    });
    for (auto const& each : saved) {
        CHECK(each == saved[0]); // the same bytes on every replica
    }
    CHECK(tally::inspect_snapshot(saved[0]).replicas == 4);
    for (int const replicas : {1, 3, 8}) {
        tally::replicas{replicas}.run([&](tally::thread_communicator& comm) {
            auto t = make();
            update(t, 0, 5); // replaced
            t.restore(comm, saved[0]);
            CHECK((t.finalize().samples() != 0) == (comm.rank() == 0)); // identity on the others
            update(t, 40 + static_cast<std::size_t>(20 * comm.rank() / comm.size()),
                   40 + static_cast<std::size_t>(20 * (comm.rank() + 1) / comm.size()));
            check_same(t.combine(comm), whole.finalize());
        });
    }
}

TEST_CASE("snapshot: of one tracker, restored by another, in the same bytes") {
    auto const saved = snapshot_of_one();
    auto t = make();
    t.restore(saved);
    CHECK(tally::snapshot(t.finalize()) == saved);
    auto const empty = tally::snapshot(make().finalize());
    t.restore(empty);
    CHECK(t.finalize().samples() == 0);
    CHECK(t.finalize()[tally::metric_name<"best">{}].why() == tally::reason::no_samples);
}

TEST_CASE("snapshot: bytes at any address") {
    auto const saved = snapshot_of_one();
    bytes shifted(saved.size() + 8);
    for (std::size_t offset = 0; offset < 8; ++offset) {
        std::copy(saved.begin(), saved.end(), shifted.begin() + static_cast<std::ptrdiff_t>(offset));
        auto t = make();
        t.restore(std::span<std::byte const>(shifted).subspan(offset, saved.size()));
        CHECK(tally::snapshot(t.finalize()) == saved);
    }
}

TEST_CASE("snapshot: tells about itself") {
    auto const info = tally::inspect_snapshot(snapshot_of_one());
    CHECK(info.version == tally::snapshot_version);
    CHECK(info.replicas == 1);
    CHECK(info.metrics == std::vector<std::string>{"loss", "items", "spread", "best", "confusion"});
    auto t = make();
    CHECK(info.layout == tally::layout_hash<everything>(t.merged()));
}

TEST_CASE("snapshot: every changed byte is refused") {
    auto const saved = snapshot_of_one();
    for (std::size_t i = 0; i < saved.size(); ++i) {
        for (unsigned const flip : {0x01U, 0x80U, 0xffU}) {
            auto damaged = saved;
            damaged[i] ^= static_cast<std::byte>(flip);
            CAPTURE(i);
            CHECK_THROWS_AS((void)tally::inspect_snapshot(damaged), tally::snapshot_error);
        }
    }
    auto damaged = saved;
    damaged[200] ^= std::byte{1};
    CHECK(refusal(damaged) == "snapshot refused: damaged: the checksum does not match");
}

TEST_CASE("snapshot: truncated at any length, or extended, it is refused") {
    auto const saved = snapshot_of_one();
    for (std::size_t size = 0; size < saved.size(); ++size) {
        // A copy of exactly this size, so that a read behind it is one behind the allocation.
        bytes const cut(saved.begin(), saved.begin() + static_cast<std::ptrdiff_t>(size));
        CHECK_THROWS_AS((void)tally::inspect_snapshot(cut), tally::snapshot_error);
    }
    CHECK(contains(refusal(std::span(saved).first(100)), "truncated or extended: 100 bytes, the header says"));
    CHECK(contains(refusal(std::span(saved).first(50)), "truncated: 50 bytes are less than a header"));
    auto longer = saved;
    longer.push_back(std::byte{0});
    CHECK(contains(refusal(longer), "truncated or extended"));
    CHECK(refusal({}) == "snapshot refused: not a tally snapshot");
}

TEST_CASE("snapshot: foreign, newer and byte-swapped files are told apart") {
    auto const saved = snapshot_of_one();
    CHECK(refusal(sealed(with(saved, 0, 'X'))) == "snapshot refused: not a tally snapshot");
    CHECK(refusal(sealed(with(saved, 8, std::uint32_t{2}))) ==
          "snapshot refused: format version 2, this library reads version 1");
    CHECK(refusal(sealed(with(saved, 12, std::uint32_t{0x04030201}))) ==
          "snapshot refused: written on a machine of another byte order");
}

TEST_CASE("snapshot: sizes inside are checked against the buffer, whatever they say") {
    auto const saved = snapshot_of_one();
    std::size_t const replicas = 32;
    std::size_t const metrics = 40;
    std::size_t const sums = 48;
    std::uint64_t const hard[] = {0,
                                  1,
                                  saved.size(),
                                  std::uint64_t{1} << 32,
                                  std::uint64_t{1} << 60,
                                  (std::uint64_t{1} << 61) + 1,
                                  ~std::uint64_t{0}};
    for (std::size_t field = replicas; field <= 64; field += 8) {
        for (auto const value : hard) {
            std::uint64_t old = 0;
            std::memcpy(&old, saved.data() + field, sizeof(old));
            if (value == old || (field == replicas && value != 0)) {
                continue;
            }
            CAPTURE(field);
            CAPTURE(value);
            CHECK(contains(refusal(sealed(with(saved, field, value))), "snapshot refused: "));
        }
    }
    CHECK(refusal(sealed(with(saved, replicas, std::uint64_t{0}))) ==
          "snapshot refused: damaged: it covers no replica");
    CHECK(refusal(sealed(with(saved, metrics, ~std::uint64_t{0}))) ==
          "snapshot refused: damaged: more metrics than bytes");
    CHECK(refusal(sealed(with(saved, sums, ~std::uint64_t{0}))) ==
          "snapshot refused: damaged: the sizes of its parts don't add up");
    // Sizes that add up only modulo 2^64.
    std::uint64_t maxes = 0;
    std::memcpy(&maxes, saved.data() + sums + 8, sizeof(maxes));
    auto const wrapped = sealed(with(saved, sums + 8, maxes + (std::uint64_t{1} << 61)));
    CHECK_THROWS_AS((void)tally::inspect_snapshot(wrapped), tally::snapshot_error);
    // Sizes that add up, but differently: a word moved from one lane to the other.
    std::uint64_t words[2];
    std::memcpy(words, saved.data() + sums, sizeof(words));
    CHECK(refusal(sealed(with(with(saved, sums, words[0] - 1), sums + 8, words[1] + 1))) ==
          "snapshot refused: damaged: its sizes don't fit its layout");
    // A metric more, and a line more: everything else adds up.
    std::uint64_t lines = 0;
    std::memcpy(&lines, saved.data() + metrics, sizeof(lines));
    auto longer = with(saved, metrics, lines + 1);
    longer.insert(longer.begin() + 72, 64, std::byte{0});
    CHECK(refusal(sealed(with(longer, 16, std::uint64_t{longer.size()}))) ==
          "snapshot refused: damaged: its sizes don't fit its layout");
}

TEST_CASE("snapshot: another metric, name, policy or shape is refused by the name of the metric") {
    using tally::collection;
    using tally::named;
    using written = collection<named<"loss", tally::mean<>>, named<"confusion", tally::confusion_matrix<>>>;
    auto const saved = tally::snapshot(tally::host::tracker<written>{tally::num_classes{3}}.finalize());
    auto const refused_by = [&]<class M>(tally::host::tracker<M> t) {
        try {
            t.restore(saved);
        } catch (tally::snapshot_error const& refused) {
            return std::string(refused.what());
        }
        return std::string("accepted");
    };
    CHECK(refused_by(tally::host::tracker<written>{tally::num_classes{3}}) == "accepted");
    CHECK(refused_by(tally::host::tracker<written>{tally::num_classes{4}}) ==
          "snapshot refused: another layout: metric 1 is \"confusion\" there and \"confusion\" here (or has another "
          "type, "
          "policy or shape)");
    using other_name = collection<named<"error", tally::mean<>>, named<"confusion", tally::confusion_matrix<>>>;
    CHECK(refused_by(tally::host::tracker<other_name>{tally::num_classes{3}}) ==
          "snapshot refused: another layout: metric 0 is \"loss\" there and \"error\" here (or has another type, "
          "policy or "
          "shape)");
    using other_type = collection<named<"loss", tally::mean<double>>, named<"confusion", tally::confusion_matrix<>>>;
    CHECK(contains(refused_by(tally::host::tracker<other_type>{tally::num_classes{3}}), "metric 0 is \"loss\""));
    using other_policy =
        collection<named<"loss", tally::mean<>>,
                   named<"confusion", tally::confusion_matrix<tally::dynamic, tally::labels::ignore<0>>>>;
    CHECK(contains(refused_by(tally::host::tracker<other_policy>{tally::num_classes{3}}), "metric 1 is \"confusion\""));
    CHECK(contains(refused_by(tally::host::tracker<collection<named<"loss", tally::mean<>>>>{}),
                   "it holds a further metric \"confusion\""));
    using more = collection<named<"loss", tally::mean<>>, named<"confusion", tally::confusion_matrix<>>,
                            named<"best", tally::largest<>>>;
    CHECK(
        contains(refused_by(tally::host::tracker<more>{tally::num_classes{3}}), "metric 2 is \"\" there and \"best\""));
    CHECK(contains(refused_by(tally::host::tracker<tally::mean<>>{}), "another layout"));
}

TEST_CASE("snapshot: long names are cut, not run over") {
    using long_name = tally::collection<
        tally::named<"a name of more than fifty-five characters, which is all that fits", tally::mean<>>>;
    tally::host::tracker<long_name> t;
    auto const saved = tally::snapshot(t.finalize());
    CHECK(tally::inspect_snapshot(saved).metrics ==
          std::vector<std::string>{"a name of more than fifty-five characters, which is all"});
    t.restore(saved);
}

TEST_CASE("restore: a bad buffer throws the same on all replicas, and all keep their states") {
    auto damaged = snapshot_of_one();
    damaged[100] ^= std::byte{4};
    auto const reasons = tally::replicas{3}.run([&](tally::thread_communicator& comm) {
        auto t = make();
        update(t, 0, static_cast<std::size_t>(10 + comm.rank()));
        auto const before = tally::snapshot(t.finalize());
        std::string reason;
        try {
            t.restore(comm, comm.rank() == 0 ? std::span<std::byte const>(damaged) : std::span<std::byte const>{});
        } catch (tally::snapshot_error const& refused) {
            reason = refused.what();
        }
        CHECK(tally::snapshot(t.finalize()) == before);
        CHECK(t.combine(comm).samples() == 33); // the group goes on
        return reason;
    });
    CHECK(reasons == std::vector<std::string>(3, "snapshot refused: damaged: the checksum does not match"));
}

TEST_CASE("restore: only replica 0's buffer is read") {
    auto const saved = snapshot_of_one();
    tally::replicas{3}.run([&](tally::thread_communicator& comm) {
        auto t = make();
        bytes const garbage(17, std::byte{0x5a});
        t.restore(comm, comm.rank() == 0 ? std::span<std::byte const>(saved) : std::span<std::byte const>(garbage));
        CHECK(t.combine(comm).samples() == 60);
    });
}

TEST_CASE("restore: a lost replica leaves the states as they are") {
    auto const saved = snapshot_of_one();
    CHECK_THROWS_AS(tally::replicas{2}.run([&](tally::thread_communicator& comm) {
        auto t = make();
        update(t, 0, 9);
        if (comm.rank() == 1) {
            return;
        }
        auto const before = tally::snapshot(t.finalize());
        try {
            t.restore(comm, saved);
        } catch (tally::replica_lost const&) {
            CHECK(tally::snapshot(t.finalize()) == before);
            throw;
        }
    }),
                    tally::replica_lost);
}

TEST_CASE("reset: back to never updated, tables and bookkeeping included, and then as new") {
    auto t = make();
    auto const fresh = tally::snapshot(t.finalize());
    update(t, 0, 30);
    CHECK(tally::snapshot(t.finalize()) != fresh);
    t.reset();
    CHECK(tally::snapshot(t.finalize()) == fresh);
    update(t, 0, 60);
    CHECK(tally::snapshot(t.finalize()) == snapshot_of_one());
}
