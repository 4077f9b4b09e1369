// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/mapped.cuh>
#include <ballast/gpu/core/reduce.cuh>
#include <ballast/gpu/core/workspace.cuh>
#include <ballast/gpu/loss/detail/make_weights.cuh>
#include <ballast/gpu/loss/detail/total_words.cuh>
#include <ballast/loss/gradient_path.hpp>
#include <ballast/loss/normaliser.hpp>
#include <ballast/loss/totals.hpp>
#include <ballast/loss/weights.hpp>

#include <cstddef>
#include <cstdint>

/// @file
/// @brief The weight of each sequence, from counts and totals on the device; nothing waits for the host before the forward pass.

namespace ballast::inline v0_2::gpu {

/// @brief Writes the weight of each sequence of a rank's step or micro-batch; twin of `ballast::loss_weights`.
///
/// The totals come from `gpu::loss_totals_of` and your all-reduce, on the same stream; the weights of a step need no waiting.
///
/// @tparam On  the backend
/// @param on          the backend
/// @param temp        scratch memory, or null to get its size
/// @param bytes       size of `temp` in bytes; set if `temp` is null
/// @param counts      counted labels of each sequence; of the complete sequence even if this rank has only a part of it
/// @param sequences   number of sequences
/// @param totals      totals of the complete step, all-reduced, on the device
/// @param normaliser  what is minimised
/// @param path        what happens to gradients; the weights undo its averages
/// @param part        totals of this rank's step, or of this micro-batch, on the device; null if the scope of the normaliser is the step
/// @param weights     array of one weight per sequence; gets 0 for a sequence without a counted label, and for all if no label is counted
/// @param first_bad   one word: the first count outside [0, 2^40); `sequences` if the counts exceed their totals, or if the host twin
/// throws
///                    for the totals; `~0` if there is none. `weights` is unspecified unless it is `~0`
/// @return the error, if any; `invalid_value` if a number of the path, the power or a length that is divided by is out of range, `part` is
///         missing, or `bytes` is too small
/// @par Complexity
/// O(sequences): reads each count twice and writes 8 bytes per sequence.
/// @par Determinism
/// The same bits as the host twin, unless a flag like --use_fast_math allows other values.
template <class On>
[[nodiscard]] typename On::error_type loss_weights(On on, void* temp, std::size_t& bytes, std::int64_t const* counts, std::size_t sequences,
                                                   loss_totals const* totals, loss_normaliser const& normaliser, gradient_path const& path,
                                                   loss_totals const* part, double* weights, std::uint64_t* first_bad) {
  using error_type = typename On::error_type;
  ballast::detail::weight_request request;
  if (!detail::make_request(normaliser, path, request)) return On::invalid_value;
  if (temp != nullptr && part == nullptr && normaliser.scope != loss_scope::step) return On::invalid_value;
  workspace cut(temp);
  auto* const weight = cut.take<sequence_weight>(1);
  auto* const counted = cut.take<detail::partial_totals>(1);
  auto const reduce = [&](void* room, std::size_t& need) {
    return on.reduce(room, need, mapped(detail::totals_of_count{counts, 0}), counted, sequences, detail::partial_totals{},
                     detail::add_totals{});
  };
  auto room = cut.finish<On>(bytes, reduce);
  if (room.ends) return room.error;
  if (auto const error = reduce(room.memory, room.bytes); error != error_type{}) return error;
  detail::make_weight const make{detail::words_of(totals), detail::words_of(part), request, counted, sequences, weight, first_bad};
  if (auto const error = on.for_each(1, make); error != error_type{}) return error;
  return on.for_each(sequences, detail::weigh_sequences{counts, weight, weights});
}

/// @brief Returns the weight of each sequence, as the overload with `temp` writes it; allocates and waits.
/// @param on the backend @param counts counted labels of each complete sequence @param sequences number of sequences
/// @param totals totals of the complete step, all-reduced, on the host @param normaliser what is minimised
/// @param path what happens to gradients @param part totals of the rank or the micro-batch, if the scope is not the step
/// @return one weight per sequence, on the device
/// @throws invalid_input as the host twin, with the same message
/// @throws gpu_error if the backend reports an error
template <class On>
[[nodiscard]] array<double, On> loss_weights(On on, std::int64_t const* counts, std::size_t sequences, loss_totals const& totals,
                                             loss_normaliser const& normaliser, gradient_path const& path, loss_totals const& part = {}) {
  static_cast<void>(sequence_weight_of(totals, normaliser, path, part));
  array<double, On> out(on, sequences);
  array<loss_totals, On> const both(on, 2);
  array<std::uint64_t, On> const bad(on, 1);
  check(on.upload(both.data(), &totals, 1), "upload");
  check(on.upload(both.data() + 1, &part, 1), "upload");
  call(on, "loss_weights", [&](void* temp, std::size_t& bytes) {
    return loss_weights(on, temp, bytes, counts, sequences, both.data(), normaliser, path, both.data() + 1, out.data(), bad.data());
  });
  if (fetch_one(on, bad.data()) != none_bad)
    static_cast<void>(ballast::loss_weights(fetch(on, counts, sequences), totals, normaliser, path, part));
  return out;
}

}  // namespace ballast::inline v0_2::gpu
