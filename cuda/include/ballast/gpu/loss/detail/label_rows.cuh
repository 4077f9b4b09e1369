// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/row_tiles.cuh>
#include <ballast/gpu/core/rows.cuh>
#include <ballast/loss/label_counts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

// Shared by the passes over a row of labels: which labels are counted, and the check of the cumulative lengths.

namespace ballast::inline v0_2::gpu::detail {

// The number that multiplies gradients.
template <class Factor>
[[nodiscard]] BALLAST_HD double factor_of(Factor const* factor) {
  return factor == nullptr ? 1.0 : static_cast<double>(*factor);
}

struct label_rule {
  std::int64_t ignore;
  bool in_model;
  BALLAST_HD explicit label_rule(label_options options) : ignore(options.ignore), in_model(options.shift == label_shift::in_model) {}
  template <class Label>
  [[nodiscard]] BALLAST_HD bool takes(Label label) const {
    return static_cast<std::int64_t>(label) != ignore;
  }
  [[nodiscard]] BALLAST_HD bool has_label(row_place const& place) const { return place.inside && !(in_model && place.at == place.begin); }
  template <class Label>
  [[nodiscard]] BALLAST_HD bool counts(row_place const& place, Label label) const {
    return takes(label) && has_label(place);
  }
};

// Checks the entry before sequence i, clears the `words` 64-bit words of the sequence's sum, and finds the first sequence of tile i.
template <class Offset>
struct open_sequences {
  check_offsets<Offset> check;
  std::int64_t* sums;
  unsigned words;
  std::size_t tiles;
  find_tile<same_bounds<offset_bounds<Offset>>> find;
  BALLAST_HD void operator()(std::size_t i) const {
    if (i < tiles) find(i);
    if (i > check.count) return;
    check(i);
    if (i == check.count) return;
    for (unsigned k = 0; k < words; ++k) sums[i * words + k] = 0;
  }
};

// Begins a pass over a row: initialises `first_bad`, checks `cu`, clears sums, and finds the tiles, `tile_words(1, row)` words.
template <class On, class Offset>
[[nodiscard]] typename On::error_type open_row(On on, Offset const* cu, std::size_t sequences, std::size_t row, std::int64_t* sums,
                                               unsigned words, std::uint64_t* starts, std::uint64_t* first_bad) {
  auto const tiles = tile_words(1, row);
  auto const find = find_tiles(same_bounds<offset_bounds<Offset>>{{cu, sequences}}, row, starts);
  return check_each(on, (std::max)(sequences + 1, tiles), first_bad,
                    open_sequences<Offset>{{cu, sequences, row, first_bad}, sums, words, tiles, find});
}

// If `bad` has an index, throws with the message of the host for these cumulative lengths.
template <class On, class Offset>
void require_row(On on, std::uint64_t const* bad, Offset const* cu, std::size_t sequences, std::size_t row) {
  if (fetch_one(on, bad) == none_bad) return;
  ballast::detail::for_each_sequence(std::vector<std::int8_t>(row), fetch(on, cu, sequences + 1), label_shift::done,
                                     [](std::size_t, std::size_t, std::size_t) {});
}

}  // namespace ballast::inline v0_2::gpu::detail
