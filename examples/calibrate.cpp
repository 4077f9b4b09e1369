// SPDX-License-Identifier: Apache-2.0
// Times micro-batches of a small model on this processor, fits a cost to 30 of them, plans with it, and compares the times that the plan
// predicts with those that are measured. `example_calibrate 32 400 9` prints the figures of
// docs/examples.md; without arguments the sizes are small.
#include <ballast/batching.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/random.hpp>
#include <ballast/cost.hpp>
#include <ballast/cost/calibrate.hpp>
#include <ballast/layout.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <span>
#include <vector>

namespace {

using matrix = std::vector<float>;  // row-major

matrix drawn(std::size_t size) {
  ballast::splitmix64 draw(size);
  matrix out(size);
  for (auto& x : out) x = static_cast<float>(draw() % 1000) / 5000 - 0.1F;
  return out;
}

// One layer of a transformer, forwards: causal attention with one head, then an MLP. Its work is what counts, so weights are random.
struct layer {
  std::size_t width;
  matrix up = drawn(width * 4 * width), down = drawn(4 * width * width);

  // out += in * weights, for rows of `in`.
  static void multiply(std::span<float const> in, std::size_t columns, matrix const& weights, std::span<float> out) {
    auto const inner = weights.size() / columns;
    for (std::size_t row = 0; row * inner < in.size(); ++row)
      for (std::size_t k = 0; k < inner; ++k)
        for (std::size_t c = 0; c < columns; ++c) out[row * columns + c] += in[row * inner + k] * weights[k * columns + c];
  }
  void attend(std::span<float const> in, std::span<float> out) const {  // one sample
    auto const n = in.size() / width;
    std::vector<float> score(n);
    for (std::size_t q = 0; q < n; ++q) {
      float sum = 0;
      for (std::size_t k = 0; k <= q; ++k) {
        float dot = 0;
        for (std::size_t c = 0; c < width; ++c) dot += in[q * width + c] * in[k * width + c];
        sum += score[k] = std::exp(dot);
      }
      for (std::size_t k = 0; k <= q; ++k)
        for (std::size_t c = 0; c < width; ++c) out[q * width + c] += score[k] / sum * in[k * width + c];
    }
  }
  // A packed row: samples attend to themselves alone.
  float operator()(std::span<std::int32_t const> cu_seqlens) const {
    auto const tokens = static_cast<std::size_t>(cu_seqlens.back());
    auto const in = drawn(tokens * width);
    matrix mixed(in.size()), inner(4 * in.size()), out(in.size());
    for (std::size_t i = 1; i < cu_seqlens.size(); ++i) {
      auto const first = static_cast<std::size_t>(cu_seqlens[i - 1]) * width, last = static_cast<std::size_t>(cu_seqlens[i]) * width;
      attend(std::span(in).subspan(first, last - first), std::span(mixed).subspan(first, last - first));
    }
    multiply(mixed, 4 * width, up, inner);
    for (auto& x : inner) x = (std::max)(x, 0.0F);
    multiply(inner, width, down, out);
    return out[0];
  }
};

struct times {
  double mean_error = 0, predicted_idle = 0, measured_idle = 0;
};

// Compares steps as ranks would run them: a step lasts as long as its slowest rank.
times compare(ballast::batching<> const& plan, std::vector<double> const& predicted, std::vector<double> const& measured) {
  times out;
  double work[2] = {}, slowest[2] = {};
  for (std::size_t s = 0; s < plan.steps(); ++s) {
    double step[2] = {};
    for (std::size_t r = 0; r < plan.ranks; ++r) {
      double rank[2] = {};
      for (auto const p : plan.step(s, r))
        if (p != plan.none) rank[0] += predicted[p], rank[1] += measured[p];
      for (std::size_t k = 0; k < 2; ++k) work[k] += rank[k], step[k] = (std::max)(step[k], rank[k]);
    }
    for (std::size_t k = 0; k < 2; ++k) slowest[k] += step[k];
    out.mean_error += std::abs(step[0] / step[1] - 1) / static_cast<double>(plan.steps());
  }
  out.predicted_idle = 1 - work[0] / static_cast<double>(plan.ranks) / slowest[0];
  out.measured_idle = 1 - work[1] / static_cast<double>(plan.ranks) / slowest[1];
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  auto const argument = [&](int i, std::size_t otherwise) { return argc > i ? static_cast<std::size_t>(std::atol(argv[i])) : otherwise; };
  auto const width = argument(1, 16), samples = argument(2, 120), rounds = argument(3, 2);
  std::int64_t const capacity = 1024;
  std::vector<std::int64_t> lengths(samples);
  ballast::splitmix64 draw(1);
  for (auto& l : lengths) l = static_cast<std::int64_t>(16 + draw() % (draw() % 8 == 0 ? 1000 : 240));

  layer const model{width};
  float unused = 0;  // or the compiler would leave the work out
  // The processor time of each pack, the least of several rounds: in the others, another program disturbed the work.
  auto const measure = [&](ballast::groups<> const& packs) {
    std::vector<double> ms(packs.size(), 1e300);
    for (std::size_t round = 0; round < rounds; ++round)
      for (std::size_t p = 0; p < packs.size(); ++p) {
        auto const cu_seqlens = ballast::cu_seqlens(packs[p], lengths);
        auto const start = std::clock();
        unused += model(cu_seqlens);
        ms[p] = std::clamp(1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 1e-6, ms[p]);
      }
    return ms;
  };
  auto const lengths_of = [&](std::span<std::uint32_t const> pack) {
    std::vector<std::int64_t> out(pack.size());
    for (std::size_t i = 0; i < pack.size(); ++i) out[i] = lengths[pack[i]];
    return out;
  };
  ballast::batching_options options{.capacity = capacity, .ranks = 4, .micro_batches = 2, .seed = 2026};

  // Thirty micro-batches of another epoch, planned by tokens because no cost is known yet.
  options.epoch = 1;
  auto const first = ballast::plan_steps(lengths, options, ballast::token_cost{});
  ballast::groups<> thirty;
  for (std::size_t p = 0; p < first.packs.size() && p < 30; ++p) thirty.push_back(first.packs[p]);
  auto const times_of_thirty = measure(thirty);
  std::vector<ballast::micro_batch_timing> rows(thirty.size());
  for (std::size_t p = 0; p < rows.size(); ++p) rows[p] = {lengths_of(thirty[p]), times_of_thirty[p]};
  auto const fit = ballast::calibrate(rows, {}, ballast::token_cost{}, ballast::causal_pairs{});
  std::cout << "fitted to " << rows.size() << " micro-batches; mean error on unseen ones " << 100 * fit.held_out.mean << " %\n";

  options.epoch = 0;
  auto const tokens = ballast::plan_steps(lengths, options, ballast::token_cost{});
  options.cost_per_micro_batch = static_cast<std::int64_t>(1e6 * fit.per_micro_batch);
  auto const fitted = ballast::plan_steps(lengths, options, ballast::scaled(fit, 1e6));
  auto const report = [&](char const* name, ballast::batching<> const& plan) {
    std::vector<double> predicted(plan.packs.size());
    for (std::size_t p = 0; p < predicted.size(); ++p) predicted[p] = fit.of_micro_batch(lengths_of(plan.packs[p]));
    auto const t = compare(plan, predicted, measure(plan.packs));
    std::cout << name << ": " << plan.steps() << " steps, mean error of a step's time " << 100 * t.mean_error << " %; idle "
              << 100 * t.predicted_idle << " % predicted, " << 100 * t.measured_idle << " % measured\n";
  };
  report("planned by tokens     ", tokens);
  report("planned by fitted cost", fitted);
  return std::isfinite(unused) ? 0 : 1;
}
