// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// A causal transformer in double precision, its backward pass by hand: RMSNorm, attention with rotary positions, a gated MLP, cross
// entropy. It works on rows of tokens that say which sample and position they are, so a row may be a pack, a shard or a chunk. What a layer
// does without other rows is apart from attention, which may take keys and values from anywhere, in any number of parts.

namespace execute {

using numbers = std::vector<double>;

struct token {
  std::uint32_t sample = 0;
  std::int64_t position = 0;  // in the sample
  std::size_t id = 0, label = 0;
  double weight = 0;  // by which its cross entropy is multiplied; 0 = not learnt
};
using row = std::vector<token>;

/// y (rows x out) += x (rows x in) w (in x out).
inline void add_product(double* y, double const* x, double const* w, std::size_t rows, std::size_t in, std::size_t out) {
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t i = 0; i < in; ++i)
      for (std::size_t o = 0; o < out; ++o) y[r * out + o] += x[r * in + i] * w[i * out + o];
}
/// dx += dy w^T and dw += x^T dy.
inline void add_product_backward(double* dx, double* dw, double const* dy, double const* x, double const* w, std::size_t rows,
                                 std::size_t in, std::size_t out) {
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t i = 0; i < in; ++i)
      for (std::size_t o = 0; o < out; ++o) {
        dx[r * in + i] += dy[r * out + o] * w[i * out + o];
        dw[i * out + o] += x[r * in + i] * dy[r * out + o];
      }
}

/// Queries, keys and values of some rows, and what attention made of them; `out` and `weight_sum` grow by each part of the keys.
struct attention_state {
  numbers q, k, v;    // rows x hidden
  numbers out;        // rows x hidden: the sum of values, by weights exp(score - most)
  numbers most, sum;  // rows x heads: the largest score so far, and the sum of weights
  std::size_t bytes() const { return (q.size() + k.size() + v.size() + out.size() + most.size() + sum.size()) * sizeof(double); }
};
/// What the backward pass of a layer needs.
struct layer_state {
  numbers x, middle;  // rows x hidden: the input, and the residual stream behind attention
  attention_state attention;
  std::size_t bytes() const { return (x.size() + middle.size()) * sizeof(double) + attention.bytes(); }
};

class transformer {
 public:
  std::size_t layers = 2, hidden = 8, heads = 2, ffn = 12, vocabulary = 11;

