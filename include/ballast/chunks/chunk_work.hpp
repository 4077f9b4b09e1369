// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/chunks/chunk_retention.hpp>
#include <ballast/chunks/make_chunks.hpp>
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/pipeline/tasks.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// @file
/// @brief `chunk_work`: what a pipeline stage does for each chunk, if only some chunks of a long sample keep their activations.

namespace ballast::inline v0_2 {

/// @brief Times and bytes of a chunk on one stage.
struct chunk_work_options {
  std::uint64_t retained = 1;                  ///< chunks of each chain that keep their activations (K), at least 1
  std::int64_t per_chunk = 0;                  ///< time of a chunk that does not depend on its tokens, in units of the cost
  std::int64_t forward = 1;                    ///< a forward takes this many times the cost, not negative
  std::int64_t backward = 2;                   ///< a backward takes this many times the cost, not negative
  std::int64_t transfer = 0;                   ///< time to send one token to the next stage, not negative
  chunk_bytes per_token = {.activations = 1};  ///< bytes of one token on a stage; the default counts tokens
};

/// @brief What a stage does for each chunk: a `stage_work_model` whose micro-batches are the chunks. All stages are alike.
struct chunk_works {
  std::vector<stage_work> of_chunk;  ///< one for each chunk
  /// @brief The work of a chunk. @param stage any @param chunk below `of_chunk.size()` @return its times and bytes
  [[nodiscard]] stage_work operator()([[maybe_unused]] std::uint64_t stage, std::uint64_t chunk) const noexcept {
    return of_chunk[static_cast<std::size_t>(chunk)];
  }
  friend bool operator==(chunk_works const&, chunk_works const&) = default;
};

static_assert(stage_work_model<chunk_works>);

/// @brief Computes what a pipeline stage does for each chunk.
///
/// The last `retained` chunks of a chain keep their activations from forward to backward. The others repeat their forward, and hold only
/// their keys and values with the gradients of these; `recomputed` are their activations. A chunk of a chain of several chunks also holds
/// keys and values if it is retained, since `chunk_bytes` counts them beside the activations; a standalone chunk does not.
///
/// @tparam Index  index type of the chunks
/// @tparam Cost   a `cost_model` that does not fall
/// @param plan     the chunks of one pipeline
/// @param options  retained chunks, times and bytes
/// @param cost     time of a complete sample on one stage; `chunk_times` says what a range takes
/// @return the work of each chunk
/// @throws invalid_input if `retained` is 0, another option is negative, a time or number of bytes reaches 2^63, or as `chunk_times`
/// @par Complexity
/// O(ranges) calls of the cost model.
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index, cost_model Cost>
[[nodiscard]] chunk_works chunk_work(chunking<Index> const& plan, chunk_work_options const& options, Cost const& cost) {
  auto const& o = options;
  require(o.retained > 0, [] { return "retained = 0 must be positive: the last chunk of a chain runs backward at once"; });
  auto const not_negative = [](std::int64_t value, char const* name) {
    require(value >= 0, [&] { return sentence(name, " = ", value, " must not be negative"); });
  };
  not_negative(o.forward, "forward");
  not_negative(o.backward, "backward");
  not_negative(o.transfer, "transfer");
  not_negative(o.per_token.activations, "per_token.activations");
  not_negative(o.per_token.keys_values, "per_token.keys_values");
  not_negative(o.per_token.key_gradients, "per_token.key_gradients");
  auto const times = chunk_times(plan, cost, o.per_chunk);
  auto const state = checked(o.per_token.keys_values) + checked(o.per_token.key_gradients);
  chunk_works out;
  out.of_chunk.resize(plan.size());
  for (auto const chain : plan.chains)
    for (std::size_t i = 0; i < chain.size(); ++i) {
      auto const k = chain[i];
      auto const value = [&](checked a, std::int64_t b) {
        auto const product = a * checked(b);
        require(product.fits(), [&] { return sentence("a time or the bytes of chunk ", k, " reach 2^63"); });
        return product.value;
      };
      auto const tokens = plan.tokens(k);
      auto const activations = value(checked(o.per_token.activations), tokens);
      auto& work = out.of_chunk[k];
      work.forward = value(checked(o.forward), times[k]);
      work.backward = value(checked(o.backward), times[k]);
      work.transfer = value(checked(o.transfer), tokens);
      if (chain.size() > 1) work.kept = value(state, tokens);
      if (chain.size() - i <= o.retained) {
        require((checked(work.kept) + checked(activations)).fits(), [&] { return sentence("the bytes of chunk ", k, " reach 2^63"); });
        work.kept += activations;
      } else {
        work.recompute = work.forward;
        work.recomputed = activations;
      }
    }
  return out;
}

}  // namespace ballast::inline v0_2
