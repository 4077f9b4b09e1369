// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"
#include "commands/model_commands.hpp"
#include "commands/option_values.hpp"
#include "errors.hpp"
#include "report/plan_folder.hpp"

#include <ballast/core/error.hpp>

#include <CLI/CLI.hpp>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>
#include <new>
#include <span>

using namespace ballast_cli;

namespace {

/// A decimal number given to an option; the library says which are too large or too small.
[[nodiscard]] double decimal(std::string const& option, std::string const& text) {
  double value = 0;
  auto const [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size())
    throw bad_input(option + " " + printable(text) + ": expected is a number, as in 0.4");
  return value;
}

[[nodiscard]] double milliseconds(std::string const& option, std::string const& text) {
  auto const value = decimal(option, text);
  if (!(value >= 0 && value <= 1e6)) throw bad_input(option + " " + printable(text) + ": expected are milliseconds from 0 to 10^6");
  return value;
}

/// A share in thousandths, rounded up.
[[nodiscard]] std::uint32_t thousandths(std::string const& option, std::string const& text) {
  auto const value = decimal(option, text);
  if (!(value >= 0 && value <= 1)) throw bad_input(option + " " + printable(text) + ": expected is a share from 0 to 1, as in 0.97");
  return static_cast<std::uint32_t>(std::ceil(1000 * value - 1e-6));
}

/// What has a name in a table. Throws bad_input, listing the names.
template <class Named, std::size_t extent>
[[nodiscard]] Named const& named(std::string const& option, std::string const& text, std::span<Named, extent> table) {
  std::string words;
  for (auto const& entry : table) {
    if (entry.word == text) return entry;
    words += (words.empty() ? "" : ", ") + std::string(entry.word);
  }
  throw bad_input(option + " " + printable(text) + ": expected is one of " + words);
}

/// Options read as text first: our own sentences say what is wrong with one.
struct option_text {
  std::string columns, capacity, strategy = "auto", backend = "host", oversize = "reject", max_items, multiple = "1",
                                 pack_count_multiple = "1", seed = "0", samples, ranks, micro_batches = "1", mfu, gpus, rule = "exact",
                                 max_length, max_levels, stages, memory, schedule = "1f1b", tensor = "1", zero = "0", step_overhead,
                                 micro_batch_overhead, least_fill;
};

void add_input(CLI::App& command, input_arguments& input, option_text& text, std::string const& files) {
  command.add_option("FILE", input.files, files)->required();
  command.add_option("--columns", text.columns,
                     "columns that hold the lengths: 2 or tokens; 1+2 adds two into one length, 2,1 are two measures");
  command.add_option("--field", input.select.field, "field of JSON objects that holds the length");
  command.add_flag("--histogram", input.select.histogram, "the files hold length,count rows");
}

void add_limits(CLI::App& command, option_text& text) {
  command.add_option("--capacity", text.capacity, "tokens a pack holds; 18,6016: one capacity per measure")->required();
  command.add_option("--max-items", text.max_items, "most samples in a pack");
  command.add_option("--multiple", text.multiple, "round each sample up to a multiple of this, as context parallelism needs");
  command.add_option("--oversize", text.oversize, "samples longer than the capacity: reject, set-aside, truncate, split or own");
}

void read_input(input_arguments& input, option_text const& text) {
  if (!text.columns.empty()) input.select.measures = parse_columns(text.columns);
}

[[nodiscard]] std::int64_t read_capacity(option_text const& text) { return number<std::int64_t>("--capacity", text.capacity, 1); }

/// One capacity for each measure that --columns names.
[[nodiscard]] std::vector<std::int64_t> read_capacities(option_text const& text, input_arguments const& input) {
  std::vector<std::int64_t> capacities;
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = text.capacity.find(',', begin);
    capacities.push_back(number<std::int64_t>("--capacity", text.capacity.substr(begin, end == std::string::npos ? end : end - begin), 1));
  }
  auto const measures = input.select.histogram || input.select.measures.empty() ? std::size_t{1} : input.select.measures.size();
  if (capacities.size() != measures)
    throw bad_input("--capacity " + printable(text.capacity) + ": expected is one capacity for each of " + std::to_string(measures) +
                    " measure" + (measures == 1 ? "" : "s") + "; --columns 2,1 names two, --columns 1+2 adds two columns into one");
  return capacities;
}

