// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// MPI starts one process for each GPU, on any number of machines; NCCL joins the GPUs. MPI only carries the id that NCCL
// needs to find the others: nccl_over takes care of it.
//
//     mpirun -n 4 mpi_one_gpu_each
#include "cuda/device.hpp"

#include <tally/comm/all_reduce.hpp>
#include <tally/cuda.hpp>
#include <tally/mpi.hpp>
#include <tally/nccl.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <vector>

using namespace tally::literals;

namespace {

// listing-begin
/// The GPU of this process: the processes of a machine take one each, in the order of their ranks, unless the launcher
/// shows each of them one of its own. -1 if there is none. NCCL refuses a GPU that two processes have.
int own_gpu() {
    MPI_Comm machine = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    int place = 0;
    MPI_Comm_rank(machine, &place);
    MPI_Comm_free(&machine);
    int gpus = 0;
    return cudaGetDeviceCount(&gpus) == cudaSuccess && gpus != 0 ? place % gpus : -1;
}

using evaluation = tally::collection<tally::named<"loss", tally::mean<>>, tally::named<"worst", tally::largest<>>>;

/// Whether the values are those of all processes.
bool evaluate(tally::mpi_communicator& processes) {
    auto comm = tally::nccl_over(processes); // the same ranks, on the current device
    on_device<float> const losses(std::vector<float>(100, static_cast<float>(comm.rank())));
    tally::cuda::tracker<evaluation> tracker{comm.stream()};
    tracker.update(tally::values(losses.data(), losses.size()));
    auto const all = tracker.combine(comm); // on every process
    if (comm.rank() == 0) {
        std::printf("loss %.2f, worst %.0f, of %d processes with a GPU each\n", all["loss"_metric].value(),
                    all["worst"_metric].value(), all.replicas());
    }
    return all["loss"_metric].value() == (comm.size() - 1) / 2.0;
}
// listing-end

int run() {
    tally::mpi_communicator processes{MPI_COMM_WORLD};
    auto const gpu = own_gpu();
    std::vector<int> without(1, gpu < 0 ? 1 : 0);
    tally::all_reduce(processes, std::span(without), tally::op::sum{}); // all of them know whether all can start
    if (without[0] != 0) {
        if (processes.rank() == 0) {
            std::printf("%d of %d processes find no GPU: start them where there are some, or use tally::host::tracker "
                        "over MPI, "
                        "which needs none\n",
                        without[0], processes.size());
        }
        return EXIT_SUCCESS;
    }
    tally::cuda::check(cudaSetDevice(gpu), "cudaSetDevice");
    return evaluate(processes) ? EXIT_SUCCESS : EXIT_FAILURE;
}

} // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int status = EXIT_FAILURE;
    try {
        status = run();
    } catch (std::exception const& error) {
        std::fprintf(stderr, "mpi_one_gpu_each: %s\n", error.what());
    }
    MPI_Finalize();
    return status;
}
