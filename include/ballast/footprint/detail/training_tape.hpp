// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/footprint/memory.hpp>
#include <ballast/graph/graph.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

// What the backward of a forward operator reads and makes.
enum class tape_kind : std::uint8_t {
  pointwise,   // reads what the forward read; makes the gradients of inputs and weight
  matrix,      // two operators: the gradient of the input needs the weight, that of the weight needs the input
  look_up,     // reads the indices; makes the gradient of the weight
  add_weight,  // the gradient of the input is that of the output; makes the gradient of the weight
  sum,         // nothing to run: the gradient of each input is that of the output
};

// A forward operator as a tape records it.
struct tape_step {
  std::string name{};
  tape_kind kind = tape_kind::pointwise;
  std::vector<std::uint32_t> reads{};
  std::uint32_t weight = graph_tensor<>::own;  // none
  bool save_output = false;                    // whether the backward of a pointwise operator reads the output too
  std::uint32_t made = graph_tensor<>::own;
};

// Records a forward pass, then writes its backward pass and the updates of all weights into the same graph.
template <class Number>
class training_tape {
 public:
  explicit training_tape(training_state const& state) : state_(state) {}

  std::uint32_t input(std::string name, Number bytes) {
    auto const t = g_.add({.name = std::move(name), .bytes = std::move(bytes)});
    data_ = t;
    return t;
  }
  std::uint32_t weight(std::string const& name, std::int64_t count) {
    auto const w =
        g_.add({.name = name + " weight", .kind = tensor_kind::parameter, .bytes = Number(count * state_.parameter), .kept = true});
    auto const s = g_.add({.name = name + " state", .kind = tensor_kind::state, .bytes = Number(count * state_.optimizer), .kept = true});
    weights_.push_back({w, s, Number(count * state_.gradient),
                        Number((count * (state_.parameter + state_.gradient + 2 * state_.optimizer) * 128 + 999) / 1000)});
    return w;
  }
  std::uint32_t apply(tape_step step, Number bytes, Number time) {
    step.made = g_.add({.name = step.name, .bytes = std::move(bytes)});
    auto reads = step.reads;
    if (step.weight != none) reads.push_back(step.weight);
    g_.add({.name = step.name, .time = time}, reads, std::vector{step.made});
    steps_.push_back({std::move(step), std::move(time)});
    return steps_.back().first.made;
  }
  std::uint32_t multiply(std::string const& name, std::uint32_t x, std::uint32_t w, Number bytes, Number time) {
    return apply({.name = name, .kind = tape_kind::matrix, .reads = {x}, .weight = w}, std::move(bytes), std::move(time));
  }
  // The loss of the last output, the backward pass, and the updates.
  void finish(std::uint32_t out, std::string const& name, Number const& time) {
    auto const loss = g_.add({.name = name, .bytes = Number(4), .kept = true});
    g_.add({.name = name, .time = time}, {out}, {loss});
    gradient_.assign(g_.tensors.size(), none);
    gradient_[out] = gradient_of(out);
    g_.add({.name = name + " backward", .kind = operator_kind::backward, .time = time}, {out}, {gradient_[out]});
    for (auto s = steps_.rbegin(); s != steps_.rend(); ++s) backward(s->first, s->second);
    for (auto const& w : weights_) update(w);
  }
  [[nodiscard]] basic_graph<Number> take() { return std::move(g_); }

 private:
  static constexpr auto none = graph_tensor<Number>::own;
  struct trained {
    std::uint32_t weight, state;
    Number gradient_bytes, time;
  };

  std::uint32_t gradient_of(std::uint32_t t) {
    return g_.add({.name = "gradient of " + g_.tensors[t].name, .kind = tensor_kind::gradient, .bytes = g_.tensors[t].bytes});
  }
  std::uint32_t weight_gradient(std::uint32_t w) {
    auto const dw = gradient_of(w);
    for (auto const& each : weights_)
      if (each.weight == w) g_.tensors[dw].bytes = each.gradient_bytes;
    return dw;
  }
  // Adds to the gradient of t; the sum is an operator of its own.
  void receive(std::uint32_t t, std::uint32_t dt) {
    auto& g = gradient_[t];
    if (g != none) {
      auto const sum = g_.add({.name = g_.tensors[dt].name + ", sum", .kind = tensor_kind::gradient, .bytes = g_.tensors[dt].bytes});
      run_backward(g_.tensors[sum].name, Number{}, {g, dt}, {sum});
      g = sum;
    } else if (t != data_) {
      g = dt;
    }
  }
  void run_backward(std::string name, Number const& time, std::vector<std::uint32_t> const& reads,
                    std::vector<std::uint32_t> const& makes) {
    g_.add({.name = std::move(name), .kind = operator_kind::backward, .time = time}, reads, makes);
  }
  void backward(tape_step const& s, Number const& time) {
    auto const dy = gradient_[s.made];
    std::vector<std::uint32_t> reads{dy}, of;
    if (s.kind == tape_kind::sum || s.kind == tape_kind::add_weight)
      for (auto const x : s.reads) receive(x, dy);
    if (s.kind == tape_kind::sum) return;
    if (s.kind == tape_kind::matrix && s.reads[0] != data_) {
      auto const dx = gradient_of(s.reads[0]);
      run_backward(s.name + " backward", time, {dy, s.weight}, {dx});
      receive(s.reads[0], dx);
    }
    if (s.kind != tape_kind::add_weight) reads.insert(reads.end(), s.reads.begin(), s.reads.end());
    if (s.kind == tape_kind::pointwise) {
      if (s.save_output) reads.push_back(s.made);
      if (s.weight != none) reads.push_back(s.weight);
      for (auto const x : s.reads)
        if (x != data_) of.push_back(x);
    }
    if (s.weight != none) of.push_back(s.weight);
    std::vector<std::uint32_t> makes;
    for (auto const x : of) makes.push_back(x == s.weight ? weight_gradient(x) : gradient_of(x));
    run_backward(s.name + (s.kind == tape_kind::matrix ? " weight backward" : " backward"), time, reads, makes);
    for (std::size_t i = 0; i < of.size(); ++i) receive(of[i], makes[i]);
  }
  void update(trained const& w) {
    auto const name = g_.tensors[w.weight].name;
    auto const made = [&](std::uint32_t t) {
      auto changed = g_.tensors[t];
      changed.name += ", new";
      changed.shares = t;
      changed.in_place = true;
      return g_.add(std::move(changed));
    };
    g_.add({.name = name + " update", .kind = operator_kind::update, .time = w.time}, {w.weight, w.state, gradient_[w.weight]},
           {made(w.weight), made(w.state)});
  }

  training_state state_;
  basic_graph<Number> g_;
  std::uint32_t data_ = none;  // the data: it has no gradient
  std::vector<trained> weights_;
  std::vector<std::pair<tape_step, Number>> steps_;
  std::vector<std::uint32_t> gradient_;  // of each tensor that has one so far
};

}  // namespace ballast::inline v0_2::detail
