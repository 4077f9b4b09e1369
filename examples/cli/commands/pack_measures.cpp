// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"
#include "planning/rank_order.hpp"
#include "readers/data_set.hpp"
#include "report/output.hpp"
#include "report/packing.hpp"
#include "report/plan_folder.hpp"

#include <ballast/core/hash.hpp>
#include <ballast/packing/vector/rank_distance.hpp>

#include <nlohmann/json.hpp>

#include <limits>

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
    if (!fits_empty && o.oversize != ballast::oversize::own) continue;
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

template <class Index>
void pack(pack_arguments const& arguments, ballast::sample_measures const& samples, double read_seconds, stopwatch& watch) {
  ballast::vector_packing_options o;
  o.capacity = arguments.capacity;
  o.max_samples = arguments.options.max_samples;
  o.pack_count_multiple = arguments.options.pack_count_multiple;
  o.oversize = arguments.options.oversize;
  o.seed = arguments.options.seed;
  auto plan = run_packer<Index>(arguments.strategy, samples, o);
  if (plan.status != ballast::status::feasible)
    throw no_plan(std::string(plan.status == ballast::status::infeasible ? "no plan has" : "no plan was found that has") +
                  " a number of packs that is a multiple of " + std::to_string(o.pack_count_multiple) + ": " +
                  std::to_string(plan.count.value) + " packs are more than there are samples to pack, and no pack may be empty");
  std::vector<double> distances;
  if (arguments.ranks != 0) {
    order_for_ranks(plan.packs, samples, o.capacity, arguments.ranks, o.seed);
    distances = ballast::rank_distances(plan.packs, samples, arguments.ranks);
  }
  auto const plan_seconds = watch.lap();

  auto const packs = std::uint64_t{plan.packs.size()}, naive = count_next_fit(samples, o);
  nlohmann::ordered_json json{{"samples", samples.size()},
                              {"totals", plan.totals},
                              {"capacity", o.capacity},
                              {"strategy", name_of(arguments.strategy).word},
                              {"packer", to_string(plan.packer)},
                              {"packs", packs},
                              {"lower_bound", plan.count.lower_bound},
                              {"gap", plan.count.gap()},
                              {"optimal", plan.count.optimal()},
                              {"bound", proof(plan)},
                              {"complete", plan.complete},
                              {"fill", fills(plan.totals, o.capacity, packs)},
                              {"hash", hash_digits(ballast::hash(plan.packs))},
                              {"set_aside", plan.set_aside},
                              {"naive", {{"packs", naive}, {"fill", fills(plan.totals, o.capacity, naive)}}}};
  if (arguments.ranks != 0) json["rank_dist"] = distances;
  (void)watch.lap();
  if (!arguments.out.empty()) {
    nlohmann::ordered_json file{{"schema", plan_format}, {"files", arguments.input.files}};
    file.update(json);
    file["options"] = {{"oversize", word_of(o.oversize)},
                       {"max_items", o.max_samples},
                       {"pack_count_multiple", o.pack_count_multiple},
                       {"seed", o.seed},
                       {"ranks", arguments.ranks}};
    write_plan(arguments.out, pack_files(plan.packs), file.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  }
  if (arguments.json) {
    json["seconds"] = {{"read", read_seconds}, {"plan", plan_seconds}, {"write", watch.lap()}};
    return write_standard_output(json.dump() + "\n");
  }
  auto const count = [](auto value) { return grouped(static_cast<std::uint64_t>(value)); };
  auto text = std::string(name_of(arguments.strategy).title) + " (" + std::string(to_string(plan.packer)) +
              "): " + count(plan.packs.members.size()) + " samples of " + std::to_string(samples.measures()) + " measures in " +
              count(packs) + " packs of " + listed(o.capacity, count) + "; packs are " +
              listed(fills(plan.totals, o.capacity, packs), percent) + " full.\n" + "Next fit in input order, the naive way, takes " +
              count(naive) + " packs.\n";
  if (packs != 0)
    text += plan.count.optimal() ? "No plan can take fewer packs (proof: " + proof(plan) + " bound): this one is optimal.\n"
                                 : "No plan can take fewer than " + count(plan.count.lower_bound) + " packs (proof: " + proof(plan) +
                                       " bound): this one is at most " + percent_up(plan.count.gap()) + " above the best possible.\n";
  if (!plan.set_aside.empty()) text += count(plan.set_aside.size()) + " samples that exceed a capacity set aside.\n";
  if (arguments.ranks != 0)
    text += "Ordered for " + count(arguments.ranks) + " ranks: on average a rank waits " + listed(distances, percent_up) +
            " of a step, by the load of each measure.\n";
  write_standard_output(text);
}

}  // namespace

void run_pack_measures(pack_arguments const& arguments, table const& input, double read_seconds) {
  if (arguments.options.sample_multiple != 1)
    throw bad_input("--multiple rounds lengths up, and is not for several measures or their strategies");
  if (!arguments.model.empty()) throw bad_input("--model weighs lengths, and is not for several measures or their strategies");
  measure_columns const columns(input);
  stopwatch watch;
  columns.view().size() < (std::numeric_limits<std::uint32_t>::max)() ? pack<std::uint32_t>(arguments, columns.view(), read_seconds, watch)
                                                                      : pack<std::uint64_t>(arguments, columns.view(), read_seconds, watch);
}

}  // namespace ballast_cli
