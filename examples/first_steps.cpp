// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The listing of the README: four replicas see uneven parts of the data, one of them nothing, and all get the values
// of the whole.
// listing-begin
#include <tally/tally.hpp>

#include <cstdio>
#include <vector>

using namespace tally::literals;

using evaluation = tally::collection<                        //
    tally::named<"loss", tally::log_loss<>>,                 //
    tally::named<"top-1", tally::accuracy<>>,                //
    tally::named<"top-2", tally::accuracy<tally::top_k<2>>>, //
    tally::named<"macro F1", tally::f1<tally::classes<3>>>>;

int main() {
    std::vector<float> const logits{2, 1, 0, /**/ 0, 3, 1, /**/ 1, 2, 0, /**/ 0, 1, 4, /**/ 1, 0, 3};
    std::vector<int> const labels{0, 1, 0, 2, 1};
    std::size_t const first[] = {0, 3, 3, 4, 5}; // replica r takes the rows [first[r], first[r + 1])

    tally::replicas{4}.run([&](tally::thread_communicator& comm) {
        auto const begin = first[comm.rank()];
        auto const rows = first[comm.rank() + 1] - begin;
        tally::host::tracker<evaluation> tracker;
        tracker.update(tally::scores(logits.data() + 3 * begin, rows, 3), tally::targets(labels.data() + begin, rows));

        auto const all = tracker.combine(comm); // one message; the tracker keeps its own part
        if (comm.rank() == 0) {
            std::printf("top-1 %.2f  top-2 %.2f  loss %.4f  macro F1 %.4f\n", all["top-1"_metric].value(),
                        all["top-2"_metric].value(), all["loss"_metric].value(), all["macro F1"_metric].value());
        }
    });
}
// listing-end
