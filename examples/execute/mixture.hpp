// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ranks.hpp"
#include "transformer.hpp"

#include <ballast/cost/moe.hpp>
#include <ballast/cost/routed_work.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

// A layer of experts, its backward pass by hand: each prototype sends a row to its experts of largest score, and adds what they make of it,
// times their gates. `mixture_alone` runs it in one process.

namespace execute {

class mixture {
 public:
  std::size_t hidden = 8, ffn = 6;
  ballast::prototyped_routing by{};

  std::size_t experts() const { return static_cast<std::size_t>(by.experts); }
  std::size_t rows_of_token() const { return static_cast<std::size_t>(by.prototypes * by.active); }
  std::size_t of_expert() const { return 2 * hidden * ffn; }
  std::size_t of_layer() const { return hidden * experts() + experts() * of_expert(); }
  std::size_t router(std::size_t layer) const { return layer * of_layer(); }
  std::size_t expert(std::size_t layer, std::size_t which) const { return router(layer) + hidden * experts() + which * of_expert(); }

  /// The gates of one row: a softmax in each prototype.
  numbers gates(double const* router, double const* x) const {
    numbers out(experts());
    add_product(out.data(), x, router, 1, hidden, out.size());
    for (std::size_t first = 0; first < out.size(); first += width()) {
      double sum = 0;
      for (auto e = first; e < first + width(); ++e) sum += out[e] = std::exp(out[e]);
      for (auto e = first; e < first + width(); ++e) out[e] /= sum;
    }
    return out;
  }
  void gates_backward(double const* router, double const* x, numbers const& gates, numbers const& d_gates, double* dx,
                      double* d_router) const {
    numbers d(experts());
    for (std::size_t first = 0; first < d.size(); first += width()) {
      double mean = 0;
      for (auto e = first; e < first + width(); ++e) mean += gates[e] * d_gates[e];
      for (auto e = first; e < first + width(); ++e) d[e] = gates[e] * (d_gates[e] - mean);
    }
    add_product_backward(dx, d_router, d.data(), x, router, 1, hidden, d.size());
  }
  /// The experts that a row is sent to: those with the largest gates of each prototype, the first of equal ones.
  std::vector<std::uint32_t> chosen(numbers const& gates) const {
    std::vector<std::uint32_t> out;
    for (std::size_t first = 0; first < gates.size(); first += width()) {
      std::vector<std::uint32_t> order;
      for (auto e = first; e < first + width(); ++e) order.push_back(static_cast<std::uint32_t>(e));
      std::sort(order.begin(), order.end(), [&](auto a, auto b) { return gates[a] != gates[b] ? gates[a] > gates[b] : a < b; });
      out.insert(out.end(), order.begin(), order.begin() + by.active);
    }
    return out;
  }
  /// What an expert makes of one row.
  numbers run(double const* expert, double const* x) const {
    auto const inner = inside(expert, x);
    numbers out(hidden);
    add_product(out.data(), inner.data(), expert + hidden * ffn, 1, ffn, hidden);
    return out;
  }
  void run_backward(double const* expert, double const* x, double const* d_out, double* dx, double* d_expert) const {
    auto const inner = inside(expert, x);
    numbers d_inner(ffn);
    add_product_backward(d_inner.data(), d_expert + hidden * ffn, d_out, inner.data(), expert + hidden * ffn, 1, ffn, hidden);
    for (std::size_t i = 0; i < ffn; ++i) d_inner[i] *= 1 - inner[i] * inner[i];
    add_product_backward(dx, d_expert, d_inner.data(), x, expert, 1, hidden, ffn);
  }

 private:
  std::size_t width() const { return experts() / static_cast<std::size_t>(by.prototypes); }
  numbers inside(double const* expert, double const* x) const {
    numbers out(ffn);
    add_product(out.data(), x, expert, 1, hidden, ffn);
    for (auto& each : out) each = std::tanh(each);
    return out;
  }
};

/// Layers of experts in one process, token by token: an expert takes rows until it is full.
class mixture_alone : public sublayer {
 public:
  mixture_alone(mixture const& of, numbers const& p, numbers& gradient) : of_(of), p_(p), gradient_(gradient) {}

  void forward(std::size_t layer, std::vector<numbers>& x) override {
    auto const tokens = x[0].size() / of_.hidden;
    auto const capacity = ballast::expert_capacity(static_cast<std::int64_t>(tokens), of_.by.within());
    if (x_.size() <= layer) x_.resize(layer + 1), kept_.resize(layer + 1), loads.resize(layer + 1);
    x_[layer] = x[0];
    kept_[layer].assign(tokens, {});
    loads[layer].assign(of_.experts(), 0);
    for (std::size_t t = 0; t < tokens; ++t) {
      auto const* const in = &x_[layer][t * of_.hidden];
      auto const gates = of_.gates(&p_[of_.router(layer)], in);
      for (auto const e : of_.chosen(gates)) {
        if (loads[layer][e]++ >= capacity) continue;
        kept_[layer][t].push_back(e);
        auto const made = of_.run(&p_[of_.expert(layer, e)], in);
        for (std::size_t i = 0; i < of_.hidden; ++i) x[0][t * of_.hidden + i] += gates[e] * made[i];
      }
    }
  }
  void backward(std::size_t layer, std::vector<numbers>& dx) override {
    for (std::size_t t = 0; t < kept_[layer].size(); ++t) {
      auto const* const in = &x_[layer][t * of_.hidden];
      numbers const d_out(&dx[0][t * of_.hidden], &dx[0][t * of_.hidden] + of_.hidden);
      auto const gates = of_.gates(&p_[of_.router(layer)], in);
      numbers d_gates(of_.experts()), d_made(of_.hidden);
      for (auto const e : kept_[layer][t]) {
        auto const made = of_.run(&p_[of_.expert(layer, e)], in);
        for (std::size_t i = 0; i < of_.hidden; ++i) {
          d_gates[e] += d_out[i] * made[i];
          d_made[i] = gates[e] * d_out[i];
        }
        of_.run_backward(&p_[of_.expert(layer, e)], in, d_made.data(), &dx[0][t * of_.hidden], &gradient_[of_.expert(layer, e)]);
      }
      of_.gates_backward(&p_[of_.router(layer)], in, gates, d_gates, &dx[0][t * of_.hidden], &gradient_[of_.router(layer)]);
    }
  }
  std::vector<std::vector<std::int64_t>> loads;  // of the experts of each layer, dropped rows included

 private:
  mixture const& of_;
  numbers const& p_;
  numbers& gradient_;
  std::vector<numbers> x_;                                     // of each layer
  std::vector<std::vector<std::vector<std::uint32_t>>> kept_;  // of each layer and token, the experts that took it
};

}  // namespace execute
