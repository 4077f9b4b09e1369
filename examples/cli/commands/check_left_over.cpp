// SPDX-License-Identifier: Apache-2.0
#include "commands/check_left_over.hpp"

#include "errors.hpp"
#include "report/output.hpp"
#include "report/words.hpp"

#include <ballast/batching/check.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/packing/check.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace ballast_cli {

namespace {

using folder_steps = ballast::batching<std::uint64_t>;

[[nodiscard]] bool lists(std::span<std::uint64_t const> list, std::uint64_t sample) {
  return std::binary_search(list.begin(), list.end(), sample);
}

/// The first pack that holds a sample, and how many do.
struct packs_with {
  packs_with() = default;
  explicit packs_with(folder_steps const& steps, std::uint64_t sample) {
    for (auto p = steps.packs.size(); p-- > 0;)
      if (auto const held = std::ranges::count(steps.packs[p], sample); held != 0) {
        first = p;
        number += static_cast<std::uint64_t>(held);
      }
  }
  std::size_t first = 0;
  std::uint64_t number = 0;
};

/// A sentence of a rule that the plan breaks; `set_aside` is no part of the lists in plan.json.
[[nodiscard]] std::string broken_rule(ballast::verdict const& v, folder_steps const& steps, packed_measure const& measure,
                                      std::span<std::uint64_t const> set_aside) {
  auto const sample = "sample " + std::to_string(v.index);
  using broken = ballast::batching_fault;
  auto const of_sample = v.fault == broken::sample_missing || v.fault == broken::sample_twice;
  auto const in = of_sample ? packs_with(steps, v.index) : packs_with();  // else the packs may be no packs
  auto const occurs = sample + " occurs " + counted(in.number, "time");
  auto const repetitions = static_cast<std::uint64_t>(std::ranges::count(steps.repeated, v.index));
  auto const listed =
      ", and plan.json lists it " + counted(repetitions, "time") + " in repeated, which makes " + grouped(repetitions + 1) + " in all";
  if (v.fault == broken::overfull_pack) {
    std::uint64_t held = 0;
    for (auto const i : steps.packs[static_cast<std::size_t>(v.index)])
      held += static_cast<std::uint64_t>(measure.weights[static_cast<std::size_t>(i)]);
    return describe(ballast::verdict{ballast::packing_fault::overfull_pack, v.index, held, measure.capacity});
  }
  if (v.fault == broken::sample_missing)
    return lists(steps.repeated, v.index) ? occurs + listed : sample + " is in no pack, and plan.json does not list it in dropped";
  if (v.fault != broken::sample_twice) return "its steps have a fault: " + describe(v);
  auto const held = sample + " is in pack " + std::to_string(in.first) + ", and ";
  if (lists(set_aside, v.index)) return held + "must be set aside: it exceeds the capacity";
  if (lists(steps.dropped, v.index)) return held + "plan.json lists it in dropped";
  return occurs + ", first in pack " + std::to_string(in.first) + listed;
}

}  // namespace

void check_left_over(plan_in_folder const& plan, std::string const& folder, std::span<packed_measure const> measures,
                     std::span<std::uint64_t const> set_aside, std::uint64_t most_samples) {
  auto const& steps = plan.steps;
  auto const refuse = [&](std::string const& why) {
    throw bad_input(folder + ": not a valid plan: " + why + "; check it with the lengths it was made of, or write the plan again");
  };
  constexpr auto most = std::uint64_t{1} << 20;  // which the checker multiplies
  if (steps.ranks == 0 || steps.ranks >= most || steps.micro_batches >= most)
    refuse("its ranks and micro-batches must be in 1 ... 2^20 - 1");
  auto const samples = measures.front().weights.size();
  for (auto const& [key, list] : {std::pair{"dropped", &steps.dropped}, {"repeated", &steps.repeated}})
    for (std::size_t k = 0; k < list->size(); ++k) {
      auto const entry = std::string(key) + "[" + std::to_string(k) + "] = " + std::to_string((*list)[k]) + " in plan.json ";
      if ((*list)[k] >= samples) refuse(entry + "must be below the number of samples, " + std::to_string(samples));
      if (list == &steps.dropped && k > 0 && (*list)[k - 1] == (*list)[k]) refuse(entry + "occurs twice");
      if (lists(set_aside, (*list)[k])) refuse(entry + "is longer than the capacity, so it is set aside and in no list");
    }
  auto expected = steps;
  expected.dropped.clear();
  std::ranges::set_union(steps.dropped, set_aside, std::back_inserter(expected.dropped));
  for (auto const& measure : measures) {
    ballast::batching_options const o{
        .capacity = measure.capacity,
        .ranks = steps.ranks,
        .synchronisation = plan.stages > 1 ? ballast::synchronisation::pipeline : ballast::synchronisation::per_step,
        .stages = plan.stages,
        .left_over = steps.dropped.empty() ? ballast::left_over::repeat : ballast::left_over::drop};
    auto const v = ballast::check_batching(expected, measure.weights, o, ballast::token_cost{});
    using broken = ballast::batching_fault;  // figures, which are checked last, are not in the folder
    auto const figure = {broken::wrong_tokens, broken::wrong_cost, broken::wrong_value, broken::wrong_bound};
    if (!v.valid() && std::ranges::find(figure, v.fault) == figure.end()) refuse(broken_rule(v, steps, measure, set_aside));
  }
  for (std::size_t p = 0; most_samples != 0 && p < steps.packs.size(); ++p)
    if (auto const held = std::uint64_t{steps.packs[p].size()}; held > most_samples)
      refuse(describe(ballast::verdict{ballast::packing_fault::too_many_samples, p, held, most_samples}));
}

std::vector<std::int64_t> trained_on(plan_in_folder const& plan, std::span<std::int64_t const> of_samples) {
  auto members = plan.steps.packs.members;
  std::sort(members.begin(), members.end());
  std::vector<std::int64_t> out;
  out.reserve(members.size());
  for (auto const i : members) out.push_back(of_samples[static_cast<std::size_t>(i)]);
  return out;
}

std::string valid_in_words(plan_in_folder const& plan, std::string const& capacity, std::uint64_t most_samples) {
  auto const &dropped = plan.steps.dropped, &repeated = plan.steps.repeated;
  return "Valid: no sample is missing or repeated" +
         (plan.left_over() ? " but the " + grouped(dropped.size() + repeated.size()) + " that plan.json lists as " +
                                 (dropped.empty() ? "repeated" : "dropped")
                           : "") +
         ", and no pack exceeds " + capacity + (most_samples == 0 ? "" : " or has more than " + counted(most_samples, "sample")) + ".\n";
}

void add_left_over(nlohmann::ordered_json& json, plan_in_folder const& plan) {
  if (!plan.steps.dropped.empty()) json["dropped"] = plan.steps.dropped;
  if (!plan.steps.repeated.empty()) json["repeated"] = plan.steps.repeated;
}

}  // namespace ballast_cli
