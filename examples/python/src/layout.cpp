// SPDX-License-Identifier: Apache-2.0
#include <ballast/layout/cu_seqlens.hpp>
#include <ballast/layout/position_ids.hpp>
#include <ballast/layout/segment_ids.hpp>

#include <cstdint>
#include <vector>

#include "arrays.hpp"
#include "binders.hpp"

namespace ballast_python {

void bind_layout(nb::module_& m) {
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
      "position_ids",
      [](array_like const& cu, std::size_t row) { return array_of(ballast::position_ids<std::int64_t>(integers(cu, "cu").copy(), row)); },
      "cu"_a, nb::kw_only(), "row"_a = 0,
      "The position of each token in its sequence, int64. `row` is the length of the row; 0 means that of all sequences.");
  m.def(
      "segment_ids",
      [](array_like const& cu, std::size_t row, optional_array const& padded) {
        auto const bounds = integers(cu, "cu").copy();
        if (padded.is_none()) return array_of(ballast::segment_ids<std::int32_t>(bounds, row));
        return array_of(ballast::segment_ids<std::int32_t>(bounds, integers(padded, "padded").copy(), row));
      },
      "cu"_a, nb::kw_only(), "row"_a = 0, "padded"_a = nb::none(),
      "The number of each token's sequence in the row, int32, from 1; 0 is padding. With `padded`, sequences start where those\n"
      "cumulative lengths say.");
}

}  // namespace ballast_python
