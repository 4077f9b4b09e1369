// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ranks.hpp"

#include <ballast/core/random.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

// Samples to train on, training without any plan, and how far two gradients are apart.

namespace execute {

struct samples {
  std::vector<std::int64_t> lengths, learnt;  // tokens of each sample, and those that have a label: all but its prompt
  std::vector<row> tokens;                    // of each sample
};
/// Samples with a long tail, of at most `longest` tokens.
inline samples draw_samples(std::size_t number, std::int64_t longest, std::size_t vocabulary, std::uint64_t seed) {
  samples out;
  ballast::splitmix64 draw(seed);
  for (std::size_t i = 0; i < number; ++i) {
    auto const most = static_cast<std::uint64_t>(longest) >> draw() % 5;
    auto const n = static_cast<std::int64_t>(1 + draw() % (most > 0 ? most : 1));
    out.lengths.push_back(n);
    out.learnt.push_back(0);
    row tokens;
    auto const prompt = static_cast<std::int64_t>(draw() % 3 == 0 ? 0 : draw() % static_cast<std::uint64_t>(n));
    for (std::int64_t t = 0; t < n; ++t) {
      tokens.push_back({.sample = static_cast<std::uint32_t>(i),
                        .position = t,
                        .id = static_cast<std::size_t>(draw() % vocabulary),
                        .label = static_cast<std::size_t>(draw() % vocabulary),
                        .weight = t < prompt ? 0.0 : 1.0});
      out.learnt.back() += t >= prompt;
    }
    out.tokens.push_back(std::move(tokens));
  }
  return out;
}

/// The gradient of samples one by one, the loss of each multiplied by its weight.
inline numbers unpacked(transformer const& model, numbers const& p, samples const& data, std::vector<double> const& weights) {
  std::vector<numbers> gradient(1, numbers(model.size()));
  rank_group one(model, exchange::ring);
  for (std::size_t i = 0; i < data.tokens.size(); ++i) {
    rank_pass pass{.rank = 0, .at = data.tokens[i], .group = std::vector<std::uint32_t>(data.tokens[i].size(), alone)};
    for (auto& t : pass.at) t.weight *= weights[i];
    (void)one.train(p, {pass}, gradient);
  }
  return gradient[0];
}

/// The largest difference of a gradient from the right one, over the largest entry.
inline double difference(numbers const& a, numbers const& b) {
  double most = 0, size = 1e-300;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i])) return std::abs(a[i]);
    most = std::max(most, std::abs(a[i] - b[i]));
    size = std::max(size, std::abs(b[i]));
  }
  return most / size;
}

/// What runs of some plans gave; `print` says it in a line.
struct outcome {
  std::string what;
  std::size_t plans = 0, faults = 0;
  double largest = 0;                      // difference of gradients
  std::int64_t planned = 0, measured = 0;  // bytes of the largest plan
  /// Bytes that lived at once: as planned, or less if the plan is a bound.
  void add_bytes(std::int64_t plan, std::int64_t run, bool bound = false) {
    faults += run > plan || (run < plan && !bound);
    if (plan > planned) planned = plan, measured = run;
  }
  void add(double apart, bool right) {
    ++plans;
    largest = std::max(largest, apart);
    faults += !right || !(apart < 1e-12);
  }
  bool print() const {
    std::cout << what << ": " << plans << " plans, gradients differ by at most " << largest;
    if (planned > 0) std::cout << "; of the largest, " << planned << " bytes planned and " << measured << " measured";
    if (faults > 0) std::cout << "; " << faults << " plans are wrong";
    std::cout << "\n";
    return faults == 0;
  }
};

}  // namespace execute
