// SPDX-License-Identifier: Apache-2.0
#include "commands/pack.hpp"
#include "errors.hpp"
#include "planning/rank_order.hpp"
#include "readers/data_set.hpp"
#include "report/json.hpp"
#include "report/output.hpp"
#include "report/packing.hpp"
#include "report/plan_folder.hpp"

#include <ballast/core/hash.hpp>
#include <ballast/packing/vector/rank_distance.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace ballast_cli {

namespace {

/// Samples in input order, one open pack: what a loader does that packs while it reads. Those that exceed a capacity do not take part, or
/// have a pack to themselves.
[[nodiscard]] std::uint64_t count_next_fit(ballast::sample_measures const& samples, ballast::vector_packing_options const& o) {
  auto const measures = samples.measures();
  std::uint64_t packs = 0, items = 0, in_pack = 0;
  std::vector<std::int64_t> room(measures);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    bool fits_empty = true, fits = packs != 0 && (o.max_samples == 0 || in_pack < o.max_samples);
    for (std::size_t m = 0; m < measures; ++m) {
      fits_empty = fits_empty && samples.column(m)[i] <= o.capacity[m];
      fits = fits && samples.column(m)[i] <= room[m];
    }
    if (!fits_empty && o.oversize != ballast::oversize::alone) continue;
    ++items;
    if (!fits) {
      ++packs;
      in_pack = 0;
      room = o.capacity;
    }
    ++in_pack;
    for (std::size_t m = 0; m < measures; ++m) room[m] -= samples.column(m)[i];  // below 0 where a sample has a pack to itself
  }
  return raised_to_multiple(packs, o.pack_count_multiple, items);
}

[[nodiscard]] std::vector<double> fills(std::vector<std::int64_t> const& totals, std::vector<std::int64_t> const& capacity,
                                        std::uint64_t packs) {
  std::vector<double> shares;
  for (std::size_t m = 0; m < totals.size(); ++m)
    shares.push_back(packs == 0 ? 0.0 : static_cast<double>(totals[m]) / (static_cast<double>(capacity[m]) * static_cast<double>(packs)));
  return shares;
}

template <class Values, class Word>
[[nodiscard]] std::string listed(Values const& values, Word const& word) {
  std::string text;
  for (auto const& v : values) text += (text.empty() ? "" : ", ") + word(v);
  return text;
}

/// What proves the bound, in words: measures are counted from 1, as --columns lists them.
template <class Index>
[[nodiscard]] std::string proof(ballast::vector_packing<Index> const& plan) {
  auto text = std::string(to_string(plan.bound));
  if (plan.bound == ballast::vector_bound::measure || plan.bound == ballast::vector_bound::incompatible)
    text += " " + std::to_string(plan.measure + 1);
  return text;
}

/// A packing of several measures, and what it is compared with.
template <class Index>
struct measured_packing {
  ballast::vector_packing<Index> plan;
  std::vector<double> distances;  ///< of ranks, by measure; none without ranks
  std::uint64_t naive = 0;        ///< packs of next fit in input order
};

template <class Index>
[[nodiscard]] nlohmann::ordered_json to_json(pack_arguments const& arguments, measured_packing<Index> const& of) {
  auto const& plan = of.plan;
  auto const& capacity = arguments.limits.capacity;
  auto const packs = std::uint64_t{plan.packs.size()};
  nlohmann::ordered_json json{{"samples", plan.packs.members.size() + plan.set_aside.size()},
                              {"totals", plan.totals},
                              {"capacity", capacity},
                              {"strategy", name_of(arguments.strategy).word},
                              {"packer", to_string(plan.packer)},
                              {"packs", packs},
                              {"lower_bound", plan.count.lower_bound},
                              {"gap", plan.count.gap()},
                              {"optimal", plan.count.optimal()},
                              {"bound", proof(plan)},
                              {"complete", plan.complete},
                              {"fill", fills(plan.totals, capacity, packs)},
                              {"hash", hash_digits(ballast::hash(plan.packs))},
                              {"set_aside", plan.set_aside},
                              {"naive", {{"packs", of.naive}, {"fill", fills(plan.totals, capacity, of.naive)}}}};
  if (arguments.ranks != 0) json["rank_dist"] = of.distances;
  return json;
}

