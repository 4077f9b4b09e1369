// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/level.hpp>
#include <ballast/gpu/levels/pack.cuh>
#include <ballast/gpu/packing/best_fit_decreasing.cuh>
#include <ballast/gpu/packing/next_fit.cuh>
#include <ballast/gpu/packing/vector/portfolio.cuh>
#include <ballast/packing/options.hpp>
#include <ballast/packing/vector/options.hpp>

#include <ATen/ops/from_blob.h>

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

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

// Words of the device as a tensor there.
template <class Words>
Tensor copy_of(Tensor const& like, Words const& words) {
  return at::from_blob(words.data(), {static_cast<std::int64_t>(words.size())}, like.options().dtype(at::kLong)).clone();
}
template <class Made>
std::tuple<Tensor, Tensor> packs_of(Tensor const& like, std::int64_t samples, std::uint64_t multiple, Made const& made) {
  demand(made.status == ballast::status::feasible, "pack: ", samples, " samples do not make packs in a multiple of ", multiple,
         ": the lower bound is ", made.count.lower_bound);
  return {copy_of(like, made.packs.offsets), copy_of(like, made.packs.members)};
}

// The form that allocates, for a number of packs that the workspace form cannot know.
template <class Device>
std::tuple<Tensor, Tensor> pack_into_multiple(call<Device> const& op, Tensor const& lengths, ballast::packing_options const& options) {
  auto const made = op.visit("lengths", lengths, [&](auto const* l) {
    return in_sentences([&] { return gpu::best_fit_decreasing<std::uint64_t>(op.on(), l, count_of(lengths), options); });
  });
  return packs_of(lengths, lengths.numel(), options.pack_count_multiple, made);
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

template <class Device>
std::tuple<Tensor, Tensor> pack_measures(at::TensorList given, at::IntArrayRef capacity, std::int64_t max_items,
                                         std::int64_t pack_count_multiple, std::int64_t work) {
  demand(!given.empty() && given.size() <= gpu::most_measures, "pack_measures: ", given.size(), " measures: there must be 1 to ",
         gpu::most_measures);
  call<Device> const op("pack_measures", "measures", given[0]);
  std::vector<Tensor> kept;
  gpu::sample_measures<std::int64_t> samples({}, static_cast<std::size_t>(given[0].numel()));
  for (auto const& measure : given) {
    demand(measure.numel() == given[0].numel(), "pack_measures: a measure has ", measure.numel(), " entries and the first ",
           given[0].numel(), ": there is one for each sample");
    kept.push_back(op.words("measures", measure));
    samples.columns[samples.measures++] = from<std::int64_t>(kept.back());
  }
  ballast::vector_packing_options const options{.capacity = capacity.vec(),
                                                .max_samples = op.size("max_items", max_items),
                                                .pack_count_multiple = op.size("pack_count_multiple", pack_count_multiple)};
  auto const made = in_sentences([&] { return gpu::pack<std::uint64_t>(op.on(), samples, options, {.work = op.size("work", work)}); });
  return packs_of(given[0], given[0].numel(), options.pack_count_multiple, made);
}

template <class Device>
std::tuple<Tensor, Tensor, Tensor> pack_levels(Tensor const& given, at::IntArrayRef capacities) {
  call<Device> const op("pack_levels", "lengths", given);
  auto const lengths = op.array("lengths", given);
  std::vector<ballast::level> levels;
  for (auto const capacity : capacities) levels.push_back({.capacity = capacity});
  return op.visit("lengths", lengths, [&](auto const* l) {
    auto const made = in_sentences([&] { return gpu::pack_levels<std::uint64_t>(op.on(), l, count_of(lengths), levels, {}); });
    auto const first = gpu::send(op.on(), made.first_pack);
    return std::tuple(copy_of(given, made.packs.offsets), copy_of(given, made.packs.members), copy_of(given, first));
  });
}

}  // namespace ballast_torch
