// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>
#include <ballast/cost/communication.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/model_degree_cost.hpp>
#include <ballast/methods/megatron_dp_balanced.hpp>
#include <ballast/methods/megatron_dynamic_cp.hpp>
#include <ballast/methods/slime.hpp>
#include <ballast/sharding.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

// `bench_sharding --counts`: small batches on every number of GPUs, beside the schedulers that frameworks run. Twelve batches of each
// number: 2, 4 and 8 samples a GPU of four sets of lengths, llama-3.1-8b on H100 at 40 % of the peak, 8,192 tokens a pass.
// `bench_sharding --batches`: the same for the batches in the folder rivals of BALLAST_TRACES.

namespace sharding_counts {

using numbers = std::vector<std::int64_t>;
constexpr std::int64_t capacity = 8192, cost_per_pass = 14'400'000;
constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

/// A batch of one of four sets, drawn in integers; no sample is longer than all GPUs together hold.
inline numbers draw(std::uint64_t gpus, std::size_t samples, int set) {
  ballast::splitmix64 random(1000 * gpus + 10 * samples + static_cast<std::uint64_t>(set));
  auto const between = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(ballast::uniform_below(static_cast<std::uint64_t>(high - low + 1), random));
  };
  auto const one = [&] {
    if (set == 0) return between(0, 9) == 0 ? between(20'000, 50'000) : between(200, 4'000);  // one in ten is long
    if (set == 1) return between(1'000, 32'768);
    auto length = set == 2 ? std::int64_t{300} : std::int64_t{900};  // each octave half as often; the last ones are rare
    while (length < 200'000 && between(0, set == 2 ? 1 : 2) != 0) length *= 2;
    return between(length, 2 * length);
  };
  numbers out(samples);
  for (auto& l : out) l = (std::min)(one(), capacity * static_cast<std::int64_t>(gpus));
  return out;
}

/// Packs in the given order, or the longest first, each on `width` GPUs; in turn to the groups.
inline std::int64_t next_fit(numbers lengths, ballast::sharding_options const& o, ballast::degree_cost const& cost, std::int64_t width,
                             bool sorted) {
  if (sorted) std::sort(lengths.rbegin(), lengths.rend());
  numbers packs;
  std::int64_t tokens = 0;
  for (auto const l : lengths) {
    if (l > o.capacity * width) return never;
    if (packs.empty() || tokens + l > o.capacity * width) {
      packs.push_back(o.cost_per_pass);
      tokens = 0;
    }
    tokens += l;
    packs.back() += cost(l, width);
  }
  auto const groups = static_cast<std::size_t>(o.ranks) / static_cast<std::size_t>(width);
  numbers load(groups, 0);
  std::int64_t sum = 0;
  for (std::size_t p = 0; p < packs.size(); ++p) load[p % groups] += packs[p];
  for (std::size_t p = 0; p < packs.size(); p += groups)
    sum += *std::max_element(packs.begin() + static_cast<std::ptrdiff_t>(p),
                             packs.begin() + static_cast<std::ptrdiff_t>((std::min)(p + groups, packs.size())));
  return o.execution == ballast::execution::lockstep ? sum : *std::max_element(load.begin(), load.end());
}

struct rival {
  char const* name;
  std::function<std::int64_t(numbers const&, ballast::sharding_options const&, ballast::degree_cost const&)> time;
};
inline std::vector<rival> rivals() {
  auto const of = [](ballast::shards<> const& plan) { return plan.status == ballast::status::feasible ? plan.time.value : never; };
  auto const model = ballast::transformer_preset("llama-3.1-8b");
  return {{"next fit at every divisor",
           [](auto const& lengths, auto const& o, auto const& cost) {
             auto best = never;
             for (std::int64_t width = 1; width <= static_cast<std::int64_t>(o.ranks); ++width)
               for (auto const sorted : {false, true})
                 if (static_cast<std::int64_t>(o.ranks) % width == 0) best = (std::min)(best, next_fit(lengths, o, cost, width, sorted));
             return best;
           }},
          {"default_dynamic_cp",
           [of](auto const& lengths, auto const& o, auto const& cost) {
             return of(ballast::megatron_dynamic_cp::schedule(
                 lengths, {.capacity = o.capacity, .ranks = o.ranks, .cost_per_pass = o.cost_per_pass, .execution = o.execution}, cost));
           }},
          {"dp_balanced", [of](auto const& lengths, auto const& o,
                               auto const& cost) { return of(ballast::megatron_dp_balanced::schedule(lengths, o, cost)); }},
          {"slime", [of, model](auto const& lengths, auto const& o, auto const& cost) {
             return of(ballast::slime::schedule(lengths, o, cost, ballast::slime::workload(model)));
           }}};
}

/// Ratios of one number of GPUs, or of all.
struct ratios {
  double sum = 0, worst = 0;
  int count = 0, behind = 0;
  void add(double ratio) {
    sum += std::log(ratio);
    worst = (std::max)(worst, ratio);
    behind += ratio > 1.001;
    ++count;
  }
  [[nodiscard]] double mean() const { return count == 0 ? 1 : std::exp(sum / count); }
};

/// The numbers of GPUs that a word names: "all", one or a range; several of interest for an empty word.
inline std::vector<std::uint64_t> counts_of(std::string const& word) {
  if (word.empty()) return {3, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24, 28, 32, 48, 56, 64, 96};
  auto const dash = word.find('-');
  auto const first = word == "all" ? 1 : std::strtoull(word.c_str(), nullptr, 10);
  auto const last = word == "all" ? 128 : dash == std::string::npos ? first : std::strtoull(word.c_str() + dash + 1, nullptr, 10);
  std::vector<std::uint64_t> out;
  for (auto gpus = (std::max)(first, 1ULL); gpus <= last; ++gpus) out.push_back(gpus);
  return out;
}

/// Plans of one batch under one policy: as they are, and with groups of 1, 2, 4, ... GPUs alone.
struct planned {
  std::int64_t best = never;  ///< of the rivals
  char const* by = "";
  std::int64_t now = never, before = never, lower = 0;
  double clocks[2]{};  ///< now, before
};
inline planned plan(numbers const& lengths, std::uint64_t gpus, ballast::execution policy, std::vector<rival> const& others) {
  auto const& h100 = ballast::device_named("h100");
  auto const cost = ballast::degree_cost_of(ballast::transformer_preset("llama-3.1-8b"), h100, ballast::datasheet_fabric(h100),
                                            {.ranks = static_cast<std::int64_t>(gpus), .tokens = capacity});
  ballast::sharding_options o{.capacity = capacity, .ranks = gpus, .cost_per_pass = cost_per_pass, .execution = policy};
  planned out;
  for (auto const& r : others)
    if (auto const time = r.time(lengths, o, cost); time < out.best) {
      out.best = time;
      out.by = r.name;
    }
  for (auto const k : {0, 1}) {
    if (k == 1) o.sizes = ballast::group_sizes::powers_of_two;
    auto const begin = std::clock();
    auto const shards = plan_shards(lengths, o, cost);
    out.clocks[k] = static_cast<double>(std::clock() - begin);
    if (shards.status != ballast::status::feasible) continue;
    if (!check_shards(shards, lengths, o).valid() || shards.time.value < shards.time.lower_bound) std::puts("not a valid plan");
    (k == 0 ? out.now : out.before) = shards.time.value;
    if (k == 0) out.lower = shards.time.lower_bound;
  }
  return out;
}

/// Ratios of the plans of both policies to the best rival, now and before.
struct sums {
  ratios now[2], before[2];  ///< ranks free, in lockstep
  double clocks[2]{};
  void add(planned const& p, int policy) {
    now[policy].add(static_cast<double>(p.now) / static_cast<double>(p.best));
    if (p.before != never) before[policy].add(static_cast<double>(p.before) / static_cast<double>(p.best));
    for (auto const k : {0, 1}) clocks[k] += p.clocks[k];
  }
  void print() const {
    for (auto const k : {0, 1})
      std::printf(" %.3f | %.3f | %d | %.3f | %.3f | %d |", now[k].mean(), now[k].worst, now[k].behind, before[k].mean(), before[k].worst,
                  now[k].count - before[k].count);
    std::printf(" %.1f |\n", clocks[0] / clocks[1]);
    std::fflush(stdout);
  }
};
inline constexpr ballast::execution policies[]{ballast::execution::mixed, ballast::execution::lockstep};

inline void print_head(char const* first) {
  std::puts(
      "Modelled time of plan_shards over that of the best rival. Before: groups of 1, 2, 4, ... GPUs alone. Behind: batches in which it "
      "is");
  std::puts("more than 0.1 % slower. No plan: batches whose longest sample needs more GPUs than the largest power of two.\n");
  std::printf("| %s | ranks free: mean | worst | behind | before: mean | worst | no plan |", first);
  std::puts(" lockstep: mean | worst | behind | before: mean | worst | no plan | planning time over before |");
  std::puts("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
}

/// Prints a row for each number of GPUs. Returns whether no plan is more than 0.1 % behind the best rival.
inline bool print_counts(std::string const& word) {
  print_head("GPUs");
  auto const others = rivals();
  sums all;
  std::map<std::string, int> best_rival;
  for (auto const gpus : counts_of(word)) {
    sums of;
    for (auto const each : {2U, 4U, 8U})
      for (int set = 0; set < 4; ++set)
        for (auto const k : {0, 1}) {
          auto const p = plan(draw(gpus, static_cast<std::size_t>(each * gpus), set), gpus, policies[k], others);
          of.add(p, k);
          all.add(p, k);
          ++best_rival[p.by];
        }
    std::printf("| %d |", static_cast<int>(gpus));
    of.print();
  }
  std::printf("| all |");
  all.print();
  std::printf("\n%d batches under each policy. Best rival:", all.now[0].count);
  for (auto const& [name, times] : best_rival) std::printf(" %s %d times;", name.c_str(), times);
  std::puts("");
  return all.now[0].behind + all.now[1].behind == 0;
}

/// The integers behind a word of a text, up to a character that is in none.
inline numbers numbers_behind(std::string const& text, std::size_t from, std::string const& word) {
  numbers out;
  auto at = text.find(word, from) + word.size();
  for (; at < text.size() && std::string_view("0123456789, \n[").find(text[at]) != std::string_view::npos; ++at)
    if (text[at] >= '0' && text[at] <= '9') {
      char* end = nullptr;
      out.push_back(std::strtoll(text.c_str() + at, &end, 10));
      at = static_cast<std::size_t>(end - text.c_str()) - 1;
    }
  return out;
}

/// Prints a row for each batch of the folder, and geometric means.
inline bool print_batches() {
  auto const* const folder = std::getenv("BALLAST_TRACES");
  auto const read = [&](std::string const& name) {
    std::ifstream in(std::string(folder == nullptr ? "" : folder) + "/rivals/" + name);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  auto const text = read("batches.json");
  if (text.empty()) {
    std::puts("BALLAST_TRACES does not name a folder with rivals/batches.json");
    return false;
  }
  struct batch {
    std::string name;
    std::uint64_t gpus;
    numbers lengths;
  };
  std::vector<batch> all;
  for (auto at = text.find("\"id\""); at != std::string::npos; at = text.find("\"id\"", at + 1))
    all.push_back({std::to_string(numbers_behind(text, at, "\"id\":").at(0)),
                   static_cast<std::uint64_t>(numbers_behind(text, at, "\"gpus\":").at(0)), numbers_behind(text, at, "\"lengths\":")});
  for (auto const* const gpus : {"6", "7", "12", "14", "56", "96"})
    all.push_back({std::string("worst_") + gpus, std::strtoull(gpus, nullptr, 10),
                   numbers_behind(read(std::string("small/worst_") + gpus + ".txt"), 0, "")});
  print_head("batch, GPUs");
  auto const others = rivals();
  sums groups[3];
  double over[3][2]{};  // logarithms of times over lower bounds
  for (auto const& b : all) {
    auto const group = b.name.starts_with("worst") ? 2 : std::has_single_bit(b.gpus) ? 0 : 1;
    sums one;
    for (auto const k : {0, 1}) {
      auto const p = plan(b.lengths, b.gpus, policies[k], others);
      one.add(p, k);
      groups[group].add(p, k);
      over[group][k] += std::log(static_cast<double>(p.now) / static_cast<double>(p.lower));
    }
    std::printf("| %s, %d |", b.name.c_str(), static_cast<int>(b.gpus));
    one.print();
  }
  constexpr char const* names[]{"on 8, 16, 32, 64", "on other numbers", "small ones"};
  auto ahead = true;
  for (auto const g : {0, 1, 2}) {
    std::printf("| %s |", names[g]);
    groups[g].print();
    ahead = ahead && groups[g].now[0].behind + groups[g].now[1].behind == 0;
  }
  for (auto const g : {0, 1, 2})
    std::printf("\n%s: %.4f of the lower bound, %.4f in lockstep", names[g], std::exp(over[g][0] / groups[g].now[0].count),
                std::exp(over[g][1] / groups[g].now[1].count));
  std::puts("");
  return ahead;
}

}  // namespace sharding_counts
