// SPDX-License-Identifier: Apache-2.0
#include "commands/check.hpp"
#include "commands/check_left_over.hpp"
#include "commands/options.hpp"
#include "errors.hpp"
#include "planning/padded_plan.hpp"
#include "readers/data_set.hpp"
#include "readers/file_bytes.hpp"
#include "readers/packing.hpp"
#include "readers/plan_folder.hpp"
#include "report/json.hpp"
#include "report/output.hpp"
#include "report/packing.hpp"

#include <ballast/core/hash.hpp>
#include <ballast/core/math.hpp>
#include <ballast/packing/check.hpp>
#include <ballast/packing/check_padded.hpp>
#include <ballast/packing/oversize.hpp>
#include <ballast/packing/padded_batches.hpp>
#include <ballast/packing/vector/check.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ballast_cli {

namespace {

constexpr auto too_few = "check takes the packing, then the lengths it packs";

/// Takes the packing off the front of the files; what is left are the lengths.
[[nodiscard]] plan_in_folder read_packing(std::string_view first, std::vector<std::string>& files) {
  std::error_code error;
  if (std::filesystem::is_directory(files.front(), error)) {
    auto plan = read_plan_folder(files.front());
    files.erase(files.begin());
    if (files.empty()) throw bad_input(too_few);
    return plan;
  }
  auto const arrays = is_npy(first);
  if (files.size() < (arrays ? 3U : 2U))
    throw bad_input(arrays ? "check takes OFFSETS MEMBERS FILE...: two arrays of the packing, then the lengths it packs" : too_few);
  plan_in_folder plan;
  auto& packs = plan.steps.packs;
  if (arrays) {
    file_bytes const members(files[1]);
    packs = {read_indices(first, shown_name(files[0])), read_indices(members.view(), shown_name(files[1]))};
  } else {
    packs = read_index_lists(first, shown_name(files[0]));
  }
  plan.hash = ballast::hash(packs);
  files.erase(files.begin(), files.begin() + (arrays ? 2 : 1));
  return plan;
}

/// What the packs of a checked plan hold, of each measure.
struct trained_measures {
  std::vector<std::vector<std::int64_t>> columns;
  std::vector<std::uint64_t> set_aside;
};

/// Checks a plan with left-overs.
[[nodiscard]] trained_measures check_trained(plan_in_folder const& plan, std::string const& name, ballast::sample_measures const& samples,
                                             ballast::vector_packing_options const& o) {
  trained_measures out;
  std::vector<packed_measure> measures;
  for (std::size_t m = 0; m < samples.measures(); ++m) measures.push_back({samples.column(m), o.capacity[m]});
  for (std::size_t i = 0; i < samples.size() && o.oversize == ballast::oversize::set_aside; ++i)
    if (std::ranges::any_of(measures, [&](auto const& m) { return m.weights[i] > m.capacity; })) out.set_aside.push_back(i);
  check_left_over(plan, name, measures, out.set_aside, o.max_samples);
  for (auto const& m : measures) out.columns.push_back(trained_on(plan, m.weights));
  return out;
}

/// The same for samples of one measure.
[[nodiscard]] trained_measures check_trained(plan_in_folder const& plan, std::string const& name, std::span<std::int64_t const> lengths,
                                             ballast::packing_options const& o) {
  auto const items = ballast::apply_oversize<std::uint64_t>(lengths, o);
  auto padded = items.tokens;
  for (auto& length : padded)
    if (length <= longest_that_fits(o)) length = ballast::round_up(length, o.sample_multiple);
  check_left_over(plan, name, std::array{packed_measure{padded, o.capacity}}, items.set_aside, o.max_samples);
  return {{trained_on(plan, items.tokens)}, items.set_aside};
}

/// Samples of several measures: valid, and how far from the bound.
void check_measures(check_arguments const& arguments, plan_in_folder const& plan, table const& input, std::uint64_t max_samples,
                    std::string const& name) {
  auto const& packs = plan.steps.packs;
  if (arguments.limits.options.sample_multiple != 1) throw bad_input("--multiple rounds lengths up, and is not for several measures");
  measure_columns const columns(input);
  auto samples = columns.view();
  auto const read = samples.size();
  ballast::vector_packing_options o;
  o.capacity = arguments.limits.capacity;
  o.max_samples = max_samples;
  o.oversize = arguments.limits.options.oversize;
  trained_measures trained;
  if (plan.left_over()) {
    trained = check_trained(plan, name, samples, o);
    samples = ballast::sample_measures(std::vector<std::span<std::int64_t const>>(trained.columns.begin(), trained.columns.end()));
  } else if (auto const verdict = ballast::check_packing(packs, samples, o); !verdict.valid()) {
    throw bad_input(name + ": not a valid packing: " + describe(verdict));
  }
  auto const ours = run_packer<std::uint64_t>(strategy::automatic, samples, o);
  auto const& set_aside = plan.left_over() ? trained.set_aside : ours.set_aside;
  ballast::certificate const count{static_cast<std::int64_t>(packs.size()), ours.count.lower_bound};
  if (arguments.json) {
    nlohmann::ordered_json json{{"samples", read},
                                {"capacity", o.capacity},
                                {"packs", count.value},
                                {"lower_bound", count.lower_bound},
                                {"gap", count.gap()},
                                {"optimal", count.optimal()},
                                {"hash", plan.hash ? nlohmann::ordered_json(hash_digits(*plan.hash)) : nullptr},
                                {"set_aside", set_aside}};
    add_left_over(json, plan);
    json["auto"] = {{"packs", ours.packs.size()}};
    return print_json(json);
  }
  write_standard_output(valid_in_words(plan, "a capacity", o.max_samples) + counted(packs.size(), "pack") +
                        "; no plan can take fewer than " + grouped(static_cast<std::uint64_t>(count.lower_bound)) +
                        ", and the default packer takes " + grouped(ours.packs.size()) + ".\n");
}

}  // namespace

