// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/gpu/layout/cu_seqlens.cuh>
#include <ballast/gpu/layout/position_ids.cuh>
#include <ballast/gpu/layout/segment_ids.cuh>
#include <ballast/gpu/layout/zigzag.cuh>

#include <ATen/ops/arange.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "call.hpp"

// Layouts of packed rows.

namespace ballast_torch {

template <class Device>
Tensor cu_seqlens(Tensor const& given, maybe_tensor const& given_members, maybe_tensor const& given_offsets, std::int64_t multiple,
                  bool check) {
  call<Device> const op("cu_seqlens", "lengths", given);
  auto const lengths = op.array("lengths", given);
  auto const members =
      given_members ? op.array("members", *given_members) : at::arange(lengths.numel(), lengths.options().dtype(at::kLong));
  pack_bounds const of(op, given_offsets);
  auto const out = op.empty({members.numel() + static_cast<std::int64_t>(of.packs)}, at::kInt);
  op.visit("lengths", lengths, [&](auto const* l) {
    op.visit("members", members, [&](auto const* m) {
      op.run(
          check,
          [&](void* temp, std::size_t& bytes, auto* bad) {
            return gpu::cu_seqlens(op.on(), temp, bytes, of.offsets, of.packs, indices(m), count_of(members), l, count_of(lengths),
                                   multiple, into<std::int32_t>(out), bad);
          },
          [&] {
            static_cast<void>(
                gpu::cu_seqlens(op.on(), of.offsets, of.packs, indices(m), count_of(members), l, count_of(lengths), multiple));
          });
    });
  });
  return out;
}

template <class Device>
Tensor max_seqlen(Tensor const& given) {
  call<Device> const op("max_seqlen", "cu", given);
  auto const cu = op.array("cu", given);
  auto const out = op.empty({}, cu.scalar_type());
  op.visit("cu", cu, [&](auto const* c) {
    gpu::call(op.on(), "max_seqlen", [&](void* temp, std::size_t& bytes) {
      return gpu::max_seqlen(op.on(), temp, bytes, c, count_of(cu), into<std::remove_cvref_t<decltype(*c)>>(out));
    });
  });
  return out;
}

// Rows of `row` tokens, one for each pack, or a single one.
struct pack_rows {
  Tensor cu;
  pack_bounds of;
  std::size_t sequences, row;
  template <class Device>
  pack_rows(call<Device> const& op, Tensor const& given, maybe_tensor const& offsets, std::int64_t tokens)
      : cu(op.bounds("cu", given)), of(op, offsets), sequences(count_of(cu) - of.packs), row(op.size("row", tokens)) {
    demand(count_of(cu) >= of.packs, "cu has ", cu.numel(), " entries for ", of.packs, " packs: each pack has one more than sequences");
  }
  template <class Device>
  [[nodiscard]] Tensor empty(call<Device> const& op, at::ScalarType type) const {
    auto const packs = static_cast<std::int64_t>(of.packs), tokens = static_cast<std::int64_t>(row);
    return of.offsets == nullptr ? op.empty({tokens}, type) : op.empty({packs, tokens}, type);
  }
};

template <class Device>
Tensor position_ids(Tensor const& given, std::int64_t row, maybe_tensor const& offsets, bool check) {
  call<Device> const op("position_ids", "cu", given);
  pack_rows const rows(op, given, offsets, row);
  auto const out = rows.empty(op, at::kLong);
  op.visit("cu", rows.cu, [&](auto const* cu) {
    op.run(
        check,
        [&](void* temp, std::size_t& bytes, auto* bad) {
          return gpu::position_ids(op.on(), temp, bytes, cu, rows.of.offsets, rows.of.packs, rows.sequences, rows.row,
                                   into<std::int64_t>(out), bad);
        },
        [&] { static_cast<void>(gpu::position_ids<std::int64_t>(op.on(), cu, rows.of.offsets, rows.of.packs, rows.sequences, rows.row)); });
  });
  return out;
}

template <class Device>
Tensor segment_ids(Tensor const& given, std::int64_t row, maybe_tensor const& given_padded, maybe_tensor const& offsets, bool check) {
  call<Device> const op("segment_ids", "cu", given);
  pack_rows const rows(op, given, offsets, row);
  auto const padded = given_padded ? op.bounds("padded", *given_padded) : rows.cu;
  demand(padded.numel() == rows.cu.numel() && padded.scalar_type() == rows.cu.scalar_type(), "segment_ids: padded has ", padded.numel(),
         " entries of ", padded.scalar_type(), " and cu ", rows.cu.numel(), " of ", rows.cu.scalar_type(), ": they must be alike");
  auto const out = rows.empty(op, at::kInt);
  op.visit("cu", rows.cu, [&](auto const* cu) {
    auto const* const starts = from<std::remove_cvref_t<decltype(*cu)>>(padded);
    op.run(
        check,
        [&](void* temp, std::size_t& bytes, auto* bad) {
          return gpu::segment_ids(op.on(), temp, bytes, cu, starts, rows.of.offsets, rows.of.packs, rows.sequences, rows.row,
                                  into<std::int32_t>(out), bad);
        },
        [&] { static_cast<void>(gpu::segment_ids(op.on(), cu, starts, rows.of.offsets, rows.of.packs, rows.sequences, rows.row)); });
  });
  return out;
}

template <class Device>
Tensor zigzag_indices(Tensor const& given, std::int64_t row, std::int64_t ranks, std::int64_t rank, bool check) {
  call<Device> const op("zigzag_indices", "cu", given);
  auto const cu = op.bounds("cu", given);
  op.size("row", row);
  auto const count = ranks > 0 ? row / ranks : 0;
  demand(ranks <= 0 || count * ranks == row, "zigzag_indices: row = ", row, " is not a multiple of ranks = ", ranks);
  auto const out = op.empty({count});
  op.visit("cu", cu, [&](auto const* c) {
    op.run(
        check,
        [&](void* temp, std::size_t& bytes, auto* bad) {
          return gpu::zigzag_indices(op.on(), temp, bytes, c, count_of(cu) - 1, {.ranks = ranks}, rank, count_of(out),
                                     into<std::int64_t>(out), bad);
        },
        [&] { static_cast<void>(gpu::zigzag_indices<std::int64_t>(op.on(), c, count_of(cu) - 1, {.ranks = ranks}, rank, count_of(out))); });
  });
  return out;
}

template <class Device>
Tensor zigzag_inverse(Tensor const& given, std::int64_t row, std::int64_t ranks, bool check) {
  call<Device> const op("zigzag_inverse", "cu", given);
  auto const cu = op.bounds("cu", given);
  auto const tokens = op.size("row", row);
  auto const out = op.empty({row});
  op.visit("cu", cu, [&](auto const* c) {
    op.run(
        check,
        [&](void* temp, std::size_t& bytes, auto* bad) {
          return gpu::zigzag_inverse(op.on(), temp, bytes, c, count_of(cu) - 1, {.ranks = ranks}, tokens, into<std::int64_t>(out), bad);
        },
        [&] { static_cast<void>(gpu::zigzag_inverse<std::int64_t>(op.on(), c, count_of(cu) - 1, {.ranks = ranks}, tokens)); });
  });
  return out;
}

}  // namespace ballast_torch
