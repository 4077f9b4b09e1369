// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/graph/graph.hpp>
#include <ballast/graph/repeated_blocks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `repeat_layers`: an order of operators that was found for few layers, for as many as the model has.

namespace ballast::inline v0_2 {

namespace detail {

// Repeats what the order of a shorter graph does between a layer before the gap and the layer behind it.
//
// From the first operator of one of the two layers to the first of the other, the order of a run is one period. It is repeated for each
// layer that was left out, and all that comes behind it is as many layers further.
template <class = when_called>
class layer_repeater {
 public:
  layer_repeater(repeated_blocks const& blocks, shorter_graph const& shorter, std::span<std::uint32_t const> order, std::uint32_t first)
      : blocks_(blocks), shorter_(shorter), order_(order), count_(blocks.layers - shorter.blocks.layers) {
    step_.resize(order.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) step_[order[i]] = i;
    for (std::uint32_t r = 0; r < blocks.runs.size(); ++r) {
      auto const up = step_of(r, first - 1, 0) < step_of(r, first, 0);
      auto const before = up ? first - 1 : first, behind = up ? first : first - 1;
      periods_.push_back({.up = up, .begin = first_step_of(r, before), .end = first_step_of(r, behind), .runs = {r}});
    }
    while (join_periods()) {
    }
  }

  [[nodiscard]] std::vector<std::uint32_t> repeated() {
    for (std::uint32_t i = 0; i <= order_.size() && good_; ++i) {
      for (auto const& each : periods_)
        if (i == each.end) insert_copies(each);
      if (i == order_.size()) break;
      auto const p = shorter_.blocks.place_of(order_[i]);
      if (p.run == block_place::outside) {
        out_.push_back(shorter_.original[order_[i]]);
      } else {
        auto const& of = period_of(p.run);
        push(p, (i >= of.end) == of.up ? count_ : 0);
      }
    }
    return good_ ? std::move(out_) : std::vector<std::uint32_t>{};
  }

 private:
  struct period {  // the steps begin … end - 1 of some runs
    bool up = false;
    std::uint32_t begin = 0, end = 0;
    std::vector<std::uint32_t> runs{};
  };

  [[nodiscard]] std::uint32_t first_step_of(std::uint32_t r, std::uint32_t layer) const {
    auto out = step_of(r, layer, 0);
    for (std::uint32_t p = 1; p < blocks_.runs[r].period; ++p) out = (std::min)(out, step_of(r, layer, p));
    return out;
  }
  // Whether an operator of b runs within the period of a.
  [[nodiscard]] bool meets(period const& a, period const& b) const {
    for (auto i = a.begin; i < a.end; ++i)
      if (auto const r = shorter_.blocks.place_of(order_[i]).run; std::find(b.runs.begin(), b.runs.end(), r) != b.runs.end()) return true;
    return false;
  }
  // Runs that take turns are repeated together: the earlier of two periods becomes that of both. False: no two of them do.
  [[nodiscard]] bool join_periods() {
    for (auto a = periods_.begin(); a != periods_.end(); ++a)
      for (auto b = a + 1; b != periods_.end(); ++b) {
        if (a->up != b->up || !(meets(*a, *b) || meets(*b, *a))) continue;
        a->begin = (std::min)(a->begin, b->begin);
        a->end = (std::min)(a->end, b->end);
        a->runs.insert(a->runs.end(), b->runs.begin(), b->runs.end());
        periods_.erase(b);
        return true;
      }
    return false;
  }
  [[nodiscard]] period const& period_of(std::uint32_t run) const {
    return *std::find_if(periods_.begin(), periods_.end(),
                         [&](period const& p) { return std::find(p.runs.begin(), p.runs.end(), run) != p.runs.end(); });
  }
  [[nodiscard]] std::uint32_t step_of(std::uint32_t r, std::uint32_t layer, std::uint32_t p) const {
    return step_[shorter_.blocks.at({r, layer, p})];
  }
  void push(block_place p, std::uint32_t further) {
    p.layer += further;
    good_ = good_ && p.layer < blocks_.layers;
    if (good_) out_.push_back(blocks_.at(p));
  }
  void insert_copies(period const& of) {
    for (std::uint32_t j = 1; j <= count_; ++j)
      for (auto i = of.begin; i < of.end; ++i) {
        auto const p = shorter_.blocks.place_of(order_[i]);
        if (p.run == block_place::outside) continue;
        good_ = good_ && &period_of(p.run) == &of;
        if (good_) push(p, of.up ? j : count_ - j);
      }
  }

  repeated_blocks const& blocks_;
  shorter_graph const& shorter_;
  std::span<std::uint32_t const> order_;
  std::uint32_t count_;
  std::vector<std::uint32_t> step_;  // of each operator of the shorter graph
  std::vector<period> periods_;
  std::vector<std::uint32_t> out_;
  bool good_ = true;
};

}  // namespace detail

/// @brief Repeats an order of few layers: what it does from one layer to the next is done for all layers that were left out.
///
/// The order may interleave neighbouring layers and leave work of a layer for later, as long as it does the same for each of them. If it
/// does not, no order is returned, or one in which the operators cannot run: evaluate it before use.
///
/// @param blocks   the layers of the original graph
/// @param shorter  the graph with fewer layers, as `without_layers` returns it
/// @param order    an order in which the operators of the shorter graph can run
/// @param first    the first layer that was left out
/// @return the operators of the original graph, each once; empty if the order does not repeat
/// @par Complexity
/// O(operators x runs).
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// The solved layer that is repeated: Shu et al., "ROAM", arXiv 2310.19295.
template <class = when_called>
[[nodiscard]] std::vector<std::uint32_t> repeat_layers(repeated_blocks const& blocks, shorter_graph const& shorter,
                                                       std::span<std::uint32_t const> order, std::uint32_t first) {
  auto out = detail::layer_repeater<>(blocks, shorter, order, first).repeated();
  auto sorted = out;
  std::sort(sorted.begin(), sorted.end());
  auto const operators = shorter.original.size() + std::size_t{blocks.layers - shorter.blocks.layers} * [&] {
    std::size_t period = 0;
    for (auto const& r : blocks.runs) period += r.period;
    return period;
  }();
  if (sorted.size() != operators || std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) out.clear();
  return out;
}

}  // namespace ballast::inline v0_2
