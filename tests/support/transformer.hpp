// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ballast_test {

/// A causal transformer of two layers in double, with its backward pass written out: enough of one to see which loss is minimised.
///
/// Per layer: x += O attention(rms(x)), x += D tanh(U rms(x)); then logits = E rms(x) and cross entropy. A row holds several sequences;
/// attention and positions know their borders.
class transformer {
 public:
  static constexpr std::int64_t vocabulary = 7;
  static constexpr std::size_t longest = 32;

  explicit transformer(std::uint64_t seed) : parameters(end) {
    ballast::splitmix64 draw(seed);
    for (auto& p : parameters) p = (static_cast<double>(draw() >> 11) * 0x1p-53 - 0.5) * 1.2;
  }

  /// The sum of weights[t] times the loss of label t, where the weight is not 0. Gradients are added to gradients[owner[t]]: each token's
  /// share in every parameter, as ranks collect it that hold the tokens and exchange the keys and values.
  double step(std::span<std::int64_t const> tokens, std::span<std::int64_t const> labels, std::span<std::int64_t const> cu,
              std::span<double const> weights, std::span<std::size_t const> owner, std::vector<std::vector<double>>& gradients) const {
    auto const n = tokens.size();
    std::vector<activations> at(n);
    std::vector<std::size_t> start(n);
    for (std::size_t s = 1; s < cu.size(); ++s)
      for (auto t = cu[s - 1]; t < cu[s]; ++t) start[static_cast<std::size_t>(t)] = static_cast<std::size_t>(cu[s - 1]);
    for (std::size_t t = 0; t < n; ++t)
      for (std::size_t i = 0; i < width; ++i)
        at[t].layer[0].x[i] =
            parameters[embedding + static_cast<std::size_t>(tokens[t]) * width + i] + parameters[position + (t - start[t]) * width + i];
    for (std::size_t l = 0; l < layers; ++l) forward(l, at, start);

    double loss = 0;
    std::vector<vector> dx(n);  // of the residual stream, from the last layer down
    for (std::size_t t = 0; t < n; ++t) {
      dx[t] = {};
      if (weights[t] == 0) continue;
      auto const& x = at[t].layer[layers].x;
      auto const y = normalised(x);
      std::array<double, vocabulary> logits{};
      multiply(&parameters[output], y, logits);
      double sum = 0;
      for (auto z : logits) sum += std::exp(z);
      auto const label = static_cast<std::size_t>(labels[t]);
      loss += weights[t] * (std::log(sum) - logits[label]);
      std::array<double, vocabulary> d;
      for (std::size_t v = 0; v < d.size(); ++v) d[v] = weights[t] * (std::exp(logits[v]) / sum - (v == label ? 1 : 0));
      vector dy{};
      multiply_back(&parameters[output], y, d, dy, &gradients[owner[t]][output]);
      normalised_back(x, dy, dx[t]);
    }
    for (std::size_t l = layers; l-- > 0;) backward(l, at, start, owner, dx, gradients);
    for (std::size_t t = 0; t < n; ++t)
      for (std::size_t i = 0; i < width; ++i) {
        gradients[owner[t]][embedding + static_cast<std::size_t>(tokens[t]) * width + i] += dx[t][i];
        gradients[owner[t]][position + (t - start[t]) * width + i] += dx[t][i];
      }
    return loss;
  }

 private:
  static constexpr std::size_t layers = 2, width = 6, heads = 2, head = width / heads, hidden = 8;
  using vector = std::array<double, width>;
  static constexpr std::size_t square = width * width;
  // where each matrix stands in the parameters
  static constexpr std::size_t embedding = 0, position = embedding + vocabulary * width, output = position + longest * width,
                               first_layer = output + vocabulary * width, query = 0, key = square, value = 2 * square, mix = 3 * square,
                               up = 4 * square, down = up + hidden * width, layer_size = down + hidden * width,
                               end = first_layer + layers * layer_size;

  struct layer_activations {
    vector x, q, k, v, attended, middle;
    std::array<std::vector<double>, heads> probability;
    std::array<double, hidden> activated;
  };
  struct activations {
    std::array<layer_activations, layers + 1> layer;
  };

  template <std::size_t In, std::size_t Out>
  static void multiply(double const* w, std::array<double, In> const& x, std::array<double, Out>& y) {
    for (std::size_t o = 0; o < Out; ++o) {
      y[o] = 0;
      for (std::size_t i = 0; i < In; ++i) y[o] += w[o * In + i] * x[i];
    }
  }
  template <std::size_t In, std::size_t Out>
  static void multiply_back(double const* w, std::array<double, In> const& x, std::array<double, Out> const& dy, std::array<double, In>& dx,
                            double* dw) {
    for (std::size_t o = 0; o < Out; ++o)
      for (std::size_t i = 0; i < In; ++i) {
        dx[i] += w[o * In + i] * dy[o];
        dw[o * In + i] += dy[o] * x[i];
      }
  }
  static double inverse_rms(vector const& x) {
    double sum = 1e-6;
    for (auto v : x) sum += v * v / width;
    return 1 / std::sqrt(sum);
  }
  static vector normalised(vector x) {
    auto const r = inverse_rms(x);
    for (auto& v : x) v *= r;
    return x;
  }
  static void normalised_back(vector const& x, vector const& dy, vector& dx) {
    auto const r = inverse_rms(x);
    double dot = 0;
    for (std::size_t i = 0; i < width; ++i) dot += x[i] * dy[i];
    for (std::size_t i = 0; i < width; ++i) dx[i] += r * (dy[i] - x[i] * dot * r * r / width);
  }

