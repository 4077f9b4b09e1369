// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "errors.hpp"

#include <ballast/core/error.hpp>

#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdio>
#include <functional>
#include <iostream>
#include <limits>
#include <new>
#include <span>

using namespace ballast_cli;

namespace {

/// A number given to an option. Throws bad_input with a sentence that says what would be one.
template <class Integer>
[[nodiscard]] Integer number(std::string const& option, std::string const& text, Integer least) {
  Integer value = 0;
  auto const [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size() || value < least)
    throw bad_input(option + " " + printable(text) + ": expected is a whole number from " + std::to_string(least) + " to 2^" +
                    std::to_string(std::numeric_limits<Integer>::digits) + "-1");
  return value;
}

/// A decimal number given to an option; the library says which are too large or too small.
[[nodiscard]] double decimal(std::string const& option, std::string const& text) {
  double value = 0;
  auto const [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size())
    throw bad_input(option + " " + printable(text) + ": expected is a number, as in 0.4");
  return value;
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
  std::string columns, capacity, strategy = "bfd", oversize = "reject", max_items, multiple = "1", pack_count_multiple = "1", seed = "0",
                                 samples, ranks, micro_batches = "1", mfu = "0.4";
};

void add_input(CLI::App& command, input_arguments& input, option_text& text, std::string const& files) {
  command.add_option("FILE", input.files, files)->required();
  command.add_option("--columns", text.columns, "columns that hold the lengths: 2 or tokens; 1+2 adds two into one length");
  command.add_option("--field", input.select.field, "field of JSON objects that holds the length");
  command.add_flag("--histogram", input.select.histogram, "the files hold length,count rows");
}

void add_limits(CLI::App& command, option_text& text) {
  command.add_option("--capacity", text.capacity, "tokens a pack holds")->required();
  command.add_option("--max-items", text.max_items, "most samples in a pack");
  command.add_option("--multiple", text.multiple, "round each sample up to a multiple of this, as context parallelism needs");
  command.add_option("--oversize", text.oversize, "samples longer than the capacity: reject, set-aside, truncate, split or own");
}

void read_input(input_arguments& input, option_text const& text) {
  if (!text.columns.empty()) input.select.measures = parse_columns(text.columns);
}

[[nodiscard]] std::int64_t read_capacity(option_text const& text) {
  if (text.capacity.find(',') != std::string::npos)
    throw bad_input("--capacity " + printable(text.capacity) +
                    ": packing by several measures at once is not in this version; give one capacity");
  return number<std::int64_t>("--capacity", text.capacity, 1);
}

void read_limits(ballast::packing_options& options, option_text const& text) {
  options.capacity = read_capacity(text);
  if (!text.max_items.empty()) options.max_samples = static_cast<std::uint64_t>(number<std::int64_t>("--max-items", text.max_items, 1));
  options.sample_multiple = number<std::int64_t>("--multiple", text.multiple, 1);
  options.oversize = named("--oversize", text.oversize, std::span(oversize_policies)).policy;
}

int run(int argc, char** argv) {
  CLI::App app("Plans which samples share a pack and which packs share a step, and proves how good the plan is.", "ballast");
  app.require_subcommand(1);
  app.set_version_flag("--version", "ballast " + std::to_string(ballast::version.major) + "." + std::to_string(ballast::version.minor) +
                                        "." + std::to_string(ballast::version.patch));
  app.get_formatter()->column_width(34);
  option_text text;

  pack_arguments pack;
  auto& pack_command = *app.add_subcommand("pack", "pack samples into as few packs as possible");
  add_input(pack_command, pack.input, text, "lengths: text, CSV, JSON, JSONL, .npy, each but .npy also as gzip; - is standard input");
  add_limits(pack_command, text);
  pack_command.add_option("--strategy", text.strategy, "next-fit, first-fit, ffd, bfd (default), worst-fit, ffs, bfs or online");
  pack_command.add_option("--pack-count-multiple", text.pack_count_multiple, "make the number of packs a multiple of this");
  pack_command.add_option("--seed", text.seed, "of the random orders of ffs and bfs");
  pack_command.add_option("--out", pack.out, "folder for offsets.npy, members.npy and plan.json");
  pack_command.add_flag("--json", pack.json, "print one JSON object");
  pack_command.callback([&] {
    read_input(pack.input, text);
    read_limits(pack.options, text);
    pack.strategy = named("--strategy", text.strategy, std::span(strategies)).strategy;
    pack.options.pack_count_multiple =
        static_cast<std::uint64_t>(number<std::int64_t>("--pack-count-multiple", text.pack_count_multiple, 1));
    pack.options.seed = number<std::uint64_t>("--seed", text.seed, 0);
    run_pack(pack);
  });

  plan_arguments plan;
  auto& plan_command = *app.add_subcommand("plan", "plan the steps of a run: which samples share a pack, a rank and a step");
  add_input(plan_command, plan.input, text, "lengths, as for pack");
  plan_command.add_option("--capacity", text.capacity, "tokens of a micro-batch on one rank")->required();
  plan_command.add_option("--ranks", text.ranks, "data-parallel ranks")->required();
  plan_command.add_option("--micro-batches", text.micro_batches, "micro-batches of a rank in one step; 1 without it");
  plan_command.add_option("--oversize", text.oversize, "samples longer than the capacity: reject, set-aside, truncate or split");
  auto* const model = plan_command.add_option("--model", plan.model, "preset or Hugging Face config.json; llama-3.1-8b without it");
  auto* const device = plan_command.add_option("--device", plan.device, "a100, h100 (default), h200 or b200");
  auto* const mfu = plan_command.add_option("--mfu", text.mfu, "share of the device's peak that is reached; 0.4 without it");
  plan_command.add_option("--cost", plan.cost, "measured times instead of a model: from calibrate --json, or length,milliseconds rows")
      ->excludes(model)
      ->excludes(device)
      ->excludes(mfu);
  plan_command.add_option("--seed", text.seed, "another seed draws other steps");
  plan_command.add_option("--out", plan.out, "folder for offsets.npy, members.npy, steps.npy, plan.json and report.html");
  plan_command.add_flag("--json", plan.json, "print one JSON object");
  plan_command.callback([&] {
    read_input(plan.input, text);
    auto& o = plan.options.steps;
    o.capacity = read_capacity(text);
    o.ranks = static_cast<std::uint64_t>(number<std::int64_t>("--ranks", text.ranks, 1));
    o.micro_batches = static_cast<std::uint64_t>(number<std::int64_t>("--micro-batches", text.micro_batches, 1));
    o.seed = number<std::uint64_t>("--seed", text.seed, 0);
    plan.options.oversize = named("--oversize", text.oversize, std::span(oversize_policies).first<4>()).policy;
    plan.mfu = decimal("--mfu", text.mfu);
    plan.command = "ballast";
    for (int i = 1; i < argc; ++i) plan.command += std::string(" ") + argv[i];
    run_plan(plan);
  });

  calibrate_arguments calibrate;
  auto& calibrate_command = *app.add_subcommand("calibrate", "fit a cost to measured times");
  calibrate_command.add_option("TIMES", calibrate.file, "rows of length and milliseconds; - is standard input")->required();
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
    read_limits(check.options, text);
    run_check(check);
  });

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
  } catch (std::bad_alloc const&) {
    return fail("there is not enough memory for this input", exit_failure);
  } catch (std::exception const& e) {
    return fail(std::string("internal fault: ") + e.what(), exit_failure);
  }
}
