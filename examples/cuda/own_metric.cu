// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A metric of your own on a GPU: the same struct as on the host. Each part of its state says how it is combined between
// replicas: counts are added up, of the excess the largest counts.
#include "device.hpp"

#include <tally/cuda.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

// listing-begin
struct clipping {
    tally::result<double> share; ///< of gradients larger than 1
    double worst_excess;         ///< sum of what was above 1, on the replica where it is the largest
};

struct clipped_gradients {
    struct state {
        tally::count clipped;                                     // added up between replicas
        tally::count seen;                                        // likewise
        tally::across<tally::op::max, tally::sum<double>> excess; // added up inside a replica, largest between them
    };
    TALLY_HD static auto observe(tally::value<float> gradient) {
        float const excess = std::fabs(gradient) - 1.0F;
        return tally::contribute(when(excess > 0.0F, tally::one), tally::one, excess > 0.0F ? excess : 0.0F);
    }
    TALLY_HD static clipping finalize(state const& s) { return {tally::ratio(s.clipped, s.seen), s.excess.value()}; }
};
// listing-end

int main() {
    if (!device_present()) {
        return 0;
    }
    auto const values = tally::replicas{2}.run([](tally::thread_communicator& comm) {
        on_device<float> const gradients(comm.rank() == 0 ? std::vector<float>{0.5F, -2.0F, 0.25F}
                                                          : std::vector<float>{4.0F});
        tally::cuda::tracker<clipped_gradients> tracker; // on the current device; here the replicas share one
        tracker.update(tally::values(gradients.data(), gradients.size()));
        return tracker.combine(comm).get();
    });
    std::printf("clipped: %.2f of all gradients; the worst replica's excess is %.1f\n", values[0].share.value(),
                values[0].worst_excess);
    return values[0].share.value() == 0.5 && values[1].worst_excess == 3.0 ? 0 : 1;
}
