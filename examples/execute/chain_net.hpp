// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

// A net that is trained in a tenth of a second: residual layers (RMS norm, two matrices, ReLU) that learn a Markov chain of second order.

namespace execute {

/// Adam on one vector of parameters.
template <class Real>
struct adam {
  std::vector<Real> p, first, second;
  int steps = 0;

  explicit adam(std::vector<Real> start) : p(std::move(start)), first(p.size()), second(p.size()) {}
  void step(std::vector<Real> const& gradient, double rate) {
    ++steps;
    auto const of_first = static_cast<Real>(rate / (1 - std::pow(0.9, steps)));
    auto const of_second = static_cast<Real>(1 / (1 - std::pow(0.999, steps)));
    for (std::size_t i = 0; i < p.size(); ++i) {
      first[i] = Real(0.9) * first[i] + Real(0.1) * gradient[i];
      second[i] = Real(0.999) * second[i] + Real(0.001) * gradient[i] * gradient[i];
      p[i] -= of_first * first[i] / (std::sqrt(of_second * second[i]) + Real(1e-8));
    }
  }
};

class chain_net {
 public:
  static constexpr std::size_t width = 16, ffn = 32, layers = 6, words = 12, batch = 32;
  static constexpr std::size_t of_layer = 2 * width * ffn, first_layer = 2 * words * width, head = first_layer + layers * of_layer;
  static constexpr std::size_t size = head + width * words;
  using parameters = std::vector<float>;

  chain_net() {
    ballast::splitmix64 draw(5);
    for (std::size_t row = 0; row < chances_.size(); row += words) {
      double sum = 0;
      for (auto i = row; i < row + words; ++i) sum += chances_[i] = std::pow(uniform(draw), 12);
      for (auto i = row; i < row + words; ++i) chances_[i] /= sum;
    }
  }
  /// All layers begin alike.
  parameters initial(std::uint64_t seed) const {
    ballast::splitmix64 draw(seed);
    parameters out(size);
    for (auto& value : out) value = static_cast<float>(0.8 * (uniform(draw) - 0.5));
    for (std::size_t i = 0; i < first_layer; ++i) out[i] *= 4;
    for (std::size_t i = first_layer + of_layer; i < head; ++i) out[i] = out[i - of_layer];
    return out;
  }
  /// The mean cross entropy of a drawn batch; adds its gradient unless that is null.
  double loss(parameters const& p, ballast::splitmix64& draw, parameters* gradient) const {
    double out = 0;
    for (std::size_t n = 0; n < batch; ++n) {
      auto const a = draw() % words, b = draw() % words;
      auto const next = drawn_next(a, b, draw);
      auto const *const of_a = &p[a * width], *const of_b = &p[(words + b) * width];
      std::array<hidden_layer, layers> inner;
      values x{};
      for (std::size_t i = 0; i < width; ++i) x[i] = of_a[i] + of_b[i];
      for (std::size_t l = 0; l < layers; ++l) {
        auto const* const w = &p[first_layer + l * of_layer];
        inner[l].normed = norm(x, inner[l].inverse);
        inner[l].active = {};
        product<width, ffn>(inner[l].normed.data(), w, inner[l].active.data());
        for (auto& each : inner[l].active) each = std::max(each, 0.0F);
        product<ffn, width>(inner[l].active.data(), w + width * ffn, x.data());
      }
      float inverse = 0;
      auto const last = norm(x, inverse);
      std::array<float, words> logits{};
      product<width, words>(last.data(), &p[head], logits.data());
      auto const most = *std::max_element(logits.begin(), logits.end());
      float sum = 0;
      for (auto const each : logits) sum += std::exp(each - most);
      out += most + std::log(sum) - logits[next];
      if (gradient == nullptr) continue;
      auto& g = *gradient;
      for (std::size_t i = 0; i < words; ++i) logits[i] = (std::exp(logits[i] - most) / sum - (i == next ? 1.0F : 0.0F)) / batch;
      values d{}, dx{};
      product_backward<width, words>(logits.data(), last.data(), &p[head], d.data(), &g[head]);
      norm_backward(d, last, inverse, dx);
      for (auto l = layers; l-- > 0;) {
        auto const w = first_layer + l * of_layer;
        std::array<float, ffn> d_active{};
        product_backward<ffn, width>(dx.data(), inner[l].active.data(), &p[w + width * ffn], d_active.data(), &g[w + width * ffn]);
        for (std::size_t i = 0; i < ffn; ++i) d_active[i] = inner[l].active[i] > 0 ? d_active[i] : 0;
        d = {};
        product_backward<width, ffn>(d_active.data(), inner[l].normed.data(), &p[w], d.data(), &g[w]);
        norm_backward(d, inner[l].normed, inner[l].inverse, dx);
      }
      for (std::size_t i = 0; i < width; ++i) {
        g[a * width + i] += dx[i];
        g[(words + b) * width + i] += dx[i];
      }
    }
    return out / batch;
  }

 private:
  using values = std::array<float, width>;
  struct hidden_layer {
    values normed;
    std::array<float, ffn> active;
    float inverse;
  };
  static double uniform(ballast::splitmix64& draw) { return static_cast<double>(draw() >> 11) * 0x1p-53; }
  std::size_t drawn_next(std::size_t a, std::size_t b, ballast::splitmix64& draw) const {
    auto left = uniform(draw);
    std::size_t out = 0;
    while (out + 1 < words && (left -= chances_[(a * words + b) * words + out]) >= 0) ++out;
    return out;
  }
  /// y += x w
  template <std::size_t In, std::size_t Out>
  static void product(float const* x, float const* w, float* y) {
    for (std::size_t i = 0; i < In; ++i)
      for (std::size_t o = 0; o < Out; ++o) y[o] += x[i] * w[i * Out + o];
  }
  template <std::size_t In, std::size_t Out>
  static void product_backward(float const* dy, float const* x, float const* w, float* dx, float* dw) {
    for (std::size_t i = 0; i < In; ++i)
      for (std::size_t o = 0; o < Out; ++o) {
        dx[i] += dy[o] * w[i * Out + o];
        dw[i * Out + o] += x[i] * dy[o];
      }
  }
  static values norm(values const& x, float& inverse) {
    float square = 1e-6F;
    for (auto const each : x) square += each * each / width;
    inverse = 1 / std::sqrt(square);
    auto out = x;
    for (auto& each : out) each *= inverse;
    return out;
  }
  static void norm_backward(values const& d, values const& normed, float inverse, values& dx) {
    float dot = 0;
    for (std::size_t i = 0; i < width; ++i) dot += d[i] * normed[i];
    for (std::size_t i = 0; i < width; ++i) dx[i] += inverse * (d[i] - normed[i] * dot / width);
  }

  std::vector<double> chances_ = std::vector<double>(words * words * words);  // of the next word, for each two before it
};

}  // namespace execute
