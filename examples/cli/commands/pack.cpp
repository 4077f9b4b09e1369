// SPDX-License-Identifier: Apache-2.0
#include "commands/pack.hpp"

#include "commands/commands.hpp"
#include "planning/model_words.hpp"
#include "planning/padded_plan.hpp"
#include "planning/rank_order.hpp"
#include "planning/sample_cost.hpp"
#include "readers/data_set.hpp"
#include "report/json.hpp"
#include "report/output.hpp"
#include "report/packing.hpp"
#include "report/page.hpp"
#include "report/plan_folder.hpp"
#include "report/static_rows.hpp"
#include "report/words.hpp"

#include <ballast/core/hash.hpp>
#include <ballast/packing/pack.hpp>
#include <ballast/packing/padded_batches.hpp>
#include <ballast/packing/vector/rank_distance.hpp>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace ballast_cli {

namespace {

/// Refuses what the GPU does not pack, and a GPU where the program was built without.
void require_backend(pack_arguments const& arguments) {
  if (arguments.backend == backend::host) return;
  auto const& o = arguments.limits.options;
  auto const refuse = [](std::string const& why) { throw bad_input("--backend cuda " + why + "; --backend host does"); };
  if (arguments.strategy != strategy::bfd) refuse("does not pack by --strategy " + std::string(name_of(arguments.strategy).word));
  if (arguments.limits.capacity.size() > 1) refuse("does not pack several measures");
  if (arguments.input.select.histogram) refuse("does not pack a histogram");
  if (o.oversize != ballast::oversize::reject) refuse("does not take --oversize " + std::string(word_of(o.oversize)));
  if (o.pack_count_multiple != 1) refuse("does not take --pack-count-multiple");
  if (!built_with_cuda) throw bad_input("this ballast was built without CUDA: configure with -DBALLAST_GPU=ON");
}

/// Packs where it was asked for.
template <class Index>
[[nodiscard]] ballast::packing<Index> run_packer(pack_arguments const& arguments, std::span<std::int64_t const> lengths) {
  if (arguments.padded) return ballast::padded_batches<Index>(lengths, arguments.limits.options);
  if constexpr (built_with_cuda)
    if (arguments.backend == backend::cuda) return pack_on_gpu<Index>(lengths, arguments.limits.options);
  return run_packer<Index>(arguments.strategy, lengths, arguments.limits.options, arguments.work);
}

template <class Plan>
void require_plan(Plan const& plan, ballast::packing_options const& o) {
  require_multiple(plan.status, plan.count.value, o.pack_count_multiple, plan.bound == ballast::packing_bound::sample_count);
}

/// Whether the packs of a histogram can be counted without listing their members.
[[nodiscard]] constexpr bool counts_histograms(strategy which) {
  return which == strategy::automatic || which == strategy::bfd || which == strategy::near_optimal;
}

/// The report of a histogram that need not be expanded: packs are counted, no member is listed.
[[nodiscard]] packing_report count(table const& input, strategy which, ballast::packing_options const& o, std::uint64_t work) {
  auto const samples = to_histogram(input);
  auto const tally = which == strategy::bfd            ? ballast::count_packs(samples, o)
                     : which == strategy::near_optimal ? ballast::count_near_optimal(samples, o, {.work = work})
                                                       : ballast::count_packs(samples, o, ballast::search_limits{});
  require_plan(tally, o);
  packing_report report{.samples = samples.samples(),
                        .tokens = tally.tokens,
                        .capacity = o.capacity,
                        .strategy = std::string(name_of(which).word),
                        .packs = tally.count,
                        .bound = std::string(to_string(tally.bound)),
                        .hash = {},
                        .set_aside = {},
                        .naive_packs = count_next_fit(input, o),
                        .zero_length = input.skipped()};
  if (tally.set_aside != 0) {
    std::uint64_t sample = 0;
    auto const& v = input.values();
    for (std::size_t i = 0; i < v.size(); i += 2, sample += static_cast<std::uint64_t>(v[i - 1]))
      for (std::int64_t j = 0; v[i] > longest_that_fits(o) && j < v[i + 1]; ++j)
        report.set_aside.push_back(sample + static_cast<std::uint64_t>(j));
  }
  return report;
}

template <class Index>
[[nodiscard]] std::string plan_json(pack_arguments const& arguments, packing_report const& report, ballast::packing<Index> const& plan) {
  auto const& o = arguments.limits.options;
  auto figures = to_json(report);
  figures["bound"] = report.bound;
  auto document = plan_document(arguments.input, hash_of_files(plan.packs), figures,
                                {{"oversize", word_of(o.oversize)},
                                 {"max_items", o.max_samples},
                                 {"multiple", o.sample_multiple},
                                 {"pack_count_multiple", o.pack_count_multiple},
                                 {"seed", o.seed}});
  if (arguments.padded) document["options"]["padded"] = true;
  if (report.fixed) document["options"]["static"] = true;
  document["pieces"] = pieces_json(plan.pieces);
  return text_of(document);
}

/// What each member of a pack holds: samples as far as they were not cut, then pieces.
template <class Index>
[[nodiscard]] std::vector<std::int64_t> placed_lengths(std::span<std::int64_t const> lengths, ballast::packing<Index> const& plan,
                                                       ballast::packing_options const& o) {
  std::vector<std::int64_t> placed(lengths.begin(), lengths.end());
  if (o.oversize == ballast::oversize::truncate || o.oversize == ballast::oversize::split)
    for (auto& length : placed) length = (std::min)(length, longest_that_fits(o));
  for (auto const& piece : plan.pieces) placed.push_back(piece.length);
  return placed;
}

/// What samples cost on a model; those in no pack count as 1, because they may be too long for any cost.
template <class Index>
[[nodiscard]] std::vector<std::int64_t> costs_of(pack_arguments const& arguments, std::vector<std::int64_t> const& placed,
                                                 ballast::groups<Index> const& packs) {
  auto const& model = arguments.model;
  auto cost = modelled_cost({.model = model, .mfu = {}}, arguments.limits.options.capacity);
  std::vector<std::int64_t> packed;
  for (auto const i : packs.members) packed.push_back(placed[static_cast<std::size_t>(i)]);
  auto const longest = packed.empty() ? 1 : *std::max_element(packed.begin(), packed.end());
  if (longest <= std::int64_t{1} << 31) cost.count_for(packed, {.capacity = longest});
  std::vector<std::int64_t> costs(placed.size(), 1);
  auto left = (std::numeric_limits<std::int64_t>::max)() / 4;
  for (auto const i : packs.members) {
    auto const length = placed[static_cast<std::size_t>(i)];
    auto const c = cost.fits(length) ? cost(length) : left;
    if (c >= left) throw bad_input("--model " + printable(model) + ": the modelled times of these samples add up to more than 2^61 units");
    left -= c;
    costs[static_cast<std::size_t>(i)] = c;
  }
  return costs;
}

/// The page of a packing: its words, some of its packs and the histogram of what is packed.
template <class Index>
[[nodiscard]] std::string page_of(pack_arguments const& arguments, packing_report const& report, ballast::packing<Index> const& plan,
                                  std::vector<std::int64_t> const& placed) {
  report_data page{.title = title_of(arguments.input.files),
                   .samples = report.samples,
                   .tokens = static_cast<std::uint64_t>(report.tokens),
                   .capacity = static_cast<std::uint64_t>(report.capacity),
                   .model = {},
                   .device = {},
                   .bin_edges = {},
                   .bin_samples = {},
                   .bin_tokens = {},
                   .plans = {},
                   .pack_bound_by = {},
                   .limits = {},
                   .command = arguments.command_line,
                   .lead = in_words(report, std::string(name_of(arguments.strategy).title))};
  std::vector<std::int64_t> tokens;
  tokens.reserve(plan.packs.members.size());
  for (auto const i : plan.packs.members) tokens.push_back(placed[static_cast<std::size_t>(i)]);
  add_some_packs(page, plan.packs, placed);
  if (!tokens.empty()) add_histogram(page, tokens);
  return render_report(page);
}

struct seconds {
  double read = 0, plan = 0, write = 0;
};

/// Plans sample by sample, and writes the plan if that is asked.
template <class Index>
[[nodiscard]] packing_report pack(pack_arguments const& arguments, std::span<std::int64_t const> lengths,
                                  std::vector<std::uint64_t> const& zero_length, stopwatch& watch, seconds& spent) {
  auto o = arguments.limits.options;
  auto plan = run_packer<Index>(arguments, lengths);
  require_plan(plan, o);
  std::optional<rank_figures> in_ranks;
  auto placed =
      arguments.ranks != 0 || arguments.padded || arguments.fixed ? placed_lengths(lengths, plan, o) : std::vector<std::int64_t>();
  if (arguments.padded) placed = ballast::padded_lengths(plan.packs, placed, o.sample_multiple);
  if (arguments.ranks != 0) {
    in_ranks = {.ranks = arguments.ranks, .model = arguments.model.empty() ? "" : name_of_language_part(arguments.model)};
    if (arguments.model.empty())
      order_for_ranks(plan.packs, {placed}, arguments.limits.capacity, arguments.ranks, o.seed);
    else
      in_ranks->modelled_idle = order_by_cost(plan.packs, costs_of(arguments, placed, plan.packs), arguments.ranks, o.seed);
    in_ranks->distance = ballast::rank_distances(plan.packs, {placed}, arguments.ranks).front();
  }
  spent.plan = watch.lap();
  packing_report report{.samples = lengths.size(),
                        .tokens = plan.tokens,
                        .capacity = o.capacity,
                        .strategy = std::string(name_of(arguments.strategy).word),
                        .packs = plan.count,
                        .bound = std::string(to_string(plan.bound)),
                        .hash = ballast::hash(plan.packs),
                        .set_aside = {plan.set_aside.begin(), plan.set_aside.end()},
                        .naive_packs = 0,
                        .in_ranks = in_ranks,
                        .zero_length = zero_length};
  auto const multiple = std::exchange(o.pack_count_multiple, 1);
  auto const naive =
      arguments.padded ? next_fit_padded<Index>(lengths, o).size() : run_packer<Index>(strategy::next_fit, lengths, o).packs.size();
  report.naive_packs = raised_to_multiple(naive, multiple, plan.packs.members.size());
  if (arguments.padded) {
    report.strategy = "padded";
    report.padding = -plan.tokens;
    for (auto const i : plan.packs.members) *report.padding += placed[static_cast<std::size_t>(i)];
  }
  std::optional<static_arrays> rows;
  if (arguments.fixed) {
    rows = static_arrays_of(plan.packs, placed, o.sample_multiple, longest_that_fits(o), o.max_samples);
    report.fixed = static_report{to_json(*rows), in_words(*rows)};
  }
  (void)watch.lap();
  if (!arguments.out.empty()) {
    auto files = pack_files(plan.packs);
    if (rows) add_files(files, *rows);
    auto const page = page_of(arguments, report, plan, placed_lengths(lengths, plan, arguments.limits.options));
    files.push_back({"report.html", {}, page});
    write_plan(arguments.out, files, plan_json(arguments, report, plan));
  }
  spent.write = watch.lap();
  return report;
}

void run(pack_arguments const& arguments) {
  require_backend(arguments);
  stopwatch watch;
  seconds spent;
  auto const& o = arguments.limits.options;
  auto const name = name_of(arguments.strategy);
  auto const input = read_lengths(arguments.input);
  auto const several = !input.histogram() && input.measures() > 1;
  if (several && !name.several_measures)
    throw bad_input("--strategy " + std::string(name.word) +
                    " packs one measure; for several there are auto, near-optimal, isf, completion, vector-best-fit and portfolio");
  refuse_oversize(input, arguments.limits.capacity, o);
  if (several || arguments.strategy >= strategy::isf) return pack_measures(arguments, input, watch.lap());
  packing_report report;
  if (arguments.input.select.histogram && counts_histograms(arguments.strategy) && arguments.ranks == 0 && arguments.out.empty() &&
      !arguments.padded && !arguments.fixed) {
    spent.read = watch.lap();
    report = count(input, arguments.strategy, o, arguments.work);
    spent.plan = watch.lap();
  } else {
    std::vector<std::int64_t> expanded;
    auto const lengths = to_lengths(input, expanded);
    auto indices = std::uint64_t{lengths.size()};  // split samples add pieces, and each has an index
    if (o.oversize == ballast::oversize::split && longest_that_fits(o) > 0)
      for (auto const length : lengths) indices += static_cast<std::uint64_t>((length - 1) / longest_that_fits(o));
    spent.read = watch.lap();
    report = indices < (std::numeric_limits<std::uint32_t>::max)() ? pack<std::uint32_t>(arguments, lengths, input.skipped(), watch, spent)
                                                                   : pack<std::uint64_t>(arguments, lengths, input.skipped(), watch, spent);
  }
  if (!arguments.json)
    return write_standard_output((arguments.model.empty() ? "" : config_in_words(arguments.model)) +
                                 in_words(report, arguments.padded ? "Padded batches" : std::string(name.title)));
  auto json = to_json(report);
  json["seconds"] = {{"read", spent.read}, {"plan", spent.plan}, {"write", spent.write}};
  print_json(json);
}

}  // namespace

