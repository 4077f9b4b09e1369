// SPDX-License-Identifier: Apache-2.0
#include "commands/check.hpp"
#include "commands/options.hpp"
#include "errors.hpp"
#include "planning/sample_cost.hpp"
#include "readers/data_set.hpp"
#include "readers/file_bytes.hpp"
#include "readers/npy.hpp"
#include "readers/packing.hpp"
#include "readers/steps.hpp"
#include "report/json.hpp"
#include "report/output.hpp"
#include "report/packing.hpp"
#include "report/words.hpp"

#include <ballast/balance/balance.hpp>
#include <ballast/balance/check.hpp>
#include <ballast/batching/check.hpp>
#include <ballast/batching/detail/step_cost.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/plan/balance_report.hpp>
#include <ballast/plan/figures.hpp>
#include <ballast/plan/plan_data.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Steps and balanced sets: samples that ranks train on, and for how long each rank then works.

namespace ballast_cli {

namespace {

using given_steps = ballast::batching<std::uint64_t>;

/// Takes the steps off the front of the files; what is left are the lengths.
[[nodiscard]] given_steps take_steps(std::string_view text, std::vector<std::string>& files) {
  auto const taken = is_npy(text) ? 3U : 1U;
  if (files.size() <= taken) throw bad_input("check takes the steps, then the lengths of their samples");
  given_steps out;
  if (taken == 1) {
    out = read_steps(text, shown_name(files[0]));
  } else {
    file_bytes const members(files[1]), steps(files[2]);
    out = read_steps({text, members.view(), steps.view(), shown_name(files[0]), shown_name(files[1]), shown_name(files[2])});
  }
  files.erase(files.begin(), files.begin() + taken);
  return out;
}

/// The sentence of a rule that steps break, with what mends it.
[[nodiscard]] std::string broken_step(ballast::verdict const& v, given_steps const& steps) {
  using broken = ballast::batching_fault;
  auto const pack_in_words = [&](std::uint64_t pack) {
    auto const at = std::find(steps.table.begin(), steps.table.end(), pack);
    return at == steps.table.end() ? "pack " + std::to_string(pack)
                                   : place_in_words(steps, static_cast<std::uint64_t>(at - steps.table.begin()));
  };
  auto const pack_of_member = [&](std::uint64_t member) {
    auto const& offsets = steps.packs.offsets;
    return static_cast<std::uint64_t>(std::upper_bound(offsets.begin(), offsets.end(), member) - offsets.begin()) - 1;
  };
  auto const sample = "sample " + std::to_string(v.index);
  if (v.fault == broken::empty_pack) return pack_in_words(v.index) + " has no samples: leave the micro-batch out";
  if (v.fault == broken::member_out_of_range)
    return pack_in_words(pack_of_member(v.index)) + " has sample " + std::to_string(v.found) + ", and there are " +
           counted(static_cast<std::uint64_t>(v.expected), "sample") + ", numbered from 0";
  if (v.fault == broken::pack_out_of_range)
    return place_in_words(steps, v.index) + " names pack " + std::to_string(steps.table[static_cast<std::size_t>(v.index)]) +
           ", and there are " + counted(steps.packs.size(), "pack") + ", numbered from 0";
  if (v.fault == broken::pack_twice)
    return place_in_words(steps, v.index) + " has a pack that is in an earlier place too: each pack is trained on once";
  if (v.fault == broken::overfull_pack)
    return pack_in_words(v.index) + " holds " + counted(static_cast<std::uint64_t>(v.found), "token") + ", more than --capacity " +
           grouped(static_cast<std::uint64_t>(v.expected)) + ": move a sample to another micro-batch";
  if (v.fault == broken::sample_missing) return sample + " is in no micro-batch: every sample is trained on once";
  if (v.fault == broken::sample_twice) {
    std::string in;
    for (std::size_t p = 0, found = 0; p < steps.packs.size() && found < 2; ++p)
      for (auto const i : steps.packs[p])
        if (i == v.index && found++ < 2) in += (in.empty() ? "" : " and in ") + pack_in_words(p);
    return sample + " is in " + in + ": every sample that is not set aside is trained on once";
  }
  if (v.fault == broken::empty_place || v.fault == broken::uneven_step) {
    auto const of_step = steps.ranks * steps.micro_batches;
    return "step " + std::to_string(v.index / of_step) + " gives rank " + std::to_string(v.index % of_step / steps.micro_batches) +
           " no micro-batch, and its other ranks would wait for it: move samples of the step to this rank";
  }
  return describe(v);
}

/// Milliseconds as units of a cost.
[[nodiscard]] std::int64_t units_of(char const* option, double ms, timed_cost const& cost) {
  auto const units = ms / cost.ms_per_unit;
  if (!(units < 4e18)) throw bad_input(formatted("%s %g: is more than the cost of a step may be, 2^62 of its units", option, ms));
  return std::llround(units);
}

[[nodiscard]] nlohmann::ordered_json score_json(ballast::certificate const& score, double ms_per_unit) {
  return {{"value_ms", static_cast<double>(score.value) * ms_per_unit},
          {"lower_bound_ms", static_cast<double>(score.lower_bound) * ms_per_unit},
          {"gap", score.gap()},
          {"optimal", score.optimal()}};
}

/// "No plan takes less than 5 s (proof): this one is at most 3.1 % above the best possible."
[[nodiscard]] std::string bound_in_words(char const* others, char const* these, ballast::certificate const& score, double ms_per_unit) {
  if (score.optimal()) return std::string(others) + " less time (proof): " + these + " optimal.\n";
  return std::string(others) + " less than " + duration(static_cast<double>(score.lower_bound) * ms_per_unit) + " (proof): " + these +
         " at most " + percent_up(score.gap()) + " above the best possible.\n";
}

/// Steps by the figures of `plan`, their time beside that of no plan, and how much of it is waiting at least.
struct scored_steps {
  template <class Steps, class Samples>
  scored_steps(Steps const& steps, Samples const& samples, ballast::batching_options const& o, double ms)
      : figures(figures_of(steps, samples, o, ms)), ms_per_unit(ms) {
    auto const limits = report_balance(steps, samples, o, 0);
    time = {steps.slowest.value, limits.bound};
    any_plan_bound = limits.slowest_over_mean;
  }
  [[nodiscard]] nlohmann::ordered_json to_json() const {
    auto const& f = figures;
    nlohmann::ordered_json out{{"packs", f.packs},
                               {"fill", f.fill},
                               {"steps", f.steps},
                               {"dbr", f.dbr},
                               {"abr", f.abr},
                               {"idle", f.idle},
                               {"slowest_over_mean", f.slowest_over_mean},
                               {"single_sample_bound", f.single_sample_bound},
                               {"any_plan_bound", any_plan_bound},
                               {"modelled_step_ms", f.modelled_step_ms}};
    out.update(score_json(time, ms_per_unit));
    return out;
  }
  ballast::plan_figures figures;
  ballast::certificate time;
  double any_plan_bound = 1, ms_per_unit;
};

[[nodiscard]] std::string cost_in_words(timed_cost const& cost) { return cost.model + (cost.device.empty() ? "" : " on " + cost.device); }

[[nodiscard]] timed_cost cost_of_plan(check_arguments const& arguments, std::int64_t capacity) {
  return arguments.cost.empty() ? modelled_cost(arguments.modelled(), std::size_t{1}, {}, capacity) : measured_cost(arguments.cost);
}

}  // namespace

void check_steps(check_arguments const& arguments, std::string_view text) {
  stopwatch watch;
  auto lengths_of = arguments.input;
  auto const name = shown_name(lengths_of.files.front());
  auto const& limits = arguments.limits.options;
  if (limits.oversize == ballast::oversize::alone)
    throw bad_input(
        "--oversize alone: micro-batches of steps never hold more than the capacity; expected reject, set-aside, truncate or split");
  auto steps = take_steps(text, lengths_of.files);
  constexpr auto most = std::uint64_t{1} << 20;  // which the checker multiplies
  if (steps.ranks >= most || steps.micro_batches >= most)
    throw bad_input(name + ": its ranks and micro-batches must be below 2^20, and are " + std::to_string(steps.ranks) + " and " +
                    std::to_string(steps.micro_batches));
  sample_lengths const lengths(lengths_of, "check of steps", limits.capacity, limits.oversize, limits.sample_multiple);
  auto const padded = limits.sample_multiple == 1 ? std::vector<std::int64_t>() : rounded_up(lengths.view(), limits.sample_multiple);
  auto const planned = padded.empty() ? lengths.view() : std::span<std::int64_t const>(padded);

  ballast::data_plan_options options{.steps = {.capacity = longest_that_fits(limits),
                                               .ranks = steps.ranks,
                                               .micro_batches = steps.micro_batches,
                                               .left_over = ballast::left_over::shorten},
                                     .oversize = limits.oversize};
  auto& o = options.steps;
  auto cost = cost_of_plan(arguments, o.capacity);
  cost.count_for(planned, o);
  o.cost_per_step = units_of("--step-overhead-ms", arguments.step_overhead_ms, cost);
  o.cost_per_micro_batch = units_of("--micro-batch-overhead-ms", arguments.micro_batch_overhead_ms.value_or(cost.ms_per_micro_batch), cost);
  auto samples = ballast::apply_oversize<std::uint64_t>(planned, {.capacity = o.capacity, .oversize = options.oversize}, cost);
  auto const read_seconds = watch.lap();

  auto by_rank = o;  // as pipelines of one stage, whose ranks may have different numbers of micro-batches in a step
  by_rank.synchronisation = ballast::synchronisation::pipeline;
  by_rank.equal_micro_batches = false;
  steps.dropped = samples.set_aside;
  using broken = ballast::batching_fault;
  auto const figures = {broken::wrong_tokens, broken::wrong_cost, broken::wrong_value, broken::wrong_bound};  // of which none are given
  if (auto const v = check_batching(steps, samples.tokens, by_rank, ballast::token_cost{});
      !v.valid() && std::ranges::find(figures, v.fault) == figures.end())
    throw bad_input(name + ": not valid steps: " + broken_step(v, steps));
  auto const check_seconds = watch.lap();
  auto const made = ballast::plan_data(planned, options, cost, {}, ballast::threads());  // refuses sums that 63 bits do not hold
  auto const plan_seconds = watch.lap();

  auto const set_aside = std::exchange(steps.dropped, {});
  ballast::weighed_samples const items{.tokens = std::move(samples.tokens),
                                       .cost = std::move(samples.cost),
                                       .all_tokens = samples.all_tokens,
                                       .all_cost = samples.all_cost,
                                       .all_squares = 1};  // of a ratio that nobody reads
  ballast::detail::certify(steps, items, o);
  scored_steps const score(steps, items, o, cost.ms_per_unit), ours(made.steps, made.samples, o, cost.ms_per_unit);
  if (arguments.json) {
    nlohmann::ordered_json json{
        {"kind", "steps"},      {"samples", lengths.view().size()},     {"tokens", steps.tokens}, {"capacity", limits.capacity},
        {"ranks", steps.ranks}, {"micro_batches", steps.micro_batches}, {"set_aside", set_aside}, {"model", cost.model},
        {"device", cost.device}};
    json.update(score.to_json());
    json["ballast"] = ours.to_json();
    json["seconds"] = {{"read", read_seconds}, {"check", check_seconds}, {"plan", plan_seconds}};
    return print_json(json);
  }
  auto const& f = score.figures;
  auto const ms = [&](ballast::certificate const& time) { return duration(static_cast<double>(time.value) * cost.ms_per_unit); };
  write_standard_output(
      "Valid: every sample is trained on exactly once, no micro-batch exceeds its capacity, and no rank is without work.\nThese steps: " +
      counted(lengths.view().size() - set_aside.size(), "sample") + ", " + counted(static_cast<std::uint64_t>(steps.tokens), "token") +
      " in " + counted(f.steps, "step") + " of " + counted(steps.ranks, "rank") + " with at most " +
      counted(steps.micro_batches, "micro-batch") + "; packs are " + percent(f.fill) + " full; " + cost_in_words(cost) + ".\nThey take " +
      ms(score.time) + ", and ranks wait " + percent_up(f.idle) + " of it. " +
      bound_in_words("No steps of these samples take", "these are", score.time, cost.ms_per_unit) + "ballast plan takes " + ms(ours.time) +
      " in " + counted(ours.figures.steps, "step") + " whose packs are " + percent(ours.figures.fill) + " full, and ranks wait " +
      percent_up(ours.figures.idle) + " of it.\n" +
      (set_aside.empty() ? "" : counted(set_aside.size(), "sample") + " longer than the capacity set aside.\n"));
}

void check_sets(check_arguments const& arguments, std::string_view text) {
  stopwatch watch;
  auto lengths_of = arguments.input;
  auto const name = shown_name(lengths_of.files.front());
  if (lengths_of.files.size() < 2) throw bad_input("check takes the sets, then the lengths of their samples");
  auto const sets = read_index_lists(text, name);
  lengths_of.files.erase(lengths_of.files.begin());
  sample_lengths const lengths(lengths_of, "check of sets", (std::numeric_limits<std::int64_t>::max)(), ballast::oversize::reject);
  auto const longest = lengths.view().empty() ? std::int64_t{1} : *std::max_element(lengths.view().begin(), lengths.view().end());
  auto cost = cost_of_plan(arguments, longest);
  cost.count_for(lengths.view(), {.capacity = longest, .ranks = arguments.sets});
  auto const read_seconds = watch.lap();

  ballast::balance_options const options{.sets = arguments.sets};
  if (auto const v = check_balance(sets, lengths.view(), options, cost); !v.valid()) {
    using broken = ballast::balance_fault;
    throw bad_input(name + ": not valid sets: " +
                    (v.fault == broken::wrong_set_count
                         ? "it has " + counted(static_cast<std::uint64_t>(v.found), "line") + " that are not blank, and --sets says " +
                               grouped(static_cast<std::uint64_t>(v.expected)) + ": write the samples of each set in a line, [] for none"
                     : v.fault == broken::member_out_of_range
                         ? "sample " + std::to_string(v.found) + " is beyond the data, which has " +
                               counted(static_cast<std::uint64_t>(v.expected), "sample") + ", numbered from 0"
                     : v.fault == broken::item_twice ? "sample " + std::to_string(v.index) + " is in an earlier set and in set " +
                                                           std::to_string(v.found) + ": every sample is in one set"
                     : v.fault == broken::item_missing ? "sample " + std::to_string(v.index) + " is in no set: every sample is in one set"
                                                       : describe(v)));
  }
  auto const check_seconds = watch.lap();
  auto const ours = ballast::balance(lengths.view(), options, cost);
  std::int64_t largest = 0, sum = 0;
  for (auto const set : sets) {
    std::int64_t load = 0;
    for (auto const i : set) load += cost(lengths.view()[static_cast<std::size_t>(i)]);
    largest = (std::max)(largest, load);
    sum += load;
  }
  ballast::certificate const score{largest, ours.load.lower_bound};
  auto const waiting = [&](std::int64_t load) {
    return load == 0 ? 0.0 : 1 - static_cast<double>(sum) / (static_cast<double>(load) * static_cast<double>(arguments.sets));
  };
  if (arguments.json) {
    nlohmann::ordered_json json{{"kind", "sets"},         {"samples", lengths.view().size()},
                                {"sets", arguments.sets}, {"model", cost.model},
                                {"device", cost.device},  {"idle", waiting(largest)}};
    json.update(score_json(score, cost.ms_per_unit));
    json["bound"] = to_string(ours.bound);
    json["ballast"] = score_json(ours.load, cost.ms_per_unit);
    json["ballast"]["idle"] = waiting(ours.load.value);
    json["seconds"] = {{"read", read_seconds}, {"check", check_seconds}, {"plan", watch.lap()}};
    return print_json(json);
  }
  auto const ms = [&](std::int64_t load) { return duration(static_cast<double>(load) * cost.ms_per_unit); };
  write_standard_output("Valid: every sample is in exactly one of " + counted(arguments.sets, "set") +
                        ".\nThese sets: " + counted(lengths.view().size(), "sample") + "; " + cost_in_words(cost) +
                        ".\nThe set that takes longest takes " + ms(largest) + ", and the others wait " + percent_up(waiting(largest)) +
                        " of it. " + bound_in_words("No such sets take", "these are", score, cost.ms_per_unit) + "ballast reaches " +
                        ms(ours.load.value) + ".\n");
}

}  // namespace ballast_cli
