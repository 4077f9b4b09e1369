// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>
#include <ballast/cost/degree_cost.hpp>
#include <ballast/sharding/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

// Global batches with long samples, and the costs of published models, for the benchmarks of sharding. All draws are integers.

namespace long_batches {

/// A set of lengths: quantiles of a published distribution, or a trace in the folder BALLAST_TRACES.
struct set {
  char const* name;
  std::vector<std::pair<int, std::int64_t>> quantiles;  // samples of 10,000 that are at most so long; uniform in between
  char const* file = nullptr;
  std::size_t columns = 0;  // summed into one length
};

inline std::vector<set> const sets{
    // Wikipedia as FlexSP has it (arXiv 2412.01523).
    {"wiki",
     {{0, 32},
      {2500, 150},
      {5000, 347},
      {7500, 862},
      {9000, 2112},
      {9500, 3721},
      {9840, 8192},
      {9900, 10921},
      {9987, 32768},
      {9990, 37367},
      {9998, 65536},
      {10000, 131072}}},
    // LMSYS-Chat-1M: shares as in Skrull (arXiv 2505.19609), lognormal below 4K.
    {"lmsys",
     {{0, 8}, {1000, 86}, {2500, 160}, {5000, 320}, {7500, 640}, {8712, 1024}, {9935, 4096}, {9987, 8192}, {9998, 32768}, {10000, 131072}}},
    // ProLong and a set like that of WLB-LLM, as DistCA has them (arXiv 2510.18121).
    {"prolong",
     {{0, 64},
      {1497, 1024},
      {5000, 1914},
      {7500, 3467},
      {9000, 6051},
      {9500, 8379},
      {9900, 16273},
      {9979, 32768},
      {9990, 47500},
      {10000, 131072}}},
    {"wlb",
     {{0, 64},
      {1596, 1024},
      {5000, 3227},
      {7500, 4832},
      {9000, 5784},
      {9500, 6110},
      {9763, 8192},
      {9900, 26070},
      {9911, 32768},
      {9990, 119836},
      {10000, 131072}}},
    {"mooncake", {}, "mooncake_fast25_conversation.txt", 2},
    {"servegen", {}, "servegen_deepseek_r1_sampled.txt", 2},
    {"repositories", {}, "repo_source_files_approx.txt", 1},
};

/// `batches` times `samples` lengths of at most `longest`. Empty if a trace is not there.
inline std::vector<std::vector<std::int64_t>> draw(set const& from, std::size_t batches, std::size_t samples, std::int64_t longest) {
  ballast::splitmix64 random(7);
  std::vector<std::int64_t> trace;
  if (from.file != nullptr) {
    auto const* const folder = std::getenv("BALLAST_TRACES");
    std::ifstream in(folder == nullptr ? std::string() : std::string(folder) + "/" + from.file);
    for (std::string line; std::getline(in, line);) {
      std::istringstream fields(line);
      std::int64_t sum = 0, value = 0;
      for (std::size_t c = 0; c < from.columns && fields >> value; ++c) sum += value;
      if (sum > 0) trace.push_back(sum);
    }
    if (trace.empty()) return {};
  }
  auto const one = [&]() -> std::int64_t {
    if (!trace.empty()) return trace[static_cast<std::size_t>(ballast::uniform_below(trace.size(), random))];
    auto const at = static_cast<int>(ballast::uniform_below(10000, random));
    std::size_t q = 1;
    while (from.quantiles[q].first <= at) ++q;
    auto const low = from.quantiles[q - 1].second, high = from.quantiles[q].second;
    return low + static_cast<std::int64_t>(ballast::uniform_below(static_cast<std::uint64_t>(high - low + 1), random));
  };
  std::vector<std::vector<std::int64_t>> out(batches, std::vector<std::int64_t>(samples));
  for (auto& batch : out)
    for (auto& length : batch) length = (std::min)((std::max)(one(), std::int64_t{16}), longest);
  return out;
}

/// A model on a cluster: cost of a sample, tokens that a rank has memory for, fixed time of a pass in nanoseconds.
struct model {
  char const* name;
  ballast::degree_cost cost;
  std::int64_t capacity, cost_per_pass;
  std::int64_t states = 0;  // bytes of states over all ranks; with them `usable` bytes and bytes per token give the capacity
  std::int64_t usable = 0, token = 1;

  [[nodiscard]] ballast::sharding_options options(std::uint64_t ranks, ballast::execution policy) const {
    auto const tokens = usable == 0 ? capacity : (usable - states / static_cast<std::int64_t>(ranks)) / token;
    return {.capacity = tokens, .ranks = ranks, .cost_per_pass = cost_per_pass, .execution = policy};
  }
};

/// FlexSP's fitted 7B model on A100 with 40 GB, the same with 80 GB; Skrull's equation 13, three times, at 400 TFLOP/s, for Qwen2.5 of
/// 0.5B and 7B, with an all-gather and a reduce-scatter of keys and values at 6.4 us per MB in a node and four times that beyond. Groups of
/// more than 64 ranks of FlexSP, and the fixed times of Skrull, are assumed.
inline std::vector<model> const models{
    {"flexsp_40gb",
     {.linear = 183957600,
      .square = 5128,
      .exchange = {0, 8771758, 5037840, 2716518, 12688480, 11032997, 6728542, 3640889, 1911538, 1010000, 533000}},
     0,
     629356300,
     112000000000,
     36000000000,
     4480000},
    {"flexsp_80gb",
     {.linear = 183957600,
      .square = 5128,
      .exchange = {0, 8771758, 5037840, 2716518, 12688480, 11032997, 6728542, 3640889, 1911538, 1010000, 533000}},
     0,
     629356300,
     112000000000,
     76000000000,
     4480000},
    {"skrull_0.5b", {.linear = 2972713, .square = 645, .exchange = {0, 157286, 157286, 157286, 629146}}, 26624, 10000000},
    {"skrull_7b", {.linear = 55490642, .square = 3011, .exchange = {0, 734003, 734003, 734003, 2936013}}, 13312, 30000000},
};

}  // namespace long_batches
