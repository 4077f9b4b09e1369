// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/graph/symbolic.hpp>
#include <ballast/recompute/choose.hpp>
#include <ballast/recompute/option.hpp>
#include <ballast/recompute/selection.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief `compiled_selection`: a selection that is prepared once, before lengths are known, and then computed for every batch.

namespace ballast::inline v0_2 {

/// @brief One way to treat an item, as polynomials over the dimensions of a batch.
struct symbolic_option {
  symbolic memory{};    ///< bytes held until the backward pass
  symbolic time{};      ///< time that the option adds
  symbolic transfer{};  ///< time on the link to the host

  friend bool operator==(symbolic_option const&, symbolic_option const&) = default;
};

/// @brief Classes of items whose memory and times are polynomials over named dimensions.
///
/// Options that are never useful for any batch within the ranges are removed when items are added, and equal items are folded; both use
/// only the polynomials. A batch then costs the evaluation of the remaining options and one greedy selection: O(classes), for any number of
/// layers.
class compiled_selection {
 public:
  /// @brief Starts with no items. @param dimensions ranges of all dimensions
  explicit compiled_selection(std::vector<dimension> dimensions) : dimensions_(std::move(dimensions)) {}

  /// @brief Adds items that share their options.
  /// @param choices  options of the items, at least one; all values not negative
  /// @param count    number of items, at least 1
  /// @return index of the class that the items joined, as in a selection
  /// @throws invalid_input if there are no choices, or if a choice uses a dimension without a range or may be negative
  std::size_t add(std::span<symbolic_option const> choices, std::uint64_t count = 1) {
    require(!choices.empty() && count > 0, [] { return std::string("a class needs at least one choice and one item"); });
    for (std::size_t j = 0; j < choices.size(); ++j)
      for (auto const* const p : {&choices[j].memory, &choices[j].time, &choices[j].transfer})
        require(p->bounds(dimensions_).low >= 0, [&] {
          return "choices[" + std::to_string(j) + "] holds " + to_string(*p, dimensions_) + ", which is not proven not to be negative";
        });
    auto const not_above = [&](symbolic const& a, symbolic const& b) { return (a - b).bounds(dimensions_).high <= 0; };
    auto const beats = [&](symbolic_option const& a, symbolic_option const& b) {
      return not_above(a.memory, b.memory) && not_above(a.time, b.time) && not_above(a.time + a.transfer, b.time + b.transfer);
    };
    one_class made;
    for (std::size_t j = 0; j < choices.size(); ++j) {
      auto const beaten = [&](std::size_t i) {
        return i != j && beats(choices[i], choices[j]) && (i < j || !beats(choices[j], choices[i]));
      };
      bool useful = true;
      for (std::size_t i = 0; i < choices.size() && useful; ++i) useful = !beaten(i);
      if (!useful) continue;
      made.choices.push_back(choices[j]);
      made.origin.push_back(static_cast<std::uint32_t>(j));
    }
    auto const same = std::find_if(classes_.begin(), classes_.end(),
                                   [&](one_class const& c) { return c.choices == made.choices && c.origin == made.origin; });
    if (same != classes_.end()) {
      same->count += count;
      return static_cast<std::size_t>(same - classes_.begin());
    }
    made.count = count;
    classes_.push_back(std::move(made));
    return classes_.size() - 1;
  }
  /// @brief Number of distinct classes.
  [[nodiscard]] std::size_t size() const noexcept { return classes_.size(); }
  /// @brief The options of a class that were not removed. @param k index of the class
  /// @return their indices in the added choices, ascending; a selection numbers the remaining options from 0
  [[nodiscard]] std::span<std::uint32_t const> origin(std::size_t k) const& { return classes_.at(k).origin; }
  std::span<std::uint32_t const> origin(std::size_t) const&& = delete;  ///< a view of a temporary would dangle

  /// @brief The classes for one batch, in numbers.
  /// @param values  values of all dimensions, within their ranges
  /// @return classes in the order of `add`, with the options of `origin`
  /// @throws invalid_input if a value is out of range, or an intermediate result reaches 2^63
  /// @par Complexity
  /// O(terms).
  [[nodiscard]] option_classes at(std::span<std::int64_t const> values) const {
    require(values.size() == dimensions_.size(),
            [&] { return std::to_string(values.size()) + " values for " + std::to_string(dimensions_.size()) + " dimensions"; });
    for (std::size_t d = 0; d < values.size(); ++d)
      require(values[d] >= dimensions_[d].low && values[d] <= dimensions_[d].high,
              [&] { return entry("values", d, values[d]) + " is outside the range of " + dimensions_[d].name; });
    option_classes out;
    std::vector<memory_option> numbers;
    for (auto const& c : classes_) {
      numbers.clear();
      for (auto const& o : c.choices) numbers.push_back({o.memory(values), o.time(values), o.transfer(values)});
      out.add(numbers, c.count);
    }
    return out;
  }
  /// @brief The selection for one batch: greedy, with a lower bound.
  /// @param values   values of all dimensions, within their ranges
  /// @param options  budget and hidden link time of this batch
  /// @return a selection over `at(values)`
  /// @throws invalid_input as `at` and `choose_options_greedily`
  /// @par Complexity
  /// O(terms) plus `choose_options_greedily` on the classes.
  /// @par Determinism
  /// A pure function of the added items and the arguments.
  /// @par Source
  /// The compile-time candidates and run-time choice of BladeDISC++, arXiv 2412.16985, as far as they apply without a compiler.
  [[nodiscard]] selection evaluate(std::span<std::int64_t const> values, selection_options const& options) const {
    return choose_options_greedily(at(values), options);
  }

 private:
  struct one_class {
    std::vector<symbolic_option> choices;
    std::vector<std::uint32_t> origin;
    std::uint64_t count = 0;
  };
  std::vector<dimension> dimensions_;
  std::vector<one_class> classes_;
};

}  // namespace ballast::inline v0_2
