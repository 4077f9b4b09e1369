// SPDX-License-Identifier: Apache-2.0
#include "commands/plan.hpp"

#include "commands/commands.hpp"
#include "commands/model_options.hpp"
#include "commands/options.hpp"
#include "errors.hpp"
#include "planning/model_setting.hpp"
#include "report/plan_folder.hpp"

#include <ballast/footprint/trainers.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace ballast_cli {

namespace {

struct left_over_policy {
  std::string_view word;
  ballast::left_over policy;
};
constexpr left_over_policy left_over_policies[] = {{"split", ballast::left_over::split},
                                                   {"shorten", ballast::left_over::shorten},
                                                   {"repeat", ballast::left_over::repeat},
                                                   {"drop", ballast::left_over::drop}};

/// Options that others need or exclude.
struct plan_options {
  std::array<CLI::Option*, 2> rates;  ///< --kernels, --calibration
  CLI::Option *padded, *fixed, *within, *epochs, *least_fill, *randomness, *capacity, *ranks, *micro_batches, *recompute, *model, *device,
      *mfu, *tflops, *bandwidth, *memory_bandwidth, *cost, *levels, *gpus, *global_batch, *batch_tokens;
  model_options model_side;
};

[[nodiscard]] plan_options add_data_side(CLI::App& command, plan_arguments& plan) {
  auto& o = plan.options.steps;
  plan_options out{};
  out.capacity = command.add_option("--capacity", plan.capacity,
                                    "tokens of a micro-batch on one rank; auto: the most that fit --model on --device under --framework; "
                                    "9,4096: one capacity for each measure, the tokens last; with --levels, tokens of the longest level");
  out.ranks = add_value(command, "--ranks", o.ranks, positive, "data-parallel ranks");
  out.micro_batches = add_value(command, "--micro-batches", o.micro_batches, positive, "micro-batches of a rank in one step; 1 by default");
  add_value(command, "--oversize", plan.options.oversize, planned_oversize_policy,
            "samples longer than the capacity: reject, set-aside, truncate or split");
  out.recompute = add_value(command, "--recompute", plan.model_side.recompute, recomputed,
                            "with --capacity auto, what layers compute again: none (default), full, or modules as mlp,layernorm");
  out.model = add_model(command, plan.on.model, "preset or Hugging Face config.json; llama-3.1-8b by default");
  out.device =
      add_device(command, plan.on.device, "; a100:8,v100:8:4096: ranks of several kinds, the last with micro-batches of 4,096 tokens");
  auto const tflops = [](auto const& option, auto const& text) {
    auto const value = decimal(option, text);
    if (!(value >= 0.001 && value <= 1e6)) throw bad_input(option + " " + printable(text) + ": expected are TFLOP/s from 0.001 to 10^6");
    return value;
  };
  out.tflops = add_value(command, "--tflops", plan.tflops, tflops,
                         "dense bfloat16 TFLOP/s of a device of your own, in place of --device; with --memory, --memory-bandwidth and "
                         "--bandwidth where stages are planned")
                   ->excludes(out.device);
  out.bandwidth =
      add_value(command, "--bandwidth", plan.bandwidth, some_bytes, "bytes a second of its link to others, both directions, as in 900GB")
          ->needs(out.tflops);
  out.memory_bandwidth =
      add_value(command, "--memory-bandwidth", plan.memory_bandwidth, some_bytes, "bytes a second of its memory, as in 3350GB")
          ->needs(out.tflops);
  out.mfu = add_value(command, "--mfu", plan.on.mfu, share, share_help);
  out.cost =
      command.add_option("--cost", plan.cost, "measured times instead of a model: from calibrate --json, or length,milliseconds rows")
          ->excludes(out.model)
          ->excludes(out.device)
          ->excludes(out.tflops)
          ->excludes(out.mfu);
  out.rates = add_rates(command, plan.on.kernels, plan.on.calibration);
  for (auto* const option : out.rates) option->excludes(out.mfu)->excludes(out.cost);
  return out;
}

/// "auto", or "auto:8..512".
[[nodiscard]] gpu_range range_of_gpus(std::string const& option, std::string const& text) {
  if (text == "auto") return {1, 1024};
  auto const dots = text.find("..");
  auto const refuse = [&] {
    return bad_input(option + " " + printable(text) + ": expected a number, auto, or auto:FEWEST..MOST as in auto:8..512, up to 2^20");
  };
  if (!text.starts_with("auto:") || dots == std::string::npos) throw refuse();
  auto const number = [&](std::string const& digits) {
    if (digits.empty() || digits.size() > 7 || digits.find_first_not_of("0123456789") != std::string::npos) throw refuse();
    return std::stoll(digits);
  };
  gpu_range const range{number(text.substr(5, dots - 5)), number(text.substr(dots + 2))};
  if (range.least < 1 || range.most < range.least || range.most > std::int64_t{1} << 20) throw refuse();
  return range;
}

/// Days, hours, minutes and seconds, in milliseconds: numbers with their units, the largest unit first.
[[nodiscard]] double milliseconds_of_run(std::string const& option, std::string const& text) {
  struct unit {
    std::string_view names;  ///< each between spaces
    double ms;
  };
  constexpr unit units[] = {{" d day days ", 8.64e7},
                            {" h hr hrs hour hours ", 3.6e6},
                            {" m min mins minute minutes ", 6e4},
                            {" s sec secs second seconds ", 1e3}};
  auto const refuse = [&] {
    return bad_input(option + " " + printable(text) + ": expected a time, as in 36h, 90min, 1h30min, 1.5h or 3d");
  };
  double sum = 0;
  auto next = std::begin(units);
  for (std::size_t at = 0; at < text.size();) {
    auto const digits = (std::min)(text.find_first_not_of("0123456789.", at), text.size());
    auto const word = (std::min)(text.find_first_not_of(' ', digits), text.size());
    auto const end = (std::min)(text.find_first_of("0123456789. ", word), text.size());
    auto const name = " " + text.substr(word, end - word) + " ";
    auto const found = std::find_if(next, std::end(units), [&](unit const& u) { return u.names.find(name) != std::string_view::npos; });
    if (digits == at || found == std::end(units)) throw refuse();
    auto const value = decimal(option, text.substr(at, digits - at));
    if (!(value >= 0 && value <= 1e6)) throw refuse();
    if (at > 0 && value * found->ms >= (found - 1)->ms)
      throw bad_input(option + " " + printable(text) + ":" + name + "must be below " + (found->ms == 3.6e6 ? "24" : "60") +
                      " behind a larger unit");
    sum += value * found->ms;
    next = found + 1;
    at = (std::min)(text.find_first_not_of(' ', end), text.size());
  }
  if (!(sum > 0)) throw refuse();
  return sum;
}

void add_level_side(CLI::App& command, plan_arguments& plan, plan_options& of) {
  of.levels = command
                  .add_option("--levels", plan.levels,
                              "packs of several lengths and settings: auto (the best choice), hbp (its rule) or a file from levels --json")
                  ->excludes(of.ranks)
                  ->excludes(of.tflops)
                  ->excludes(of.cost);
  auto const gpus = [&plan](std::string const& text) {
    if (text.starts_with("auto"))
      plan.range = range_of_gpus("--gpus", text);
    else
      plan.gpus = whole<std::uint32_t>("--gpus", text);
  };
  of.gpus = command
                .add_option_function<std::string>(
                    "--gpus", gpus,
                    "GPUs of the run: choose ranks, stages, TP, CP, EP, ZeRO, micro-batches and schedule; or those of --levels; auto or "
                    "auto:8..512: the fewest that fit, or with --within the cheapest")
                ->excludes(of.ranks)
                ->excludes(of.cost);
  of.within = add_value(command, "--within", plan.degrees.within_ms, milliseconds_of_run,
                        "time, as in 36h or 1h30min, in which the data are to be trained on, as modelled: of --gpus auto those that take "
                        "the fewest GPU-hours")
                  ->needs(of.gpus);
  of.epochs =
      add_value(command, "--epochs", plan.degrees.epochs, small_positive, "epochs that --within is for; 1 by default")->needs(of.within);
  of.global_batch = add_value(command, "--global-batch", plan.degrees.global_batch, positive,
                              "packs of --capacity tokens in a step, in place of --micro-batches; with --gpus or several kinds of devices "
                              "one for each GPU by default")
                        ->excludes(of.levels)
                        ->excludes(of.micro_batches);
  of.batch_tokens = add_value(command, "--global-batch-tokens", plan.global_batch_tokens, positive,
                              "the same in tokens, as in 4Mi: a multiple of --capacity")
                        ->excludes(of.levels)
                        ->excludes(of.global_batch)
                        ->excludes(of.micro_batches);
  auto const curriculum = [](auto const& option, auto const& text) { return named(option, text, std::span(curricula)); };
  add_value(command, "--curriculum", plan.curriculum, curriculum,
            "order of the steps, with --levels: hbp (default), interleaved, random, ascending, ascending-buckets or shuffled-buckets")
      ->needs(of.levels);
}

void add_balance(CLI::App& command, plan_arguments& plan, plan_options& of) {
  of.padded = command
                  .add_flag("--padded", plan.padded,
                            "pad each sample to the longest of its micro-batch: rows times longest row is at most --capacity")
                  ->excludes(of.levels);
  of.fixed = command
                 .add_flag("--static", plan.fixed,
                           "write cu_seqlens of constant size: each pack padded to --capacity tokens and one number of sequences")
                 ->excludes(of.levels)
                 ->excludes(of.padded);
  add_value(command, "--step-overhead-ms", plan.step_overhead_ms, milliseconds,
            "milliseconds of a step besides its micro-batches, as for the all-reduce and the optimiser; 0 by default")
      ->excludes(of.levels);
  add_value(command, "--micro-batch-overhead-ms", plan.micro_batch_overhead_ms, milliseconds,
            "milliseconds of a micro-batch besides its samples, as for launches; by default what its kernels take, 0 with --mfu")
      ->excludes(of.levels);
  of.least_fill = add_value(command, "--least-fill", plan.options.steps.least_fill, thousandths,
                            "share of the capacity, as in 0.97, to fill before balance counts, where a plan can")
                      ->excludes(of.levels);
  of.randomness = add_value(command, "--time-for-randomness", plan.options.steps.time_for_randomness, thousandths,
                            "time to give for steps that are random draws, as in 2%, above that of the fastest plan: 0 plans the fastest "
                            "steps, 100% the most random")
                      ->excludes(of.levels)
                      ->excludes(of.least_fill);
  add_value(command, "--multiple", plan.multiple, positive,
            "round each sample up to a multiple of this before it is planned, as context parallelism needs: 16 for --cp 8")
      ->excludes(of.levels);
  add_value(command, "--max-items", plan.options.max_samples, positive, "largest number of samples in a pack")->excludes(of.levels);
  auto const rest = [](auto const& option, auto const& text) { return named(option, text, std::span(left_over_policies)).policy; };
  add_value(command, "--left-over", plan.options.steps.left_over, rest,
            "a last step that is not full: split packs until it is (default), shorten it, repeat packs of others, or drop it")
      ->excludes(of.levels);
  add_value(command, "--seed", plan.options.steps.seed, from_0, "seed of the random choices");
  add_value(command, "--epoch", plan.options.steps.epoch, from_0,
            "number of the epoch; each has another order under the same seed; 0 by default")
      ->excludes(of.levels);
}

/// What one way of planning needs, and the others do not take.
void require_shape(plan_arguments const& plan, plan_options const& of) {
  auto const in_file = plan.levels_from_file(), searched = plan.levels.empty() && of.gpus->count() != 0;
  if (in_file && of.capacity->count() != 0)
    throw bad_input("--capacity is for --levels auto or hbp; levels from a file say what they hold");
  for (auto const* const needed : {in_file ? nullptr : of.capacity, searched ? nullptr : plan.levels.empty() ? of.ranks : of.gpus})
    if (needed != nullptr && needed->count() == 0) throw bad_input(needed->get_name() + " is required");
  auto const of_stages = [](auto const& name) { return name == "--schedule" || name == "--overlap" || name == "--recompute-modules"; };
  for (auto const* const option : of.model_side.others)
    if (option->count() != 0 && of.model_side.stages->count() == 0 && !searched &&
        (!plan.asks_capacity() || of_stages(option->get_name())) && !(option->get_name() == "--memory" && of.tflops->count() != 0))
      throw bad_input(option->get_name() + " requires --stages" + (plan.levels.empty() ? " or --gpus" : ""));
  if (of.recompute->count() != 0 && !plan.asks_capacity())
    throw bad_input("--recompute is for --capacity auto; stages choose what they recompute, of --recompute-modules");
  if (plan.range.most != 0) {
    if (!plan.levels.empty()) throw bad_input("--gpus auto: not with --levels, which are planned for a number of GPUs");
    if (of.global_batch->count() == 0 && of.batch_tokens->count() == 0)
      throw bad_input("--gpus auto requires --global-batch, so that all numbers of GPUs train the same steps");
  } else if (of.within->count() != 0) {
    throw bad_input("--within: --gpus auto chooses the number of GPUs for it, and --gpus " + std::to_string(plan.gpus) + " gives one");
  }
  if (plan.model_side.any_vision_tensor && !searched)
    throw bad_input("--vision-tp auto: is chosen with --gpus; with --tp given, expected a divisor of it");
  if (!searched) return;
  if (of.micro_batches->count() != 0)
    throw bad_input("--micro-batches: --gpus chooses their number; --global-batch says how many packs a step has");
  if (of.model_side.layers->count() != 0)
    throw bad_input("--layers: --gpus needs a --model; measured layers do not say what other degrees take");
}

/// What --capacity auto needs, and does not take.
void require_question(plan_arguments const& plan, plan_options const& of) {
  struct excluded {
    CLI::Option const* option;
    char const* why;
  };
  for (auto const& [option, why] : {excluded{of.gpus, "chooses degrees for a capacity that is given"},
                                    {of.batch_tokens, "is a multiple of a capacity that is given; --global-batch counts packs"},
                                    {of.cost, "has times alone, and memory is that of a --model"},
                                    {of.model_side.layers, "has measured layers, and memory is that of a --model"}})
    if (option->count() != 0) throw bad_input("--capacity auto: " + option->get_name() + " " + why);
  if (plan.input.select.asked() != 1) throw bad_input("--capacity auto: samples have one measure; --columns 1+2 adds two columns into one");
  if (of.model->count() == 0) throw bad_input("--capacity auto requires --model, whose parameters and layers are to fit");
  if (of.model_side.framework->count() == 0)
    throw bad_input(
        "--capacity auto requires --framework, which decides what a token takes: megatron, eager or compiled are counted by tensor");
  if (of.device->count() == 0 && of.tflops->count() == 0)
    throw bad_input("--capacity auto requires --device, whose memory is to be filled");
}

/// Throws for a number that is no multiple of another one, naming the multiples next to it.
void require_multiple_of(std::string const& option, std::uint64_t value, std::uint64_t unit, std::string const& what) {
  auto const below = value / unit * unit;
  if (value % unit != 0)
    throw bad_input(option + " " + std::to_string(value) + ": is no multiple of " + what + "; " +
                    (below == 0 ? "" : std::to_string(below) + " and ") + std::to_string(below + unit) + (below == 0 ? " is" : " are"));
}

/// What --padded and --static do not take.
void require_shapes(plan_arguments const& plan, plan_options const& of) {
  auto const& o = plan.options;
  if (of.randomness->count() != 0 && (plan.measures() > 1 || o.max_samples != 0))
    throw bad_input("--time-for-randomness: is for one measure, and not with --max-items, whose packs are made first");
  if (plan.fixed && plan.measures() > 1) throw bad_input("--static: is for one measure, the tokens of a row");
  if (!plan.padded) return;
  if (plan.measures() > 1) throw bad_input("--padded: is for one measure");
  if (plan.asks_capacity()) throw bad_input("--padded: --capacity auto counts packs without padding; give a number");
  for (auto const* option : {of.least_fill, of.randomness})
    if (option->count() != 0) throw bad_input(option->get_name() + ": not with --padded, which takes the fewest batches");
  if (o.oversize == ballast::oversize::split)
    throw bad_input("--oversize split: with --padded, a longer row can be rejected, set aside or truncated");
  if (o.steps.left_over != ballast::left_over::split && o.steps.left_over != ballast::left_over::shorten)
    throw bad_input("--left-over: with --padded, a last step can be split or shortened");
}

/// Packs of a step from its tokens, and micro-batches from its packs where ranks are given.
void read_global_batch(plan_arguments& plan, plan_options const& of) {
  auto& steps = plan.options.steps;
  std::uint64_t packs = static_cast<std::uint64_t>(plan.degrees.global_batch);
  if (of.batch_tokens->count() != 0) {
    auto const capacity = static_cast<std::uint64_t>(steps.capacity);
    auto const tokens = static_cast<std::uint64_t>(plan.global_batch_tokens);
    require_multiple_of("--global-batch-tokens", tokens, capacity, "--capacity " + std::to_string(capacity));
    packs = tokens / capacity;
    plan.degrees.global_batch = static_cast<std::int64_t>(packs);
  }
  if (packs == 0 || of.gpus->count() != 0) return;
  auto const option = std::string(of.batch_tokens->count() != 0 ? "--global-batch-tokens, packs" : "--global-batch");
  require_multiple_of(option, packs, steps.ranks, "--ranks " + std::to_string(steps.ranks));
  steps.micro_batches = packs / steps.ranks;
}

/// The device that --tflops, --memory and --bandwidth describe.
void read_own_device(plan_arguments& plan, plan_options const& of) {
  if (of.tflops->count() == 0) return;
  auto const& memory = plan.model_side.memory;
  if (of.model_side.stages->count() != 0 || of.gpus->count() != 0 || plan.asks_capacity())
    for (auto const& [given, name] : {std::pair{memory.has_value(), "--memory"},
                                      {plan.memory_bandwidth != 0, "--memory-bandwidth"},
                                      {plan.bandwidth != 0, "--bandwidth"}})
      if (!given)
        throw bad_input(std::string("--tflops requires ") + name +
                        (plan.asks_capacity() ? " where --capacity is auto" : " where stages are planned"));
  constexpr std::int64_t megabyte = 1'000'000;
  for (auto const& [rate, name] : {std::pair{plan.memory_bandwidth, "--memory-bandwidth"}, {plan.bandwidth, "--bandwidth"}})
    if (rate != 0 && rate < megabyte)
      throw bad_input(std::string(name) + " " + std::to_string(rate) + ": expected at least 1MB a second, as in 900GB");
  plan.on.device = own_device(plan.tflops, memory.value_or(0), plan.memory_bandwidth, plan.bandwidth);
  if (plan.memory_bandwidth != 0 || plan.on.mfu) return;
  for (auto const& [file, name] : {std::pair{plan.on.kernels, "--kernels"}, {plan.on.calibration, "--calibration"}})
    if (!file.empty()) throw bad_input(std::string(name) + ": with --tflops, kernels are timed where --memory-bandwidth is given");
  plan.on.mfu = plan.on.utilisation();  // kernels need the memory's bandwidth
}

/// The schedule with stages, those to choose from without.
void read_schedules(plan_arguments& plan, bool searched) {
  if (plan.schedules.empty()) return;
  for (auto const& word : words_of(plan.schedules)) {
    auto const one = schedule("--schedule", word);
    if (auto const* const interleaved = std::get_if<ballast::interleaved_schedule>(&one);
        interleaved != nullptr && word.find(':') != std::string::npos)
      plan.degrees.chunks.push_back(interleaved->chunks);
    plan.degrees.schedules.push_back(one);
  }
  if (searched) return;
  if (plan.degrees.schedules.size() > 1)
    throw bad_input("--schedule " + printable(plan.schedules) + ": one schedule is planned; several are to choose from with --gpus");
  plan.model_side.schedule = plan.degrees.schedules.front();
}

/// Whether an option means anything where the devices are of several kinds.
[[nodiscard]] bool taken_with_kinds(std::string const& option) {
  constexpr std::string_view none[] = {"--ranks",
                                       "--micro-batches",
                                       "--cost",
                                       "--levels",
                                       "--gpus",
                                       "--within",
                                       "--epochs",
                                       "--curriculum",
                                       "--step-overhead-ms",
                                       "--micro-batch-overhead-ms",
                                       "--least-fill",
                                       "--time-for-randomness",
                                       "--left-over",
                                       "--multiple",
                                       "--recompute",
                                       "--max-items",
                                       "--epoch",
                                       "--global-batch-tokens",
                                       "--tflops",
                                       "--bandwidth",
                                       "--memory-bandwidth",
                                       "--kernels",
                                       "--calibration",
                                       "--out",
                                       "--padded",
                                       "--static",
                                       "--stages",
                                       "--layers"};
  return std::find(std::begin(none), std::end(none), option) == std::end(none);
}

/// Capacities, and what only one measure takes.
void read_measures(plan_arguments& plan) {
  auto& o = plan.options;
  if (!plan.levels.empty()) {
    if (!plan.capacity.empty()) o.steps.capacity = capacity_tokens("--capacity", plan.capacity);
    return;
  }
  if (plan.asks_capacity()) return;
  limit_arguments limits{.capacity_text = plan.capacity, .capacity = {}, .options = {}};
  read_capacities(limits, plan.input);
  o.steps.capacity = limits.capacity.back();
  o.others.assign(limits.capacity.begin(), limits.capacity.end() - 1);
  if (plan.multiple > o.steps.capacity)
    throw bad_input("--multiple " + std::to_string(plan.multiple) + ": exceeds --capacity " + std::to_string(o.steps.capacity) +
                    ", so no sample fits");
  if (plan.measures() == 1) return;
  if (plan.multiple != 1) throw bad_input("--multiple rounds lengths up, and is not for several measures");
  for (auto const& cut : oversize_policies)
    if (cut.policy == o.oversize && o.oversize != ballast::oversize::reject && o.oversize != ballast::oversize::set_aside)
      throw bad_input("--oversize " + std::string(cut.word) + ": samples of several measures are not cut; expected reject or set-aside");
  if (o.steps.least_fill != 0) throw bad_input("--least-fill is for one measure");
}

}  // namespace