void read_limits(ballast::packing_options& options, option_text const& text) {
  if (!text.max_items.empty()) options.max_samples = static_cast<std::uint64_t>(number<std::int64_t>("--max-items", text.max_items, 1));
  options.sample_multiple = number<std::int64_t>("--multiple", text.multiple, 1);
  options.oversize = named("--oversize", text.oversize, std::span(oversize_policies)).policy;
}

/// Limits of `pack` and `check`, whose samples may have several measures.
template <class Arguments>
void read_limits(Arguments& arguments, option_text const& text) {
  arguments.capacity = read_capacities(text, arguments.input);
  arguments.options.capacity = arguments.capacity.front();
  read_limits(arguments.options, text);
}

/// The model side of `plan`. Samples are dealt to pipelines.
void read_model_side(plan_arguments& plan, option_text const& text) {
  auto& side = plan.model_side;
  side.stages = static_cast<std::uint64_t>(number<std::int32_t>("--stages", text.stages, 1));
  if (!text.memory.empty()) side.memory = bytes("--memory", text.memory, 0);
  side.schedule = ballast::schedule_named(text.schedule);
  side.tensor = number<std::int32_t>("--tp", text.tensor, 1);
  side.zero = number<std::int32_t>("--zero", text.zero, 0);
  if (side.stages == 1) return;
  plan.options.steps.synchronisation = ballast::synchronisation::pipeline;
  plan.options.steps.stages = side.stages;
}

/// A value of nothing, as from a shell variable that is not set, is not what somebody meant by giving the option.
void refuse_empty_values(CLI::App& app) {
  for (auto* const command : app.get_subcommands([](CLI::App const*) { return true; }))
    for (auto* const option : command->get_options())
      if (option->get_items_expected_max() != 0)  // not a flag
        option->check([name = option->get_name()](std::string const& value) -> std::string {
          if (value.empty()) throw bad_input(name + " " + printable(value) + ": expected is a value; leave it out where there is none");
          return {};
        });
}