template <class Index>
[[nodiscard]] std::string in_words(pack_arguments const& arguments, measured_packing<Index> const& of) {
  auto const& plan = of.plan;
  auto const& capacity = arguments.limits.capacity;
  auto const number = [](auto value) { return grouped(static_cast<std::uint64_t>(value)); };
  auto text = std::string(name_of(arguments.strategy).title) + " (" + std::string(to_string(plan.packer)) +
              "): " + number(plan.packs.members.size()) + " samples of " + std::to_string(capacity.size()) + " measures in " +
              number(plan.packs.size()) + " packs of " + listed(capacity, number) + "; packs are " +
              listed(fills(plan.totals, capacity, plan.packs.size()), percent) + " full.\n" +
              "Next fit in input order, the naive way, takes " + number(of.naive) + " packs.\n";
  if (plan.packs.size() != 0)
    text += plan.count.optimal() ? "No plan can take fewer packs (proof: " + proof(plan) + " bound): this one is optimal.\n"
                                 : "No plan can take fewer than " + number(plan.count.lower_bound) + " packs (proof: " + proof(plan) +
                                       " bound): this one is at most " + percent_up(plan.count.gap()) + " above the best possible.\n";
  if (!plan.set_aside.empty()) text += number(plan.set_aside.size()) + " samples that exceed a capacity set aside.\n";
  if (arguments.ranks != 0)
    text += "Ordered for " + number(arguments.ranks) + " ranks: on average a rank waits " + listed(of.distances, percent_up) +
            " of a step, by the load of each measure.\n";
  return text;
}

template <class Index>
void pack(pack_arguments const& arguments, ballast::sample_measures const& samples, std::vector<std::uint64_t> const& zero_length,
          double read_seconds) {
  stopwatch watch;
  auto const& limits = arguments.limits.options;
  ballast::vector_packing_options o;
  o.capacity = arguments.limits.capacity;
  o.max_samples = limits.max_samples;
  o.pack_count_multiple = limits.pack_count_multiple;
  o.oversize = limits.oversize;
  o.seed = limits.seed;
  measured_packing<Index> of{.plan = run_packer<Index>(arguments.strategy, samples, o, arguments.work), .distances = {}};
  auto& plan = of.plan;
  require_multiple(plan.status, plan.count.value, o.pack_count_multiple, true);
  if (arguments.ranks != 0) {
    order_for_ranks(plan.packs, samples, o.capacity, arguments.ranks, o.seed);
    of.distances = ballast::rank_distances(plan.packs, samples, arguments.ranks);
  }
  auto const plan_seconds = watch.lap();
  of.naive = count_next_fit(samples, o);
  auto json = to_json(arguments, of);
  if (!zero_length.empty()) json["zero_length"] = zero_length;
  (void)watch.lap();
  if (!arguments.out.empty())
    write_plan(arguments.out, pack_files(plan.packs),
               text_of(plan_document(arguments.input, hash_of_files(plan.packs), json,
                                     {{"oversize", word_of(o.oversize)},
                                      {"max_items", o.max_samples},
                                      {"pack_count_multiple", o.pack_count_multiple},
                                      {"seed", o.seed},
                                      {"ranks", arguments.ranks}})));
  if (!arguments.json) return write_standard_output(in_words(arguments, of));
  json["seconds"] = {{"read", read_seconds}, {"plan", plan_seconds}, {"write", watch.lap()}};
  print_json(json);
}

}  // namespace

void pack_measures(pack_arguments const& arguments, table const& input, double read_seconds) {
  if (arguments.limits.options.sample_multiple != 1)
    throw bad_input("--multiple rounds lengths up, and is not for several measures or their strategies");
  if (!arguments.model.empty()) throw bad_input("--model weighs lengths, and is not for several measures or their strategies");
  measure_columns const columns(input);
  auto const samples = columns.view();
  samples.size() < (std::numeric_limits<std::uint32_t>::max)() ? pack<std::uint32_t>(arguments, samples, input.skipped(), read_seconds)
                                                               : pack<std::uint64_t>(arguments, samples, input.skipped(), read_seconds);
}

}  // namespace ballast_cli
