// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/lengths.hpp"

#include <ballast/core/classes.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/packing/vector/measures.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

// What was read, as planners want it: one length a sample, or a histogram.

namespace ballast_cli {

/// The histogram of what was read, whether it was read as one or as single lengths.
[[nodiscard]] ballast::histogram to_histogram(table const& input);

/// Throws for rows of several measures; `command` names the command that takes only one.
void require_one_measure(table const& input, std::string_view command);

/// Rows of one or more measures as columns.
class measure_columns {
 public:
  explicit measure_columns(table const& input);
  /// Rows of length 0 that were left out.
  [[nodiscard]] std::vector<std::uint64_t> const& skipped() const noexcept { return skipped_; }
  [[nodiscard]] ballast::sample_measures view() const;

 private:
  std::vector<std::vector<std::int64_t>> columns_;
  std::vector<std::uint64_t> skipped_;
};

/// One length a sample, in the order of the rows: a view of the table or, of a histogram, of `expanded`.
[[nodiscard]] std::span<std::int64_t const> to_lengths(table const& input, std::vector<std::int64_t>& expanded);

/// The longest sample that fits a pack once it is rounded up.
[[nodiscard]] inline std::int64_t longest_that_fits(ballast::packing_options const& o) {
  return o.capacity - o.capacity % o.sample_multiple;
}

/// A sample over capacity is bad input unless a policy says otherwise; checked here, because only the table knows where it was. `others`
/// names the policies there are; none: those of `pack`.
void refuse_oversize(table const& input, std::span<std::int64_t const> capacity, ballast::packing_options const& options,
                     std::string_view others = {});

/// Each length rounded up to a multiple. Throws bad_input where that is 2^63 or more.
[[nodiscard]] std::vector<std::int64_t> rounded_up(std::span<std::int64_t const> lengths, std::int64_t multiple);

/// Throws bad_input for more samples than a plan numbers.
void require_few_samples(std::uint64_t samples);

/// The samples of a plan, one length each.
class sample_lengths {
 public:
  /// Reads the input of a command that takes one length a sample. Throws bad_input, also for more samples than a plan numbers, and for one
  /// above `longest`, once it is rounded up, that a policy does not provide for.
  sample_lengths(input_arguments const& input, std::string_view command, std::int64_t longest, ballast::oversize policy,
                 std::int64_t multiple = 1);
  sample_lengths(sample_lengths const&) = delete;
  sample_lengths& operator=(sample_lengths const&) = delete;
  [[nodiscard]] std::span<std::int64_t const> view() const noexcept { return lengths_; }
  [[nodiscard]] ballast::histogram const& counts() const noexcept { return counts_; }
  /// Rows of length 0 that were left out.
  [[nodiscard]] std::vector<std::uint64_t> const& skipped() const noexcept { return rows_.skipped(); }

 private:
  table rows_;
  ballast::histogram counts_;
  std::vector<std::int64_t> expanded_;
  std::span<std::int64_t const> lengths_;
};

/// How many packs next fit takes for the rows of a histogram, in their order, brought to the demanded multiple; no sample is looked at by
/// itself.
[[nodiscard]] std::uint64_t count_next_fit(table const& rows, ballast::packing_options const& options);

}  // namespace ballast_cli
