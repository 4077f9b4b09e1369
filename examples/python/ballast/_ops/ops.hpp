// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/table.hpp>
#include <ballast/gpu/cost/pack_costs.cuh>
#include <ballast/gpu/cost/routed_rows.cuh>
#include <ballast/gpu/cost/sample_costs.cuh>
#include <ballast/gpu/layout/cu_seqlens.cuh>
#include <ballast/gpu/layout/position_ids.cuh>
#include <ballast/gpu/layout/segment_ids.cuh>
#include <ballast/gpu/layout/zigzag.cuh>
#include <ballast/gpu/loss/label_counts.cuh>
#include <ballast/gpu/loss/totals.cuh>
#include <ballast/gpu/loss/weighted_loss.cuh>
#include <ballast/gpu/loss/weights.cuh>
#include <ballast/gpu/packing/best_fit_decreasing.cuh>
#include <ballast/gpu/packing/next_fit.cuh>
#include <ballast/loss/presets.hpp>

#include <ATen/ops/arange.h>
#include <ATen/ops/diff.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "call.hpp"

// The operators, each a template over the device. To add one: its function, its line in `implement`, its schema in ops.cpp, and its fake
// in ../ops.py.

namespace ballast_torch {

using maybe_tensor = std::optional<Tensor>;

// ------------------------------------------------------------------------------------------------------------------------- packing

inline ballast::packing_options packing_of(std::int64_t capacity, std::int64_t max_items, std::int64_t sample_multiple,
                                           std::int64_t pack_multiple) {
  demand(max_items >= 0, "max_items = ", max_items, " must not be negative");
  return {.capacity = capacity,
          .max_samples = static_cast<std::uint64_t>(max_items),
          .sample_multiple = sample_multiple,
          .pack_multiple = pack_multiple};
}

template <class Device>
std::tuple<Tensor, Tensor> pack(Tensor const& given, std::int64_t capacity, std::int64_t max_items, std::int64_t sample_multiple,
                                std::int64_t pack_multiple) {
  call<Device> const op("pack", "lengths", given);
  auto const lengths = op.array("lengths", given);
  auto const count = count_of(lengths);
  auto const options = packing_of(capacity, max_items, sample_multiple, pack_multiple);
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

// -------------------------------------------------------------------------------------------------------------------------- layout

// Packs by their offsets; without, all is one pack.
struct pack_bounds {
  Tensor kept;
  std::uint64_t const* offsets = nullptr;
  std::size_t packs = 1;
  template <class Device>
  pack_bounds(call<Device> const& op, maybe_tensor const& given) {
    if (!given) return;
    kept = op.words("offsets", op.bounds("offsets", *given));
    offsets = words_of(kept);
    packs = count_of(kept) - 1;
  }
};

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

// ---------------------------------------------------------------------------------------------------------------------------- cost

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
  auto const members = given_members ? op.words("members", *given_members) : Tensor();
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

// ------------------------------------------------------------------------------------------------------------------------- experts

// Experts in 32 bits; a number that has no 32 bits is no expert in either type.
template <class Device>
Tensor experts_of(call<Device> const& op, Tensor const& given) {
  return op.visit("expert_of", given, [&](auto const*) {
    auto const array = op.array("expert_of", given);
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

// ---------------------------------------------------------------------------------------------------------------------------- loss

inline ballast::label_options labels_by(std::int64_t ignore, bool shifted) {
  return {.ignore = ignore, .shift = shifted ? ballast::label_shift::done : ballast::label_shift::in_model};
}

template <class Device>
Tensor label_counts(Tensor const& given, Tensor const& given_cu, std::int64_t ignore, bool shifted, bool check) {
  call<Device> const op("label_counts", "labels", given);
  auto const labels = op.array("labels", given), cu = op.bounds("cu", given_cu);
  auto const options = labels_by(ignore, shifted);
  auto const out = op.empty({cu.numel() - 1});
  op.visit("labels", labels, [&](auto const* l) {
    op.visit("cu", cu, [&](auto const* c) {
      op.run(
          check,
          [&](void* temp, std::size_t& bytes, auto* bad) {
            return gpu::label_counts(op.on(), temp, bytes, l, count_of(labels), c, count_of(out), options, into<std::int64_t>(out), bad);
          },
          [&] { static_cast<void>(gpu::label_counts(op.on(), l, count_of(labels), c, count_of(out), options)); });
    });
  });
  return out;
}

inline ballast::loss_preset preset_named(std::string_view name) {
  return in_sentences([&] { return ballast::loss_preset_named(name); });
}

// Totals are five words.
inline ballast::loss_totals* totals_in(Tensor const& t) { return reinterpret_cast<ballast::loss_totals*>(into<std::int64_t>(t)); }
template <class Device>
Tensor totals_of(call<Device> const& op, char const* argument, Tensor const& given) {
  auto const totals = op.words(argument, given);
  demand(totals.numel() == 5, argument, " has ", totals.numel(), " entries: it must be the sum of what loss_totals returned");
  return totals;
}

template <class Device>
Tensor loss_totals(Tensor const& given, std::string_view preset, bool check) {
  call<Device> const op("loss_totals", "counts", given);
  auto const counts = op.words("counts", given), out = op.empty({5});
  auto const normaliser = preset_named(preset).normaliser;
  auto const* const c = from<std::int64_t>(counts);
  op.run(
      check,
      [&](void* temp, std::size_t& bytes, auto* bad) {
        return gpu::loss_totals_of(op.on(), temp, bytes, c, count_of(counts), normaliser, totals_in(out), bad);
      },
      [&] { static_cast<void>(gpu::loss_totals_of(op.on(), c, count_of(counts), normaliser)); });
  return out;
}

template <class Device>
Tensor sequence_weights(Tensor const& given, Tensor const& given_totals, std::string_view preset, std::int64_t ranks, std::int64_t context,
                        std::int64_t micro_batches, std::int64_t length, maybe_tensor const& given_part, bool check) {
  call<Device> const op("sequence_weights", "counts", given);
  auto const counts = op.words("counts", given), totals = totals_of(op, "totals", given_totals);
  auto const part = given_part ? totals_of(op, "part", *given_part) : at::zeros_like(totals);
  auto by = preset_named(preset);
  by.normaliser.length = length;
  by.path.ranks = ranks;
  by.path.context = context;
  by.path.micro_batches = micro_batches;
  auto const out = op.empty({counts.numel()}, at::kDouble);
  auto const* const c = from<std::int64_t>(counts);
  op.run(
      check,
      [&](void* temp, std::size_t& bytes, auto* bad) {
        return gpu::loss_weights(op.on(), temp, bytes, c, count_of(counts), totals_in(totals), by.normaliser, by.path, totals_in(part),
                                 into<double>(out), bad);
      },
      [&] {
        static_cast<void>(gpu::loss_weights(op.on(), c, count_of(counts), gpu::fetch_one(op.on(), totals_in(totals)), by.normaliser,
                                            by.path, gpu::fetch_one(op.on(), totals_in(part))));
      });
  return out;
}

// The sum as a number; not a number if a term was none, so that nobody trains on the rest.
constexpr int loss_bits = 44;
template <class Number>
struct write_loss {
  std::int64_t const* words;
  Number* out;
  BALLAST_HD void operator()(std::size_t) const {
    auto const high = words[0] + (words[1] >> 32), low = words[1] & 0xffffffff;
    auto const units = static_cast<double>(high) * 0x1p32 + static_cast<double>(low);
    auto const none = words[3] == 0 ? 0.0 : std::numeric_limits<double>::quiet_NaN();
    *out = static_cast<Number>(units / static_cast<double>(std::int64_t{1} << loss_bits) + none);
  }
};

template <class Device, class Number>
std::tuple<Tensor, Tensor, Tensor> weighted_loss_of(call<Device> const& op, Tensor const& losses, Tensor const& labels, Tensor const& cu,
                                                    Tensor const& weights, ballast::label_options options, bool check) {
  auto const row = count_of(labels), sequences = count_of(weights);
  auto const loss = op.empty({}, losses.scalar_type()), scale = op.empty({labels.numel()}, losses.scalar_type());
  auto const sums = op.empty({cu.numel(), 4});
  auto* const words = into<std::int64_t>(sums);
  auto* const each = reinterpret_cast<ballast::fixed_point_sum<loss_bits>*>(words);
  auto const* const x = from<Number>(losses);
  auto const* const w = from<double>(weights);
  op.visit("labels", labels, [&](auto const* l) {
    op.visit("cu", cu, [&](auto const* c) {
      op.run(
          check,
          [&](void* temp, std::size_t& bytes, auto* bad) {
            return gpu::weighted_loss(op.on(), temp, bytes, x, l, row, c, sequences, w, options, into<Number>(scale), each,
                                      each + sequences, bad);
          },
          [&] { static_cast<void>(gpu::weighted_loss<Number, loss_bits>(op.on(), x, l, row, c, sequences, w, options)); });
    });
  });
  gpu::check(op.on().for_each(1, write_loss<Number>{words + 4 * sequences, into<Number>(loss)}), "weighted_loss");
  return {loss, scale, sums};
}

template <class Device>
std::tuple<Tensor, Tensor, Tensor> weighted_loss(Tensor const& given, Tensor const& given_labels, Tensor const& given_cu,
                                                 Tensor const& given_weights, std::int64_t ignore, bool shifted, bool check) {
  call<Device> const op("weighted_loss", "losses", given);
  auto const losses = op.array("losses", given), labels = op.array("labels", given_labels), cu = op.bounds("cu", given_cu);
  auto const weights = op.array("weights", given_weights);
  demand(losses.numel() == labels.numel(), "weighted_loss: losses has ", losses.numel(), " entries and labels ", labels.numel(),
         ": a loss is at the position of its label");
  demand(weights.scalar_type() == at::kDouble, "weighted_loss: weights is ", weights.scalar_type(),
         ": it must be float64, as sequence_weights returns it");
  demand(weights.numel() + 1 == cu.numel(), "weighted_loss: weights has ", weights.numel(), " entries and cu ", cu.numel(),
         ": cu has one more");
  auto const options = labels_by(ignore, shifted);
  switch (losses.scalar_type()) {
    case at::kFloat: return weighted_loss_of<Device, float>(op, losses, labels, cu, weights, options, check);
    case at::kDouble: return weighted_loss_of<Device, double>(op, losses, labels, cu, weights, options, check);
    default: demand(false, "weighted_loss: losses is ", losses.scalar_type(), ": it must be float32 or float64");
  }
  return {};
}

// ------------------------------------------------------------------------------------------------------------------- registration

template <class Device>
void implement(torch::Library& m) {
  m.impl("pack", pack<Device>);
  m.impl("next_fit", next_fit<Device>);
  m.impl("cu_seqlens", cu_seqlens<Device>);
  m.impl("max_seqlen", max_seqlen<Device>);
  m.impl("position_ids", position_ids<Device>);
  m.impl("segment_ids", segment_ids<Device>);
  m.impl("zigzag_indices", zigzag_indices<Device>);
  m.impl("zigzag_inverse", zigzag_inverse<Device>);
  m.impl("sample_costs", sample_costs<Device>);
  m.impl("pack_costs", pack_costs<Device>);
  m.impl("segment_loads", segment_loads<Device>);
  m.impl("clip_rows", clip_rows<Device>);
  m.impl("label_counts", label_counts<Device>);
  m.impl("loss_totals", loss_totals<Device>);
  m.impl("sequence_weights", sequence_weights<Device>);
  m.impl("weighted_loss", weighted_loss<Device>);
}

}  // namespace ballast_torch