void check_packing(check_arguments const& arguments, std::string_view text) {
  stopwatch watch;
  auto o = arguments.limits.options;
  auto lengths_of = arguments.input;
  auto const name = shown_name(lengths_of.files.front());
  auto const plan = read_packing(text, lengths_of.files);
  auto const& packs = plan.steps.packs;
  if (o.sample_multiple == 1) o.sample_multiple = plan.multiple;
  if (o.max_samples == 0) o.max_samples = plan.max_items;
  auto const input = read_lengths(lengths_of);
  refuse_oversize(input, arguments.limits.capacity, o);
  auto const padded = arguments.padded || plan.padded;
  if (padded && (o.oversize == ballast::oversize::split || o.oversize == ballast::oversize::alone))
    throw bad_input("--oversize " + std::string(word_of(o.oversize)) +
                    ": with --padded, a longer row can be rejected, set aside or truncated");
  if (padded && input.measures() > 1 && !input.histogram()) throw bad_input("--padded is for one measure");
  if (input.measures() > 1 && !input.histogram()) return check_measures(arguments, plan, input, o.max_samples, name);
  std::vector<std::int64_t> expanded;
  auto lengths = to_lengths(input, expanded);
  auto const read = std::uint64_t{lengths.size()};
  auto const read_seconds = watch.lap();

  trained_measures trained;
  if (plan.left_over()) {
    trained = check_trained(plan, name, lengths, o);
    lengths = trained.columns.front();
  } else if (auto const verdict = padded ? ballast::check_padded(packs, lengths, o) : ballast::check_packing(packs, lengths, o);
             !verdict.valid()) {
    throw bad_input(name + ": not a valid packing: " + describe(verdict));
  }
  auto const ours = padded ? ballast::padded_batches<std::uint64_t>(lengths, o) : run_packer<std::uint64_t>(strategy::bfd, lengths, o);
  auto const naive =
      padded ? next_fit_padded<std::uint64_t>(lengths, o).size() : run_packer<std::uint64_t>(strategy::next_fit, lengths, o).packs.size();
  packing_report const report{.samples = read,
                              .tokens = ours.tokens,
                              .capacity = o.capacity,
                              .strategy = "given",
                              .packs = {static_cast<std::int64_t>(packs.size()), ours.count.lower_bound},
                              .bound = std::string(to_string(ours.bound)),
                              .hash = plan.hash,
                              .set_aside = plan.left_over() ? trained.set_aside : ours.set_aside,
                              .naive_packs = naive,
                              .dropped = static_cast<std::uint64_t>(
                                  std::ranges::count_if(plan.steps.dropped, [&](auto i) { return i < read; }))};  // others are pieces
  auto const best_fit = std::uint64_t{ours.packs.size()};
  if (!arguments.json)
    return write_standard_output(valid_in_words(plan, "its capacity", o.max_samples) + in_words(report, "This packing") +
                                 (padded ? "The fewest padded batches are " : "Best-fit decreasing takes ") + grouped(best_fit) + ".\n");
  auto json = to_json(report);
  add_left_over(json, plan);
  json[padded ? "fewest_padded" : "best_fit_decreasing"] = {{"packs", best_fit}, {"fill", report.fill(best_fit)}};
  json["seconds"] = {{"read", read_seconds}, {"check", watch.lap()}};
  print_json(json);
}

}  // namespace ballast_cli
