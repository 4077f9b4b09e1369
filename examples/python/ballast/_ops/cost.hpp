// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/table.hpp>
#include <ballast/gpu/cost/pack_costs.cuh>
#include <ballast/gpu/cost/routed_rows.cuh>
#include <ballast/gpu/cost/sample_costs.cuh>

#include <ATen/ops/diff.h>
#include <ATen/ops/zeros.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <tuple>
#include <type_traits>
#include <vector>

#include "call.hpp"

// Costs of samples and packs, and rows of experts.

namespace ballast_torch {

// The cost of each length, in a table.
struct length_cost {
  std::int64_t const* table;
  BALLAST_HD std::int64_t operator()(std::int64_t length) const { return table[length]; }
};

template <class Device>
Tensor table_of(call<Device> const& op, Tensor const& given, bool check) {
  auto const table = op.words("table", op.bounds("table", given));
  if (!check || at::diff(table, 1, 0, at::zeros({1}, table.options())).ge(0).all().template item<bool>()) return table;
  std::vector<std::int64_t> lengths(count_of(table));
  std::iota(lengths.begin(), lengths.end(), 0);
  in_sentences([&] { ballast::cost_table(lengths, gpu::fetch(op.on(), from<std::int64_t>(table), lengths.size())); });
  return table;
}

template <class Device>
Tensor sample_costs(Tensor const& given, Tensor const& given_table, bool check) {
  call<Device> const op("sample_costs", "lengths", given);
  auto const lengths = op.array("lengths", given), table = table_of(op, given_table, check);
  auto const out = op.empty({lengths.numel()});
  length_cost const cost{from<std::int64_t>(table)};
  op.visit("lengths", lengths, [&](auto const* l) {
    auto* const costs = into<std::int64_t>(out);
    op.run(
        check,
        [&](void* temp, std::size_t& bytes, auto* bad) {
          return gpu::sample_costs(op.on(), temp, bytes, l, count_of(lengths), table.numel() - 1, cost, costs, bad);
        },
        [&] { gpu::sample_costs(op.on(), l, count_of(lengths), table.numel() - 1, cost, costs); });
  });
  return out;
}

template <class Device>
Tensor pack_costs(Tensor const& given, Tensor const& given_offsets, Tensor const& given_table, maybe_tensor const& given_members,
                  bool check) {
  call<Device> const op("pack_costs", "lengths", given);
  auto const lengths = op.array("lengths", given), table = table_of(op, given_table, check);
  auto const members = given_members ? op.index_words("members", *given_members) : Tensor();
  pack_bounds const of(op, given_offsets);
  auto const out = op.empty({static_cast<std::int64_t>(of.packs)});
  length_cost const cost{from<std::int64_t>(table)};
  op.visit("lengths", lengths, [&](auto const* l) {
    gpu::packed_lengths<std::remove_cvref_t<decltype(*l)>, std::uint64_t> const packs{
        .lengths = l,
        .samples = count_of(lengths),
        .members = members.defined() ? words_of(members) : nullptr,
        .placed = members.defined() ? count_of(members) : count_of(lengths),
        .offsets = of.offsets,
        .packs = of.packs};
    auto* const costs = into<std::int64_t>(out);
    op.run(
        check,
        [&](void* temp, std::size_t& bytes, auto* bad) {
          return gpu::pack_costs(op.on(), temp, bytes, packs, table.numel() - 1, cost, costs, bad);
        },
        [&] { gpu::pack_costs(op.on(), packs, table.numel() - 1, cost, costs); });
  });
  return out;
}

// Experts in 32 bits; a number that has no 32 bits is no expert in either type.
template <class Device>
Tensor experts_of(call<Device> const& op, Tensor const& given) {
  return op.visit("expert_of", given, [&](auto const*) {
    auto const array = op.without_sign("expert_of", op.array("expert_of", given));
    return given.scalar_type() == at::kInt ? array : array.clamp(-1, (std::numeric_limits<std::int32_t>::max)()).to(at::kInt);
  });
}
inline std::uint32_t few(char const* argument, std::int64_t given) {
  demand(given >= 0 && given <= (std::numeric_limits<std::int32_t>::max)(), argument, " = ", given, " must be in [0, 2^31)");
  return static_cast<std::uint32_t>(given);
}

template <class Device>
Tensor segment_loads(Tensor const& given, Tensor const& given_offsets, std::int64_t experts, bool check) {
  call<Device> const op("segment_loads", "expert_of", given);
  auto const expert_of = experts_of(op, given);
  pack_bounds const of(op, given_offsets);
  auto const count = few("experts", experts);
  auto const out = op.empty({static_cast<std::int64_t>(of.packs), experts});
  auto const* const rows = indices(from<std::int32_t>(expert_of));
  op.run(
      check,
      [&](void* temp, std::size_t& bytes, auto* bad) {
        return gpu::segment_loads(op.on(), temp, bytes, rows, count_of(expert_of), of.offsets, of.packs, count, into<std::int64_t>(out),
                                  bad);
      },
      [&] { static_cast<void>(gpu::segment_loads(op.on(), rows, count_of(expert_of), of.offsets, of.packs, count)); });
  return out;
}

template <class Device>
std::tuple<Tensor, Tensor> clip_rows(Tensor const& given, std::int64_t experts, std::int64_t capacity, bool check) {
  call<Device> const op("clip_rows", "expert_of", given);
  auto const expert_of = experts_of(op, given);
  auto const count = few("experts", experts), most = few("capacity", capacity);
  auto const loads = op.empty({experts}), slots = op.empty({expert_of.numel()}, at::kInt);
  auto const* const rows = indices(from<std::int32_t>(expert_of));
  auto* const sent = into<std::int64_t>(loads);
  auto* const slot_of = reinterpret_cast<std::uint32_t*>(into<std::int32_t>(slots));
  op.run(
      check,
      [&](void* temp, std::size_t& bytes, auto* bad) {
        return gpu::clip_rows(op.on(), temp, bytes, rows, count_of(expert_of), count, most, sent, slot_of, bad);
      },
      [&] { gpu::clip_rows(op.on(), rows, count_of(expert_of), count, most, sent, slot_of); });
  return {loads, slots};
}

}  // namespace ballast_torch
