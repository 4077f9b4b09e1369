// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/graph/graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

// Training steps of convolutional networks whose layers branch and join: forward, backward and Adam's updates, for tests and benchmarks.

namespace ballast_test {

/// Writes a forward pass, then its backward pass and all updates, in the order of an eager framework. Tensors are named by their index.
class branching_step {
 public:
  using tensor = std::uint32_t;
  static constexpr auto none = ballast::graph_tensor<>::own;

  tensor input(std::int64_t bytes) { return data_ = g_.add({.bytes = bytes}); }
  /// A layer with weights; its backward is two operators, one for the gradient of x, one for that of the weights.
  tensor layer(tensor x, std::int64_t bytes, std::int64_t weights) {
    auto const w = g_.add({.kind = ballast::tensor_kind::parameter, .bytes = weights, .kept = true});
    auto const s = g_.add({.kind = ballast::tensor_kind::state, .bytes = 4 * weights, .kept = true});
    return run({.kind = step::with_weights, .reads = {x}, .weight = w, .state = s}, bytes);
  }
  /// A layer without weights whose backward reads x.
  tensor pool(tensor x, std::int64_t bytes) { return run({.kind = step::without, .reads = {x}}, bytes); }
  /// Tensors side by side in one; its backward takes the gradient apart.
  tensor join(std::vector<tensor> reads) {
    std::int64_t bytes = 0;
    for (auto const t : reads) bytes += bytes_of(t);
    return run({.kind = step::side_by_side, .reads = std::move(reads)}, bytes);
  }
  [[nodiscard]] std::int64_t bytes_of(tensor t) const { return g_.tensors[t].bytes; }

  [[nodiscard]] ballast::graph finish(tensor out) {
    auto const loss = g_.add({.bytes = 4, .kept = true});
    g_.add({}, {out}, {loss});
    gradient_.assign(g_.tensors.size(), none);
    gradient_[out] = gradient_of(out);
    g_.add({.kind = ballast::operator_kind::backward}, {out}, {gradient_[out]});
    for (auto s = steps_.rbegin(); s != steps_.rend(); ++s) backward(*s);
    for (auto const& u : updates_) {
      auto const w = g_.add({.kept = true, .shares = u.weight, .in_place = true});
      auto const s = g_.add({.kept = true, .shares = u.state, .in_place = true});
      g_.add({.kind = ballast::operator_kind::update}, {u.weight, u.state, u.gradient}, {w, s});
    }
    return std::move(g_);
  }

 private:
  struct step {
    enum : std::uint8_t { with_weights, without, side_by_side } kind;
    std::vector<tensor> reads{};
    tensor weight = none, state = none, made = none;
  };
  struct update {
    tensor weight, state, gradient;
  };
  tensor run(step s, std::int64_t bytes) {
    s.made = g_.add({.bytes = bytes});
    auto reads = s.reads;
    if (s.weight != none) reads.push_back(s.weight);
    g_.add({}, reads, std::vector{s.made});
    steps_.push_back(std::move(s));
    return steps_.back().made;
  }
  tensor gradient_of(tensor t) { return g_.add({.kind = ballast::tensor_kind::gradient, .bytes = g_.tensors[t].bytes}); }
  void run_backward(std::vector<tensor> const& reads, std::vector<tensor> const& makes) {
    g_.add({.kind = ballast::operator_kind::backward}, reads, makes);
  }
  /// What arrives for a tensor from its second reader on is added in place.
  void receive(tensor t, tensor dt) {
    auto& g = gradient_[t];
    if (g == none) {
      g = dt;
      return;
    }
    auto const sum = g_.add({.kind = ballast::tensor_kind::gradient, .shares = g, .in_place = true});
    run_backward({g, dt}, {sum});
    g = sum;
  }
  void backward(step const& s) {
    auto const dy = gradient_[s.made];
    std::vector<tensor> made;
    for (auto const x : s.reads)
      if (x != data_) made.push_back(gradient_of(x));
    auto reads = std::vector{dy};
    if (s.kind == step::with_weights) reads.push_back(s.weight);
    if (s.kind == step::without) reads.push_back(s.reads[0]);
    if (!made.empty()) run_backward(reads, made);
    if (s.kind == step::with_weights) {
      auto const dw = gradient_of(s.weight);
      run_backward({dy, s.reads[0]}, {dw});
      updates_.push_back({s.weight, s.state, dw});
    }
    for (std::size_t i = 0; i < made.size(); ++i) receive(s.reads[i], made[i]);
  }

