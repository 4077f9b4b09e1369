// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/row_tiles.cuh>
#include <ballast/gpu/core/rows.cuh>
#include <ballast/gpu/core/wide.cuh>
#include <ballast/gpu/layout/detail/pack_rows.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

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

// The rows of a plan in units. A bad plan has rows without segments, so nothing is read from the store or written to it.
template <class Offset>
struct unit_bounds {
  Offset const* cu;
  std::size_t count;
  std::uint64_t units;
  BALLAST_HD std::uint64_t operator()(std::size_t i) const { return static_cast<std::uint64_t>(cu[i]) * units; }
};
template <class Offset>
struct unit_rows {
  pack_rows<Offset> rows;
  std::uint64_t units;
  std::uint64_t const* first_bad = nullptr;  // null before it is known
  BALLAST_HD unit_bounds<Offset> operator()(std::size_t p) const {
    auto const row = rows(p);
    return {row.offsets, first_bad == nullptr || *first_bad == none_bad ? row.count : 0, units};
  }
};

// What comes before the pass over rows: the checks, where the sequence of each entry of cu_seqlens is stored, and the first sequence of
// each tile. With `held` and `holders`, for each sample also the first entry that has it, and for each entry its sample.
template <class Plan, class Rows>
struct open_stored {
  check_stored<Plan> check;
  entry_bounds entries;
  std::uint64_t units;
  stored_sequence* sequences;
  std::uint64_t* held;
  std::uint64_t* holders;
  std::size_t tiles;
  find_tile<Rows> find;
  BALLAST_HD void operator()(std::size_t i) const {
    check(i);
    if (i < tiles) find(i);
    if (i < entries.members + entries.count && entries.count != 0) find_stored(i, segment_at(entries, 0, entries.count - 1, i));
  }

 private:
  BALLAST_HD void find_stored(std::size_t at, std::size_t pack) const {
    auto const& plan = check.plan;
    auto const begins = at == 0 || at == entries(pack);
    auto const* const cu = plan.cu;
    auto good = begins ? cu[at] == 0 : cu[at - 1] <= cu[at];
    if (at + 1 == entries(pack + 1) && static_cast<std::uint64_t>(cu[at]) > plan.row) good = false;
    auto const member = std::uint64_t{at} - pack - 1;  // if the offsets are not valid, it may be any number
    auto const in_pack = !begins && member < plan.placed;
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
    if (!good) atomic_min(*check.packs.first_bad, at);
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

// Where the sequence of a place is stored: unit `place + shift` before `end`, if that is not padding.
struct stored_at {
  entry_bounds entries;
  stored_sequence const* sequences;
  [[nodiscard]] BALLAST_HD stored_sequence operator()(row_place const& place) const {
    return place.inside ? sequences[entries(place.row) + place.segment + 1] : stored_sequence{};
  }
};

// The columns that are written in one pass, and the values of a place.
template <class... Column>
struct columns {
  static constexpr unsigned together = 4;
  struct values {};
  BALLAST_HD void read(bool, std::uint64_t, values&) const {}
  [[nodiscard]] BALLAST_HD bool wide(std::size_t) const { return true; }
  template <unsigned N, class Get>
  BALLAST_HD void write(std::size_t, Get const&) const {}
};
template <class Column, class... Others>
struct columns<Column, Others...> {
  using value = std::remove_cvref_t<decltype(std::declval<Column>().padding)>;
  using rest = columns<Others...>;
  static constexpr unsigned own = sizeof(value) > 8 || (sizeof(value) & (sizeof(value) - 1)) != 0 ? 1 : sizeof(value) > 4 ? 2 : 4;
  static constexpr unsigned together = own < rest::together ? own : rest::together;  // neighbours that are written at once
  struct values {
    value first;
    typename rest::values others;
  };
  Column first;
  rest others;
  BALLAST_HD void read(bool held, std::uint64_t from, values& out) const {
    out.first = held ? first.from[from] : first.padding;
    others.read(held, from, out.others);
  }
  [[nodiscard]] BALLAST_HD bool wide(std::size_t to) const { return is_wide(first.to + to) && others.wide(to); }
  // Writes N neighbours from a place on; get(k) are the values of one.
  template <unsigned N, class Get>
  BALLAST_HD void write(std::size_t to, Get const& get) const {
    value all[N];
    for (unsigned k = 0; k < N; ++k) all[k] = get(k).first;
    store<N>(first.to + to, all);
    others.template write<N>(to, [&](unsigned k) -> typename rest::values const& { return get(k).others; });
  }
};
[[nodiscard]] inline columns<> columns_of() { return {}; }
template <class Column, class... Others>
[[nodiscard]] columns<Column, Others...> columns_of(Column const& first, Others const&... others) {
  return {first, columns_of(others...)};
}

template <class Id, class Columns>
struct gather_place {
  struct output {
    Id position, segment;
    typename Columns::values values;
  };
  struct in_segment {
    Columns columns;
    stored_sequence stored;
    BALLAST_HD void operator()(row_place const& place, no_input, output& out) const {
      auto const from = place.at + stored.shift;
      auto const held = from < stored.end;
      columns.read(held, from, out.values);
      out.position = place.inside ? static_cast<Id>(place.at - place.begin) : Id{0};
      out.segment = held ? static_cast<Id>(place.segment + 1) : Id{0};
    }
  };
  static constexpr unsigned together = Columns::together < 4 || sizeof(Id) <= 4 ? Columns::together : 2;
  stored_at find;
  std::size_t length;
  Id* position_ids;
  Id* segment_ids;
  Columns columns;
  [[nodiscard]] BALLAST_HD no_input read(row_place const&) const { return {}; }
  [[nodiscard]] BALLAST_HD in_segment in(row_place const& segment) const { return {columns, find(segment)}; }
  [[nodiscard]] BALLAST_HD bool wide(std::size_t row) const {
    auto const to = row * length;
    auto const aligned = [&](Id const* ids) { return ids == nullptr || is_wide(ids + to); };
    return columns.wide(to) && aligned(position_ids) && aligned(segment_ids);
  }
  template <unsigned N>
  BALLAST_HD void write(row_place const& place, output const* out) const {
    auto const to = place.row * length + place.at;
    columns.template write<N>(to, [&](unsigned k) -> typename Columns::values const& { return out[k].values; });
    Id ids[N];
    for (unsigned k = 0; k < N; ++k) ids[k] = out[k].position;
    if (position_ids != nullptr) store<N>(position_ids + to, ids);
    for (unsigned k = 0; k < N; ++k) ids[k] = out[k].segment;
    if (segment_ids != nullptr) store<N>(segment_ids + to, ids);
  }
};

template <class Unit>
struct scatter_place {
  struct in_segment {
    Unit const* from;  // of the row
    Unit* to;
    stored_sequence stored;
    BALLAST_HD void operator()(row_place const& place, no_input, no_output&) const {
      if (auto const at = place.at + stored.shift; at < stored.end) to[at] = from[place.at];
    }
  };
  stored_at find;
  std::size_t length;
  Unit const* from;
  Unit* to;
  [[nodiscard]] BALLAST_HD no_input read(row_place const&) const { return {}; }
  [[nodiscard]] BALLAST_HD in_segment in(row_place const& segment) const { return {from + segment.row * length, to, find(segment)}; }
};

}  // namespace ballast::inline v0_2::gpu::detail
