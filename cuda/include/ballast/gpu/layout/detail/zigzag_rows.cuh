// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/row_tiles.cuh>
#include <ballast/gpu/core/rows.cuh>
#include <ballast/gpu/layout/detail/pack_rows.cuh>
#include <ballast/layout/zigzag.hpp>

#include <cstddef>
#include <cstdint>

// The passes of zigzag.cuh.

namespace ballast::inline v0_2::gpu::detail {

// Finds the first entry that is not 0 at the begin, is below its predecessor, is not a multiple of the chunks, or at the end is not `row`.
template <class Offset>
struct check_zigzag {
  Offset const* cu;
  std::size_t sequences;
  std::uint64_t row, chunks, most;
  std::uint64_t* first_bad;
  BALLAST_HD void operator()(std::size_t i) const {
    auto good = i == 0 ? cu[0] == 0 : cu[i - 1] <= cu[i] && static_cast<std::uint64_t>(cu[i] - cu[i - 1]) % chunks == 0;
    if (i == sequences) good = good && static_cast<std::uint64_t>(cu[i]) == row && row <= most;
    if (!good) atomic_min(*first_bad, i);
  }
};

// The sequences of the row that a rank holds.
template <class Offset>
struct rank_bounds {
  Offset const* cu;
  std::size_t count;
  std::uint64_t ranks;
  BALLAST_HD std::uint64_t operator()(std::size_t i) const { return static_cast<std::uint64_t>(cu[i]) / ranks; }
};

// Writes either the tokens that a rank holds, or the inverse: where those tokens are after gathering all rows.
template <class T, bool Inverse>
struct write_zigzag {
  zigzag rule;
  std::int64_t rank;  // rank that holds the tokens
  std::size_t length;
  T* out;
  std::uint64_t const* first_bad;
  [[nodiscard]] BALLAST_HD no_input read(row_place const&) const { return {}; }
  BALLAST_HD void operator()(row_place const& place, no_input) const {
    if (!place.inside) return;
    auto const begin = static_cast<std::int64_t>(place.begin), held = static_cast<std::int64_t>(place.end) - begin;
    auto const holder = Inverse ? static_cast<std::int64_t>(place.row) : rank;
    auto const source = rule.source(holder, static_cast<std::int64_t>(place.at), begin, held);
    if constexpr (!Inverse)
      out[place.at] = static_cast<T>(source);
    else if (*first_bad == none_bad)  // otherwise two tokens may have one place, or one outside the row
      out[source] = static_cast<T>(place.row * length + place.at);
  }
};

template <class T, bool Inverse, class On, class Offset>
[[nodiscard]] typename On::error_type zigzag_rows(On on, void* temp, std::size_t& bytes, Offset const* cu, std::size_t sequences,
                                                  zigzag rule, std::int64_t rank, std::size_t length, T* out, std::uint64_t* first_bad) {
  using error_type = typename On::error_type;
  if (rule.ranks <= 0 || rule.ranks >= (std::int64_t{1} << 31) || rank < 0 || rank >= rule.ranks) return On::invalid_value;
  if (temp == nullptr) return bytes = 1, error_type{};
  auto const ranks = static_cast<std::uint64_t>(rule.ranks);
  if (auto const error = on.fill(first_bad, 0xff, sizeof(std::uint64_t)); error != error_type{}) return error;
  auto const error = on.for_each(sequences + 1, check_zigzag<Offset>{cu, sequences, length * ranks, 2 * ranks, largest<T>, first_bad});
  if (error != error_type{}) return error;
  return visit_rows(on, same_bounds<rank_bounds<Offset>>{{cu, sequences, ranks}}, Inverse ? ranks : 1, length,
                    write_zigzag<T, Inverse>{rule, rank, length, out, first_bad});
}

}  // namespace ballast::inline v0_2::gpu::detail
