// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ranks.hpp"
#include "transformer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// Some layers of the model, as a pipeline stage runs them: pieces of rows pass through, and each layer keeps what its backward pass needs,
// or makes it again, or keeps it on the host. A piece sees the keys and values of the pieces of its chain before it.

namespace execute {

/// What a layer does with the activations of a piece between its passes. Its keys and values stay, for later pieces of the chain.
enum class keeping { all, input, on_host };

/// A piece in some layers.
struct piece_state {
  row at{};
  std::vector<piece_state*> chain{};  // pieces whose keys it sees; itself is the last
  std::vector<layer_state> layers{};  // empty after the backward pass, and if nothing is kept
  std::vector<block> stored{};        // keys and values of each layer, and their gradients; `at` is not used
  numbers end{};                      // the input of the head, or the gradient from behind that the weight part needs
};

/// Bytes of a token in one layer.
struct layer_bytes {
  std::size_t state, input, keys;
  explicit layer_bytes(transformer const& m)
      : state(sizeof(double) * (4 * m.hidden + 2 * m.heads)), input(sizeof(double) * m.hidden), keys(sizeof(double) * 2 * m.hidden) {}
  /// Those held between the passes.
  std::size_t held(keeping how) const { return keys + (how == keeping::all ? state : how == keeping::input ? input : 0); }
  /// Those that exist besides while the backward pass of the layer runs.
  std::size_t besides(keeping how) const { return state + keys - held(how); }
};

class stage {
 public:
  stage(transformer const& model, numbers const& p, std::size_t first, std::vector<keeping> how)
      : model_(model), p_(p), first_(first), how_(std::move(how)) {}

  std::size_t last() const { return first_ + how_.size(); }

  /// The output of the layers; the first ones begin with the embedding. `again`: keys and values are there.
  numbers forward(piece_state& s, numbers x, bool again = false) {
    auto const n = how_.size();
    s.layers.resize(n);
    if (!again) s.stored.resize(n);
    if (first_ == 0) x = model_.embed(p_, s.at);
    for (std::size_t l = 0; l < n; ++l) {
      x = run(s, l, std::move(x), again);
      if (how_[l] == keeping::input) s.layers[l] = {.x = std::move(s.layers[l].x), .middle = {}, .attention = {}};
    }
    if (last() == model_.layers) s.end = x;
    return x;
  }
  /// The gradient of the layers' input; the last ones begin with the loss, and the first end with the embedding. Adds weight gradients to
  /// `gradient`, and those of keys and values to the chain if `keys`. `besides` gets the bytes that a layer needs while it runs.
  template <class Besides>
  numbers backward(piece_state& s, numbers dx, numbers& gradient, bool keys, Besides const& besides) {
    if (s.layers.empty()) throw std::runtime_error("a piece runs backward without activations");
    if (last() == model_.layers) (void)model_.loss(p_, s.at, s.end, dx, gradient);
    for (auto* const piece : s.chain)
      for (auto& each : piece->stored)
        if (each.dk.empty()) each.dk.assign(each.k.size(), 0), each.dv.assign(each.v.size(), 0);
    for (auto l = how_.size(); l-- > 0;) {
      besides(s.at.size() * layer_bytes(model_).besides(how_[l]));
      auto const kept = s.layers[l].x;
      if (how_[l] == keeping::input) (void)run(s, l, kept, true);
      auto const d_out = model_.after_attention_backward(p_, first_ + l, s.at, s.layers[l], dx, gradient);
      attention_state d;
      d.q.assign(d_out.size(), 0);
      numbers dk(model_.width()), dv(model_.width());  // of keys that got theirs before
      each_pair(s, l, [&](std::size_t q, std::size_t head, block& b, std::size_t key) {
        auto const place = q * model_.hidden + head * model_.width();
        model_.attend_backward(s.layers[l].attention, q, head, &b.k[key], &b.v[key], &d_out[place], &d.q[place],
                               keys ? &b.dk[key] : dk.data(), keys ? &b.dv[key] : dv.data());
      });
      d.k = s.stored[l].dk;  // later pieces have added theirs
      d.v = s.stored[l].dv;
      model_.before_attention_backward(p_, first_ + l, s.at, s.layers[l], d, dx, gradient);
      if (how_[l] == keeping::input) s.layers[l] = {.x = kept, .middle = {}, .attention = {}};
      besides(0);
    }
    if (first_ == 0) model_.embed_backward(gradient, s.at, dx);
    return dx;
  }
  /// Bytes that a piece holds, apart from those on the host.
  std::size_t bytes(piece_state const& s) const {
    auto sum = s.end.size() * sizeof(double);
    for (std::size_t l = 0; l < s.layers.size(); ++l)
      if (how_[l] != keeping::on_host) sum += s.layers[l].bytes();
    for (auto const& each : s.stored) sum += (each.k.size() + each.v.size() + each.dk.size() + each.dv.size()) * sizeof(double);
    return sum;
  }

 private:
  numbers run(piece_state& s, std::size_t l, numbers x, bool again) {
    model_.before_attention(p_, first_ + l, s.at, std::move(x), s.layers[l]);
    auto& a = s.layers[l].attention;
    if (!again) s.stored[l] = {.at = {}, .k = std::move(a.k), .v = std::move(a.v), .dk = {}, .dv = {}};
    a.k = a.v = {};
    each_pair(s, l, [&](std::size_t q, std::size_t head, block& b, std::size_t key) { model_.attend(a, q, head, &b.k[key], &b.v[key]); });
    return model_.after_attention(p_, first_ + l, s.at, s.layers[l]);
  }
  /// Calls `visit(query, head, block, place of key)` for the keys that each query sees.
  template <class Visit>
  void each_pair(piece_state& s, std::size_t l, Visit const& visit) const {
    for (auto* const from : s.chain)
      if (from->stored.empty()) throw std::runtime_error("a piece lacks the keys of a piece before it");
    for (std::size_t q = 0; q < s.at.size(); ++q)
      for (auto* const from : s.chain)
        for (std::size_t t = 0; t < from->at.size(); ++t)
          if (from->at[t].sample == s.at[q].sample && from->at[t].position <= s.at[q].position)
            for (std::size_t head = 0; head < model_.heads; ++head)
              visit(q, head, from->stored[l], t * model_.hidden + head * model_.width());
  }

  transformer const& model_;
  numbers const& p_;
  std::size_t first_;
  std::vector<keeping> how_;  // of each layer
};

}  // namespace execute