  std::size_t width() const { return hidden / heads; }
  std::size_t of_layer() const { return 2 * hidden + 4 * hidden * hidden + 3 * hidden * ffn; }
  std::size_t first_of(std::size_t layer) const { return vocabulary * hidden + layer * of_layer(); }
  std::size_t size() const { return vocabulary * hidden * 2 + hidden + layers * of_layer(); }
  /// Small values that differ, without a random generator.
  numbers initial() const {
    numbers out(size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = 0.4 * std::sin(1.0 + 12.9898 * static_cast<double>(i));
    return out;
  }

  numbers embed(numbers const& p, row const& at) const {
    numbers x;
    for (auto const& t : at) x.insert(x.end(), p.begin() + offset(t.id * hidden), p.begin() + offset((t.id + 1) * hidden));
    return x;
  }
  void embed_backward(numbers& gradient, row const& at, numbers const& dx) const {
    for (std::size_t r = 0; r < at.size(); ++r)
      for (std::size_t i = 0; i < hidden; ++i) gradient[at[r].id * hidden + i] += dx[r * hidden + i];
  }

  /// Norm, queries, keys and values of some rows.
  void before_attention(numbers const& p, std::size_t layer, row const& at, numbers x, layer_state& s) const {
    auto const w = places_of(layer);
    auto const n = at.size();
    auto const normed = norm(&p[w.norm], x);
    auto& a = s.attention;
    for (auto* const each : {&a.q, &a.k, &a.v, &a.out}) each->assign(n * hidden, 0);
    a.most.assign(n * heads, -1e300);
    a.sum.assign(n * heads, 0);
    add_product(a.q.data(), normed.data(), &p[w.q], n, hidden, hidden);
    add_product(a.k.data(), normed.data(), &p[w.k], n, hidden, hidden);
    add_product(a.v.data(), normed.data(), &p[w.v], n, hidden, hidden);
    for (std::size_t r = 0; r < n; ++r)
      for (auto* const each : {&a.q, &a.k}) rotate(&(*each)[r * hidden], static_cast<double>(at[r].position));
    s.x = std::move(x);
  }
  /// Adds the gradient of what made queries, keys and values; `dx` has that of the residual stream.
  void before_attention_backward(numbers const& p, std::size_t layer, row const& at, layer_state const& s, attention_state& d, numbers& dx,
                                 numbers& gradient) const {
    auto const w = places_of(layer);
    auto const n = at.size();
    for (std::size_t r = 0; r < n; ++r)
      for (auto* const each : {&d.q, &d.k}) rotate(&(*each)[r * hidden], -static_cast<double>(at[r].position));
    auto const normed = norm(&p[w.norm], s.x);
    numbers d_normed(n * hidden);
    add_product_backward(d_normed.data(), &gradient[w.q], d.q.data(), normed.data(), &p[w.q], n, hidden, hidden);
    add_product_backward(d_normed.data(), &gradient[w.k], d.k.data(), normed.data(), &p[w.k], n, hidden, hidden);
    add_product_backward(d_normed.data(), &gradient[w.v], d.v.data(), normed.data(), &p[w.v], n, hidden, hidden);
    norm_backward(&p[w.norm], s.x, d_normed, dx, &gradient[w.norm]);
  }

  /// Output of attention and MLP; returns the next layer's input.
  numbers after_attention(numbers const& p, std::size_t layer, row const& at, layer_state& s) const {
    auto const w = places_of(layer);
    auto const n = at.size();
    s.middle = s.x;
    add_product(s.middle.data(), attended(s.attention).data(), &p[w.o], n, hidden, hidden);
    auto const inner = mlp(p, w, s.middle, n);
    auto x = s.middle;
    add_product(x.data(), inner.gated.data(), &p[w.down], n, ffn, hidden);
    return x;
  }
  /// Turns `dx` from the gradient of the layer's output into that of its residual stream, and returns that of attention's output.
  numbers after_attention_backward(numbers const& p, std::size_t layer, row const& at, layer_state const& s, numbers& dx,
                                   numbers& gradient) const {
    auto const w = places_of(layer);
    auto const n = at.size();
    auto const inner = mlp(p, w, s.middle, n);
    numbers d_gated(n * ffn), d_gate(n * ffn), d_up(n * ffn), d_normed(n * hidden);
    add_product_backward(d_gated.data(), &gradient[w.down], dx.data(), inner.gated.data(), &p[w.down], n, ffn, hidden);
    for (std::size_t i = 0; i < d_gated.size(); ++i) {
      auto const sigmoid = 1 / (1 + std::exp(-inner.gate[i]));
      d_gate[i] = d_gated[i] * inner.up[i] * sigmoid * (1 + inner.gate[i] * (1 - sigmoid));
      d_up[i] = d_gated[i] * inner.gate[i] * sigmoid;
    }
    add_product_backward(d_normed.data(), &gradient[w.gate], d_gate.data(), inner.normed.data(), &p[w.gate], n, hidden, ffn);
    add_product_backward(d_normed.data(), &gradient[w.up], d_up.data(), inner.normed.data(), &p[w.up], n, hidden, ffn);
    norm_backward(&p[w.norm2], s.middle, d_normed, dx, &gradient[w.norm2]);
    numbers d_attended(n * hidden);
    add_product_backward(d_attended.data(), &gradient[w.o], dx.data(), attended(s.attention).data(), &p[w.o], n, hidden, hidden);
    return d_attended;
  }

  /// Adds a part of attention: one head of one query and one key, both rotated.
  void attend(attention_state& of, std::size_t query, std::size_t head, double const* key, double const* value) const {
    auto const* const q = &of.q[query * hidden + head * width()];
    auto* const out = &of.out[query * hidden + head * width()];
    auto &most = of.most[query * heads + head], &sum = of.sum[query * heads + head];
    auto const score = scaled(q, key);
    if (score > most) {
      auto const shrink = std::exp(most - score);
      for (std::size_t i = 0; i < width(); ++i) out[i] *= shrink;
      sum *= shrink;
      most = score;
    }
    auto const weight = std::exp(score - most);
    sum += weight;
    for (std::size_t i = 0; i < width(); ++i) out[i] += weight * value[i];
  }
  /// Adds the gradient of such a part to those of the query, the key and the value; `d_out` is that of the whole output of the head.
  void attend_backward(attention_state const& of, std::size_t query, std::size_t head, double const* key, double const* value,
                       double const* d_out, double* d_query, double* d_key, double* d_value) const {
    auto const* const q = &of.q[query * hidden + head * width()];
    auto const* const out = &of.out[query * hidden + head * width()];
    auto const sum = of.sum[query * heads + head];
    auto const weight = std::exp(scaled(q, key) - of.most[query * heads + head]) / sum;
    double slope = 0;
    for (std::size_t i = 0; i < width(); ++i) slope += d_out[i] * (value[i] - out[i] / sum);
    slope *= weight / std::sqrt(static_cast<double>(width()));
    for (std::size_t i = 0; i < width(); ++i) {
      d_query[i] += slope * key[i];
      d_key[i] += slope * q[i];
      d_value[i] += weight * d_out[i];
    }
  }

  /// The weighted cross entropy of some rows; `dx` gets its gradient.
  double loss(numbers const& p, row const& at, numbers const& x, numbers& dx, numbers& gradient) const {
    auto const end = first_of(layers), head = end + hidden;
    auto const normed = norm(&p[end], x);
    numbers logits(at.size() * vocabulary), d_normed(x.size());
    add_product(logits.data(), normed.data(), &p[head], at.size(), hidden, vocabulary);
    double out = 0;
    for (std::size_t r = 0; r < at.size(); ++r) {
      auto* const each = &logits[r * vocabulary];
      auto const most = *std::max_element(each, each + vocabulary);
      double sum = 0;
      for (std::size_t i = 0; i < vocabulary; ++i) sum += std::exp(each[i] - most);
      out += at[r].weight * (most + std::log(sum) - each[at[r].label]);
      for (std::size_t i = 0; i < vocabulary; ++i) each[i] = at[r].weight * (std::exp(each[i] - most) / sum - (i == at[r].label ? 1 : 0));
    }
    add_product_backward(d_normed.data(), &gradient[head], logits.data(), normed.data(), &p[head], at.size(), hidden, vocabulary);
    dx.assign(x.size(), 0);
    norm_backward(&p[end], x, d_normed, dx, &gradient[end]);
    return out;
  }

 private:
  struct places {
    std::size_t norm, q, k, v, o, norm2, gate, up, down;
  };
  struct mlp_values {
    numbers normed, gate, up, gated;
  };
  static std::ptrdiff_t offset(std::size_t i) { return static_cast<std::ptrdiff_t>(i); }
  places places_of(std::size_t layer) const {
    auto const first = first_of(layer), square = hidden * hidden, wide = hidden * ffn;
    auto const q = first + hidden, norm2 = q + 4 * square, gate = norm2 + hidden;
    return {first, q, q + square, q + 2 * square, q + 3 * square, norm2, gate, gate + wide, gate + 2 * wide};
  }
  double scaled(double const* q, double const* key) const {
    double sum = 0;
    for (std::size_t i = 0; i < width(); ++i) sum += q[i] * key[i];
    return sum / std::sqrt(static_cast<double>(width()));
  }
  numbers attended(attention_state const& a) const {
    auto out = a.out;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] /= a.sum[i / width()];
    return out;
  }
  mlp_values mlp(numbers const& p, places const& w, numbers const& middle, std::size_t n) const {
    mlp_values out{norm(&p[w.norm2], middle), numbers(n * ffn), numbers(n * ffn), {}};
    add_product(out.gate.data(), out.normed.data(), &p[w.gate], n, hidden, ffn);
    add_product(out.up.data(), out.normed.data(), &p[w.up], n, hidden, ffn);
    for (std::size_t i = 0; i < out.gate.size(); ++i) out.gated.push_back(out.gate[i] / (1 + std::exp(-out.gate[i])) * out.up[i]);
    return out;
  }
  double inverse_size(double const* x) const {
    double sum = 0;
    for (std::size_t i = 0; i < hidden; ++i) sum += x[i] * x[i];
    return 1 / std::sqrt(sum / static_cast<double>(hidden) + 1e-6);
  }
  numbers norm(double const* gain, numbers const& x) const {
    numbers out(x.size());
    for (std::size_t r = 0; r < x.size(); r += hidden) {
      auto const inverse = inverse_size(&x[r]);
      for (std::size_t i = 0; i < hidden; ++i) out[r + i] = (1 + gain[i]) * x[r + i] * inverse;
    }
    return out;
  }
  void norm_backward(double const* gain, numbers const& x, numbers const& d, numbers& dx, double* d_gain) const {
    for (std::size_t r = 0; r < x.size(); r += hidden) {
      auto const inverse = inverse_size(&x[r]);
      double dot = 0;
      for (std::size_t i = 0; i < hidden; ++i) {
        d_gain[i] += d[r + i] * x[r + i] * inverse;
        dot += d[r + i] * (1 + gain[i]) * x[r + i];
      }
      dot *= inverse * inverse * inverse / static_cast<double>(hidden);
      for (std::size_t i = 0; i < hidden; ++i) dx[r + i] += d[r + i] * (1 + gain[i]) * inverse - x[r + i] * dot;
    }
  }
  /// Rotates the pairs of each head by the position.
  void rotate(double* x, double position) const {
    for (std::size_t i = 0; i < hidden; i += 2) {
      auto const angle = position * std::pow(100.0, -static_cast<double>(i % width()) / static_cast<double>(width()));
      auto const a = x[i], b = x[i + 1];
      x[i] = a * std::cos(angle) - b * std::sin(angle);
      x[i + 1] = a * std::sin(angle) + b * std::cos(angle);
    }
  }
};

}  // namespace execute
