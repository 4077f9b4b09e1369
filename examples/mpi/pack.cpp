// SPDX-License-Identifier: Apache-2.0
// Packs a data set that is spread over MPI processes as one. The processes exchange counts of lengths, and no sample moves.
#include <ballast/core/random.hpp>
#include <ballast/gpu/core/on_host.cuh>
#include <ballast/gpu/packing/sharded.cuh>
#include <ballast/packing/best_fit_decreasing.hpp>

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <vector>

namespace {

// The lengths in tokens of the samples of one process. Yours come from its part of the data set.
std::vector<std::int32_t> shard_of(int rank) {
  std::vector<std::int32_t> lengths(static_cast<std::size_t>(50000 + 1000 * rank));
  ballast::splitmix64 draw(static_cast<std::uint64_t>(rank));
  for (auto& l : lengths) {
    auto const size = draw();
    l = static_cast<std::int32_t>(1 + size % (draw() % 16 == 0 ? 8192 : 700));
  }
  return lengths;
}

// Checks that this process got the same places as if one process had packed everything.
bool as_in_one_process(ballast::gpu::shard_places<ballast::gpu::on_host> const& here, int rank, int ranks,
                       ballast::packing_options const& options) {
  std::vector<std::int32_t> everything;
  std::size_t first = 0;
  for (int r = 0; r < ranks; ++r) {
    if (r == rank) first = everything.size();
    auto const shard = shard_of(r);
    everything.insert(everything.end(), shard.begin(), shard.end());
  }
  auto const whole = ballast::best_fit_decreasing(everything, options);
  for (std::size_t i = 0; i < here.pack.size(); ++i)
    if (whole.packs[here.pack.data()[i]][here.slot.data()[i]] != first + i) return false;
  return here.tally.count == whole.count;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  auto const lengths = shard_of(rank);
  ballast::packing_options const options{.capacity = 8192};
  auto const all_gather = [](std::uint64_t const* from, std::uint64_t* to, std::size_t words) {
    auto const count = static_cast<int>(words);
    MPI_Allgather(from, count, MPI_UINT64_T, to, count, MPI_UINT64_T, MPI_COMM_WORLD);
  };
  // If the lengths are on a GPU, pass ballast::gpu::on_stream{stream}, a device pointer, and ncclAllGather (examples/gpu/nccl.cu).
  auto const here = ballast::gpu::pack_sharded(ballast::gpu::on_host{}, lengths.data(), lengths.size(), options,
                                               static_cast<std::size_t>(rank), static_cast<std::size_t>(ranks), all_gather);

  int failed = as_in_one_process(here, rank, ranks, options) ? 0 : 1;
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    std::cout << here.plan.samples << " samples of " << ranks << " processes in " << here.tally.count.value << " packs, at least "
              << here.tally.count.lower_bound << " needed; each process sent " << options.capacity + 2 << " words\n";
  MPI_Finalize();
  return failed;
}
