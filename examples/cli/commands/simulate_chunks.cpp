// SPDX-License-Identifier: Apache-2.0
#include "commands/simulate_chunks.hpp"

#include "commands/options.hpp"
#include "errors.hpp"
#include "planning/layer_times.hpp"
#include "readers/data_set.hpp"
#include "readers/file_bytes.hpp"
#include "report/json.hpp"
#include "report/output.hpp"
#include "report/replace.hpp"
#include "report/svg.hpp"
#include "report/words.hpp"

#include <ballast/chunks/equal_time_chunks.hpp>
#include <ballast/chunks/make_chunks.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/pipeline/chunked_order.hpp>
#include <ballast/pipeline/list_schedule.hpp>
#include <ballast/pipeline/search_order.hpp>
#include <ballast/pipeline/simulate.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace ballast_cli {

namespace {

/// What each stage does with each chunk.
struct chunk_works {
  std::vector<std::vector<ballast::stage_work>> of;  ///< by stage, then by chunk
  std::vector<std::int64_t> parameters;              ///< bytes, by stage
  std::uint64_t again = 0;                           ///< chunks whose forward runs again
};

/// `value * part / whole`, rounded up. Throws where the result could be 2^62 or more.
[[nodiscard]] std::int64_t scaled(std::int64_t value, std::int64_t part, std::int64_t whole) {
  constexpr auto most = std::int64_t{1} << 62;
  if (value != 0 && part / whole >= most / value - 1) throw bad_input("the chunks take too long or hold too many bytes for 62 bits");
  return static_cast<std::int64_t>(
      ballast::multiply_divide_up(static_cast<std::uint64_t>(value), static_cast<std::uint64_t>(part), static_cast<std::uint64_t>(whole)));
}

/// Tokens of the micro-batch whose times are in the file.
[[nodiscard]] std::int64_t tokens_of_file(chunk_arguments const& arguments) {
  return arguments.tokens == 0 ? arguments.size : arguments.tokens;
}

/// The time of a sample of that many tokens.
[[nodiscard]] ballast::quadratic_cost cost_of(chunk_arguments const& arguments) {
  return {.linear = (100 - arguments.attention) * tokens_of_file(arguments), .quadratic = arguments.attention};
}

/// Works are those of the file's micro-batch, by the time and the tokens of a chunk over its own.
[[nodiscard]] chunk_works works_of(ballast::chunking<> const& chunks, chunk_arguments const& arguments, chunk_pipeline const& on) {
  constexpr auto most_tokens = std::int64_t{1} << 26;  // squares of tokens, times 100, are exact
  auto const of_file = tokens_of_file(arguments);
  for (auto const& [option, value] : {std::pair{"--chunk ", arguments.size}, {"--tokens ", of_file}})
    if (value > most_tokens) throw bad_input(option + std::to_string(value) + ": expected at most 2^26 tokens");
  for (auto const& r : chunks.ranges)
    if (r.end > most_tokens) throw bad_input("a sample of " + std::to_string(r.end) + " tokens: expected at most 2^26");
  auto const cost = cost_of(arguments);
  auto const times = ballast::chunk_times(chunks, cost);
  auto const whole = cost(of_file);
  chunk_works out;
  for (std::size_t s = 0; s + 1 < on.cuts.size(); ++s) {
    layer_row sum;
    auto& parameters = out.parameters.emplace_back(0);
    for (auto i = static_cast<std::size_t>(on.cuts[s]); i < on.cuts[s + 1]; ++i) {
      auto const& row = on.table.layers[i];
      sum.forward += row.forward - row.forward_per_batch;
      sum.backward += row.backward - row.backward_per_batch;
      sum.forward_per_batch += row.forward_per_batch;
      sum.backward_per_batch += row.backward_per_batch;
      sum.activation_bytes += row.activation_bytes;
      sum.checkpoint_bytes += row.checkpoint_bytes;
      sum.boundary_bytes = row.boundary_bytes;
      parameters += row.parameter_bytes;
    }
    auto& works = out.of.emplace_back(chunks.size());
    for (auto const chain : chunks.chains)
      for (std::size_t place = 0; place < chain.size(); ++place) {
        auto const k = chain[place];
        auto const tokens = chunks.tokens(k);
        auto& work = works[k];
        work.forward = scaled(sum.forward, times[k], whole) + sum.forward_per_batch;
        work.backward = scaled(sum.backward, times[k], whole) + sum.backward_per_batch;
        work.transfer = link_time(scaled(sum.boundary_bytes, tokens, of_file), on.bytes_per_1, on.table);
        work.kept = scaled(sum.activation_bytes, tokens, of_file);
        if (chain.size() - place <= arguments.retain) continue;
        auto const all = work.kept;
        work.recompute = work.forward;
        work.kept = scaled(sum.checkpoint_bytes, tokens, of_file);
        work.recomputed = (std::max)(all - work.kept, std::int64_t{0});
        out.again += s == 0 ? 1 : 0;
      }
  }
  return out;
}

/// An order of the chunks and when its tasks run.
struct timed_order {
  std::string name;
  ballast::pipeline_timeline timeline;
};

[[nodiscard]] std::int64_t fullest(timed_order const& order, chunk_works const& works) {
  std::int64_t most = 0;
  for (std::size_t s = 0; s < works.parameters.size(); ++s)
    most = (std::max)(most, works.parameters[s] + order.timeline.stages[s].peak_memory);
  return most;
}

/// The published order, and a list schedule that never waits while it may work: the better of standalone chunks first and long chains
/// first.
[[nodiscard]] std::vector<timed_order> orders_of(ballast::chunking<> const& chunks, std::uint64_t simulations, chunk_works const& works,
                                                 chunk_pipeline const& on) {
  auto const stages = on.cuts.size() - 1;
  auto const work = [&](std::uint64_t stage, std::uint64_t chunk) {
    return works.of[static_cast<std::size_t>(stage)][static_cast<std::size_t>(chunk)];
  };
  std::vector<timed_order> out{{"strict", ballast::simulate_order(ballast::chunked_order(stages, chunks.chains), work, true)}};
  ballast::list_options by{.stages = stages, .events = true};
  auto const memory = on.memory ? *on.memory : fullest(out.front(), works);
  for (std::size_t s = 0; s < stages; ++s) {
    if (works.parameters[s] > memory)
      throw no_plan(on.title + ": the parameters of stage " + std::to_string(s) + " take " + many_bytes(works.parameters[s]) +
                    ", more than --memory");
    by.capacity.push_back(memory - works.parameters[s]);
  }
  auto best = ballast::list_schedule(chunks.chains, by, work);
  if (best.status != ballast::status::feasible)
    throw no_plan(on.title + ": a sample in " + counted(chunks.chains[best.shortage.chain].size(), "chunk") + " needs " +
                  many_bytes(best.shortage.needed) + " beside the parameters of stage " + std::to_string(best.shortage.stage) +
                  ", which leave " + many_bytes(best.shortage.capacity) + ": a smaller --chunk or --retain needs less");
  out.push_back({"list", std::move(best.timeline)});
  if (simulations > 0) out.push_back({"search", ballast::search_order(chunks.chains, by, work, {.simulations = simulations}).timeline});
  return out;
}

/// The colours for programs that do not know the variables of `chart_style`, which comes later and wins where they do.
constexpr std::string_view plain_colours =
    ".paper{fill:#fff}.chart text{fill:#56616b}.chart .grid{stroke:#dfe3e7}.chart .c0{fill:#79838c}.chart .c1{fill:#c4570a}"
    ".chart .c2{fill:#0a5fa6}.chart .c3{fill:#14796a}";

/// One row for each stage, the orders one below the other. A sample's chunks have one colour, chunks of complete samples another.
[[nodiscard]] std::string picture(std::vector<timed_order> const& orders, ballast::chunking<> const& chunks, chunk_pipeline const& on) {
  constexpr std::array<char const*, 4> colours{"c0", "c1", "c2", "c3"};
  std::vector<std::size_t> colour(chunks.size(), 0);
  std::size_t next = 0;
  for (auto const chain : chunks.chains) {
    if (chain.size() < 2) continue;
    for (auto const k : chain) colour[k] = 1 + next % 3;
    ++next;
  }
  std::vector<bar_shape> shapes;
  for (std::size_t c = 0; c < colours.size(); ++c) {
    shapes.push_back({c == 0 ? "complete samples" : "a long sample", std::string("pale ") + colours[c], 0, 13});
    shapes.push_back({"backward", std::string("solid ") + colours[c], 7, 17});
  }
  if (next < 3) shapes.resize(2 * (next + 1));
  std::vector<bar_row> rows;
  std::int64_t end = 0;
  std::string text;
  for (auto const& order : orders) {
    auto const first = rows.size();
    for (std::size_t s = 0; s < order.timeline.stages.size(); ++s) rows.push_back({order.name + " " + std::to_string(s), {}});
    for (auto const& e : order.timeline.events)
      rows[first + e.stage].bars.push_back({static_cast<double>(e.start), static_cast<double>(e.end),
                                            2 * colour[e.micro_batch] + (e.pass == ballast::pipeline_pass::forward ? 0U : 1U)});
    end = (std::max)(end, order.timeline.makespan.value);
    text += (text.empty() ? "" : "; ") + order.name + ": " + shown(order.timeline.makespan.value, on.table) + ", stages wait " +
            percent_up(order.timeline.bubble());
  }
  auto const label = [&](double time) { return compact(time / static_cast<double>(on.table.units_per_1)); };
  auto drawing = bar_rows("chunks", "Chunks of " + on.title, "One row for each stage of each order, time from left to right. " + text + ".",
                          rows, shapes, static_cast<double>(end), label);
  return drawing.insert(drawing.find('>') + 1, "<style>" + std::string(plain_colours) + std::string(chart_style) +
                                                   "</style><rect class=\"paper\" width=\"100%\" height=\"100%\"/>") +
         "\n";
}

[[nodiscard]] nlohmann::ordered_json to_json(std::vector<timed_order> const& orders, ballast::chunking<> const& chunks,
                                             chunk_works const& works, chunk_pipeline const& on) {
  auto out = nlohmann::ordered_json::array();
  for (auto const& order : orders) {
    auto stages = nlohmann::ordered_json::array();
    for (std::size_t s = 0; s < works.parameters.size(); ++s) {
      auto const& of = order.timeline.stages[s];
      stages.push_back(
          {{"busy", in_unit(of.busy, on.table)}, {"peak_memory", stage_bytes_json(works.parameters[s] + of.peak_memory, on.table)}});
    }
    out.push_back({{"order", order.name},
                   {"makespan", in_unit(order.timeline.makespan.value, on.table)},
                   {"bubble", order.timeline.bubble()},
                   {"stages", std::move(stages)}});
  }
  return {{"chunks", chunks.size()},       {"chains", chunks.chains.size()},
          {"forwards_again", works.again}, {"lower_bound", in_unit(orders.back().timeline.makespan.lower_bound, on.table)},
          {"boundaries", on.cuts},         {"orders", std::move(out)}};
}

[[nodiscard]] std::string in_words(std::vector<timed_order> const& orders, ballast::chunking<> const& chunks, std::size_t samples,
                                   chunk_arguments const& arguments, chunk_works const& works, chunk_pipeline const& on) {
  std::size_t cut = 0, parts = 0;
  for (auto const chain : chunks.chains)
    if (chain.size() > 1) ++cut, parts += chain.size();
  auto const stages = on.cuts.size() - 1;
  auto text = shown_name(arguments.lengths) + ": " + counted(samples, "sample") + " in " + counted(chunks.size(), "chunk") +
              " of at most " + counted(static_cast<std::uint64_t>(arguments.size), "token") + " through " + counted(stages, "stage") +
              "; " + counted(cut, "sample") + (cut == 1 ? " is" : " are") + " cut into " + counted(parts, "chunk") + ", of which " +
              grouped(works.again) + " run their forward again.\n" + "No order of these chunks takes less than " +
              shown(orders.back().timeline.makespan.lower_bound, on.table) + ".\n" + scale_in_words(on.table) +
              "\norder             takes    waits       fullest stage\n";
  for (auto const& order : orders)
    text += formatted("%-9s  %12s  %7s  %s\n", order.name.c_str(), shown(order.timeline.makespan.value, on.table).c_str(),
                      percent_up(order.timeline.bubble()).c_str(), stage_bytes(fullest(order, works), on.table).c_str());
  if (on.memory && fullest(orders.front(), works) > *on.memory) text += "\nThe strict order exceeds --memory, which it does not look at.\n";
  return text;
}

}  // namespace

