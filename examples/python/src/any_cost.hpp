// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/coarse_cost.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/cost/transformer_cost.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

// One type for all costs, so that every planner is compiled once.

namespace ballast_python {

/// A table that gives the cost of each length; entry 0 is not used.
using length_table = std::shared_ptr<std::vector<std::int64_t> const>;

/// The cost of each sample, by its index.
struct sample_costs {
  length_table of;

  friend bool operator==(sample_costs const&, sample_costs const&) = default;
};

/// Any of the cost models that Python can name.
struct any_cost {
  std::variant<ballast::token_cost, ballast::quadratic_cost, ballast::transformer_cost, length_table, ballast::coarse_cost, sample_costs>
      model;

  [[nodiscard]] std::int64_t operator()(std::int64_t length) const {
    if (auto const* const k = std::get_if<ballast::coarse_cost>(&model)) return (*k)(length);
    if (auto const* const t = std::get_if<ballast::transformer_cost>(&model)) return (*t)(length);
    if (auto const* const q = std::get_if<ballast::quadratic_cost>(&model)) return (*q)(length);
    if (auto const* const table = std::get_if<length_table>(&model)) return (**table)[static_cast<std::size_t>(length)];
    return length;
  }
  [[nodiscard]] std::int64_t operator()(std::size_t sample, std::int64_t length) const {
    auto const* const costs = std::get_if<sample_costs>(&model);
    return costs == nullptr ? (*this)(length) : (*costs->of)[sample];
  }
  [[nodiscard]] bool fits(std::int64_t length) const {
    if (auto const* const k = std::get_if<ballast::coarse_cost>(&model)) return k->fits(length);
    if (auto const* const t = std::get_if<ballast::transformer_cost>(&model)) return t->fits(length);
    if (auto const* const q = std::get_if<ballast::quadratic_cost>(&model)) return q->fits(length);
    if (auto const* const table = std::get_if<length_table>(&model)) return length >= 0 && std::cmp_less(length, (*table)->size());
    return length >= 0 && !std::holds_alternative<sample_costs>(model);
  }
  [[nodiscard]] bool fits(std::size_t sample, std::int64_t length) const {
    auto const* const costs = std::get_if<sample_costs>(&model);
    return costs == nullptr ? fits(length) : sample < costs->of->size() && (*costs->of)[sample] >= 0;
  }
  /// What a micro-batch takes beside its samples.
  [[nodiscard]] std::int64_t per_micro_batch() const {
    auto const* const k = std::get_if<ballast::coarse_cost>(&model);
    return k == nullptr ? 0 : k->per_micro_batch();
  }
  /// Milliseconds of a unit; 0 where it says no time.
  [[nodiscard]] double ms_per_unit() const {
    auto const* const k = std::get_if<ballast::coarse_cost>(&model);
    return k == nullptr ? 0 : k->ms_per_unit();
  }
  friend bool operator==(any_cost const& a, any_cost const& b);
};

}  // namespace ballast_python
