// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "mixture.hpp"

#include <ballast/balance/replicated.hpp>
#include <ballast/cost/routed_rows.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// Runs layers of experts as ranks would: a row goes to a rank that holds its expert, and comes back; copies of an expert add their
// gradients.

namespace execute {

/// Where the rows of a layer go. Each token has `mixture::rows_of_token` rows, and tokens are rank after rank.
struct routing_plan {
  std::vector<std::uint32_t> expert_of, place_of;  // of each row; its place at the expert, or `dropped_row`
  ballast::replicated_experts where;
};

inline routing_plan plan_routing(std::vector<std::uint32_t> expert_of, std::size_t experts, std::int64_t capacity,
                                 ballast::replication_options const& options) {
  auto clipped = ballast::clip_rows(expert_of, static_cast<std::uint32_t>(experts), static_cast<std::uint32_t>(capacity));
  for (auto& load : clipped.loads) load = std::min(load, capacity);
  return {std::move(expert_of), std::move(clipped.slot_of), ballast::balance_replicated(clipped.loads, options)};
}

class mixture_ranks : public sublayer {
 public:
  using spoiler = std::function<void(std::size_t layer, routing_plan&)>;

  /// @param spoil  may change the plan of a layer before it is executed
  mixture_ranks(mixture const& of, numbers const& p, numbers& gradient, ballast::replication_options const& options, spoiler spoil = {})
      : of_(of), p_(p), gradient_(gradient), options_(options), spoil_(std::move(spoil)) {}

  struct layer_run {
    routing_plan plan;
    std::vector<std::int64_t> rows;  // that each rank computes
    std::size_t bytes = 0;           // of all all-to-alls

   private:
    friend mixture_ranks;
    struct sent_row {
      std::size_t rank, token;  // where it comes from
      numbers x, made;
    };
    std::vector<numbers> x, gates;                // of each rank; of each token
    std::vector<std::size_t> first;               // token of each rank, among all
    std::vector<std::vector<std::size_t>> slots;  // of each expert
    std::vector<std::vector<sent_row>> at;        // of each slot
  };
  std::vector<layer_run> layers;

  void forward(std::size_t layer, std::vector<numbers>& x) override {
    if (layers.size() <= layer) layers.resize(layer + 1);
    auto& run = layers[layer] = {};
    run.x = x;
    std::vector<std::uint32_t> expert_of;
    for (auto const& of_rank : x) {
      run.first.push_back(run.gates.size());
      for (std::size_t i = 0; i < of_rank.size(); i += of_.hidden) {
        run.gates.push_back(of_.gates(&p_[of_.router(layer)], &of_rank[i]));
        auto const chosen = of_.chosen(run.gates.back());
        expert_of.insert(expert_of.end(), chosen.begin(), chosen.end());
      }
    }
    auto const capacity = ballast::expert_capacity(static_cast<std::int64_t>(run.gates.size()), of_.by.within());
    run.plan = plan_routing(std::move(expert_of), of_.experts(), capacity, options_);
    if (spoil_) spoil_(layer, run.plan);
    send(run);
    auto const each = run.at.size() / x.size();
    run.rows.assign(x.size(), 0);
    for (std::size_t slot = 0; slot < run.at.size(); ++slot)
      for (auto& sent : run.at[slot]) {
        auto const e = run.plan.where.expert_of[slot];
        sent.made = of_.run(&p_[of_.expert(layer, e)], sent.x.data());
        ++run.rows[slot / each];
        run.bytes += (sent.x.size() + sent.made.size()) * sizeof(double);  // there and back
        for (std::size_t i = 0; i < of_.hidden; ++i) x[sent.rank][sent.token * of_.hidden + i] += gates_of(run, sent)[e] * sent.made[i];
      }
  }
  void backward(std::size_t layer, std::vector<numbers>& dx) override {
    auto& run = layers[layer];
    auto const d_out = dx;
    std::vector<numbers> d_gates(run.gates.size(), numbers(of_.experts())), of_slot(run.at.size(), numbers(of_.of_expert()));
    for (std::size_t slot = 0; slot < run.at.size(); ++slot)
      for (auto const& sent : run.at[slot]) {
        auto const e = run.plan.where.expert_of[slot];
        auto const* const d = &d_out[sent.rank][sent.token * of_.hidden];
        numbers d_made(of_.hidden), d_x(of_.hidden);
        for (std::size_t i = 0; i < of_.hidden; ++i) {
          d_gates[run.first[sent.rank] + sent.token][e] += d[i] * sent.made[i];
          d_made[i] = gates_of(run, sent)[e] * d[i];
        }
        of_.run_backward(&p_[of_.expert(layer, e)], sent.x.data(), d_made.data(), d_x.data(), of_slot[slot].data());
        run.bytes += (d_made.size() + d_x.size()) * sizeof(double);
        for (std::size_t i = 0; i < of_.hidden; ++i) dx[sent.rank][sent.token * of_.hidden + i] += d_x[i];
      }
    for (std::size_t rank = 0; rank < dx.size(); ++rank)  // each has a copy of the router
      for (std::size_t i = 0; i < dx[rank].size(); i += of_.hidden) {
        auto const token = run.first[rank] + i / of_.hidden;
        of_.gates_backward(&p_[of_.router(layer)], &run.x[rank][i], run.gates[token], d_gates[token], &dx[rank][i],
                           &gradient_[of_.router(layer)]);
      }
    for (std::size_t e = 0; e < of_.experts(); ++e)
      for (std::size_t copy = 0; copy < run.plan.where.copies[e]; ++copy)
        for (std::size_t i = 0; i < of_.of_expert(); ++i) gradient_[of_.expert(layer, e) + i] += of_slot[run.slots[e][copy]][i];
  }

 private:
  numbers const& gates_of(layer_run const& run, layer_run::sent_row const& sent) const {
    return run.gates[run.first[sent.rank] + sent.token];
  }
  /// Rows of an expert go to its copies in turn.
  void send(layer_run& run) const {
    auto const& where = run.plan.where;
    run.slots.resize(of_.experts());
    run.at.resize(where.expert_of.size());
    for (std::size_t slot = 0; slot < where.expert_of.size(); ++slot) run.slots[where.expert_of[slot]].push_back(slot);
    for (std::size_t e = 0; e < of_.experts(); ++e)
      if (run.slots[e].empty() || run.slots[e].size() < where.copies[e])
        throw std::runtime_error("expert " + std::to_string(e) + " is planned " + std::to_string(where.copies[e]) + " times and is on " +
                                 std::to_string(run.slots[e].size()) + " ranks");
    std::size_t at = 0;
    for (std::size_t rank = 0; rank < run.x.size(); ++rank)
      for (std::size_t i = 0; i < run.x[rank].size(); i += of_.hidden)
        for (std::size_t choice = 0; choice < of_.rows_of_token(); ++choice, ++at) {
          if (run.plan.place_of[at] == ballast::dropped_row) continue;
          auto const& slots = run.slots[run.plan.expert_of[at]];
          run.at[slots[run.plan.place_of[at] % slots.size()]].push_back(
              {rank, i / of_.hidden, numbers(&run.x[rank][i], &run.x[rank][i] + of_.hidden), {}});
        }
  }

  mixture const& of_;
  numbers const& p_;
  numbers& gradient_;
  ballast::replication_options options_;
  spoiler spoil_;
};

}  // namespace execute