void add_chunks(CLI::App& command, chunk_arguments& chunks) {
  auto* const lengths =
      command.add_option("--lengths", chunks.lengths, "file with the lengths of a step's samples, which are cut into chunks");
  auto* const size = add_value(command, "--chunk", chunks.size, positive, "with --lengths: tokens of a chunk")->needs(lengths);
  lengths->needs(size);
  add_value(command, "--retain", chunks.retain, small_positive, "chunks of a sample that keep their activations; 1 by default")
      ->needs(lengths);
  add_value(command, "--tokens", chunks.tokens, positive, "tokens of the micro-batch of LAYERS; by default as many as --chunk")
      ->needs(lengths);
  add_value(command, "--attention", chunks.attention, percentage,
            "percent of the time of LAYERS that grows with the square of the tokens; 0 by default")
      ->needs(lengths);
  command.add_flag("--equal-time", chunks.equal_time, "as many chunks, of more equal times")->needs(lengths);
  add_value(command, "--search", chunks.simulations, small_positive, "orders of the chunks to try; by default as they come")
      ->needs(lengths);
  command.add_option("--svg", chunks.svg, "file for a picture of the chunks on the stages")->needs(lengths);
}

void simulate_chunks(chunk_arguments const& arguments, chunk_pipeline const& on) {
  sample_lengths const samples({.files = {arguments.lengths}, .select = {}}, "simulate", (std::numeric_limits<std::int64_t>::max)(),
                               ballast::oversize::reject);
  auto const lengths = samples.view();
  if (lengths.empty()) throw bad_input(shown_name(arguments.lengths) + ": there are no samples in it");
  constexpr auto most_works = std::uint64_t{1} << 22;
  auto const most = lengths.size() + static_cast<std::size_t>(ballast::require_chunks(lengths, {.size = arguments.size}));
  if (most > most_works / (on.cuts.size() - 1))
    throw bad_input("--chunk " + std::to_string(arguments.size) + ": up to " + counted(most, "chunk") + " in " +
                    counted(on.cuts.size() - 1, "stage") + " are too many to simulate");
  ballast::chunking_options const by{.size = arguments.size};
  auto const chunks =
      arguments.equal_time ? ballast::equal_time_chunks(lengths, by, cost_of(arguments)) : ballast::make_chunks(lengths, by);
  auto const works = works_of(chunks, arguments, on);
  auto const orders = orders_of(chunks, arguments.simulations, works, on);
  if (!arguments.svg.empty()) replace_file(arguments.svg, picture(orders, chunks, on));
  if (on.json) return print_json(to_json(orders, chunks, works, on));
  write_standard_output(in_words(orders, chunks, lengths.size(), arguments, works, on));
}

}  // namespace ballast_cli
