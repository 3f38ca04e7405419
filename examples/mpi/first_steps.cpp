// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The smallest program over MPI: processes see uneven parts of the data, and all get the values of the whole.
// Start it with mpirun -n 4; any other number works as well.
// listing-begin
#include <tally/mpi.hpp>
#include <tally/tally.hpp>

#include <cstddef>
#include <cstdio>
#include <vector>

using namespace tally::literals;

using evaluation = tally::collection<                        //
    tally::named<"loss", tally::log_loss<>>,                 //
    tally::named<"top-1", tally::accuracy<>>,                //
    tally::named<"top-2", tally::accuracy<tally::top_k<2>>>, //
    tally::named<"macro F1", tally::f1<tally::classes<3>>>>;

void evaluate() {
    std::vector<float> const logits{2, 1, 0, /**/ 0, 3, 1, /**/ 1, 2, 0, /**/ 0, 1, 4, /**/ 1, 0, 3};
    std::vector<int> const labels{0, 1, 0, 2, 1};

    tally::mpi_communicator comm{MPI_COMM_WORLD}; // a duplicate: its messages never meet yours
    auto const rank = static_cast<std::size_t>(comm.rank());
    auto const size = static_cast<std::size_t>(comm.size());
    tally::host::tracker<evaluation> tracker;
    for (auto row = rank; row < labels.size(); row += size) {
        tracker.update(tally::scores(logits.data() + 3 * row, 1, 3), tally::targets(labels.data() + row, 1));
    }

    auto const all = tracker.combine(comm); // one message; the tracker keeps its own part
    if (comm.rank() == 0) {
        std::printf("top-1 %.2f  top-2 %.2f  loss %.4f  macro F1 %.4f\n", all["top-1"_metric].value(),
                    all["top-2"_metric].value(), all["loss"_metric].value(), all["macro F1"_metric].value());
    }
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    evaluate(); // its communicator ends before MPI does
    MPI_Finalize();
}
// listing-end
