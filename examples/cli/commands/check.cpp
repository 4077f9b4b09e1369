// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"
#include "commands/options.hpp"
#include "readers/data_set.hpp"
#include "readers/file_bytes.hpp"
#include "readers/packing.hpp"
#include "readers/plan_folder.hpp"
#include "report/json.hpp"
#include "report/output.hpp"
#include "report/packing.hpp"
#include "report/replace.hpp"

#include <ballast/core/hash.hpp>
#include <ballast/packing/check.hpp>
#include <ballast/packing/vector/check.hpp>

#include <filesystem>
#include <memory>

namespace ballast_cli {

namespace {

struct check_arguments {
  input_arguments
      input;  ///< the first files are the packing: OFFSETS MEMBERS, a folder that `pack --out` wrote, or a list of indices a line
  limit_arguments limits;
  bool json = false;
};

constexpr auto too_few = "check takes the packing, then the lengths it packs";

/// Takes the packing off the front of the files; what is left are the lengths.
[[nodiscard]] ballast::groups<std::uint64_t> read_packing(std::vector<std::string>& files) {
  std::error_code error;
  if (std::filesystem::is_directory(files.front(), error)) {
    auto packs = read_plan_folder(files.front());
    files.erase(files.begin());
    if (files.empty()) throw bad_input(too_few);
    return packs;
  }
  if (auto const aside = set_aside_beside(files.front()))
    throw bad_input(files.front() + ": is missing; an interrupted run left it as " + *aside + ", which the next --out " + files.front() +
                    " brings back");
  file_bytes const first(files.front());
  auto const arrays = is_npy(first.view());
  if (files.size() < (arrays ? 3U : 2U))
    throw bad_input(arrays ? "check takes OFFSETS MEMBERS FILE...: two arrays of the packing, then the lengths it packs" : too_few);
  ballast::groups<std::uint64_t> packs;
  if (arrays) {
    file_bytes const members(files[1]);
    packs = {read_indices(first.view(), shown_name(files[0])), read_indices(members.view(), shown_name(files[1]))};
  } else {
    packs = read_index_lists(first.view(), shown_name(files[0]));
  }
  files.erase(files.begin(), files.begin() + (arrays ? 2 : 1));
  return packs;
}

/// Samples of several measures: valid, and how far from the bound.
void check_measures(check_arguments const& arguments, ballast::groups<std::uint64_t> const& packs, table const& input,
                    std::string const& name) {
  if (arguments.limits.options.sample_multiple != 1) throw bad_input("--multiple rounds lengths up, and is not for several measures");
  measure_columns const columns(input);
  auto const samples = columns.view();
  ballast::vector_packing_options o;
  o.capacity = arguments.limits.capacity;
  o.max_samples = arguments.limits.options.max_samples;
  o.oversize = arguments.limits.options.oversize;
  auto const verdict = ballast::check_packing(packs, samples, o);
  if (!verdict.valid()) throw bad_input(name + ": not a valid packing: " + describe(verdict));
  auto const ours = run_packer<std::uint64_t>(strategy::automatic, samples, o);
  ballast::certificate const count{static_cast<std::int64_t>(packs.size()), ours.count.lower_bound};
  if (arguments.json) {
    nlohmann::ordered_json const json{{"samples", samples.size()},
                                      {"capacity", o.capacity},
                                      {"packs", count.value},
                                      {"lower_bound", count.lower_bound},
                                      {"gap", count.gap()},
                                      {"optimal", count.optimal()},
                                      {"hash", hash_digits(ballast::hash(packs))},
                                      {"set_aside", ours.set_aside},
                                      {"auto", {{"packs", ours.packs.size()}}}};
    return print_json(json);
  }
  write_standard_output("Valid: no sample is missing or repeated, and no pack exceeds a capacity.\n" + grouped(packs.size()) +
                        " packs; no plan can take fewer than " + grouped(static_cast<std::uint64_t>(count.lower_bound)) +
                        ", and the default packer takes " + grouped(ours.packs.size()) + ".\n");
}

void run(check_arguments const& arguments) {
  stopwatch watch;
  auto const& o = arguments.limits.options;
  auto files = arguments.input.files;
  auto const name = shown_name(files.front());
  auto const packs = read_packing(files);
  auto const input = read_lengths(files, arguments.input.select);
  refuse_oversize(input, arguments.limits.capacity, o);
  if (input.measures() > 1 && !input.histogram()) return check_measures(arguments, packs, input, name);
  std::vector<std::int64_t> expanded;
  auto const lengths = to_lengths(input, expanded);
  auto const read_seconds = watch.lap();

  auto const verdict = ballast::check_packing(packs, lengths, o);
  if (!verdict.valid()) throw bad_input(name + ": not a valid packing: " + describe(verdict));
  auto const ours = run_packer<std::uint64_t>(strategy::bfd, lengths, o);
  packing_report const report{.samples = lengths.size(),
                              .tokens = ours.tokens,
                              .capacity = o.capacity,
                              .strategy = "given",
                              .packs = {static_cast<std::int64_t>(packs.size()), ours.count.lower_bound},
                              .bound = std::string(to_string(ours.bound)),
                              .hash = ballast::hash(packs),
                              .set_aside = ours.set_aside,
                              .naive_packs = run_packer<std::uint64_t>(strategy::next_fit, lengths, o).packs.size()};
  auto const best_fit = std::uint64_t{ours.packs.size()};
  if (!arguments.json)
    return write_standard_output("Valid: no sample is missing or repeated, and no pack exceeds its capacity.\n" +
                                 in_words(report, "This packing") + "Best-fit decreasing takes " + grouped(best_fit) + ".\n");
  auto json = to_json(report);
  json["best_fit_decreasing"] = {{"packs", best_fit}, {"fill", report.fill(best_fit)}};
  json["seconds"] = {{"read", read_seconds}, {"check", watch.lap()}};
  print_json(json);
}

}  // namespace

void add_check(CLI::App& app) {
  auto const arguments = std::make_shared<check_arguments>();
  auto& command = *app.add_subcommand("check", "check a packing that any program made, and score it");
  add_input(command, arguments->input,
            "the packing (OFFSETS MEMBERS as .npy, or a folder from pack --out, or a text file with the sample indices of one pack a "
            "line), then the lengths");
  add_limits(command, arguments->limits);
  command.add_flag("--json", arguments->json, json_help);
  command.callback([arguments] {
    read_capacities(arguments->limits, arguments->input);
    run(*arguments);
  });
}

}  // namespace ballast_cli
