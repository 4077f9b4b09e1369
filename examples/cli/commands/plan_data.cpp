// SPDX-License-Identifier: Apache-2.0
#include "commands/plan.hpp"

#include "errors.hpp"
#include "planning/model_plan.hpp"
#include "planning/model_words.hpp"
#include "planning/packers.hpp"
#include "planning/padded_plan.hpp"
#include "planning/sample_cost.hpp"
#include "readers/data_set.hpp"
#include "report/json.hpp"
#include "report/output.hpp"
#include "report/packing.hpp"
#include "report/page.hpp"
#include "report/plan_folder.hpp"
#include "report/progress.hpp"
#include "report/static_rows.hpp"
#include "report/words.hpp"

#include <ballast/batching/step_randomness.hpp>
#include <ballast/plan/balance_report.hpp>
#include <ballast/plan/compare.hpp>
#include <ballast/plan/export/describe.hpp>
#include <ballast/plan/figures.hpp>
#include <ballast/plan/vector_data.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace ballast_cli {

namespace {

constexpr std::size_t shown_from = 1'000'000;  // samples whose planning takes long enough to say so

/// How full packs are of each measure, and how balanced it is, in the plan and in the two that it is compared with.
struct measure_comparison {
  std::string name;
  std::int64_t capacity = 0;
  ballast::measure_figures naive, usual, planned;
};

/// The plan of the data, what it is worth and what limits it, and that of the model.
struct planned_data {
  std::uint64_t samples = 0;  ///< that were read
  ballast::data_plan<> made;
  ballast::plan_comparison compared;
  ballast::balance_report<> limits;
  std::optional<planned_model> stages;
  std::vector<measure_comparison> measures;  ///< of several
};

void add_figures(nlohmann::ordered_json& json, ballast::plan_figures const& f) {
  json["steps"] = f.steps;
  json["dbr"] = f.dbr;
  json["abr"] = f.abr;
  json["idle"] = f.idle;
  json["slowest_over_mean"] = f.slowest_over_mean;
  json["single_sample_bound"] = f.single_sample_bound;
  json["modelled_step_ms"] = f.modelled_step_ms;
}

/// The same of a plan with stages, by simulation; none if it does not fit in memory.
void add_figures(nlohmann::ordered_json& json, ballast::plan_figures const& f, ballast::training_plan const& run) {
  json["steps"] = f.steps;
  json["dbr"] = f.dbr;
  json["abr"] = f.abr;
  json["status"] = to_string(run.status);
  if (run.status != ballast::status::feasible) return;
  auto const& of = run.shares;
  json["bubble"] = of.share(of.bubble);
  json["waiting"] = of.share(of.waiting);
  json["exchange"] = of.share(of.exchange);
  json["optimizer"] = of.share(of.optimizer);
  json["recompute"] = of.share(of.recompute);
  json["modelled_step_ms"] = run.step_ms();
  json["modelled_run_ms"] = static_cast<double>(run.time.value) / 1e6;
}

/// One capacity, fill and balance for each measure, instead of those of tokens alone.
void add_measures(nlohmann::ordered_json& json, std::vector<measure_comparison> const& measures) {
  json["capacity"] = nlohmann::ordered_json::array();
  for (auto const& [name, figures] :
       {std::pair{"", &measure_comparison::planned}, {"naive", &measure_comparison::naive}, {"usual", &measure_comparison::usual}}) {
    auto& to = *name == 0 ? json : json[name];
    to["fill"] = to["dist"] = nlohmann::ordered_json::array();
    for (auto const& m : measures) {
      to["fill"].push_back((m.*figures).fill);
      to["dist"].push_back((m.*figures).balance);
    }
  }
  for (auto const& m : measures) json["capacity"].push_back(m.capacity);
}

[[nodiscard]] nlohmann::ordered_json to_json(packing_report const& report, planned_data const& plan, plan_arguments const& arguments) {
  auto json = to_json(report);
  json.erase("naive");
  json["ranks"] = arguments.options.steps.ranks;
  json["micro_batches"] = arguments.options.steps.micro_batches;
  if (arguments.options.max_samples != 0) json["max_items"] = arguments.options.max_samples;
  auto const* const runs = plan.stages ? &plan.stages->runs : nullptr;
  auto const add = [&](nlohmann::ordered_json& to, ballast::plan_figures const& f,
                       ballast::training_plan ballast::training_comparison::* which) {
    runs != nullptr ? add_figures(to, f, runs->*which) : add_figures(to, f);
  };
  add(json, plan.compared.planned, &ballast::training_comparison::planned);
  if (runs == nullptr) json["any_plan_bound"] = plan.limits.slowest_over_mean;
  for (auto const& [name, figures, run] : {std::tuple{"naive", &plan.compared.naive, &ballast::training_comparison::naive},
                                           {"usual", &plan.compared.usual, &ballast::training_comparison::usual}}) {
    auto& other = json[name] = {{"packs", figures->packs}, {"fill", figures->fill}};
    add(other, *figures, run);
  }
  if (!plan.measures.empty()) add_measures(json, plan.measures);
  if (!plan.made.steps.dropped.empty()) json["dropped"] = plan.made.steps.dropped;
  if (!plan.made.steps.repeated.empty()) json["repeated"] = plan.made.steps.repeated;
  if (plan.stages) json["model_plan"] = to_json(*plan.stages);
  return json;
}

/// What a micro-batch takes beside its samples, as the option says, or else the fit.
[[nodiscard]] double micro_batch_ms(plan_arguments const& arguments, timed_cost const& cost) {
  return arguments.micro_batch_overhead_ms.value_or(cost.ms_per_micro_batch);
}

[[nodiscard]] std::string plan_json(nlohmann::ordered_json figures, planned_data const& plan, plan_arguments const& arguments,
                                    timed_cost const& cost) {
  nlohmann::ordered_json options{{"oversize", word_of(arguments.options.oversize)},
                                 {"max_items", arguments.options.max_samples},
                                 {"multiple", arguments.multiple},
                                 {"seed", arguments.options.steps.seed},
                                 {"step_overhead_ms", arguments.step_overhead_ms},
                                 {"micro_batch_overhead_ms", micro_batch_ms(arguments, cost)},
                                 {"least_fill", arguments.options.steps.least_fill / 1000.0},
                                 {"model", cost.model}};
  if (auto const time = arguments.options.steps.time_for_randomness; time != ballast::batching_options::automatic)
    options["time_for_randomness"] = time / 1000.0;
  if (arguments.padded) options["padded"] = true;
  if (arguments.fixed) options["static"] = true;
  if (!cost.device.empty()) options["device"] = cost.device;
  if (plan.measures.empty()) figures["bound"] = to_string(plan.made.bound);
  auto document = plan_document(arguments.input, hash_of_files(plan.made.steps.packs, plan.made.steps.table), figures, options);
  document["pieces"] = pieces_json(plan.made.samples.pieces);
  return text_of(document);
}

[[nodiscard]] std::array<report_plan, 3> three_plans(planned_data const& plan, double ms_per_unit, bool padded) {
  auto const shown = [&](char const* name, char const* how, ballast::plan_figures const& f) { return row_of(name, how, f, ms_per_unit); };
  std::array plans{
      shown("naive", "next fit in input order, dealt in order", plan.compared.naive),
      shown("usual", padded ? "samples of similar length, dealt at random" : "best fit, dealt at random", plan.compared.usual),
      shown("planned", padded ? "the same batches, dealt to ranks by cost" : "samples dealt to ranks by cost", plan.compared.planned)};
  if (!plan.stages) return plans;
  auto const& runs = plan.stages->runs;
  std::array const simulated{&runs.naive, &runs.usual, &runs.planned};
  for (std::size_t i = 0; i < plans.size(); ++i) {
    auto const& run = *simulated[i];
    auto& r = plans[i];
    r.fits = run.status == ballast::status::feasible;
    r.idle = run.shares.share(run.shares.waiting);
    r.bubble = run.shares.share(run.shares.bubble);
    r.exchange = run.shares.share(run.shares.exchange);
    r.modelled_step_ms = run.step_ms();
    r.modelled_hours = static_cast<double>(run.time.value) / 3.6e12;
  }
  return plans;
}

/// Milliseconds of a device as units of the cost.
[[nodiscard]] std::int64_t in_units(char const* option, double ms, double ms_per_unit) {
  auto const units = ms / ms_per_unit;
  if (!(units < 4e18)) throw bad_input(formatted("%s %g: is more than the cost of a training plan may be, 2^62 of its units", option, ms));
  if (units > 0 && units < 0.5)
    throw bad_input(formatted("%s %g: is less than these costs tell apart, which are whole multiples of %g ms", option, ms, ms_per_unit));
  return std::llround(units);
}

/// What the plan gave up for what, its limit of samples, ranks without work, and a floor that it does not reach.
[[nodiscard]] std::vector<std::string> trade_in_words(planned_data const& plan, std::array<report_plan, 3> const& shown,
                                                      ballast::data_plan_options const& options) {
  std::vector<std::string> text;
  auto const& o = options.steps;
  auto const max_samples = options.max_samples;
  auto const places = static_cast<double>(plan.made.steps.steps() * o.ranks * o.micro_batches);  // with stages, on average
  auto const fill = places == 0 ? 1.0 : static_cast<double>(plan.made.steps.tokens) / (static_cast<double>(o.capacity) * places);
  auto const &usual = shown[1], &planned = shown[2];
  auto const gains = planned.bubble ? planned.modelled_hours < usual.modelled_hours : planned.idle < usual.idle;
  if (plan.measures.empty() && usual.fits && planned.fill < usual.fill - 0.01 && gains)
    text.push_back(
        "The plan trades fill for balance: its packs are " + percent(planned.fill) + " full where those of best fit are " +
        percent(usual.fill) + (planned.steps > usual.steps ? ", in " + counted(planned.steps - usual.steps, "step") + " more" : "") +
        (planned.bubble
             ? ", and all steps take " + duration(planned.modelled_hours * 3.6e6) + ", not " + duration(usual.modelled_hours * 3.6e6)
             : ", and ranks wait " + percent(planned.idle) + " of the time, not " + percent(usual.idle)) +
        ". --least-fill sets a floor; --step-overhead-ms and --micro-batch-overhead-ms say what more steps cost.");
  if (o.time_for_randomness != ballast::batching_options::automatic) {
    auto const random = ballast::randomness_of(plan.made.steps, plan.made.samples.tokens);
    auto const eight = plan.made.steps.steps() > 8
                           ? formatted(", and %.2f over eight in a row", 1e-3 * static_cast<double>(random.design_effect_8))
                           : std::string();
    text.push_back(
        formatted("Random draws have a design effect of 1; these steps have %.2f", 1e-3 * static_cast<double>(random.design_effect)) +
        eight + ".");
    if (o.stages > 1) text.push_back("--time-for-randomness chose nothing: ranks are pipelines, whose micro-batches have like samples.");
  }
  if (max_samples != 0) {
    auto const full = std::ranges::count_if(plan.made.steps.packs, [&](auto const pack) { return pack.size() == max_samples; });
    text.push_back("No pack has more than " + counted(max_samples, "sample") + "; as many are in " +
                   grouped(static_cast<std::uint64_t>(full)) + " of " + counted(plan.made.steps.packs.size(), "pack") + ".");
  }
  if (auto const& dropped = plan.made.steps.dropped; !dropped.empty())
    text.push_back(counted(dropped.size(), "sample") + " of the last step, which is not full, are left out of this epoch.");
  if (auto const& repeated = plan.made.steps.repeated; !repeated.empty())
    text.push_back(counted(repeated.size(), "sample") + " are trained on twice, so that the last step is full.");
  if (auto const idle = plan.made.steps.idle_ranks(); !idle.empty())
    text.push_back("The last step has fewer samples than ranks, and " + counted(idle.size(), "rank") +
                   " without a micro-batch, the first of them rank " + std::to_string(idle.front()) +
                   ": leave the step out, or give them a pack whose loss has weight 0.");
  if (places != 0 && fill * 1000 < static_cast<double>(o.least_fill))
    text.push_back("No plan was found that fills " + percent(o.least_fill / 1000.0) + " of its places; this one fills " + percent(fill) +
                   ".");
  return text;
}

struct in_words_of {
  std::string title;  ///< the files
  std::array<report_plan, 3> plans;
  std::vector<std::string> limits;
  std::vector<measure_comparison> const& measures;
};

/// A line for each plan: how full its packs are of each measure, and how balanced its ranks are.
[[nodiscard]] std::vector<std::string> sentences_of(std::vector<measure_comparison> const& measures) {
  std::vector<std::string> text;
  if (measures.empty()) return text;
  for (auto const& [name, figures] :
       {std::pair{"naive", &measure_comparison::naive}, {"usual", &measure_comparison::usual}, {"planned", &measure_comparison::planned}}) {
    std::string fills, balances;
    for (auto const& m : measures) {
      fills += (fills.empty() ? "" : ", ") + percent((m.*figures).fill) + " of " + m.name;
      balances += (balances.empty() ? "" : ", ") + percent((m.*figures).balance);
    }
    text.push_back(formatted("%-8s packs hold ", name) + fills + "; ranks differ by " + balances);
  }
  return text;
}

/// The capacities of a place.
[[nodiscard]] std::string places_in_words(plan_arguments const& arguments, std::vector<measure_comparison> const& measures) {
  if (measures.empty()) return grouped(static_cast<std::uint64_t>(arguments.options.steps.capacity));
  std::string text;
  for (auto const& m : measures) text += (text.empty() ? "" : ", ") + grouped(static_cast<std::uint64_t>(m.capacity)) + " " + m.name;
  return text;
}

[[nodiscard]] std::string table_of(std::array<report_plan, 3> const& plans) {
  auto const simulated = plans.back().bubble.has_value();
  std::string text = simulated ? "              packs     steps      fill        a step          all    bubble   waiting  exchange\n"
                               : "              packs     steps      fill      idle  slowest/mean        a step          all\n";
  for (auto const& r : plans) {
    text += formatted("%-8s %10s %9s %9s", r.name.c_str(), grouped(r.packs).c_str(), grouped(r.steps).c_str(), percent(r.fill).c_str());
    auto const times = formatted(" %13s %12s", duration(r.modelled_step_ms).c_str(), duration(r.modelled_hours * 3.6e6).c_str());
    if (!simulated)
      text += formatted(" %9s %13.4f", percent(r.idle).c_str(), r.slowest_over_mean) + times + "\n";
    else if (!r.fits)
      text += "  does not fit in memory\n";
    else
      text += times + formatted(" %9s %9s %9s\n", percent(*r.bubble).c_str(), percent(r.idle).c_str(), percent(r.exchange).c_str());
  }
  return text;
}

[[nodiscard]] std::string in_words(in_words_of const& what, packing_report const& report, timed_cost const& cost,
                                   plan_arguments const& arguments) {
  auto const& o = arguments.options.steps;
  auto text = what.title + ": " + counted(report.samples, "sample") + ", " + counted(static_cast<std::uint64_t>(report.tokens), "token") +
              " in places of " + places_in_words(arguments, what.measures) + ", " + grouped(o.micro_batches) + " on each of " +
              counted(o.ranks, "rank") + "; " + cost.model + (cost.device.empty() ? "" : " on " + cost.device) + ".\n\n" +
              table_of(what.plans) + "\n";
  for (auto const& line : sentences_of(what.measures)) text += line + "\n";
  if (!what.measures.empty()) text += "\n";
  for (auto const& r : what.plans) text += r.name + ": " + r.how + ". ";
  auto const simulated = what.plans.back().bubble.has_value();
  text += simulated ? "Times are simulated, each plan with stages of its own" : "Times are modelled";
  std::string overheads;
  auto const of_layers = simulated && !arguments.micro_batch_overhead_ms;  // and part of the simulation
  for (auto const& [ms, of] : {std::pair{arguments.step_overhead_ms, " for every step"},
                               {of_layers ? 0 : micro_batch_ms(arguments, cost), " for every micro-batch"}})
    if (ms > 0) overheads += (overheads.empty() ? "" : " and ") + duration(ms) + of;
  if (!overheads.empty()) text += (simulated ? "; the choice of packs, but not these times, counts " : ", with ") + overheads;
  text += ".\n";
  for (auto const& sentence : what.limits) text += sentence + "\n";
  if (!report.set_aside.empty()) text += counted(report.set_aside.size(), "sample") + " longer than the capacity set aside.\n";
  return text;
}

[[nodiscard]] report_data page_of(in_words_of const& what, packing_report const& report, planned_data const& plan, timed_cost const& cost,
                                  plan_arguments const& arguments) {
  auto const& o = arguments.options.steps;
  report_data page{.title = what.title,
                   .samples = report.samples,
                   .tokens = static_cast<std::uint64_t>(report.tokens),
                   .capacity = static_cast<std::uint64_t>(o.capacity),
                   .ranks = o.ranks,
                   .micro_batches = o.micro_batches,
                   .model = cost.model,
                   .device = cost.device,
                   .bin_edges = {},
                   .bin_samples = {},
                   .bin_tokens = {},
                   .plans = {what.plans.begin(), what.plans.end()},
                   .single_sample_bound = plan.limits.slowest_over_mean,
                   .pack_bound = static_cast<std::uint64_t>(report.packs.lower_bound),
                   .pack_bound_by = report.bound,
                   .limits = {what.limits.begin() + (what.limits.empty() || plan.stages ? 0 : 1), what.limits.end()},  // it has the first
                   .command = arguments.command_line};
  for (auto const& sentence : sentences_of(plan.measures)) page.limits.push_back(sentence);
  std::vector<std::int64_t> trained;
  for (auto const i : plan.made.steps.packs.members) trained.push_back(plan.made.samples.tokens[i]);
  if (!trained.empty()) add_histogram(page, trained);
  return page;
}

/// Names of measures, and their figures in three plans.
[[nodiscard]] std::vector<measure_comparison> compare_measures(planned_data const& plan, ballast::usual_batchings<> const& others,
                                                               ballast::data_plan_options const& o, bool tiles) {
  std::vector<measure_comparison> out;
  for (std::size_t m = 0; m <= o.others.size(); ++m) {
    auto const last = m == o.others.size();
    std::span<std::int64_t const> const column = last ? plan.made.samples.tokens : plan.made.others[m];
    auto const capacity = last ? o.steps.capacity : o.others[m];
    auto const of = [&](ballast::batching<> const& steps) { return figures_of_measure(steps, column, capacity); };
    out.push_back({.name = last    ? "tokens"
                           : tiles ? "tiles"
                                   : "measure " + std::to_string(m + 1),
                   .capacity = capacity,
                   .naive = of(others.naive),
                   .usual = of(others.usual),
                   .planned = of(plan.made.steps)});
  }
  return out;
}

/// Reads samples of several measures.
[[nodiscard]] measure_columns measures_within(plan_arguments const& arguments) {
  auto const rows = read_lengths(arguments.input);
  auto capacity = arguments.options.others;
  capacity.push_back(arguments.options.steps.capacity);
  refuse_oversize(rows, capacity, {.oversize = arguments.options.oversize}, "set-aside");
  require_few_samples(rows.rows());
  for (std::size_t row = 0; row < rows.rows(); ++row)
    if (rows.values()[(row + 1) * rows.measures() - 1] == 0)
      throw bad_input(rows.where(row) + ": 0 tokens; the last measure of a plan is tokens, those of images included");
  return measure_columns(rows);
}

/// What samples are longer than what was read of them, over all steps of a plan.
[[nodiscard]] std::int64_t padding_of(ballast::batching<> const& steps, ballast::trained_samples<> const& samples,
                                      std::span<std::int64_t const> read) {
  std::int64_t out = 0;
  for (auto const p : steps.table) {
    if (p == steps.none) continue;
    for (auto const i : steps.packs[p]) {
      auto const tokens = samples.tokens[i];
      out += tokens - (i < read.size() ? (std::min)(tokens, read[i]) : samples.pieces[i - read.size()].length);
    }
  }
  return out;
}

/// What was read of each sample and piece, as far as it is trained.
[[nodiscard]] std::vector<std::int64_t> read_tokens(ballast::trained_samples<> const& samples, std::span<std::int64_t const> read) {
  auto out = samples.tokens;
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = i < read.size() ? (std::min)(out[i], read[i]) : samples.pieces[i - read.size()].length;
  return out;
}

/// Takes the padding out of what the figures call tokens, and of what pieces hold. Returns that of the plan.
std::int64_t discount_padding(planned_data& plan, ballast::usual_batchings<> const& others, std::span<std::int64_t const> read) {
  auto& samples = plan.made.samples;
  for (auto& piece : samples.pieces) piece.length = (std::min)(piece.length, read[static_cast<std::size_t>(piece.sample)] - piece.offset);
  for (auto const& [steps, figures] : {std::pair{&std::as_const(plan.made.steps), &plan.compared.planned},
                                       {&others.naive, &plan.compared.naive},
                                       {&others.usual, &plan.compared.usual}})
    if (steps->tokens != 0)
      figures->fill *= 1 - static_cast<double>(padding_of(*steps, samples, read)) / static_cast<double>(steps->tokens);
  return padding_of(plan.made.steps, samples, read);
}

/// Removes the packs of a dropped step, so that all packs of a plan are trained on.
void keep_packs_of_steps(ballast::batching<>& steps) {
  if (steps.dropped.empty()) return;
  std::vector<std::uint32_t> number(steps.packs.size(), steps.none);
  for (auto const p : steps.table)
    if (p != steps.none) number[p] = 0;
  ballast::groups<std::uint32_t> kept;
  for (std::size_t p = 0; p < number.size(); ++p) {
    if (number[p] == steps.none) continue;
    number[p] = static_cast<std::uint32_t>(kept.size());
    kept.push_back(steps.packs[p]);
  }
  for (auto& p : steps.table)
    if (p != steps.none) p = number[p];
  steps.packs = std::move(kept);
}

/// A unit for samples of several measures, the first of which are tiles where a tile costs anything.
void count_for(timed_cost& cost, ballast::sample_measures const& samples, ballast::batching_options const& o) {
  auto const tiles = samples.column(0);
  cost.count_for(samples.column(samples.measures() - 1), o,
                 cost.units_per_tile > 0 ? std::accumulate(tiles.begin(), tiles.end(), std::int64_t{0}) : 0);
}

[[nodiscard]] auto row_cost_of(timed_cost const& cost) {
  return [&cost](std::span<std::int64_t const> row) -> std::int64_t { return cost(row); };
}

}  // namespace

