// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/gpu/packing/best_fit_decreasing.cuh>
#include <ballast/gpu/packing/next_fit.cuh>
#include <ballast/packing/options.hpp>

#include <ATen/ops/from_blob.h>

#include <cstddef>
#include <cstdint>
#include <tuple>

#include "call.hpp"

// Packing.

namespace ballast_torch {

inline ballast::packing_options packing_of(std::int64_t capacity, std::int64_t max_items, std::int64_t sample_multiple,
                                           std::int64_t pack_multiple) {
  demand(max_items >= 0, "max_items = ", max_items, " must not be negative");
  return {.capacity = capacity,
          .max_samples = static_cast<std::uint64_t>(max_items),
          .sample_multiple = sample_multiple,
          .pack_multiple = pack_multiple};
}

// The form that allocates, for a number of packs that the workspace form cannot know.
template <class Device>
std::tuple<Tensor, Tensor> pack_into_multiple(call<Device> const& op, Tensor const& lengths, ballast::packing_options const& options) {
  auto const made = op.visit("lengths", lengths, [&](auto const* l) {
    return in_sentences([&] { return gpu::best_fit_decreasing<std::uint64_t>(op.on(), l, count_of(lengths), options); });
  });
  demand(made.status == ballast::status::feasible, "pack: ", lengths.numel(), " samples do not make packs in a multiple of ",
         options.pack_count_multiple, ": the lower bound is ", made.count.lower_bound);
  auto const copy = [&](auto const& words) {
    return at::from_blob(words.data(), {static_cast<std::int64_t>(words.size())}, lengths.options().dtype(at::kLong)).clone();
  };
  return {copy(made.packs.offsets), copy(made.packs.members)};
}

template <class Device>
std::tuple<Tensor, Tensor> pack(Tensor const& given, std::int64_t capacity, std::int64_t max_items, std::int64_t sample_multiple,
                                std::int64_t pack_multiple, std::int64_t pack_count_multiple) {
  call<Device> const op("pack", "lengths", given);
  auto const lengths = op.array("lengths", given);
  auto const count = count_of(lengths);
  auto options = packing_of(capacity, max_items, sample_multiple, pack_multiple);
  options.pack_count_multiple = op.size("pack_count_multiple", pack_count_multiple);
  if (options.pack_count_multiple != 1) return pack_into_multiple(op, lengths, options);
  auto const offsets = op.empty({lengths.numel() + 1}), members = op.empty({lengths.numel()});
  gpu::pack_planner planner(op.on());
  gpu::pack_arrays<std::uint64_t> const out{.offsets = words_in(offsets), .members = words_in(members)};
  op.visit("lengths", lengths, [&](auto const* l) {
    op.run(
        false,
        [&](void* temp, std::size_t& bytes, auto*) {
          return gpu::best_fit_decreasing(op.on(), temp, bytes, l, count, options, planner, out);
        },
        [&] { static_cast<void>(gpu::best_fit_decreasing<std::uint64_t>(op.on(), l, count, options)); });
  });
  return {offsets.narrow(0, 0, static_cast<std::int64_t>(planner.tally.count.value) + 1), members};
}

template <class Device>
std::tuple<Tensor, Tensor> next_fit(Tensor const& given, std::int64_t capacity, std::int64_t max_items, std::int64_t sample_multiple,
                                    std::int64_t pack_multiple) {
  call<Device> const op("next_fit", "lengths", given);
  auto const lengths = op.array("lengths", given);
  auto const count = count_of(lengths);
  auto const options = packing_of(capacity, max_items, sample_multiple, pack_multiple);
  auto const offsets = op.empty({lengths.numel() + 1}), of_sample = op.empty({lengths.numel()}), packs = op.empty({1});
  op.visit("lengths", lengths, [&](auto const* l) {
    op.run(
        true,
        [&](void* temp, std::size_t& bytes, auto* bad) {
          return gpu::next_fit(op.on(), temp, bytes, l, count, options, words_in(offsets), words_in(of_sample), words_in(packs), bad);
        },
        [&] { static_cast<void>(gpu::next_fit<std::uint64_t>(op.on(), l, count, options)); });
  });
  return {offsets.narrow(0, 0, static_cast<std::int64_t>(gpu::fetch_one(op.on(), words_of(packs))) + 1), of_sample};
}

}  // namespace ballast_torch
