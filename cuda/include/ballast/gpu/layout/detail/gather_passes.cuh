// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/rows.cuh>
#include <ballast/gpu/core/wide.cuh>
#include <ballast/gpu/layout/detail/pack_rows.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

// The passes of gather_rows.cuh.

namespace ballast::inline v0_2::gpu::detail {

// 16 bytes that are moved at once. Its characters may alias what they hold.
using moved_word = wide_part<unsigned char, 16>;

// Calls body(unit, units of a token), where a unit is 16 bytes if tokens and pointers allow it, else one value.
template <class T, class Body>
[[nodiscard]] auto with_unit(std::size_t width, void const* from, void const* to, T padding, Body const& body) {
  if constexpr (16 % sizeof(T) == 0) {
    if (width > 1 && is_wide(from) && is_wide(to) && width * sizeof(T) % 16 == 0) {
      moved_word unit{};
      for (std::size_t i = 0; i < 16; ++i) unit.of[i] = reinterpret_cast<unsigned char const*>(&padding)[i % sizeof(T)];
      return body(unit, width * sizeof(T) / 16);
    }
  }
  return body(padding, width);
}

// Where the sequence that ends at an entry of cu_seqlens is stored, in units: place + shift, before `end`.
struct stored_sequence {
  std::uint64_t shift = 0, end = 0;
};

// Finds offsets that do not rise, and starts that do not rise from 0 or more to the number of stored tokens.
template <class Plan>
struct check_stored {
  check_packs packs;
  Plan plan;
  BALLAST_HD void operator()(std::size_t i) const {
    if (i <= packs.bounds.count) packs(i);
    if (i > plan.samples) return;
    auto good = i == 0 ? plan.starts[0] >= 0 : plan.starts[i - 1] <= plan.starts[i];
    if (i == plan.samples) good = good && static_cast<std::uint64_t>(plan.starts[i]) <= plan.stored;
    if (!good) atomic_min(*packs.first_bad, packs.index + 1 + i);
  }
};

// Visits the entries of cu_seqlens: checks each, and finds where its sequence is stored. With `held` and `holders`, for each sample also
// the first entry that has it, and for each entry its sample.
template <class Plan>
struct find_stored {
  Plan plan;
  std::uint64_t units;
  stored_sequence* sequences;
  std::uint64_t* held;
  std::uint64_t* holders;
  std::uint64_t* first_bad;
  [[nodiscard]] BALLAST_HD no_input read(row_place const&) const { return {}; }
  BALLAST_HD void operator()(row_place const& place, no_input) const {
    auto const at = place.at;
    auto const begins = at == place.begin;
    auto const* const cu = plan.cu;
    auto good = begins ? cu[at] == 0 : cu[at - 1] <= cu[at];
    if (at + 1 == place.end && static_cast<std::uint64_t>(cu[at]) > plan.row) good = false;
    auto const member = std::uint64_t{at} - place.segment - 1;  // if the offsets are not valid, it may be any number
    auto const in_pack = place.inside && !begins && member < plan.placed;
    std::uint64_t sample = none_bad;
    stored_sequence found;
    if (in_pack) sample = plan.members[member];
    if (sample < plan.samples) {
      auto const from = static_cast<std::uint64_t>(plan.starts[sample]), to = static_cast<std::uint64_t>(plan.starts[sample + 1]);
      found = {(from - static_cast<std::uint64_t>(cu[at - 1])) * units, to * units};
      if (to - from > static_cast<std::uint64_t>(cu[at]) - static_cast<std::uint64_t>(cu[at - 1])) good = false;
    } else if (in_pack) {
      good = false;
    }
    if (!good) atomic_min(*first_bad, at);
    sequences[at] = found;
    if (held == nullptr) return;
    held[at] = sample < plan.samples ? sample : none_bad;
    if (sample < plan.samples) atomic_min(holders[sample], at);
  }
};

// Finds entries whose sample is already at an earlier one.
struct check_once {
  std::uint64_t const* held;
  std::uint64_t const* holders;
  std::uint64_t* first_bad;
  BALLAST_HD void operator()(std::size_t at) const {
    if (held[at] != none_bad && holders[held[at]] != at) atomic_min(*first_bad, at);
  }
};

// The rows of a plan in units. A bad plan has rows without segments, so nothing is read from the store or written to it.
template <class Offset>
struct unit_bounds {
  Offset const* cu;
  std::size_t count;
  std::uint64_t units;
  BALLAST_HD std::uint64_t operator()(std::size_t i) const { return static_cast<std::uint64_t>(cu[i]) * units; }
};
template <class Offset>
struct checked_rows {
  pack_rows<Offset> rows;
  std::uint64_t units;
  std::uint64_t const* first_bad;
  BALLAST_HD unit_bounds<Offset> operator()(std::size_t p) const {
    auto const row = rows(p);
    return {row.offsets, *first_bad == none_bad ? row.count : 0, units};
  }
};

// Where the unit at a place is stored; `none_bad` if it is padding.
struct stored_at {
  entry_bounds entries;
  stored_sequence const* sequences;
  [[nodiscard]] BALLAST_HD std::uint64_t operator()(row_place const& place) const {
    if (!place.inside) return none_bad;
    auto const sequence = sequences[entries(place.row) + place.segment + 1];
    auto const at = place.at + sequence.shift;
    return at < sequence.end ? at : none_bad;
  }
};

// The columns that are written in one pass.
template <class... Column>
struct columns {
  BALLAST_HD void gather(std::size_t, std::uint64_t) const {}
};
template <class Column, class... Others>
struct columns<Column, Others...> {
  Column first;
  columns<Others...> others;
  BALLAST_HD void gather(std::size_t to, std::uint64_t from) const {
    first.to[to] = from == none_bad ? first.padding : first.from[from];
    others.gather(to, from);
  }
};
[[nodiscard]] inline columns<> columns_of() { return {}; }
template <class Column, class... Others>
[[nodiscard]] columns<Column, Others...> columns_of(Column const& first, Others const&... others) {
  return {first, columns_of(others...)};
}

template <class Id, class Columns>
struct gather_place {
  stored_at find;
  std::size_t length;
  Id* position_ids;
  Id* segment_ids;
  Columns columns;
  [[nodiscard]] BALLAST_HD no_input read(row_place const&) const { return {}; }
  BALLAST_HD void operator()(row_place const& place, no_input) const {
    auto const from = find(place);
    auto const to = place.row * length + place.at;
    columns.gather(to, from);
    if (position_ids != nullptr) position_ids[to] = place.inside ? static_cast<Id>(place.at - place.begin) : Id{0};
    if (segment_ids != nullptr) segment_ids[to] = from == none_bad ? Id{0} : static_cast<Id>(place.segment + 1);
  }
};

template <class Unit>
struct scatter_place {
  stored_at find;
  std::size_t length;
  Unit const* from;
  Unit* to;
  [[nodiscard]] BALLAST_HD no_input read(row_place const&) const { return {}; }
  BALLAST_HD void operator()(row_place const& place, no_input) const {
    if (auto const at = find(place); at != none_bad) to[at] = from[place.row * length + place.at];
  }
};

}  // namespace ballast::inline v0_2::gpu::detail
