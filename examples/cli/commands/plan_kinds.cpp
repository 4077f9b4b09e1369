// SPDX-License-Identifier: Apache-2.0
#include "commands/options.hpp"
#include "commands/plan.hpp"
#include "errors.hpp"
#include "planning/sample_cost.hpp"
#include "readers/data_set.hpp"
#include "report/json.hpp"
#include "report/words.hpp"

#include <ballast/batching/unequal_batch.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/random.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace ballast_cli {

namespace {

/// Ranks whose devices are alike.
struct device_kind {
  std::string name;
  std::int64_t ranks = 1, capacity = 0;
  timed_cost cost = {};
  double ms = 0;                    ///< that one of them would take for all samples
  std::uint64_t micro_batches = 0;  ///< of all steps
  std::int64_t tokens = 0;
};

/// The cost of samples, in which each token has its share of what a full micro-batch takes beside them.
[[nodiscard]] timed_cost cost_with_share(model_on_device const& on, std::int64_t capacity) {
  auto out = modelled_cost(on, capacity);
  if (!out.by_kernels) return out;
  auto of = *out.by_kernels;
  of.fine.tokens.linear += ballast::divide_up(std::exchange(of.fine.per_micro_batch, 0), capacity);
  out.take(of);
  return out;
}

/// Parses "a100:8,v100:8:4096".
[[nodiscard]] std::vector<device_kind> device_kinds_of(plan_arguments const& arguments, std::int64_t capacity) {
  std::vector<device_kind> out;
  std::int64_t ranks = 0;
  for (auto const& word : words_of(arguments.on.device)) {
    std::vector<std::string> parts;
    std::istringstream in(word);
    for (std::string part; std::getline(in, part, ':');) parts.push_back(part);
    if (parts.size() < 2 || parts.size() > 3)
      throw bad_input("--device " + printable(word) +
                      ": expected a kind and its number of ranks, as in a100:8, or with tokens of a micro-batch, v100:8:4096");
    auto on = arguments.on;
    on.device = parts[0];
    auto const mine = parts.size() == 3 ? positive("--device", parts[2]) : capacity;
    out.push_back({.name = parts[0], .ranks = positive("--device", parts[1]), .capacity = mine, .cost = cost_with_share(on, mine)});
    if (out.back().ranks > 65'536 - ranks) throw bad_input("--device: at most 65,536 ranks are planned");
    ranks += out.back().ranks;
  }
  return out;
}

/// The same ranks as a planner takes them: times in thousandths of what the fastest takes.
[[nodiscard]] ballast::unequal_ranks kinds_as_ranks(std::vector<device_kind> const& kinds, double fastest) {
  ballast::unequal_ranks out;
  for (auto const& k : kinds) {
    out.unit_time.insert(out.unit_time.end(), static_cast<std::size_t>(k.ranks), std::llround(1000 * k.ms / fastest));
    out.capacity.insert(out.capacity.end(), static_cast<std::size_t>(k.ranks), k.capacity);
  }
  return out;
}

/// Milliseconds of all samples, one after the other.
[[nodiscard]] double ms_of(timed_cost const& cost, std::span<std::int64_t const> lengths) {
  double units = 1;  // not 0 without samples
  for (auto const l : lengths)
    if (cost.fits(l)) units += static_cast<double>(cost(l));
  return units * cost.ms_per_unit;
}

/// Consecutive samples of a random order, a step as soon as it has the tokens of a global batch.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> draw_samples_of_steps(std::span<std::int64_t const> lengths, std::int64_t tokens,
                                                                            std::uint64_t seed) {
  std::vector<std::vector<std::uint32_t>> out;
  std::int64_t held = tokens;
  for (auto const i : ballast::random_permutation<std::uint32_t>(lengths.size(), seed)) {
    if (held >= tokens) out.emplace_back(), held = 0;
    out.back().push_back(i);
    held += lengths[i];
  }
  return out;
}

struct kinds_plan {
  std::vector<device_kind> kinds;
  std::vector<std::vector<std::uint32_t>> samples;  ///< of each step
  std::vector<ballast::unequal_batch<>> steps;
  std::vector<std::uint32_t> too_long;
  ballast::certificate time;  ///< of all steps
  std::int64_t even = 0;      ///< time of all steps if the ranks were taken to be equally fast
  double ms = 0;              ///< of a unit of time
};

/// The time that a plan made for other speeds takes.
[[nodiscard]] std::int64_t time_on(ballast::unequal_batch<> const& plan, std::span<std::int64_t const> lengths,
                                   ballast::unequal_ranks const& ranks, timed_cost const& cost) {
  std::int64_t out = 0;
  for (std::size_t r = 0; r + 1 < plan.rank_of.size(); ++r) {
    std::int64_t work = 0;
    for (auto m = static_cast<std::size_t>(plan.rank_of[r]); m < plan.rank_of[r + 1]; ++m)
      for (auto const i : plan.micro_batches[m]) work += cost(lengths[i]);
    out = (std::max)(out, work * ranks.unit_time[r]);
  }
  return out;
}

[[nodiscard]] kinds_plan plan_steps_of(plan_arguments const& arguments, std::vector<device_kind> kinds, std::int64_t capacity,
                                       std::span<std::int64_t const> lengths) {
  kinds_plan out;
  out.kinds = std::move(kinds);
  for (auto& k : out.kinds) k.ms = ms_of(k.cost, lengths);
  auto const fastest = std::min_element(out.kinds.begin(), out.kinds.end(), [](auto const& a, auto const& b) { return a.ms < b.ms; });
  auto const ranks = kinds_as_ranks(out.kinds, fastest->ms);
  auto cost = fastest->cost;
  auto const slowest = *std::max_element(ranks.unit_time.begin(), ranks.unit_time.end());
  cost.count_for(lengths, {.capacity = capacity, .stages = static_cast<std::uint64_t>((std::min)(slowest, std::int64_t{1} << 19))});
  out.ms = cost.ms_per_unit / 1000;
  auto alike = ranks;
  std::fill(alike.unit_time.begin(), alike.unit_time.end(), 1);
  auto const packs =
      arguments.degrees.global_batch != 0 ? arguments.degrees.global_batch : static_cast<std::int64_t>(ranks.capacity.size());
  if (packs > largest_length / capacity) throw bad_input("--global-batch: the tokens of a step must be below 2^63");
  for (auto& step : draw_samples_of_steps(lengths, packs * capacity, arguments.options.steps.seed)) {
    std::vector<std::int64_t> of_step;
    for (auto const i : step) of_step.push_back(lengths[i]);
    auto plan = ballast::plan_unequal_batch(of_step, ranks, cost);
    out.time.value += plan.time.value;
    out.time.lower_bound += plan.time.lower_bound;
    out.even += time_on(ballast::plan_unequal_batch(of_step, alike, cost), of_step, ranks, cost);
    for (auto const i : plan.too_long) out.too_long.push_back(step[i]);
    std::size_t r = 0;
    for (auto& k : out.kinds)
      for (std::int64_t n = 0; n < k.ranks; ++n, ++r)
        for (auto m = static_cast<std::size_t>(plan.rank_of[r]); m < plan.rank_of[r + 1]; ++m) {
          ++k.micro_batches;
          for (auto const i : plan.micro_batches[m]) k.tokens += of_step[i];
        }
    out.samples.push_back(std::move(step));
    out.steps.push_back(std::move(plan));
  }
  std::sort(out.too_long.begin(), out.too_long.end());
  return out;
}

[[nodiscard]] nlohmann::ordered_json json_of_kinds(kinds_plan const& plan) {
  nlohmann::ordered_json out{{"steps", plan.steps.size()},
                             {"ms", plan.ms * static_cast<double>(plan.time.value)},
                             {"lower_bound_ms", plan.ms * static_cast<double>(plan.time.lower_bound)},
                             {"even_shares_ms", plan.ms * static_cast<double>(plan.even)},
                             {"set_aside", plan.too_long}};
  for (auto const& k : plan.kinds)
    out["devices"].push_back(
        {{"device", k.name}, {"ranks", k.ranks}, {"capacity", k.capacity}, {"micro_batches", k.micro_batches}, {"tokens", k.tokens}});
  auto& steps = out["micro_batches"] = nlohmann::ordered_json::array();
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    auto& ranks = steps.emplace_back(nlohmann::ordered_json::array());
    auto const& p = plan.steps[s];
    for (std::size_t r = 0; r + 1 < p.rank_of.size(); ++r) {
      auto& of_rank = ranks.emplace_back(nlohmann::ordered_json::array());
      for (auto m = static_cast<std::size_t>(p.rank_of[r]); m < p.rank_of[r + 1]; ++m) {
        auto& pack = of_rank.emplace_back(nlohmann::ordered_json::array());
        for (auto const i : p.micro_batches[m]) pack.push_back(plan.samples[s][i]);
      }
    }
  }
  return out;
}