void add_plan(CLI::App& app, std::string const& command_line) {
  auto const arguments = std::make_shared<plan_arguments>();
  arguments->command_line = command_line;
  auto& command = *app.add_subcommand("plan", "plan the steps of a run: which samples share a pack, a rank and a step");
  add_input(command, arguments->input, "lengths, as for pack");
  auto of = add_data_side(command, *arguments);
  add_level_side(command, *arguments, of);
  of.model_side = add_model_options(command, arguments->model_side, arguments->schedules,
                                    {.not_with_stages = {of.levels, of.cost}, .of_model = {of.model, of.mfu, of.rates[0], of.rates[1]}});
  add_balance(command, *arguments, of);
  command.add_option("--out", arguments->out,
                     "folder for offsets.npy, members.npy, steps.npy, plan.json and report.html; levels.npy with --levels");
  command.add_flag("--json", arguments->json, json_help);
  command.callback([arguments, of, &command] {
    auto& plan = *arguments;
    if (plan.on.device.find(':') != std::string::npos) {
      for (auto const* const option : command.get_options())
        if (option->count() != 0 && !taken_with_kinds(option->get_name()))
          throw bad_input(option->get_name() + ": not with several kinds of --device");
      if (of.capacity->count() == 0) throw bad_input("--capacity is required");
      return plan_kinds(plan);
    }
    require_shape(plan, of);
    if (plan.asks_capacity()) require_question(plan, of);
    read_measures(plan);
    require_shapes(plan, of);
    read_global_batch(plan, of);
    read_own_device(plan, of);
    auto const searched = plan.levels.empty() && of.gpus->count() != 0;
    read_schedules(plan, searched);
    auto const& given = of.model_side;
    if (plan.model_side.stored) take_stored(plan.model_side.setting, plan.on.model);
    if (auto& by = plan.model_side.setting; given.zero->count() == 0 && by.framework.count == ballast::tensor_count::megatron)
      by.spread.zero = ballast::trainer_named("megatron").zero;
    if (searched)
      plan.degrees = {.gpus = plan.gpus,
                      .range = plan.range,
                      .within_ms = plan.degrees.within_ms,
                      .epochs = plan.degrees.epochs,
                      .global_batch = plan.degrees.global_batch,
                      .tensor = given.tensor->count() != 0,
                      .context = given.context->count() != 0,
                      .expert = given.expert->count() != 0,
                      .stages = given.stages->count() != 0,
                      .zero = given.zero->count() != 0,
                      .schedules = plan.degrees.schedules,
                      .chunks = plan.degrees.chunks};
    require_plan_folder(plan.out);
    if (plan.asks_capacity()) {
      plan.chosen = choose_capacity(plan.model_side, plan.on, plan.options.steps, plan.multiple);
      plan.options.steps.capacity = plan.chosen->tokens;
    }
    plan.levels.empty() ? plan_one_capacity(plan) : plan_several_levels(plan);
  });
}

}  // namespace ballast_cli
