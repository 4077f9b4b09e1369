// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/gpu/layout/context_cu_seqlens.cuh>
#include <ballast/gpu/layout/cu_seqlens.cuh>
#include <ballast/gpu/layout/gather_rows.cuh>
#include <ballast/gpu/layout/position_ids.cuh>
#include <ballast/gpu/layout/segment_ids.cuh>
#include <ballast/gpu/layout/unpad_rows.cuh>
#include <ballast/gpu/layout/zigzag.cuh>

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <vector>

#include "call.hpp"

// Layouts of packed rows.

namespace ballast_torch {

// The members of packs; without any, all samples in order.
template <class Device>
Tensor members_of(call<Device> const& op, maybe_tensor const& given, Tensor const& lengths) {
  return given ? op.without_sign("members", op.array("members", *given)) : at::arange(lengths.numel(), lengths.options().dtype(at::kLong));
}

template <class Device>
Tensor cu_seqlens(Tensor const& given, maybe_tensor const& given_members, maybe_tensor const& given_offsets, std::int64_t multiple,
                  bool check) {
  call<Device> const op("cu_seqlens", "lengths", given);
  auto const lengths = op.array("lengths", given);
  auto const members = members_of(op, given_members, lengths);
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
std::tuple<Tensor, Tensor> context_cu_seqlens(Tensor const& given, maybe_tensor const& given_members, maybe_tensor const& given_offsets,
                                              std::int64_t ranks, std::int64_t rank, bool check) {
  call<Device> const op("context_cu_seqlens", "lengths", given);
  auto const lengths = op.array("lengths", given);
  auto const members = op.index_words("members", members_of(op, given_members, lengths));
  pack_bounds const of(op, given_offsets);
  auto const entries = members.numel() + static_cast<std::int64_t>(of.packs);
  auto const cu = op.empty({entries}, at::kInt), padded = op.empty({entries}, at::kInt);
  op.visit("lengths", lengths, [&](auto const* l) {
    auto const* const m = words_of(members);
    op.run(
        check,
        [&](void* temp, std::size_t& bytes, auto* bad) {
          return gpu::context_cu_seqlens(op.on(), temp, bytes, of.offsets, of.packs, m, count_of(members), l, count_of(lengths),
                                         {.ranks = ranks}, rank, into<std::int32_t>(cu), into<std::int32_t>(padded), bad);
        },
        [&] {
          static_cast<void>(
              gpu::context_cu_seqlens(op.on(), of.offsets, of.packs, m, count_of(members), l, count_of(lengths), {.ranks = ranks}, rank));
        });
  });
  return {cu, padded};
}

template <class Device>
Tensor sequence_lengths(Tensor const& given, bool check) {
  call<Device> const op("sequence_lengths", "offsets", given);
  auto const offsets = op.bounds("offsets", given), out = op.empty({offsets.numel() - 1});
  op.visit("offsets", offsets, [&](auto const* o) {
    op.run(
        check,
        [&](void* temp, std::size_t& bytes, auto* bad) {
          return gpu::sequence_lengths(op.on(), temp, bytes, o, count_of(out), into<std::int64_t>(out), bad);
        },
        [&] { static_cast<void>(gpu::sequence_lengths<std::int64_t>(op.on(), o, count_of(out))); });
  });
  return out;
}

// The number of indices is known when the device is done, so this waits.
template <class Device>
std::tuple<Tensor, Tensor, Tensor> unpad_rows(Tensor const& given) {
  call<Device> const op("unpad_rows", "mask", given);
  auto const mask = op.array("mask", given.scalar_type() == at::kBool ? given.to(at::kInt) : given, 2);
  auto const rows = static_cast<std::size_t>(mask.size(0)), width = static_cast<std::size_t>(mask.size(1));
  auto const indices = op.empty({mask.numel()}), cu = op.empty({mask.size(0) + 1}, at::kInt), longest = op.empty({}, at::kInt);
  auto* const starts = into<std::int32_t>(cu);
  op.visit("mask", mask, [&](auto const* m) {
    op.run(
        false,
        [&](void* temp, std::size_t& bytes, auto*) {
          return gpu::unpad_rows(op.on(), temp, bytes, m, rows, width, into<std::int64_t>(indices), starts, into<std::int32_t>(longest));
        },
        [&] { static_cast<void>(gpu::unpad_rows(op.on(), m, rows, width)); });
  });
  return {indices.narrow(0, 0, gpu::fetch_one(op.on(), starts + rows)), cu, longest};
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

// Packs of samples that are stored one after another.
struct stored_plan {
  Tensor cu, starts, members;
  pack_bounds of;
  gpu::stored_packs<std::uint64_t, std::int64_t, std::int64_t> plan;
  template <class Device>
  stored_plan(call<Device> const& op, Tensor const& given_cu, Tensor const& given_starts, Tensor const& given_members,
              maybe_tensor const& offsets, std::size_t row, std::size_t stored)
      : cu(op.words("cu", given_cu)),
        starts(op.words("starts", op.bounds("starts", given_starts))),
        members(op.index_words("members", given_members)),
        of(op, offsets),
        plan{of.offsets,
             of.packs,
             words_of(members),
             count_of(members),
             from<std::int64_t>(cu),
             from<std::int64_t>(starts),
             count_of(starts) - 1,
             stored,
             row} {
    demand(count_of(cu) == plan.placed + plan.packs, "cu has ", cu.numel(), " entries for ", plan.placed, " members in ", plan.packs,
           " packs: each pack has one more than members");
  }
};
inline std::vector<std::int64_t> with_tail(std::vector<std::int64_t> shape, at::IntArrayRef tail) {
  shape.insert(shape.end(), tail.begin(), tail.end());
  return shape;
}
inline std::size_t width_of(at::IntArrayRef tail) {
  std::size_t width = 1;
  for (auto const n : tail) width *= static_cast<std::size_t>(n);
  return width;
}

// Calls f with an unsigned integer of the size of an element: values only move.
template <class F>
void with_bits(char const* name, Tensor const& values, F const& f) {
  switch (values.element_size()) {
    case 1: return f(std::uint8_t{});
    case 2: return f(std::uint16_t{});
    case 4: return f(std::uint32_t{});
    case 8: return f(std::uint64_t{});
    default:
      demand(false, name, ": elements of ", values.scalar_type(), " have ", values.element_size(), " bytes: they must have at most 8");
  }
}

template <class Device>
Tensor gather_rows(Tensor const& given, Tensor const& cu, Tensor const& starts, Tensor const& members, std::int64_t row,
                   maybe_tensor const& offsets, at::Scalar const& padding, bool check) {
  call<Device> const op("gather_rows", "values", given);
  demand(given.dim() > 0, "gather_rows: values has 0 dimensions: the first one is that of the tokens");
  auto const values = op.here("values", given);
  stored_plan const packs(op, cu, starts, members, offsets, op.size("row", row), static_cast<std::size_t>(values.size(0)));
  auto const tail = values.sizes().slice(1);
  auto const width = width_of(tail);
  auto const out = op.empty(with_tail(offsets ? std::vector{static_cast<std::int64_t>(packs.of.packs), row} : std::vector{row}, tail),
                            values.scalar_type());
  auto const filler = at::full({1}, padding, at::TensorOptions(values.scalar_type()));
  with_bits("gather_rows", values, [&](auto none) {
    using bits = decltype(none);
    auto const* const x = static_cast<bits const*>(values.const_data_ptr());
    gpu::row_column<bits> const column{x, static_cast<bits*>(out.mutable_data_ptr()), *static_cast<bits const*>(filler.const_data_ptr())};
    op.run(
        check,
        [&](void* temp, std::size_t& bytes, auto* bad) { return gpu::gather_rows(op.on(), temp, bytes, packs.plan, width, column, bad); },
        [&] { static_cast<void>(gpu::gather_rows(op.on(), packs.plan, x, width)); });
  });
  return out;
}

template <class Device>
Tensor scatter_rows(Tensor const& given, Tensor const& cu, Tensor const& starts, Tensor const& members, std::int64_t stored,
                    maybe_tensor const& offsets, bool check) {
  call<Device> const op("scatter_rows", "rows", given);
  std::size_t const before = offsets ? 2 : 1;  // dimensions of packs and tokens
  demand(static_cast<std::size_t>(given.dim()) >= before, "scatter_rows: rows has ", given.dim(), " dimensions: the first are those of ",
         offsets ? "packs and tokens" : "tokens");
  auto const rows = op.here("rows", given);
  auto const row = static_cast<std::size_t>(rows.size(static_cast<std::int64_t>(before) - 1));
  stored_plan const packs(op, cu, starts, members, offsets, row, op.size("stored", stored));
  demand(!offsets || rows.size(0) == static_cast<std::int64_t>(packs.of.packs), "scatter_rows: rows has ", rows.size(0), " rows for ",
         packs.of.packs, " packs");
  auto const tail = rows.sizes().slice(before);
  auto const width = width_of(tail);
  auto const out = at::zeros(with_tail({stored}, tail), rows.options());
  with_bits("scatter_rows", rows, [&](auto none) {
    using bits = decltype(none);
    auto const* const x = static_cast<bits const*>(rows.const_data_ptr());
    op.run(
        check,
        [&](void* temp, std::size_t& bytes, auto* bad) {
          return gpu::scatter_rows(op.on(), temp, bytes, packs.plan, width, x, static_cast<bits*>(out.mutable_data_ptr()), bad);
        },
        [&] { static_cast<void>(gpu::scatter_rows(op.on(), packs.plan, x, width)); });
  });
  return out;
}

}  // namespace ballast_torch
