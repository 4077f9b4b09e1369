// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/groups.hpp>
#include <ballast/core/version.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

/// @file
/// @brief What every policy for streams takes and returns: samples that arrive, and steps that leave. Policies can be exchanged without a
/// change of types.

namespace ballast::inline v0_2 {

/// @brief A sample of a stream.
struct stream_sample {
  std::uint64_t number = 0;   ///< counted from the first sample of the stream
  std::int64_t length = 0;    ///< tokens; of several measures the last
  std::uint64_t arrived = 0;  ///< number of the step with whose block of samples it came
  friend constexpr bool operator==(stream_sample const&, stream_sample const&) = default;
};

/// @brief The micro-batches of one step of a stream.
struct stream_step {
  groups<std::uint64_t> micro_batches;  ///< numbers of the samples in each
  std::vector<std::int64_t> lengths;    ///< tokens of each entry of `micro_batches.members`; all measures of each, if there are several
  std::vector<std::uint64_t> delays;    ///< how many steps each entry waited
  std::vector<std::int64_t> workloads;  ///< sum of the costs of each micro-batch
  std::vector<std::uint64_t> late{};    ///< numbers of the samples that had to leave with this step but exceed its capacity; ascending

  /// @brief The imbalance of the step: its largest workload over the mean workload. @return in millionths, at least 1,000,000; 1,000,000
  /// without work
  [[nodiscard]] std::int64_t imbalance() const noexcept {
    std::int64_t most = 0;
    wide all;
    for (auto const w : workloads) {
      most = (std::max)(most, w);
      all = all + wide{0, static_cast<std::uint64_t>(w)};
    }
    return all == wide{} ? 1'000'000 : in_millionths(multiply(static_cast<std::uint64_t>(most), workloads.size()), all);
  }
  friend bool operator==(stream_step const&, stream_step const&) = default;
};

}  // namespace ballast::inline v0_2
