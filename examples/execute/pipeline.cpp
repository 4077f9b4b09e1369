// SPDX-License-Identifier: Apache-2.0
// Executes pipelines: stages are threads that run the tasks of a planned order, recompute or send to the host what was selected, and hold
// as many bytes as the simulator says. The gradient is that of each sample by itself.
#include "data.hpp"
#include "run_pipeline.hpp"
#include "stage.hpp"

#include <ballast/chunks.hpp>
#include <ballast/pipeline.hpp>
#include <ballast/staging.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace execute;

namespace {

/// A model whose layers are cut into virtual stages, and what each layer keeps.
struct placed_model {
  std::vector<std::size_t> cuts;
  std::vector<keeping> how;  // of each layer
};

std::int64_t as_bytes(std::size_t n) { return static_cast<std::int64_t>(n); }

/// What a piece of some tokens holds on a virtual stage: activations and keys; as it runs backward also gradients of keys, and what was
/// not kept; from the input part to the weight part also the gradient from behind. Pieces of chains get gradients of keys before they run
/// backward: they are counted from the forward pass on.
ballast::stage_work work_of(transformer const& model, placed_model const& placed, std::size_t k, std::size_t tokens, bool chained) {
  layer_bytes const of(model);
  std::size_t kept = 0, besides = 0, keys = 0;
  for (auto l = placed.cuts[k]; l < placed.cuts[k + 1]; ++l) {
    kept += of.held(placed.how[l]);
    besides = std::max(besides, of.besides(placed.how[l]));
    keys += of.keys;
  }
  auto const head = placed.cuts[k + 1] == model.layers;
  if (head) kept += of.input;
  if (chained) kept += std::exchange(keys, 0);
  auto const layers = static_cast<std::int64_t>((placed.cuts[k + 1] - placed.cuts[k]) * tokens);
  return {.forward = layers,
          .backward = layers,
          .weight = layers,
          .recompute = 0,
          .transfer = 1,
          .kept = as_bytes(kept * tokens),
          .recomputed = as_bytes((keys + besides) * tokens),
          .residue = as_bytes((kept + keys + (head ? 0 : of.input) + besides) * tokens)};
}

/// Trains pieces as the events of a timeline say. Leaves the most bytes that each stage held.
numbers train(transformer const& model, numbers const& p, placed_model const& placed, std::vector<row> const& pieces,
              std::vector<std::vector<std::uint32_t>> const& chains, std::vector<std::vector<ballast::pipeline_task>> const& tasks,
              std::vector<std::size_t>& peak) {
  auto const virtual_stages = placed.cuts.size() - 1;
  std::vector<stage> stages;
  for (std::size_t k = 0; k < virtual_stages; ++k)
    stages.emplace_back(
        model, p, placed.cuts[k],
        std::vector<keeping>(placed.how.begin() + as_bytes(placed.cuts[k]), placed.how.begin() + as_bytes(placed.cuts[k + 1])));
  std::vector<std::vector<piece_state>> states(virtual_stages, std::vector<piece_state>(pieces.size()));
  for (auto& of_stage : states)
    for (auto const& chain : chains)
      for (std::size_t i = 0; i < chain.size(); ++i) {
        of_stage[chain[i]].at = pieces[chain[i]];
        for (std::size_t j = 0; j <= i; ++j) of_stage[chain[i]].chain.push_back(&of_stage[chain[j]]);
      }
  std::vector<numbers> gradient(tasks.size(), numbers(model.size())), unused = gradient;
  std::vector<std::vector<std::uint32_t>> of_stage(tasks.size());  // its virtual stages
  for (std::size_t s = 0; s < tasks.size(); ++s)
    for (auto const& task : tasks[s])
      if (std::find(of_stage[s].begin(), of_stage[s].end(), task.virtual_stage) == of_stage[s].end())
        of_stage[s].push_back(task.virtual_stage);
  peak.assign(tasks.size(), 0);
  auto const measure = [&](std::size_t s, std::size_t besides) {
    for (auto const k : of_stage[s])
      for (auto const& state : states[k]) besides += stages[k].bytes(state);
    peak[s] = std::max(peak[s], besides);
  };
  auto const clear = [](piece_state& s) {
    s.layers.clear();
    s.stored.clear();
    s.end.clear();
  };
  run_pipeline<numbers>(
      tasks, virtual_stages,
      [&](std::size_t s, ballast::pipeline_task const& task, numbers x) {
        auto out = stages[task.virtual_stage].forward(states[task.virtual_stage][task.micro_batch], std::move(x));
        measure(s, 0);
        return out;
      },
      [&](std::size_t s, ballast::pipeline_task const& task, numbers dx) {
        auto const whole = task.pass == ballast::pipeline_pass::backward;
        auto& state = states[task.virtual_stage][task.micro_batch];
        auto behind = dx;
        auto out = stages[task.virtual_stage].backward(state, std::move(dx), whole ? gradient[s] : unused[s], true,
                                                       [&](std::size_t besides) { measure(s, besides); });
        if (whole)
          clear(state);
        else if (!behind.empty())
          state.end = std::move(behind);
        measure(s, 0);
        return out;
      },
      [&](std::size_t s, ballast::pipeline_task const& task) {
        auto& state = states[task.virtual_stage][task.micro_batch];
        auto const head = stages[task.virtual_stage].last() == model.layers;
        (void)stages[task.virtual_stage].backward(state, head ? numbers{} : state.end, gradient[s], false,
                                                  [&](std::size_t besides) { measure(s, besides); });
        clear(state);
      });
  for (std::size_t s = 1; s < gradient.size(); ++s)
    for (std::size_t i = 0; i < gradient[0].size(); ++i) gradient[0][i] += gradient[s][i];
  return gradient[0];
}

std::vector<std::vector<ballast::pipeline_task>> tasks_of(ballast::pipeline_timeline const& timeline) {
  std::vector<std::vector<ballast::pipeline_task>> out(timeline.stages.size());
  for (auto const& e : timeline.events) out[e.stage].push_back({e.micro_batch, e.virtual_stage, e.pass});
  return out;
}

/// Layers as the planners of stages see them; each may keep all, its input, or send all to the host.
std::vector<ballast::stage_layer> chain_of(transformer const& model, std::size_t tokens) {
  layer_bytes const of(model);
  std::vector<ballast::stage_layer> out;
  for (std::size_t l = 0; l < model.layers; ++l) {
    auto const head = l + 1 == model.layers ? of.input : 0;
    auto const time = 3 * as_bytes(tokens);
    auto& each = out.emplace_back(ballast::stage_layer{.time = time,
                                                       .state = as_bytes(of.keys * tokens),  // gradients of the keys of one piece
                                                       .working = as_bytes(of.besides(keeping::on_host) * tokens),
                                                       .options = {}});
    for (auto const& [how, added, transfer] : {std::tuple{keeping::all, 0, 0}, {keeping::input, 1, 0}, {keeping::on_host, 0, 1}})
      each.options.push_back(
          {.memory = as_bytes((of.held(how) + head) * tokens), .time = added * time / 3, .transfer = transfer * time / 2});
  }
  return out;
}

constexpr keeping option_names[] = {keeping::all, keeping::input, keeping::on_host};

/// Cuts the layers and selects what they keep, by the planners of the library; nothing if no plan fits.
std::optional<placed_model> place(transformer const& model, std::vector<ballast::stage_layer> const& layers,
                                  ballast::any_schedule const& schedule, std::uint64_t stages, std::uint64_t micro_batches,
                                  std::int64_t memory, std::vector<std::int64_t>& planned) {
  std::vector<std::int64_t> const capacity(static_cast<std::size_t>(stages), memory);
  auto const several = std::visit([](auto const& s) { return s.chunks_per_stage() > 1; }, schedule);
  ballast::joint_stages<> plan;
  if (several) {
    plan = ballast::plan_chunks(layers, ballast::held_by_chunk(schedule, stages, micro_batches), {.capacity = capacity}, {.work = 100'000});
  } else {
    auto const held = ballast::held_by_stage(schedule, stages, micro_batches);
    plan = ballast::plan_stages(layers, {.stages = stages, .capacity = capacity, .in_flight = held});
  }
  if (plan.partition.status != ballast::status::feasible) return {};
  placed_model out;
  out.cuts.assign(plan.partition.boundaries.begin(), plan.partition.boundaries.end());
  for (auto const option : plan.option) out.how.push_back(option_names[option]);
  planned.clear();
  for (auto const& f : plan.figures) planned.push_back(f.memory);
  out.how.resize(model.layers);
  return out;
}

/// A step: pieces of rows with the weights of their losses, and the gradient that they must give.
struct step {
  std::vector<row> pieces;
  std::vector<std::vector<std::uint32_t>> chains;
  numbers expected;
};
step step_of(transformer const& model, numbers const& p, samples const& data, ballast::chunking<> const& plan) {
  step out;
  std::int64_t learnt = 0;
  for (auto const n : data.learnt) learnt += n;
  auto const weight = 1 / static_cast<double>(std::max<std::int64_t>(1, learnt));
  for (std::size_t k = 0; k < plan.size(); ++k) {
    auto& piece = out.pieces.emplace_back();
    for (auto const& range : plan[k])
      for (auto t = range.begin; t < range.end; ++t) {
        piece.push_back(data.tokens[range.sample][static_cast<std::size_t>(t)]);
        piece.back().weight *= weight;
      }
  }
  for (auto const chain : plan.chains) out.chains.emplace_back(chain.begin(), chain.end());
  out.expected = unpacked(model, p, data, std::vector<double>(data.lengths.size(), weight));
  return out;
}

/// Executes an order and compares gradients and bytes; `bound`: the simulator's bytes are a bound.
ballast::pipeline_timeline compare_order(outcome& to, transformer const& model, numbers const& p, placed_model const& placed,
                                         step const& of, ballast::pipeline_order const& order, bool bound) {
  auto const chained = of.chains.size() < of.pieces.size();
  auto const timeline = ballast::simulate_order(
      order,
      [&](std::uint64_t k, std::uint64_t m) {
        return work_of(model, placed, static_cast<std::size_t>(k), of.pieces[static_cast<std::size_t>(m)].size(), chained);
      },
      true);
  std::vector<std::size_t> peak;
  to.add(difference(train(model, p, placed, of.pieces, of.chains, tasks_of(timeline), peak), of.expected), true);
  for (std::size_t s = 0; s < peak.size(); ++s) to.add_bytes(timeline.stages[s].peak_memory, as_bytes(peak[s]), bound || chained);
  return timeline;
}

/// Micro-batches of one drawn sample each.
step draw_step(transformer const& model, numbers const& p, std::uint64_t micro_batches, std::uint64_t seed, std::size_t& longest) {
  auto const data = draw_samples(static_cast<std::size_t>(micro_batches), 12, model.vocabulary, seed);
  longest = static_cast<std::size_t>(*std::max_element(data.lengths.begin(), data.lengths.end()));
  ballast::chunking<> plan;
  for (std::uint32_t i = 0; i < micro_batches; ++i) {
    plan.ranges.push_back({i, 0, data.lengths[i]});
    plan.offsets.push_back(i + 1);
    plan.chains.push_back(std::vector{i});
  }
  return step_of(model, p, data, plan);
}

/// Tasks of a random run: each time, some stage does one of the tasks that it can do.
ballast::pipeline_order draw_order(ballast::splitmix64& draw) {
  auto const stages = 1 + draw() % 4, chunks = 1 + draw() % 2, micro_batches = 1 + draw() % 5;
  auto const virtual_stages = stages * chunks;
  ballast::pipeline_order out;
  out.micro_batches = micro_batches;
  for (std::uint32_t k = 0; k < virtual_stages; ++k) out.stage_of.push_back(static_cast<std::uint32_t>(draw() % stages));
  for (std::uint32_t s = 0; s < stages; ++s) out.stage_of[s] = s;  // each stage has one
  std::vector<std::vector<ballast::pipeline_task>> tasks(static_cast<std::size_t>(stages));
  std::vector<std::uint64_t> done(static_cast<std::size_t>(micro_batches));  // forwards, then backwards, of each micro-batch
  for (auto left = 2 * virtual_stages * micro_batches; left > 0;) {
    auto const m = static_cast<std::uint32_t>(draw() % micro_batches);
    auto const at = done[m];
    if (at == 2 * virtual_stages) continue;
    auto const back = at >= virtual_stages;
    auto const k = static_cast<std::uint32_t>(back ? 2 * virtual_stages - 1 - at : at);
    tasks[out.stage_of[k]].push_back({m, k, back ? ballast::pipeline_pass::backward : ballast::pipeline_pass::forward});
    ++done[m];
    --left;
  }
  for (auto const& of_stage : tasks) {
    out.tasks.insert(out.tasks.end(), of_stage.begin(), of_stage.end());
    out.offsets.push_back(out.tasks.size());
  }
  return out;
}

/// Whether the simulator and the threads agree on whether an order waits for ever. Messages carry nothing.
bool agree(ballast::pipeline_order const& order, std::size_t& refused) {
  std::vector<std::vector<ballast::pipeline_task>> tasks(order.stages());
  for (std::size_t s = 0; s < tasks.size(); ++s)
    tasks[s].assign(order.tasks.begin() + as_bytes(order.offsets[s]), order.tasks.begin() + as_bytes(order.offsets[s + 1]));
  auto accepted = true, ended = true;
  try {
    (void)ballast::simulate_order(order, [](std::uint64_t, std::uint64_t) { return ballast::stage_work{.forward = 1, .backward = 2}; });
  } catch (ballast::invalid_input const&) {
    accepted = false;
    ++refused;
  }
  std::vector<std::vector<char>> seen(order.stage_of.size(), std::vector<char>(static_cast<std::size_t>(order.micro_batches)));
  auto const nothing = [&](std::size_t, ballast::pipeline_task const& task, char) {
    auto& forward_done = seen[task.virtual_stage][task.micro_batch];
    if ((task.pass == ballast::pipeline_pass::forward) == (forward_done != 0)) throw std::runtime_error("backward before forward");
    forward_done = 1;
    return char{};
  };
  try {
    run_pipeline<char>(tasks, order.stage_of.size(), nothing, nothing, [](std::size_t, ballast::pipeline_task const&) {});
  } catch (std::runtime_error const&) {
    ended = false;
  }
  return accepted == ended;
}

}  // namespace

int main() {
  transformer model;
  model.layers = 8;
  auto const p = model.initial();
  auto right = true;
  std::size_t lowered = 0;
  struct named {
    char const* name;
    ballast::any_schedule schedule;
  };
  for (auto const& [name, schedule] : {named{"GPipe", ballast::gpipe_schedule{}},
                                       {"1F1B", ballast::one_f_one_b_schedule{}},
                                       {"interleaved", ballast::interleaved_schedule{.chunks = 2}},
                                       {"ZB1P", ballast::zb1p_schedule{}},
                                       {"ZB2P", ballast::zb2p_schedule{}},
                                       {"ZB-V", ballast::zbv_schedule{}}}) {
    outcome runs{.what = std::string(name) + ", what stages keep selected"};
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      ballast::splitmix64 draw(seed);
      auto const stages = 1 + draw() % 4, micro_batches = stages * (1 + draw() % 3);
      std::size_t longest = 0;
      auto const of = draw_step(model, p, micro_batches, seed, longest);
      auto const layers = chain_of(model, longest);
      auto memory = as_bytes(layer_bytes(model).held(keeping::on_host) * longest) * (1 + static_cast<std::int64_t>(draw() % 32));
      std::vector<std::int64_t> planned;
      std::optional<placed_model> placed;
      for (; !placed; memory = memory * 3 / 2) placed = place(model, layers, schedule, stages, micro_batches, memory, planned);
      auto const all = std::all_of(placed->how.begin(), placed->how.end(), [](keeping how) { return how == keeping::all; });
      lowered += !all;
      auto const split = std::visit([](auto const& s) { return s.splits_backward; }, schedule);
      auto const timeline = compare_order(runs, model, p, *placed, of, ballast::order_of(schedule, stages, micro_batches), split && !all);
      for (std::size_t s = 0; s < planned.size(); ++s) runs.faults += !split && timeline.stages[s].peak_memory > planned[s];
    }
    right = runs.print() && right;
  }
  std::cout << "plans that recompute, or send to the host: " << lowered << "\n";

  outcome chunked{.what = "chunked orders"}, searched{.what = "searched orders of chains"};
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    ballast::splitmix64 draw(seed);
    auto const stages = 1 + draw() % 4;
    auto const data = draw_samples(2 + draw() % 4, 32, model.vocabulary, seed);
    auto const plan = ballast::make_chunks(data.lengths, {.size = 6 + static_cast<std::int64_t>(draw() % 8)});
    auto const of = step_of(model, p, data, plan);
    placed_model placed{.cuts = {}, .how = std::vector<keeping>(model.layers, keeping::all)};
    for (std::size_t k = 0; k <= stages; ++k) placed.cuts.push_back(k * model.layers / stages);
    compare_order(chunked, model, p, placed, of, ballast::chunked_order(stages, plan.chains), true);
    auto const found = ballast::search_order(plan.chains, {.stages = stages},
                                             [&](std::uint64_t k, std::uint64_t m) {
                                               return work_of(model, placed, static_cast<std::size_t>(k),
                                                              of.pieces[static_cast<std::size_t>(m)].size(), true);
                                             },
                                             {.simulations = 30});
    compare_order(searched, model, p, placed, of, found.order, true);
  }
  right = chunked.print() && right;
  right = searched.print() && right;

  std::size_t differ = 0, refused = 0, spoilt = 0;
  ballast::splitmix64 draw(1);
  for (int i = 0; i < 10'000; ++i) {
    auto order = draw_order(draw);
    if (i % 2 == 1) {
      auto const at = static_cast<std::size_t>(draw() % order.tasks.size());
      auto const stage =
          static_cast<std::size_t>(std::upper_bound(order.offsets.begin(), order.offsets.end(), at) - order.offsets.begin() - 1);
      auto const end = static_cast<std::size_t>(order.offsets[stage + 1]), first = static_cast<std::size_t>(order.offsets[stage]);
      std::swap(order.tasks[at], order.tasks[first + static_cast<std::size_t>(draw() % (end - first))]);
      ++spoilt;
    }
    differ += !agree(order, refused);
  }
  std::cout << "10,000 random orders, " << spoilt << " of them with two tasks exchanged: " << refused
            << " wait for ever, and the simulator and the threads agree on all but " << differ << "\n";
  return right && lowered > 0 && differ == 0 && refused > 0 ? 0 : 1;
}