  void forward(std::size_t l, std::vector<activations>& at, std::vector<std::size_t> const& start) const {
    auto const* const w = &parameters[first_layer + l * layer_size];
    for (std::size_t t = 0; t < at.size(); ++t) {
      auto& a = at[t].layer[l];
      auto const y = normalised(a.x);
      multiply(w + query, y, a.q);
      multiply(w + key, y, a.k);
      multiply(w + value, y, a.v);
      a.attended = {};
      for (std::size_t h = 0; h < heads; ++h) {
        auto& p = a.probability[h];
        p.assign(t - start[t] + 1, 0);
        double sum = 0;
        for (std::size_t j = start[t]; j <= t; ++j) {
          double score = 0;
          for (std::size_t i = h * head; i < (h + 1) * head; ++i) score += a.q[i] * at[j].layer[l].k[i];
          sum += p[j - start[t]] = std::exp(score / std::sqrt(head));
        }
        for (std::size_t j = start[t]; j <= t; ++j) {
          p[j - start[t]] /= sum;
          for (std::size_t i = h * head; i < (h + 1) * head; ++i) a.attended[i] += p[j - start[t]] * at[j].layer[l].v[i];
        }
      }
      vector added;
      multiply(w + mix, a.attended, added);
      for (std::size_t i = 0; i < width; ++i) a.middle[i] = a.x[i] + added[i];
      multiply(w + up, normalised(a.middle), a.activated);
      for (auto& u : a.activated) u = std::tanh(u);
      multiply(w + down, a.activated, added);
      for (std::size_t i = 0; i < width; ++i) at[t].layer[l + 1].x[i] = a.middle[i] + added[i];
    }
  }

  void backward(std::size_t l, std::vector<activations> const& at, std::vector<std::size_t> const& start,
                std::span<std::size_t const> owner, std::vector<vector>& dx, std::vector<std::vector<double>>& gradients) const {
    auto const* const w = &parameters[first_layer + l * layer_size];
    auto const n = at.size();
    std::vector<vector> dq(n, vector{}), dk(n, vector{}), dv(n, vector{});
    for (std::size_t t = 0; t < n; ++t) {
      auto const& a = at[t].layer[l];
      auto* const g = &gradients[owner[t]][first_layer + l * layer_size];
      std::array<double, hidden> du{};
      multiply_back(w + down, a.activated, dx[t], du, g + down);
      for (std::size_t i = 0; i < hidden; ++i) du[i] *= 1 - a.activated[i] * a.activated[i];
      vector dy{};
      multiply_back(w + up, normalised(a.middle), du, dy, g + up);
      normalised_back(a.middle, dy, dx[t]);
      vector dattended{};
      multiply_back(w + mix, a.attended, dx[t], dattended, g + mix);
      for (std::size_t h = 0; h < heads; ++h) {
        auto const& p = a.probability[h];
        std::vector<double> dp(p.size(), 0);
        double dot = 0;
        for (std::size_t j = 0; j < p.size(); ++j) {
          for (std::size_t i = h * head; i < (h + 1) * head; ++i) {
            dp[j] += dattended[i] * at[start[t] + j].layer[l].v[i];
            dv[start[t] + j][i] += p[j] * dattended[i];
          }
          dot += p[j] * dp[j];
        }
        for (std::size_t j = 0; j < p.size(); ++j) {
          auto const dscore = p[j] * (dp[j] - dot) / std::sqrt(head);
          for (std::size_t i = h * head; i < (h + 1) * head; ++i) {
            dq[t][i] += dscore * at[start[t] + j].layer[l].k[i];
            dk[start[t] + j][i] += dscore * a.q[i];
          }
        }
      }
    }
    for (std::size_t t = 0; t < n; ++t) {
      auto const& a = at[t].layer[l];
      auto* const g = &gradients[owner[t]][first_layer + l * layer_size];
      auto const y = normalised(a.x);
      vector dy{};
      multiply_back(w + query, y, dq[t], dy, g + query);
      multiply_back(w + key, y, dk[t], dy, g + key);
      multiply_back(w + value, y, dv[t], dy, g + value);
      normalised_back(a.x, dy, dx[t]);
    }
  }

 public:
  std::vector<double> parameters;  ///< all weights, flat; gradients have the same layout
};

}  // namespace ballast_test
