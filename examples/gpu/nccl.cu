// SPDX-License-Identifier: Apache-2.0
// Packs a data set that is spread over GPUs as one. The ranks exchange counts of lengths by ncclAllGather, and no sample moves: a thread of
// this program for each of up to two GPUs, as a process of your trainer is. Without nvcc the ranks are two threads, and memory is
// exchanged.
#include <ballast/core/random.hpp>
#include <ballast/gpu/packing/sharded.cuh>
#include <ballast/packing/best_fit_decreasing.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#if defined(__CUDACC__)
#include <ballast/gpu/core/on_stream.cuh>

#include <nccl.h>
#else
#include <ballast/gpu/core/on_host.cuh>

#include <barrier>
#endif

namespace gpu = ballast::gpu;

namespace {

// The lengths in tokens of the samples of one rank. Yours come from its part of the data set.
std::vector<std::int32_t> shard_of(std::size_t rank) {
  std::vector<std::int32_t> lengths(50000 + 1000 * rank);
  ballast::splitmix64 draw(rank);
  for (auto& l : lengths) {
    auto const size = draw();
    l = static_cast<std::int32_t>(1 + size % (draw() % 16 == 0 ? 8192 : 700));
  }
  return lengths;
}

// Packs the shard of one rank, and returns whether its samples are where one rank for everything would put them.
template <class On, class AllGather>
bool pack_shard(On on, std::size_t rank, std::size_t ranks, AllGather const& all_gather) {
  ballast::packing_options const options{.capacity = 8192};
  auto const lengths = gpu::send(on, shard_of(rank));
  auto const here = gpu::pack_sharded(on, lengths.data(), lengths.size(), options, rank, ranks, all_gather);
  auto const pack = gpu::fetch(on, here.pack);
  auto const slot = gpu::fetch(on, here.slot);

  std::vector<std::int32_t> everything;
  std::size_t first = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    if (r == rank) first = everything.size();
    auto const shard = shard_of(r);
    everything.insert(everything.end(), shard.begin(), shard.end());
  }
  auto const whole = ballast::best_fit_decreasing(everything, options);
  for (std::size_t i = 0; i < pack.size(); ++i)
    if (whole.packs[static_cast<std::size_t>(pack[i])][slot[i]] != first + i) return false;
  return here.tally.count == whole.count;
}

}  // namespace

#if defined(__CUDACC__)

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return std::puts("no CUDA device: skipped"), 77;
  auto const ranks = static_cast<std::size_t>(devices < 2 ? 1 : 2);
  ncclUniqueId id;
  if (ncclGetUniqueId(&id) != ncclSuccess) return std::puts("NCCL does not start"), 1;
  std::vector<char> right(ranks);
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      cudaSetDevice(static_cast<int>(rank));
      cudaStream_t stream = nullptr;
      ncclComm_t comm = nullptr;
      gpu::check(cudaStreamCreate(&stream), "cudaStreamCreate");
      gpu::check(ncclCommInitRank(&comm, static_cast<int>(ranks), id, static_cast<int>(rank)), "ncclCommInitRank");
      right[rank] = pack_shard(gpu::on_stream{stream}, rank, ranks, [&](std::uint64_t const* from, std::uint64_t* to, std::size_t words) {
        gpu::check(ncclAllGather(from, to, words, ncclUint64, comm, stream), "ncclAllGather");
      });
      ncclCommDestroy(comm);
      cudaStreamDestroy(stream);
    });
  for (auto& thread : threads) thread.join();
  for (auto const each : right)
    if (each == 0) return std::puts("a rank has other packs than one rank for everything"), 1;
  std::printf("%zu GPUs packed as one\n", ranks);
}

#else

int main() {
  constexpr std::size_t ranks = 2;
  std::uint64_t const* sent[ranks] = {};
  std::barrier all_here(ranks);
  bool right[ranks] = {};
  auto const run = [&](std::size_t rank) {
    right[rank] = pack_shard(gpu::on_host{}, rank, ranks, [&](std::uint64_t const* from, std::uint64_t* to, std::size_t words) {
      sent[rank] = from;
      all_here.arrive_and_wait();
      for (auto const* const words_of_rank : sent)
        for (std::size_t w = 0; w < words; ++w) *to++ = words_of_rank[w];
      all_here.arrive_and_wait();
    });
  };
  std::thread other(run, 1);
  run(0);
  other.join();
  if (!right[0] || !right[1]) return std::puts("a rank has other packs than one rank for everything"), 1;
  std::printf("%zu threads packed as one\n", ranks);
}

#endif
