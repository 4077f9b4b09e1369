// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace ballast_cli {

/// A point of a cumulative distribution: `per_million` of the samples are at most `value`.
struct quantile {
  std::uint32_t per_million;
  std::int64_t value;
};

/// A share of a data set whose columns are independent of each other; between its points a column is uniform.
struct part {
  std::uint64_t weight;                        ///< its share is this over the sum of all weights
  std::vector<std::vector<quantile>> columns;  ///< each from 0 to 1,000,000 per million, never decreasing
};

/// A data set known by its statistics alone: a mixture of parts.
struct distribution {
  std::string_view name, description, source;
  std::vector<std::string_view> columns;  ///< what a number of a row means
  std::vector<part> parts;
};

/// Every distribution `ballast generate` knows, by name.
[[nodiscard]] std::span<distribution const> distributions();

/// `samples` rows of `columns.size()` numbers, row after row. Integers alone decide: the same on every platform.
[[nodiscard]] std::vector<std::int64_t> draw(distribution const& like, std::uint64_t samples, std::uint64_t seed);

}  // namespace ballast_cli