int run(int argc, char** argv) {
  CLI::App app("Plans packs, steps and pipeline stages, and proves how good the plans are.", "ballast");
  app.require_subcommand(1);
  app.set_version_flag("--version", "ballast " + std::to_string(ballast::version.major) + "." + std::to_string(ballast::version.minor) +
                                        "." + std::to_string(ballast::version.patch));
  app.get_formatter()->column_width(34);
  option_text text;

  pack_arguments pack;
  auto& pack_command = *app.add_subcommand("pack", "pack samples into as few packs as possible");
  add_input(pack_command, pack.input, text, "lengths: text, CSV, JSON, JSONL, .npy, each but .npy also as gzip; - is standard input");
  add_limits(pack_command, text);
  pack_command.add_option("--strategy", text.strategy,
                          "auto (default), bfd, ffd, next-fit, first-fit, worst-fit, online, ffs, bfs, near-optimal, isf, completion, "
                          "vector-best-fit or portfolio");
  pack_command.add_option("--backend", text.backend, "where it packs: host (default) or cuda, a GPU, where auto is bfd");
  pack_command.add_option("--pack-count-multiple", text.pack_count_multiple, "make the number of packs a multiple of this");
  pack_command.add_option("--seed", text.seed, "another seed draws other packs, where a strategy draws");
  auto* const pack_ranks =
      pack_command.add_option("--ranks", text.ranks, "order the packs so that this many in a row, a step, have like loads; print how like");
  pack_command.add_option("--model", pack.model, "preset or Hugging Face config.json by whose modelled time loads are like, not by tokens")
      ->needs(pack_ranks);
  pack_command.add_option("--out", pack.out, "folder for offsets.npy, members.npy and plan.json");
  pack_command.add_flag("--json", pack.json, "print one JSON object");
  pack_command.callback([&] {
    read_input(pack.input, text);
    read_limits(pack, text);
    if (!text.ranks.empty()) pack.ranks = static_cast<std::uint64_t>(number<std::int64_t>("--ranks", text.ranks, 1));
    pack.strategy = named("--strategy", text.strategy, std::span(strategies)).strategy;
    pack.backend = named("--backend", text.backend, std::span(backends)).backend;
    if (pack.backend == backend::cuda && pack.strategy == strategy::automatic) pack.strategy = strategy::bfd;
    pack.options.pack_count_multiple =
        static_cast<std::uint64_t>(number<std::int64_t>("--pack-count-multiple", text.pack_count_multiple, 1));
    pack.options.seed = number<std::uint64_t>("--seed", text.seed, 0);
    require_plan_folder(pack.out);
    run_pack(pack);
  });

  plan_arguments plan;
  auto& plan_command = *app.add_subcommand("plan", "plan the steps of a run: which samples share a pack, a rank and a step");
  add_input(plan_command, plan.input, text, "lengths, as for pack");
  auto* const capacity =
      plan_command.add_option("--capacity", text.capacity, "tokens of a micro-batch on one rank; the longest of several levels");
  auto* const ranks = plan_command.add_option("--ranks", text.ranks, "data-parallel ranks");
  plan_command.add_option("--micro-batches", text.micro_batches, "micro-batches of a rank in one step; 1 without it");
  plan_command.add_option("--oversize", text.oversize, "samples longer than the capacity: reject, set-aside, truncate or split");
  auto* const model = plan_command.add_option("--model", plan.model, "preset or Hugging Face config.json; llama-3.1-8b without it");
  auto* const device = plan_command.add_option("--device", plan.device, "a100, h100 (default), h200 or b200");
  auto* const mfu = plan_command.add_option("--mfu", text.mfu, "share of the device's peak that is reached; 0.4 without it");
  auto* const cost =
      plan_command.add_option("--cost", plan.cost, "measured times instead of a model: from calibrate --json, or length,milliseconds rows")
          ->excludes(model)
          ->excludes(device)
          ->excludes(mfu);
  auto* const levels =
      plan_command
          .add_option("--levels", plan.levels,
                      "packs of several lengths and settings: auto (the best choice), hbp (its rule) or a file from levels --json")
          ->excludes(ranks)
          ->excludes(cost);
  auto* const gpus = plan_command.add_option("--gpus", text.gpus, "GPUs of the run, with --levels")->needs(levels);
  plan_command
      .add_option("--curriculum", plan.curriculum,
                  "order of the steps, with --levels: hbp (default), interleaved, random, ascending, ascending-buckets or shuffled-buckets")
      ->needs(levels);
  auto* const stages =
      plan_command.add_option("--stages", text.stages, "pipeline stages of a rank: plan the model and time every step too")
          ->excludes(levels)
          ->excludes(cost);
  plan_command.add_option("--memory", text.memory, "bytes of a device, Ki, Mi or Gi allowed; nine tenths of --device's without it")
      ->needs(stages);
  plan_command.add_option("--schedule", text.schedule, "of the pipelines: 1f1b (default), gpipe, zb1p or zb2p")->needs(stages);
  auto* const tensor = plan_command.add_option("--tp", text.tensor, "tensor-parallel devices of a stage; 1 without it")->needs(stages);
  auto* const zero = plan_command.add_option("--zero", text.zero, "ZeRO stage over the ranks, 0 (default) to 3")->needs(stages);
  plan_command
      .add_option("--layers", plan.model_side.layers,
                  "CSV of layers, as for partition, in milliseconds of a micro-batch of --capacity tokens")
      ->needs(stages)
      ->excludes(model)
      ->excludes(mfu)
      ->excludes(tensor)
      ->excludes(zero);
  plan_command
      .add_option("--step-overhead-ms", text.step_overhead,
                  "milliseconds of a step beside its micro-batches, as for the all-reduce and the optimiser; 0 without it")
      ->excludes(levels);
  plan_command
      .add_option("--micro-batch-overhead-ms", text.micro_batch_overhead,
                  "milliseconds of a micro-batch beside its samples, as for launches; 0 without it")
      ->excludes(levels);
  plan_command
      .add_option("--least-fill", text.least_fill,
                  "share of a step's places, as in 0.97, that balance may not go below where a plan reaches it")
      ->excludes(levels);
  plan_command.add_option("--seed", text.seed, "another seed draws other steps");
  plan_command.add_option("--out", plan.out,
                          "folder for offsets.npy, members.npy, steps.npy, plan.json and report.html; levels.npy with --levels");
  plan_command.add_flag("--json", plan.json, "print one JSON object");
  plan_command.callback([&] {
    read_input(plan.input, text);
    auto& o = plan.options.steps;
    auto const in_file = levels->count() != 0 && plan.levels != "auto" && plan.levels != "hbp";
    if (in_file && capacity->count() != 0) throw bad_input("--capacity is for --levels auto or hbp; levels from a file say what they hold");
    for (auto const* const needed : {in_file ? nullptr : capacity, levels->count() != 0 ? gpus : ranks})
      if (needed != nullptr && needed->count() == 0) throw bad_input(needed->get_name() + " is required");
    if (!in_file) o.capacity = read_capacity(text);
    if (levels->count() == 0)
      o.ranks = static_cast<std::uint64_t>(number<std::int64_t>("--ranks", text.ranks, 1));
    else
      plan.gpus = number<std::uint32_t>("--gpus", text.gpus, 1);
    plan.curriculum = named("--curriculum", plan.curriculum, std::span(curricula)).word;
    o.micro_batches = static_cast<std::uint64_t>(number<std::int64_t>("--micro-batches", text.micro_batches, 1));
    o.seed = number<std::uint64_t>("--seed", text.seed, 0);
    plan.options.oversize = named("--oversize", text.oversize, std::span(oversize_policies).first<4>()).policy;
    if (mfu->count() != 0) plan.mfu = decimal("--mfu", text.mfu);
    if (!text.step_overhead.empty()) plan.step_overhead_ms = milliseconds("--step-overhead-ms", text.step_overhead);
    if (!text.micro_batch_overhead.empty())
      plan.micro_batch_overhead_ms = milliseconds("--micro-batch-overhead-ms", text.micro_batch_overhead);
    if (!text.least_fill.empty()) o.least_fill = thousandths("--least-fill", text.least_fill);
    if (!text.stages.empty()) read_model_side(plan, text);
    require_plan_folder(plan.out);
    plan.command = "ballast";
    for (int i = 1; i < argc; ++i) plan.command += std::string(" ") + argv[i];
    run_plan(plan);
  });

  levels_arguments level;
  auto& levels_command = *app.add_subcommand("levels", "choose pack lengths, SP degrees and recomputed layers for long and short samples");
  add_input(levels_command, level.input, text, "lengths, as for pack");
  levels_command.add_option("--max-length", text.max_length, "tokens of the longest pack")->required();
  levels_command.add_option("--gpus", text.gpus, "GPUs of the run")->required();
  levels_command.add_option("--rule", text.rule, "exact (default), the choice of least modelled time, or hbp, the published rule");
  levels_command.add_option("--max-levels", text.max_levels, "most levels that exact may choose; 3 without it");
  levels_command.add_option("--oversize", text.oversize, "samples over the longest pack: reject, set-aside, truncate or split");
  levels_command.add_option("--model", level.request.model, "preset or Hugging Face config.json; llama-3.1-8b without it");
  levels_command.add_option("--device", level.request.device, "a100, h100 (default), h200 or b200");
  auto* const level_mfu = levels_command.add_option("--mfu", text.mfu, "share of the device's peak that is reached; 0.383 without it");
  levels_command.add_option("--table", level.request.table,
                            "measured settings: rows of length, sp, recomputed_layers, milliseconds and perhaps memory in GB");
  levels_command.add_flag("--json", level.json, "print one JSON object, which plan --levels reads");
  levels_command.callback([&] {
    read_input(level.input, text);
    level.max_length = number<std::int64_t>("--max-length", text.max_length, 1);
    level.request.gpus = number<std::uint32_t>("--gpus", text.gpus, 1);
    level.rule = named("--rule", text.rule, std::span(level_rules)).rule;
    if (!text.max_levels.empty()) {
      if (level.rule != level_rule::exact) throw bad_input("--max-levels is for --rule exact; that of HBP has two stages");
      level.max_levels = static_cast<std::uint64_t>(number<std::int64_t>("--max-levels", text.max_levels, 1));
    }
    level.oversize = named("--oversize", text.oversize, std::span(oversize_policies).first<4>()).policy;
    if (level_mfu->count() != 0) level.request.mfu = decimal("--mfu", text.mfu);
    run_levels(level);
  });

  calibrate_arguments calibrate;
  auto& calibrate_command = *app.add_subcommand("calibrate", "fit a cost to measured times");
  calibrate_command.add_option("TIMES", calibrate.file, "rows of lengths and milliseconds; - is standard input")->required();
  calibrate_command.add_flag("--json", calibrate.json, "print one JSON object, which plan --cost reads");
  calibrate_command.callback([&] { run_calibrate(calibrate); });

  check_arguments check;
  auto& check_command = *app.add_subcommand("check", "check and score a packing, whoever made it");
  add_input(check_command, check.input, text,
            "the packing (OFFSETS MEMBERS as .npy, or a folder from pack --out, or a text file with the sample indices of one pack a "
            "line), then the lengths");
  add_limits(check_command, text);
  check_command.add_flag("--json", check.json, "print one JSON object");
  check_command.callback([&] {
    read_input(check.input, text);
    read_limits(check, text);
    run_check(check);
  });

  capacities_arguments capacities;
  auto& capacities_command = *app.add_subcommand("capacities", "choose the capacities of two measures, as in images and text");
  add_input(capacities_command, capacities.input, text, "two measures, the one that depends on the other first: --columns 2,1");
  capacities_command.add_option("--ranks", text.ranks, "data-parallel ranks whose loads are to be alike; 8 without it");
  capacities_command.add_flag("--json", capacities.json, "print one JSON object");
  capacities_command.callback([&] {
    read_input(capacities.input, text);
    if (!text.ranks.empty()) capacities.ranks = static_cast<std::uint64_t>(number<std::int64_t>("--ranks", text.ranks, 1));
    run_capacities(capacities);
  });

  model_commands model_side;
  model_side.add_to(app);

  stats_arguments stats;
  auto& stats_command = *app.add_subcommand("stats", "describe a distribution of lengths");
  add_input(stats_command, stats.input, text, "lengths, as for pack");
  stats_command.add_flag("--json", stats.json, "print one JSON object");
  stats_command.callback([&] {
    read_input(stats.input, text);
    run_stats(stats);
  });

  generate_arguments generate;
  auto& generate_command = *app.add_subcommand("generate", "draw lengths from a published distribution");
  auto* const like = generate_command.add_option("--like", generate.like, "name of the distribution");
  auto* const samples = generate_command.add_option("--samples", text.samples, "how many to draw");
  like->needs(samples);
  samples->needs(like);
  generate_command.add_option("--seed", text.seed, "another seed draws other samples");
  generate_command.add_option("--out", generate.out, "file to write; standard output without it");
  generate_command.add_flag("--list", generate.list, "list the distributions, their columns and sources");
  generate_command.callback([&] {
    if (!generate.list) {
      if (generate.like.empty()) throw bad_input("generate: --like NAME --samples N is required; --list shows the names");
      generate.samples = static_cast<std::uint64_t>(number<std::int64_t>("--samples", text.samples, 1));
      generate.seed = number<std::uint64_t>("--seed", text.seed, 0);
    }
    run_generate(generate);
  });

  refuse_empty_values(app);
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& e) {
    if (e.get_exit_code() != static_cast<int>(CLI::ExitCodes::Success)) throw bad_input(e.what());
    app.exit(e);
    if (!std::cout.flush()) throw cannot_write("standard output: cannot be written");
  }
  return exit_ok;
}

int fail(std::string const& sentence, int code) {
  (void)std::fprintf(stderr, "%s\n", sentence.c_str());
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (bad_input const& e) {
    return fail(e.what(), exit_bad_input);
  } catch (ballast::invalid_input const& e) {
    return fail(e.what(), exit_bad_input);
  } catch (no_plan const& e) {
    return fail(e.what(), exit_infeasible);
  } catch (cannot_write const& e) {
    return fail(e.what(), exit_failure);
  } catch (gpu_failure const& e) {
    return fail(e.what(), exit_failure);
  } catch (std::bad_alloc const&) {
    return fail("there is not enough memory for this input", exit_failure);
  } catch (std::exception const& e) {
    return fail(std::string("internal fault: ") + e.what(), exit_failure);
  }
}
