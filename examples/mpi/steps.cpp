// SPDX-License-Identifier: Apache-2.0
// Plans the steps of a data set that is spread over MPI processes, each of which trains on its own samples: no sample moves, and planning
// exchanges two numbers. All processes have equally many steps, and the micro-batches of a step cost nearly the same on all of them.
#include <ballast/balance.hpp>
#include <ballast/core/random.hpp>
#include <ballast/cost.hpp>
#include <ballast/packing.hpp>

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <numeric>
#include <vector>

namespace {

constexpr std::int64_t capacity = 16384;
constexpr std::int64_t micro_batches = 2;

// The lengths in tokens of the samples of one process. Yours come from its part of the data set.
std::vector<std::int64_t> shard_of(int rank) {
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(20000 + 100 * rank));
  ballast::splitmix64 draw(static_cast<std::uint64_t>(rank) + 1);
  for (auto& l : lengths) {
    auto const size = draw();
    l = static_cast<std::int64_t>(1 + size % (draw() % 16 == 0 ? 8192 : 700));
  }
  return lengths;
}

std::int64_t reduced(std::int64_t mine, MPI_Op how) {
  MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_INT64_T, how, MPI_COMM_WORLD);
  return mine;
}

// Splits the samples of this process into that many packs of nearly equal cost, cheapest first. Without a plan there are none.
template <class Cost>
ballast::groups<> packs_of(std::vector<std::int64_t> const& lengths, std::int64_t count, Cost const& cost,
                           std::vector<std::int64_t>& costs) {
  auto const sets = ballast::balance(lengths, {.sets = static_cast<std::uint64_t>(count), .capacity = capacity}, cost).sets;
  std::vector<std::int64_t> cost_of;
  for (auto const set : sets)
    cost_of.push_back(std::accumulate(set.begin(), set.end(), std::int64_t{0}, [&](auto sum, auto i) { return sum + cost(lengths[i]); }));
  std::vector<std::uint32_t> order(sets.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [&](auto a, auto b) { return cost_of[a] != cost_of[b] ? cost_of[a] < cost_of[b] : a < b; });
  ballast::groups<> packs;
  costs.clear();
  for (auto const set : order) packs.push_back(sets[set]), costs.push_back(cost_of[set]);
  return packs;
}

// Whether every sample is in one pack, and no pack exceeds the capacity.
bool legal(ballast::groups<> const& packs, std::vector<std::int64_t> const& lengths) {
  std::vector<int> seen(lengths.size());
  for (auto const pack : packs) {
    std::int64_t tokens = 0;
    for (auto const i : pack) tokens += lengths[i], ++seen[i];
    if (tokens > capacity) return false;
  }
  return std::ranges::all_of(seen, [](int n) { return n == 1; });
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  auto const lengths = shard_of(rank);
  auto const cost = ballast::sample_cost(ballast::transformer_preset("llama-3.1-8b"));

  auto const needed = static_cast<std::int64_t>(ballast::pack(lengths, {.capacity = capacity}).packs.size());
  auto steps = reduced((needed + micro_batches - 1) / micro_batches, MPI_MAX);  // as many as the process that needs most
  std::vector<std::int64_t> costs;
  auto packs = packs_of(lengths, steps * micro_batches, cost, costs);
  while (reduced(packs.empty() ? 1 : 0, MPI_MAX) != 0)  // a process found no room: one more step for all
    packs = packs_of(lengths, ++steps * micro_batches, cost, costs);

  // Packs are in the order of their costs on every process, so the packs of a step match. The same seed gives all the same random order.
  auto const order = ballast::random_permutation(static_cast<std::size_t>(steps), 2026);
  std::vector<std::int64_t> mine;  // cost of each step
  for (auto const s : order) {
    auto const first = static_cast<std::ptrdiff_t>(s) * micro_batches;  // train on packs[first] and those that follow
    mine.push_back(std::accumulate(costs.begin() + first, costs.begin() + first + micro_batches, std::int64_t{0}));
  }

  // The rest only checks and reports: a step lasts as long as its slowest process.
  std::int64_t slowest = 0;
  for (auto const c : mine) slowest += reduced(c, MPI_MAX);
  auto const work = std::accumulate(mine.begin(), mine.end(), std::int64_t{0});
  auto const mean = static_cast<double>(reduced(work, MPI_SUM)) / ranks;
  auto const largest = static_cast<double>(reduced(work, MPI_MAX));  // no plan that moves no sample is faster
  auto const good = legal(packs, lengths) && static_cast<double>(slowest) < 1.01 * largest;
  auto const failed = reduced(good ? 0 : 1, MPI_SUM);
  if (rank == 0)
    std::cout << steps << " steps on each of " << ranks << " processes; idle " << 100 * (1 - mean / static_cast<double>(slowest))
              << " %, and " << 100 * (1 - mean / largest) << " % at least, because samples stay where they are\n";
  MPI_Finalize();
  return failed == 0 ? 0 : 1;
}
