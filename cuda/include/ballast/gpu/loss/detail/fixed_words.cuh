// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/mapped.cuh>
#include <ballast/gpu/core/reduce.cuh>
#include <ballast/gpu/core/row_tiles.cuh>
#include <ballast/gpu/core/rows.cuh>
#include <ballast/gpu/core/workspace.cuh>
#include <ballast/gpu/loss/detail/label_rows.cuh>
#include <ballast/loss/fixed_point_sum.hpp>

#include <cstddef>
#include <cstdint>

// Fixed-point sums of the sequences of a row, and of the row, from the terms of a visitor.

namespace ballast::inline v0_2::gpu::detail {

// The four words of a fixed_point_sum.
struct fixed_words {
  std::int64_t word[4] = {};
};
struct add_fixed_words {
  BALLAST_HD fixed_words operator()(fixed_words a, fixed_words const& b) const {
    for (int k = 0; k < 4; ++k) a.word[k] += b.word[k];
    a.word[0] += a.word[1] >> 32;
    a.word[1] &= 0xffffffff;
    return a;
  }
};

template <int FractionBits>
inline constexpr auto units_per_1 = static_cast<double>(std::uint64_t{1} << FractionBits);

// Destination of the terms of a sequence: its sum has four words.
struct fixed_sums {
  std::int64_t* words;

  BALLAST_HD void emit(std::size_t sequence, two_words sum) const {
    add(sequence, 0, sum.high);
    add(sequence, 1, sum.low);
  }
  // The units of a number; a saturated or non-finite number is counted directly, because it is rare.
  [[nodiscard]] BALLAST_HD std::int64_t units(std::size_t sequence, double x, double per_1) const {
    if (auto const exact = x * per_1; ballast::detail::few_units(exact)) [[likely]]
      return ballast::detail::whole_units(exact);
    auto const term = ballast::detail::to_fixed_point(x, per_1);
    if (term.saturated) add(sequence, 2, 1);
    if (term.not_finite) add(sequence, 3, 1);
    return term.units;
  }

 private:
  BALLAST_HD void add(std::size_t sequence, int word, std::int64_t value) const {
    if (value != 0)
      atomic_add(reinterpret_cast<std::uint64_t&>(words[4 * sequence + static_cast<unsigned>(word)]), static_cast<std::uint64_t>(value));
  }
};

struct read_fixed_words {
  std::int64_t const* words;
  BALLAST_HD fixed_words operator()(std::size_t i) const {
    fixed_words out;
    for (std::size_t k = 0; k < 4; ++k) out.word[k] = words[4 * i + k];
    return out;
  }
};

// Carries the sum of sequence i; after the last sequence, writes the sum of the row.
struct close_sums {
  std::int64_t* words;
  std::size_t sequences;
  fixed_words const* all;
  std::int64_t* total;
  BALLAST_HD void operator()(std::size_t i) const {
    auto const sum = i == sequences ? *all : add_fixed_words{}(read_fixed_words{words}(i), {});
    auto* const out = i == sequences ? total : words + 4 * i;
    for (int k = 0; k < 4; ++k) out[k] = sum.word[k];
  }
};

// The same by one block: carries the sums of a few sequences, and adds them up.
struct close_few {
  static constexpr unsigned most_lanes = 1024;
  std::int64_t* words;
  std::size_t sequences;
  std::int64_t* total;
  template <class Block>
  BALLAST_HD void operator()(Block& block, std::size_t) const {
    block.each([&](unsigned lane) {
      for (std::size_t i = lane; i < sequences; i += block.lanes()) close_sums{words, sequences, nullptr, nullptr}(i);
    });
    fixed_words all;
    for (unsigned k = 0; k < 4; ++k)
      all.word[k] = static_cast<std::int64_t>(block.total([&](unsigned lane) {
        std::uint64_t sum = 0;
        for (std::size_t i = lane; i < sequences; i += block.lanes()) sum += static_cast<std::uint64_t>(words[4 * i + k]);
        return sum;
      }));
    all = add_fixed_words{}(all, {});
    block.each([&](unsigned lane) {
      for (unsigned k = 0; k < 4 && lane == 0; ++k) total[k] = all.word[k];
    });
  }
};

// Queues a pass over a row: term(place, term.read(place)) gives units, which are summed for each sequence and for the row.
template <int FractionBits, class On, class Offset, class Term>
[[nodiscard]] typename On::error_type sum_row(On on, void* temp, std::size_t& bytes, Offset const* cu, std::size_t sequences,
                                              std::size_t row, Term const& term, fixed_point_sum<FractionBits>* sums,
                                              fixed_point_sum<FractionBits>* total, std::uint64_t* first_bad) {
  using error_type = typename On::error_type;
  static_assert(sizeof(*sums) == sizeof(fixed_words));
  auto* const words = reinterpret_cast<std::int64_t*>(sums);
  workspace cut(temp);
  auto* const all = cut.take<fixed_words>(1);
  auto* const starts = cut.take<std::uint64_t>(tile_words(1, row));
  auto const reduce = [&](void* room, std::size_t& need) {
    return on.reduce(room, need, mapped(read_fixed_words{words}), all, sequences, fixed_words{}, add_fixed_words{});
  };
  auto room = cut.finish<On>(bytes, reduce);
  if (room.ends) return room.error;
  if (auto const error = open_row(on, cu, sequences, row, words, 4, starts, first_bad); error != error_type{}) return error;
  if (auto const error = sum_segments(on, offset_bounds<Offset>{cu, sequences}, row, starts, term); error != error_type{}) return error;
  auto* const sum = reinterpret_cast<std::int64_t*>(total);
  if (sequences <= few_items) return on.blocks(1, close_few::most_lanes, 0, close_few{words, sequences, sum});
  if (auto const error = reduce(room.memory, room.bytes); error != error_type{}) return error;
  return on.for_each(sequences + 1, close_sums{words, sequences, all, sum});
}

}  // namespace ballast::inline v0_2::gpu::detail
