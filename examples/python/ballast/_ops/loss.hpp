// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/gpu/core/narrow_float.cuh>
#include <ballast/gpu/loss/label_counts.cuh>
#include <ballast/gpu/loss/segment_figures.cuh>
#include <ballast/gpu/loss/token_weights.cuh>
#include <ballast/gpu/loss/totals.cuh>
#include <ballast/gpu/loss/weighted_loss.cuh>
#include <ballast/gpu/loss/weights.cuh>
#include <ballast/loss/presets.hpp>

#include <ATen/ops/zeros_like.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "call.hpp"

// Counts of labels, weights, and the weighted loss.

namespace ballast_torch {

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

// Calls f with a number of the twins for an element of the tensor.
template <class F>
auto with_number(char const* name, char const* argument, at::ScalarType type, F const& f) {
  switch (type) {
    case at::kFloat: return f(float{});
    case at::kBFloat16: return f(gpu::bfloat16{});
    case at::kHalf: return f(gpu::float16{});
    default:
      demand(type == at::kDouble, name, ": ", argument, " is ", type, ": it must be float32, float64, bfloat16 or float16");
      return f(double{});
  }
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
  using result = std::conditional_t<std::is_same_v<Number, double>, double, float>;  // 16 bits are too few for a sum
  auto const row = count_of(labels), sequences = count_of(weights);
  auto const loss = op.empty({}, c10::CppTypeToScalarType<result>::value), scale = op.empty({labels.numel()}, losses.scalar_type());
  auto const sums = op.empty({cu.numel(), 4});
  auto* const words = into<std::int64_t>(sums);
  auto* const each = reinterpret_cast<ballast::fixed_point_sum<loss_bits>*>(words);
  auto const* const x = static_cast<Number const*>(losses.const_data_ptr());
  auto const* const w = from<double>(weights);
  op.visit("labels", labels, [&](auto const* l) {
    op.visit("cu", cu, [&](auto const* c) {
      op.run(
          check,
          [&](void* temp, std::size_t& bytes, auto* bad) {
            return gpu::weighted_loss(op.on(), temp, bytes, x, l, row, c, sequences, w, options,
                                      static_cast<Number*>(scale.mutable_data_ptr()), each, each + sequences, bad);
          },
          [&] { static_cast<void>(gpu::weighted_loss<Number, loss_bits>(op.on(), x, l, row, c, sequences, w, options)); });
    });
  });
  gpu::check(op.on().for_each(1, write_loss<result>{words + 4 * sequences, into<result>(loss)}), "weighted_loss");
  return {loss, scale, sums};
}

template <class Device>
Tensor weights_of(call<Device> const& op, char const* name, Tensor const& given, Tensor const& cu) {
  auto const weights = op.array("weights", given);
  demand(weights.scalar_type() == at::kDouble, name, ": weights is ", weights.scalar_type(),
         ": it must be float64, as sequence_weights returns it");
  demand(weights.numel() + 1 == cu.numel(), name, ": weights has ", weights.numel(), " entries and cu ", cu.numel(), ": cu has one more");
  return weights;
}

template <class Device>
std::tuple<Tensor, Tensor, Tensor> weighted_loss(Tensor const& given, Tensor const& given_labels, Tensor const& given_cu,
                                                 Tensor const& given_weights, std::int64_t ignore, bool shifted, bool check) {
  call<Device> const op("weighted_loss", "losses", given);
  auto const losses = op.array("losses", given), labels = op.array("labels", given_labels), cu = op.bounds("cu", given_cu);
  auto const weights = weights_of(op, "weighted_loss", given_weights, cu);
  demand(losses.numel() == labels.numel(), "weighted_loss: losses has ", losses.numel(), " entries and labels ", labels.numel(),
         ": a loss is at the position of its label");
  return with_number("weighted_loss", "losses", losses.scalar_type(), [&](auto number) {
    return weighted_loss_of<Device, decltype(number)>(op, losses, labels, cu, weights, labels_by(ignore, shifted), check);
  });
}

// With a factor on the device this is the gradient of the weighted loss, rounded once.
template <class Device>
Tensor token_weights(Tensor const& given, Tensor const& given_labels, Tensor const& given_cu, maybe_tensor const& given_factor,
                     at::ScalarType type, std::int64_t ignore, bool shifted, bool check) {
  call<Device> const op("token_weights", "weights", given);
  auto const labels = op.array("labels", given_labels), cu = op.bounds("cu", given_cu);
  auto const weights = weights_of(op, "token_weights", given, cu);
  auto const factor = given_factor ? op.here("factor", *given_factor).to(at::kDouble) : Tensor();
  demand(!given_factor || factor.numel() == 1, "token_weights: factor must be one number");
  auto const options = labels_by(ignore, shifted);
  auto const out = op.empty({labels.numel()}, type);
  auto const* const w = from<double>(weights);
  auto const* const by = given_factor ? from<double>(factor) : nullptr;
  auto const row = count_of(labels), sequences = count_of(weights);
  with_number("token_weights", "dtype", type, [&](auto number) {
    auto* const to = static_cast<decltype(number)*>(out.mutable_data_ptr());
    op.visit("labels", labels, [&](auto const* l) {
      op.visit("cu", cu, [&](auto const* c) {
        op.run(
            check,
            [&](void* temp, std::size_t& bytes, auto* bad) {
              return gpu::token_weights(op.on(), temp, bytes, w, l, row, c, sequences, options, to, bad, by);
            },
            [&] { static_cast<void>(gpu::token_weights(op.on(), w, l, row, c, sequences, options)); });
      });
    });
  });
  return out;
}

template <class Device, class Value>
std::tuple<Tensor, Tensor, Tensor, Tensor> segment_figures_of(call<Device> const& op, Tensor const& values, Tensor const& given_cu,
                                                              Value const* v, bool check) {
  auto const cu = op.bounds("cu", given_cu);
  auto const n = cu.numel() - 1;
  auto const least = op.empty({n}, values.scalar_type()), largest = op.empty({n}, values.scalar_type());
  auto const sums = op.empty({n, 4}), mean = op.empty({n}, at::kDouble);
  gpu::segment_arrays<Value> const out{into<Value>(least), into<Value>(largest),
                                       reinterpret_cast<ballast::segment_sum<Value>*>(into<std::int64_t>(sums)), into<double>(mean)};
  op.visit("cu", cu, [&](auto const* c) {
    op.run(
        check,
        [&](void* temp, std::size_t& bytes, auto* bad) {
          return gpu::segment_figures(op.on(), temp, bytes, v, count_of(values), c, count_of(mean), out, bad);
        },
        [&] { static_cast<void>(gpu::segment_figures(op.on(), v, count_of(values), c, count_of(mean))); });
  });
  return {least, largest, sums, mean};
}

template <class Device>
std::tuple<Tensor, Tensor, Tensor, Tensor> segment_figures(Tensor const& given, Tensor const& cu, bool check) {
  call<Device> const op("segment_figures", "values", given);
  auto const values = op.array("values", given);
  switch (values.scalar_type()) {
    case at::kFloat: return segment_figures_of(op, values, cu, from<float>(values), check);
    case at::kDouble: return segment_figures_of(op, values, cu, from<double>(values), check);
    default:
      demand(values.scalar_type() == at::kInt || values.scalar_type() == at::kLong, "segment_figures: values is ", values.scalar_type(),
             ": it must be int32, int64, float32 or float64");
      return op.visit("values", values, [&](auto const* v) { return segment_figures_of(op, values, cu, v, check); });
  }
}

}  // namespace ballast_torch
