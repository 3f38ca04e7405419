// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Choosing how a state is combined across replicas: `across<Op, Accumulator>` accumulates as before inside a replica and
// combines by Op between them. Op is one of tally::op, or a type of your own.
#include <tally/tally.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

// listing-begin
/// Items a second of the whole job: items are added up, but replicas work side by side, so the slowest one's time counts.
struct items_per_second {
    struct state {
        tally::sum<std::uint64_t> items;                                // added up
        tally::across<tally::op::max, tally::sum<double>> busy_seconds; // added up inside a replica, largest between
    };
    TALLY_HD static auto observe(tally::input<"items", std::uint64_t> n, tally::input<"seconds", double> t) {
        return tally::contribute(n.value, t.value);
    }
    TALLY_HD static auto finalize(state const& s) { return tally::ratio(s.items, s.busy_seconds); }
};

/// An operation of your own: of two replicas, the one that did more wins. Applied in rank order.
struct keep_larger_count {
    static void merge(tally::moments& into, tally::moments const& next) {
        if (next.deposits() > into.deposits()) {
            into = next;
        }
    }
};
// listing-end

/// The mean loss of the replica that saw most samples.
struct loss_of_busiest {
    struct state {
        tally::across<keep_larger_count, tally::moments> loss;
    };
    TALLY_HD static auto observe(tally::value<float> x) { return tally::contribute(x.value); }
    TALLY_HD static tally::result<double> finalize(state const& s) { return s.loss.get().mean(); }
};

int main() {
    struct answers {
        double local, global, busiest;
    };
    auto const all = tally::replicas{8}.run([&](tally::thread_communicator& comm) {
        tally::host::tracker<items_per_second> speed;
        speed.update(tally::inputs<"items">(std::vector<std::uint64_t>{60, 40}),
                     tally::inputs<"seconds">(std::vector<double>{1.5, 0.5}));
        tally::host::tracker<loss_of_busiest> loss;
        std::vector<float> const losses(static_cast<std::size_t>(comm.rank() == 3 ? 9 : 2),
                                        static_cast<float>(comm.rank()));
        loss.update(tally::values(losses));
        return answers{speed.finalize().value(), speed.combine(comm).value(), loss.combine(comm).value()};
    });
    std::printf("each replica %.0f items/s, all together %.0f items/s; the busiest replica's loss is %.0f\n",
                all[0].local, all[0].global, all[0].busiest);
    return all[0].local == 50 && all[0].global == 400 && all[0].busiest == 3 ? 0 : 1;
}