namespace {

/// What --padded and --static do not take.
void require_shapes(pack_arguments const& pack) {
  auto const& o = pack.limits.options;
  auto const refuse = [](std::string const& option, std::string const& why) { throw bad_input(option + ": " + why); };
  auto const cut = std::string("--oversize ") + std::string(word_of(o.oversize));
  if (pack.padded) {
    if (pack.strategy != strategy::automatic) refuse("--padded", "has a strategy of its own, which takes the fewest batches");
    if (pack.limits.capacity.size() > 1) refuse("--padded", "is for one measure");
    if (pack.backend == backend::cuda) refuse("--padded", "is not planned by --backend cuda; --backend host does");
    if (pack.fixed) refuse("--padded", "has rows and no cu_seqlens, so there are none for --static");
    if (o.pack_count_multiple != 1) refuse("--pack-count-multiple", "not with --padded, which takes the fewest batches");
    if (o.oversize == ballast::oversize::split || o.oversize == ballast::oversize::alone)
      refuse(cut, "with --padded, a longer row can be rejected, set aside or truncated");
  }
  if (pack.fixed && pack.limits.capacity.size() > 1) refuse("--static", "is for one measure, the tokens of a row");
  if (pack.fixed && o.oversize == ballast::oversize::alone) refuse(cut, "with --static, no row is longer than --capacity");
}

}  // namespace