void print_kinds(plan_arguments const& arguments, kinds_plan const& plan, std::size_t samples) {
  std::int64_t tokens = 0;
  for (auto const& k : plan.kinds) tokens += k.tokens;
  auto const& share = arguments.on.mfu;
  std::printf("%s: %s, %s in %s; %s, each kind at %s.\n\n", title_of(arguments.input.files).c_str(), counted(samples, "sample").c_str(),
              counted(static_cast<std::uint64_t>(tokens), "token").c_str(), counted(plan.steps.size(), "step").c_str(),
              name_of_language_part(arguments.on.model).c_str(),
              share ? formatted("%.4g %% of its dense peak", 100 * *share).c_str() : "the rates of its kernels");
  std::printf("ranks                  micro-batch  micro-batches a step  tokens of a rank  share of a rank\n");
  auto const steps = static_cast<double>((std::max)(plan.steps.size(), std::size_t{1}));
  for (auto const& k : plan.kinds) {
    auto const ranks = static_cast<double>(k.ranks), mine = static_cast<double>(k.tokens) / ranks;
    std::printf("%-18s %15s  %20.2f  %16.0f  %13.2f %%\n", (std::to_string(k.ranks) + " x " + k.name).c_str(),
                counted(static_cast<std::uint64_t>(k.capacity), "token").c_str(), static_cast<double>(k.micro_batches) / ranks / steps,
                mine / steps, tokens == 0 ? 0.0 : 100 * mine / static_cast<double>(tokens));
  }
  auto const ms = [&](std::int64_t time) { return plan.ms * static_cast<double>(time); };
  std::printf("\nModelled, the steps take %s; no plan of the same steps takes less than %s (%.2f %% above).\n",
              duration(ms(plan.time.value)).c_str(), duration(ms(plan.time.lower_bound)).c_str(), 100 * plan.time.gap());
  std::printf("With even shares they would take %s: %.3f times as long.\n", duration(ms(plan.even)).c_str(),
              plan.time.value == 0 ? 1.0 : static_cast<double>(plan.even) / static_cast<double>(plan.time.value));
  if (!plan.too_long.empty())
    std::printf("Set aside, because no micro-batch has room for it: %s.\n", counted(plan.too_long.size(), "sample").c_str());
}

}  // namespace

void plan_kinds(plan_arguments const& arguments) {
  auto const capacity = capacity_tokens("--capacity", arguments.capacity);
  auto const policy = arguments.options.oversize;
  if (policy != ballast::oversize::reject && policy != ballast::oversize::set_aside)
    throw bad_input("--oversize: with several kinds of --device, reject or set-aside");
  auto kinds = device_kinds_of(arguments, capacity);
  auto const longest =
      std::max_element(kinds.begin(), kinds.end(), [](auto const& a, auto const& b) { return a.capacity < b.capacity; })->capacity;
  sample_lengths const lengths(arguments.input, "plan", longest, policy);
  auto const plan = plan_steps_of(arguments, std::move(kinds), capacity, lengths.view());
  arguments.json ? print_json(json_of_kinds(plan)) : print_kinds(arguments, plan, lengths.view().size());
}

}  // namespace ballast_cli