  ballast::graph g_;
  tensor data_ = none;
  std::vector<step> steps_;
  std::vector<update> updates_;
  std::vector<tensor> gradient_;  // of each tensor that has one so far
};

/// `blocks` blocks of four branches of one to three layers; about 46 operators a block, and two for each layer's backward.
inline ballast::graph inception_step(std::int64_t blocks, std::int64_t batch) {
  branching_step s;
  auto const bytes = [&](std::int64_t side, std::int64_t channels) { return 2 * batch * side * side * channels; };
  auto x = s.layer(s.input(bytes(224, 3)), bytes(112, 64), 2 * 7 * 7 * 3 * 64);
  x = s.pool(x, bytes(56, 64));
  std::int64_t side = 56, channels = 64;
  for (std::int64_t b = 0; b < blocks; ++b) {
    if (b % 3 == 2 && side > 7) x = s.pool(x, bytes(side /= 2, channels));
    auto const wide = (std::min)(std::int64_t{64} + 32 * b, std::int64_t{384});
    auto const conv = [&](branching_step::tensor from, std::int64_t in, std::int64_t out, std::int64_t kernel) {
      return s.layer(from, bytes(side, out), 2 * kernel * kernel * in * out);
    };
    auto const first = conv(x, channels, wide, 1);
    auto const second = conv(conv(x, channels, wide * 3 / 4, 1), wide * 3 / 4, wide * 3 / 2, 3);
    auto const third = conv(conv(x, channels, wide / 4, 1), wide / 4, wide / 2, 5);
    auto const fourth = conv(s.pool(x, bytes(side, channels)), channels, wide / 2, 1);
    x = s.join({first, second, third, fourth});
    channels = wide + wide * 3 / 2 + wide / 2 + wide / 2;
  }
  return s.finish(s.layer(s.pool(x, bytes(1, channels)), bytes(1, 1000), 2 * channels * 1000));
}

/// Blocks of `layers` layers, each of which reads all that were made before it in its block.
inline ballast::graph densenet_step(std::vector<std::int64_t> const& layers, std::int64_t batch) {
  branching_step s;
  std::int64_t side = 56, channels = 64;
  auto const bytes = [&](std::int64_t c) { return 2 * batch * side * side * c; };
  auto x = s.layer(s.input(2 * batch * 224 * 224 * 3), bytes(channels), 2 * 7 * 7 * 3 * 64);
  for (auto const count : layers) {
    std::vector<branching_step::tensor> made{x};
    for (std::int64_t i = 0; i < count; ++i, channels += 32) {
      auto const all = made.size() == 1 ? x : s.join(made);
      made.push_back(s.layer(s.layer(all, bytes(128), 2 * channels * 128), bytes(32), 2 * 9 * 128 * 32));
    }
    x = s.layer(s.join(made), bytes(channels / 2), channels * channels);
    channels /= 2;
    side /= 2;
    x = s.pool(x, bytes(channels));
  }
  return s.finish(s.layer(s.pool(x, 2 * batch * channels), 2 * batch * 1000, 2 * channels * 1000));
}

/// `depth` levels down and up again; each level on the way up reads what its level on the way down made.
inline ballast::graph unet_step(std::int64_t depth, std::int64_t batch) {
  branching_step s;
  std::int64_t side = 256, channels = 64, from = 3;
  auto const bytes = [&](std::int64_t c) { return 2 * batch * side * side * c; };
  auto const conv = [&](branching_step::tensor x, std::int64_t in, std::int64_t out) { return s.layer(x, bytes(out), 2 * 9 * in * out); };
  auto x = s.input(bytes(3));
  std::vector<branching_step::tensor> skipped;
  for (std::int64_t d = 0; d < depth; ++d, from = channels, channels *= 2) {
    x = conv(conv(x, from, channels), channels, channels);
    skipped.push_back(x);
    side /= 2;
    x = s.pool(x, bytes(channels));
  }
  x = conv(conv(x, from, channels), channels, channels);
  for (; !skipped.empty(); skipped.pop_back()) {
    side *= 2;
    x = conv(x, channels, channels / 2);
    x = s.join({skipped.back(), x});
    x = conv(conv(x, channels, channels / 2), channels / 2, channels / 2);
    channels /= 2;
  }
  return s.finish(conv(x, channels, 2));
}

}  // namespace ballast_test
