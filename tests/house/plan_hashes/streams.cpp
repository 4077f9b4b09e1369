// SPDX-License-Identifier: Apache-2.0
#include <ballast/partition/consecutive_micro_batches.hpp>
#include <ballast/streams/outlier_stream.hpp>

#include "results.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

// Steps of samples that arrive, and micro-batches of samples that keep their order.

namespace plan_hashes {

using namespace ballast;

template <class Index>
void put(digest& d, consecutive_cut<Index> const& c) {
  put(d, c.status, c.boundaries, c.objective, c.slowest, c.sum, c.quadrangle);
}

namespace {

void outliers(std::string const& name, numbers const& lengths, std::int64_t capacity) {
  for (auto const deadline : {0U, 2U, 16U}) {
    outlier_stream policy({.micro_batches = 4, .capacity = {capacity}, .deadline = deadline}, square);
    std::vector<stream_step> steps;
    std::vector<std::uint64_t> late;
    for (std::size_t first = 0; first < lengths.size(); first += 16)
      steps.push_back(policy.push(std::span(lengths).subspan(first, (std::min)(std::size_t{16}, lengths.size() - first))));
    auto const state = policy.state();
    for (auto& step : policy.flush()) steps.push_back(std::move(step));
    for (auto const& step : steps) late.insert(late.end(), step.late.begin(), step.late.end());
    show("outlier_stream", name + ',' + std::to_string(deadline), steps, late, state.usual, state.numbers, state.arrived, state.measures);
  }
}

void in_order(std::string const& name, numbers const& lengths, std::int64_t capacity) {
  numbers tokens{0}, work{0};
  for (auto const l : lengths) {
    tokens.push_back(tokens.back() + l);
    work.push_back(work.back() + square(l));
  }
  auto const between_of = [](numbers const& sums) {
    return
        [&](std::uint64_t begin, std::uint64_t end) { return sums[static_cast<std::size_t>(end)] - sums[static_cast<std::size_t>(begin)]; };
  };
  for (auto const slowest : {0U, 3U}) {
    consecutive_options o{.capacity = capacity, .slowest_weight = slowest};
    auto const of = name + ',' + std::to_string(slowest);
    show("consecutive_micro_batches", of, consecutive_micro_batches(lengths.size(), o, between_of(work), between_of(tokens)));
    o.candidate_step = square(capacity) / 4;
    show("consecutive_micro_batches", of + ",candidates",
         consecutive_micro_batches(lengths.size(), o, between_of(work), between_of(tokens)));
  }
}

}  // namespace

void streams() {
  for (auto const& c : data_cases()) {
    outliers(c.name, c.lengths, 4 * c.capacity);
    in_order(c.name, c.lengths, c.capacity);
  }
}

}  // namespace plan_hashes
