// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/lengths.hpp>
#include <ballast/layout/context_cu_seqlens.hpp>
#include <ballast/layout/cu_seqlens.hpp>
#include <ballast/layout/gather_rows.hpp>
#include <ballast/layout/packed_row.hpp>
#include <ballast/layout/position_ids.hpp>
#include <ballast/layout/segment_ids.hpp>

#include <nanobind/stl/pair.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "binders.hpp"
#include "groups_view.hpp"
#include "report/output.hpp"

namespace ballast_python {

namespace {

using row = ballast::packed_row<std::int32_t>;

/// Cumulative lengths of a row of so many tokens.
std::vector<std::int64_t> bounds_of(nb::handle cu, char const* name, std::size_t row) {
  auto bounds = integers(cu, name).copy();
  require_fitting("row", row, bounds.empty() || bounds.back() < 0 ? 0 : static_cast<std::uint64_t>(bounds.back()));
  return bounds;
}

/// A property that is a part of a row's memory, and keeps the row alive.
template <std::span<std::int32_t const> (row::*Part)() const&>
view_of<std::int32_t> part_of(nb::handle self) {
  auto const values = (nb::cast<row const&>(self).*Part)();
  return view(values.data(), values.size(), self);
}

void bind_row(nb::module_& m) {
  nb::class_<row>(m, "PackedRow", "The arrays of a packed row, int32 and read-only: views of one allocation, which they keep alive.")
      .def_prop_ro("cu_seqlens", &part_of<&row::cu_seqlens>, "The cumulative lengths of the sequences, padding not counted.")
      .def_prop_ro("cu_seqlens_padded", &part_of<&row::cu_seqlens_padded>, "Where each sequence starts in the row.")
      .def_prop_ro("max_seqlen", &row::max_seqlen, "Tokens of the longest sequence with its padding; 0 if there is none.")
      .def_prop_ro("position_ids", &part_of<&row::position_ids>, "The position of each token in its sequence.")
      .def_prop_ro("segment_ids", &part_of<&row::segment_ids>, "The number of each token's sequence, from 1; 0 is padding.")
      .def("__repr__", [](row const& r) {
        return "<PackedRow: " + ballast_cli::counted(r.size().tokens, "token") + ", " +
               ballast_cli::counted(r.size().offsets - 1, "sequence") + ">";
      });
  m.def(
      "packed_row",
      [](array_like const& pack, array_like const& lengths, std::int64_t multiple, std::size_t tokens, std::size_t sequences,
         std::int64_t max_seqlen) {
        integers const members(pack, "pack"), given(lengths, "lengths");
        require_fitting("multiple", multiple < 0 ? 0 : static_cast<std::uint64_t>(multiple), 0);
        require_fitting("tokens", tokens, ballast::packed_row_size(members.range(), given.range(), {.multiple = multiple}).tokens);
        require_fitting("sequences", sequences, members.size());
        return row(members.range(), given.range(), {.multiple = multiple, .tokens = tokens, .sequences = sequences, .longest = max_seqlen});
      },
      "pack"_a, "lengths"_a, nb::kw_only(), "multiple"_a = 1, "tokens"_a = 0, "sequences"_a = 0, "max_seqlen"_a = 0,
      "All arrays of a pack's row at once: what `cu_seqlens`, `position_ids` and `segment_ids` give, in one allocation.\n\n"
      "`lengths` are those of all samples. Each sequence is padded to a `multiple`, and the row to `tokens` (0: not at all).\n"
      "With `sequences`, empty ones follow, of which the first holds the padding in `cu_seqlens_padded`; `max_seqlen` is then what is\n"
      "given. `static_rows` says which of these suit all packs.");
  m.def(
      "static_rows",
      [](array_sequence const& packs, array_like const& lengths, std::int64_t multiple, std::size_t tokens) {
        auto const by = ballast::static_rows(groups_of(packs), integers(lengths, "lengths").copy(), multiple, tokens);
        nb::typed<nb::dict, nb::str, nb::int_> out;
        out["multiple"] = by.multiple;
        out["tokens"] = by.tokens;
        out["sequences"] = by.sequences;
        out["max_seqlen"] = by.longest;
        return out;
      },
      "packs"_a, "lengths"_a, nb::kw_only(), "multiple"_a = 1, "tokens"_a = 0,
      "Arguments of `packed_row` under which the rows of all packs have arrays of one size, as CUDA graphs need:\n"
      "`packed_row(pack, lengths, **static_rows(packs, lengths))`. Rows have `tokens`, or those of the fullest pack.");
}

}  // namespace

void bind_layout(nb::module_& m) {
  bind_row(m);
  m.def(
      "cu_seqlens",
      [](array_like const& pack, array_like const& lengths, std::int64_t multiple) {
        integers const members(pack, "pack"), tokens(lengths, "lengths");
        return array_of(ballast::cu_seqlens<std::int32_t>(members.range(), tokens.range(), multiple));
      },
      "pack"_a, "lengths"_a, nb::kw_only(), "multiple"_a = 1,
      "The cumulative lengths of a pack as attention kernels take them: int32, from 0, one entry more than the pack has samples.\n\n"
      "`lengths` are those of all samples. Each is rounded up to `multiple`: 2 * CP for zigzag context parallelism.");
  m.def(
      "context_cu_seqlens",
      [](array_like const& pack, array_like const& lengths, std::int64_t ranks, std::int64_t rank) {
        nb::list one;
        one.append(pack);
        auto both = ballast::context_cu_seqlens(groups_of(nb::borrow<array_sequence>(one), "pack"), integers(lengths, "lengths").copy(),
                                                {ranks}, rank);
        return std::pair(array_of(std::move(both.cu_seqlens)), array_of(std::move(both.cu_seqlens_padded)));
      },
      "pack"_a, "lengths"_a, nb::kw_only(), "ranks"_a, "rank"_a = ballast::whole_row,
      "The cumulative lengths of a pack under context parallelism, actual and padded to 2 * `ranks`, int32: what Transformer Engine\n"
      "takes as cu_seqlens_q and cu_seqlens_q_padded. With a `rank`, those of the tokens that this rank holds.");
  m.def(
      "gather_indices",
      [](array_sequence const& packs, array_like const& lengths, std::size_t row, std::int64_t multiple) {
        auto members = groups_of(packs);
        auto const tokens = integers(lengths, "lengths").copy();
        require_fitting("row", row, static_cast<std::size_t>(ballast::extent_of(tokens).tokens));
        auto const cu = ballast::cu_seqlens<std::int64_t>(members, tokens, multiple);
        for (std::size_t p = 0; p < members.size(); ++p) {
          auto const end = cu[members.offsets[p + 1] + p];
          ballast::require(std::cmp_less_equal(end, row), [&] {
            return "gather_indices: a row of " + std::to_string(row) + " tokens is too short for sequences of " + std::to_string(end);
          });
        }
        std::vector<std::int64_t> first(tokens.size() + 1), starts(1), places;  // of the samples in packs, as if no others were stored
        std::partial_sum(tokens.begin(), tokens.end(), first.begin() + 1);
        for (auto& member : members.members) {
          places.resize(places.size() + static_cast<std::size_t>(tokens[member]));
          std::iota(places.begin() + starts.back(), places.end(), first[member]);
          member = static_cast<std::uint32_t>(starts.size() - 1);
          starts.push_back(std::ssize(places));
        }
        return array_of(ballast::gather_rows(members, cu, starts, places, {.tokens = row}, -1));
      },
      "packs"_a, "lengths"_a, nb::kw_only(), "row"_a, "multiple"_a = 1,
      "Which token of samples that are stored one after another each place of the packed rows holds, int64; -1 is padding.\n\n"
      "With `i = gather_indices(...).reshape(len(packs), row)`, rows are `numpy.where(i < 0, padding, store[i])`, and\n"
      "`store[i[i >= 0]] = rows[i >= 0]` brings values of rows back to the samples. Each sequence is padded to a `multiple`.");
  m.def(
      "position_ids",
      [](array_like const& cu, std::size_t row) {
        auto const bounds = bounds_of(cu, "cu", row);
        return array_of(ballast::position_ids<std::int64_t>(bounds, row));
      },
      "cu"_a, nb::kw_only(), "row"_a = 0,
      "The position of each token in its sequence, int64. `row` is the length of the row; 0 means that of all sequences.");
  m.def(
      "segment_ids",
      [](array_like const& cu, std::size_t row, optional_array const& padded) {
        auto const bounds = bounds_of(cu, "cu", row);
        if (padded.is_none()) return array_of(ballast::segment_ids<std::int32_t>(bounds, row));
        return array_of(ballast::segment_ids<std::int32_t>(bounds, bounds_of(padded, "padded", row), row));
      },
      "cu"_a, nb::kw_only(), "row"_a = 0, "padded"_a = nb::none(),
      "The number of each token's sequence in the row, int32, from 1; 0 is padding. With `padded`, sequences start where those\n"
      "cumulative lengths say.");
}

}  // namespace ballast_python
