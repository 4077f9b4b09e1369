// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "report/replace.hpp"

#include <ballast/core/groups.hpp>
#include <ballast/layout/packed_row.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

// `--static`: the cumulative lengths of all packs, in arrays of one size for each, as CUDA graphs need.

namespace ballast_cli {

struct static_arrays {
  ballast::row_options by;  ///< tokens and sequences of each row, and its longest sequence
  std::size_t packs = 0;
  std::int64_t padding = 0;  ///< tokens of all rows that no sample fills
  std::vector<std::int32_t> cu_seqlens = {}, cu_seqlens_padded = {};
};

/// Rows of `capacity` tokens. With a limit of samples in a pack, that many sequences and one more. Instantiated for 32-bit and 64-bit
/// indices. Throws bad_input where a row is too long for 32-bit offsets.
template <class Index>
[[nodiscard]] static_arrays static_arrays_of(ballast::groups<Index> const& packs, std::span<std::int64_t const> lengths,
                                             std::int64_t multiple, std::int64_t capacity, std::uint64_t max_items);

/// cu_seqlens.npy and cu_seqlens_padded.npy, which view the arrays.
void add_files(std::vector<folder_file>& files, static_arrays const& of);
[[nodiscard]] nlohmann::ordered_json to_json(static_arrays const& of);
[[nodiscard]] std::string in_words(static_arrays const& of);

}  // namespace ballast_cli
