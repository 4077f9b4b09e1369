// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "costs.hpp"
#include "sample_numbers.hpp"

namespace ballast_python {

/// The lengths of the samples that are planned. With zero_length="skip" those of length 0 are not; with "error" one is an error.
class planned_lengths : public integers {
 public:
  /// For work that may outlive the call; what is Python's is let go under the GIL.
  [[nodiscard]] static std::shared_ptr<planned_lengths const> of(array_like const& lengths, std::string const& zero_length);
  planned_lengths(planned_lengths const&) = delete;  // it is a view of its own tokens

  /// All lengths, as they were given.
  [[nodiscard]] integers const& given() const { return given_; }
  [[nodiscard]] sample_numbers const& numbers() const { return numbers_; }
  /// Keys of the planned samples, of an argument that has one for each given sample, or is None.
  [[nodiscard]] std::vector<std::uint64_t> keys(optional_array const& argument, char const* name) const;
  /// The cost of planned samples that an argument names.
  [[nodiscard]] any_cost cost(cost_argument const& cost, optional_array const& costs, std::int64_t capacity) const;
  /// What a planner returns. Samples that its errors name get their given numbers.
  template <class Planner>
  [[nodiscard]] auto plan(Planner const& planner) const {
    try {
      return planner();
    } catch (ballast::invalid_input const& error) {
      throw ballast::invalid_input(with_given_numbers(error.what()));
    }
  }

 private:
  planned_lengths(array_like const& lengths, std::string const& zero_length);
  [[nodiscard]] std::string with_given_numbers(std::string const& sentence) const;

  integers given_;
  sample_numbers numbers_;
  std::vector<std::int64_t> tokens_;  ///< where samples are skipped
};

/// A plan that Python holds, in the planner's numbers, which validators read. Throws invalid_input where other samples are skipped.
template <class Held>
[[nodiscard]] auto planned(Held const& held, planned_lengths const& lengths) {
  ballast::require(lengths.numbers().skipped == held.numbers.skipped,
                   [] { return "lengths has other samples of length 0 than the plan has skipped"; });
  auto plan = held.plan;
  renumber(plan, [&](std::uint32_t s) { return held.numbers.planned(s); });
  return plan;
}
/// The lengths for such a plan.
template <class Held>
[[nodiscard]] std::shared_ptr<planned_lengths const> lengths_for(Held const& held, array_like const& lengths) {
  return planned_lengths::of(lengths, held.numbers.skipped.empty() ? "error" : "skip");
}

/// Throws invalid_input for a sample above the capacity of a planner that has no policy for such.
void require_within(integer_view const& lengths, std::int64_t capacity, char const* planner);

}  // namespace ballast_python