void plan_one_capacity(plan_arguments arguments) {
  stopwatch watch;
  auto const& o = arguments.options.steps;
  auto const several = arguments.measures() > 1;
  auto const title = title_of(arguments.input.files);
  model_input input;
  auto const read_costs = [&] {
    auto& shape = arguments.options.steps;
    if (arguments.model_side.stages > 1) {  // samples are dealt to pipelines
      shape.synchronisation = ballast::synchronisation::pipeline;
      shape.stages = arguments.model_side.stages;
    }
    auto full = shape;
    full.capacity -= full.capacity % arguments.multiple;  // all that multiples can fill
    if (arguments.model_side.stages != 0 || arguments.chosen)
      input = read_model(arguments.model_side, arguments.on, full, arguments.measures());
    else
      input.cost = arguments.cost.empty() ? modelled_cost(arguments.on, arguments.measures(), arguments.model_side.setting, full.capacity)
                                          : measured_cost(arguments.cost);
  };
  auto const& wanted = arguments.degrees;
  if (wanted.gpus == 0) read_costs();
  std::optional<sample_lengths> lengths;
  std::optional<measure_columns> columns;
  if (several)
    columns.emplace(measures_within(arguments));
  else
    lengths.emplace(arguments.input, "plan", o.capacity, arguments.chosen ? ballast::oversize::set_aside : arguments.options.oversize,
                    arguments.multiple);
  if (arguments.chosen) count_longer(*arguments.chosen, lengths->counts(), arguments.options.oversize, title);
  auto const padded =
      arguments.multiple == 1 || arguments.padded ? std::vector<std::int64_t>() : rounded_up(lengths->view(), arguments.multiple);
  auto const planned = several ? std::span<std::int64_t const>() : padded.empty() ? lengths->view() : std::span(padded);
  arguments.options.steps.capacity -= o.capacity % arguments.multiple;
  auto const read_seconds = watch.lap();

  std::optional<chosen_degrees> found;
  if (wanted.gpus > 0) {
    auto const& [asked, on, data] = std::tie(arguments.model_side, arguments.on, arguments.options);
    found = several            ? choose_degrees(wanted, asked, on, data, columns->view(), title)
            : arguments.padded ? choose_degrees(wanted, asked, on, data, padded_data_of(planned, data, arguments.multiple), title)
                               : choose_degrees(wanted, asked, on, data, planned, title);
    take_first(*found, arguments.model_side, arguments.options);
    read_costs();
  }
  auto const search_seconds = watch.lap();
  auto const with_model = arguments.model_side.stages != 0;
  if (several)
    count_for(input.cost, columns->view(), o);
  else
    input.cost.count_for(planned, o);  // padded rows count for themselves
  auto const& cost = input.cost;

  auto options = arguments.options;
  std::optional<padded_plan> in_rows;
  auto const ms_of_rank = cost.ms_per_unit / static_cast<double>(o.stages);  // whose stages share the work
  options.steps.cost_per_step = in_units("--step-overhead-ms", arguments.step_overhead_ms, ms_of_rank);
  options.steps.cost_per_micro_batch = in_units("--micro-batch-overhead-ms", micro_batch_ms(arguments, cost), ms_of_rank);
  std::optional<progress_line> progress;
  if (auto const samples = several ? columns->view().size() : planned.size(); samples >= shown_from)
    progress.emplace("planning " + counted(samples, "sample")).begin();
  auto const limits = progress ? ballast::search_limits{.progress = *progress} : ballast::search_limits{};
  if (arguments.padded) in_rows = plan_padded(planned, options, arguments.multiple, input.cost);
  planned_data plan{.samples = several ? columns->view().size() : planned.size(),
                    .made = in_rows   ? std::move(in_rows->made)
                            : several ? ballast::plan_data(columns->view(), options, row_cost_of(cost))
                                      : ballast::plan_data(planned, options, cost, limits, ballast::threads()),
                    .compared = {},
                    .limits = {},
                    .stages = {},
                    .measures = {}};
  auto const hash = ballast::hash(plan.made.steps);
  keep_packs_of_steps(plan.made.steps);
  auto const others = in_rows ? ballast::usual_batchings<>() : usual_batchings_of(plan.made, options);
  plan.compared = in_rows ? in_rows->compared : compare_with_usual(plan.made, others, options, cost.ms_per_unit);
  auto const padding = in_rows                   ? padding_of(plan.made.steps, plan.made.samples, lengths->view())
                       : arguments.multiple == 1 ? 0
                                                 : discount_padding(plan, others, lengths->view());
  plan.limits = report_balance(plan.made.steps, plan.made.samples, options.steps);
  if (several) plan.measures = compare_measures(plan, others, options, cost.units_per_tile > 0);
  if (with_model && in_rows) {
    in_rows->made = plan.made;
    auto const [rows, both] = in_rows->with_rows_of_all();
    plan.stages = plan_model(arguments.model_side, arguments.on, std::move(input.model), rows, both, title);
  } else if (with_model) {
    plan.stages = plan_model(arguments.model_side, arguments.on, std::move(input.model), plan.made, others, title);
  }
  progress.reset();
  auto const plan_seconds = watch.lap();

  packing_report const report{.samples = plan.samples,
                              .tokens = plan.made.steps.tokens - padding,
                              .capacity = o.capacity,
                              .strategy = "plan",
                              .packs = plan.made.packs,
                              .bound = several ? "measures" : std::string(to_string(plan.made.bound)),
                              .hash = hash,
                              .set_aside = {plan.made.samples.set_aside.begin(), plan.made.samples.set_aside.end()},
                              .naive_packs = plan.compared.naive.packs,
                              .zero_length = several ? columns->skipped() : lengths->skipped()};
  auto json = to_json(report, plan, arguments);
  if (in_rows) json["padding"] = padding;
  if (found) add_search(json, *found);
  if (arguments.chosen) json["capacity_auto"] = to_json(*arguments.chosen);
  in_words_of what{.title = title,
                   .plans = three_plans(plan, ms_of_rank, arguments.padded),
                   .limits = describe(plan.limits, plan.made.steps),
                   .measures = plan.measures};
  if (plan.stages && !what.limits.empty()) {  // instead of the balance of costs, what the simulation shows
    what.limits.erase(what.limits.begin());
    auto const shown = describe(plan.stages->runs);
    what.limits.insert(what.limits.begin(), shown.begin(), shown.end());
  }
  for (auto& sentence : trade_in_words(plan, what.plans, arguments.options)) what.limits.push_back(std::move(sentence));
  if (in_rows)
    what.limits.push_back(
        "Rows are padded to the longest of their micro-batch, by " + counted(static_cast<std::uint64_t>(padding), "token") + ": " +
        percent(plan.made.steps.tokens == 0 ? 0 : static_cast<double>(padding) / static_cast<double>(plan.made.steps.tokens)) +
        " of what micro-batches hold.");
  std::optional<static_arrays> rows;
  if (arguments.fixed) {
    rows = static_arrays_of(plan.made.steps.packs, read_tokens(plan.made.samples, lengths->view()), arguments.multiple, o.capacity,
                            options.max_samples);
    json["static"] = to_json(*rows);
    auto words = in_words(*rows);
    words.pop_back();
    what.limits.push_back(std::move(words));
  }
  if (found && plan.stages)
    if (auto late = late_in_words(*found, static_cast<double>(plan.stages->runs.planned.time.value) / 1e6); !late.empty())
      what.limits.push_back(std::move(late));
  if (arguments.multiple != 1 && !in_rows)
    what.limits.push_back("Samples are rounded up to multiples of " + grouped(static_cast<std::uint64_t>(arguments.multiple)) + ", by " +
                          counted(static_cast<std::uint64_t>(padding), "token") + " of padding.");
  if (!arguments.out.empty()) {
    auto files = pack_files(plan.made.steps.packs);
    if (rows) add_files(files, *rows);
    std::array const shape{plan.made.steps.steps(), static_cast<std::size_t>(o.ranks),
                           static_cast<std::size_t>(plan.made.steps.micro_batches)};
    files.push_back(array_file<std::uint32_t>("steps.npy", "<i4", shape, plan.made.steps.table));
    auto page_data = page_of(what, report, plan, cost, arguments);
    if (plan.stages) page_data.model_side = on_page(*plan.stages, arguments.on.mfu ? cost.device : "");
    if (!several) add_some_packs(page_data, plan.made.steps.packs, plan.made.samples.tokens);
    auto const page = render_report(page_data);
    files.push_back({"report.html", {}, page});
    write_plan(arguments.out, files, plan_json(json, plan, arguments, cost));
  }
  json["seconds"] = {{"read", read_seconds}, {"plan", plan_seconds}, {"write", watch.lap()}};
  if (found) json["seconds"]["search"] = search_seconds;
  if (arguments.json) return print_json(json);
  auto const modelled = arguments.cost.empty() && arguments.model_side.layers.empty();
  write_standard_output((modelled ? config_in_words(arguments.on.model) : "") + (found ? in_words(*found) : "") +
                        (arguments.chosen ? in_words(*arguments.chosen, report.samples) : "") + in_words(what, report, cost, arguments) +
                        (plan.stages ? in_words(*plan.stages) : ""));
}

}  // namespace ballast_cli