void require_multiple(ballast::status status, std::int64_t packs, std::uint64_t multiple, bool more_than_samples) {
  if (status == ballast::status::feasible) return;
  throw no_plan(std::string(status == ballast::status::infeasible ? "no plan has" : "no plan was found that has") +
                " a number of packs that is a multiple of " + std::to_string(multiple) + ": " + std::to_string(packs) + " packs " +
                (more_than_samples ? "are more than there are samples to pack, and no pack may be empty" : "were not reached"));
}

void add_pack(CLI::App& app, std::string const& command_line) {
  auto const arguments = std::make_shared<pack_arguments>();
  arguments->command_line = command_line;
  auto& o = arguments->limits.options;
  auto& command = *app.add_subcommand("pack", "pack samples into as few packs as possible");
  add_input(command, arguments->input, "lengths: text, CSV, JSON, JSONL, .npy, each but .npy also as gzip; - is standard input");
  add_limits(command, arguments->limits);
  auto const strategy_of = [](auto const& option, auto const& text) { return named(option, text, std::span(strategies)).strategy; };
  add_value(command, "--strategy", arguments->strategy, strategy_of,
            "auto (default), bfd, ffd, next-fit, first-fit, worst-fit, online, ffs, bfs, near-optimal, isf, completion, "
            "vector-best-fit or portfolio");
  auto const backend_of = [](auto const& option, auto const& text) { return named(option, text, std::span(backends)).backend; };
  add_value(command, "--backend", arguments->backend, backend_of, "where to pack: host (default) or cuda, a GPU, where auto means bfd");
  auto* const work = add_value(command, "--work", arguments->work, positive,
                               "with near-optimal: operations of its search, about a nanosecond each; 1000000000 by default");
  add_value(command, "--pack-count-multiple", o.pack_count_multiple, positive, "make the number of packs a multiple of this");
  add_value(command, "--seed", o.seed, from_0, "seed of the random strategies");
  auto* const ranks = add_value(command, "--ranks", arguments->ranks, positive,
                                "order the packs so that those of each step, this many in a row, have similar loads");
  add_model(command, arguments->model, "load is the modelled time of this preset or Hugging Face config.json, not the tokens")
      ->needs(ranks);
  command.add_option("--out", arguments->out, "folder for offsets.npy, members.npy, plan.json and report.html");
  command.add_flag("--padded", arguments->padded,
                   "pad each sample to the longest of its batch: rows times longest row is at most --capacity, as in max_tokens batches");
  command.add_flag("--static", arguments->fixed,
                   "pad each pack to --capacity tokens and one number of sequences: cu_seqlens of constant size, as CUDA graphs need");
  command.add_flag("--json", arguments->json, json_help);
  command.callback([arguments, work] {
    auto& pack = *arguments;
    if (work->count() != 0 && pack.strategy != strategy::near_optimal)
      throw bad_input("--work is that of --strategy near-optimal, which searches as long; auto searches at most a second");
    read_capacities(pack.limits, pack.input);
    require_shapes(pack);
    if (pack.backend == backend::cuda && pack.strategy == strategy::automatic) pack.strategy = strategy::bfd;
    require_plan_folder(pack.out);
    run(pack);
  });
}

}  // namespace ballast_cli
