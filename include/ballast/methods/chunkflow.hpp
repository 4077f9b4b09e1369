// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/options.hpp>
#include <ballast/balance/result.hpp>
#include <ballast/chunks/chunk_retention.hpp>
#include <ballast/chunks/chunk_work.hpp>
#include <ballast/chunks/deal_chunks.hpp>
#include <ballast/chunks/make_chunks.hpp>
#include <ballast/core/certificate.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/transformer_shape.hpp>
#include <ballast/footprint/model_layers.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/pipeline/chunked_order.hpp>
#include <ballast/pipeline/result.hpp>
#include <ballast/pipeline/simulate.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

/// @file
/// @brief ChunkFlow (arXiv 2503.02356): a batch in chunks of equal size, of which pipelines keep few activations.

namespace ballast::inline v0_2::chunkflow {

/// @brief How ChunkFlow trains a batch. `chunk_size` has no default.
struct setting {
  std::int64_t chunk_size = 0;  ///< most tokens of a chunk (the paper's ChunkSize)
  std::uint64_t ranks = 1;      ///< data-parallel ranks, each a pipeline
  std::uint64_t stages = 1;     ///< stages of a pipeline, at least 1
  chunk_work_options work{};    ///< `retained` is the paper's K; times and bytes on one stage
};

/// @brief One iteration: what each rank trains on, and when.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct iteration {
  chunking<Index> chunks;                    ///< the batch in chunks
  balanced_sets<std::uint32_t> ranks;        ///< chains of each rank; `load` is the time of a stage without waiting
  std::vector<pipeline_timeline> timelines;  ///< of each rank, under the published order
  /// Time until the last rank is done. The lower bound holds for every way to deal these chains and every order of their chunks.
  certificate time;
  std::int64_t peak = 0;  ///< most bytes of activations, keys and values on a stage of a rank

  /// @brief The share of the time of all stages that is spent waiting, for the slowest rank and for other ranks.
  [[nodiscard]] double bubble() const noexcept {
    double busy = 0, stages = 0;
    for (auto const& t : timelines)
      for (auto const& s : t.stages) busy += static_cast<double>(s.busy), stages += 1;
    return time.value == 0 ? 0.0 : 1 - busy / (stages * static_cast<double>(time.value));
  }
};

/// @brief Plans one iteration as ChunkFlow does: chunks, ranks, and the state-aware 1F1B order on each rank.
///
/// Chunks are those of `make_chunks`. The paper does not say how chunks are dealt to data-parallel ranks; here `deal_chunks` deals whole
/// chains. Each rank runs `chunked_order`, in which standalone chunks come first. The paper takes the time of a chunk as proportional to
/// its tokens; a cost that is not linear also counts the earlier tokens that a chunk attends to.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model` that does not fall
/// @param lengths  tokens of each sample of the global batch
/// @param by       the setting
/// @param cost     time of a complete sample on one stage; see `chunk_work`
/// @return chunks, ranks, timelines, the time and the peak
/// @throws invalid_input as `make_chunks`, `chunk_work`, `deal_chunks` and `simulate_order`, or if there is no stage
/// @par Complexity
/// That of `make_chunks`, `deal_chunks`, and of a simulation of O(chunks * stages) tasks.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// ChunkFlow, arXiv 2503.02356, algorithms 1 and 2 and the state-aware 1F1B schedule.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost>
[[nodiscard]] iteration<Index> plan_iteration(R const& lengths, setting const& by, Cost const& cost) {
  require(by.stages > 0, [] { return "stages = 0 must be positive"; });
  iteration<Index> out;
  out.chunks = make_chunks<Index>(lengths, {.size = by.chunk_size});
  auto const works = chunk_work(out.chunks, by.work, cost);
  std::vector<std::int64_t> times;
  auto shortest = (std::numeric_limits<std::int64_t>::max)();  // forward and backward of a chunk
  for (std::size_t k = 0; k < works.of_chunk.size(); ++k) {
    auto const& work = works.of_chunk[k];
    auto time = work.forward;
    add_checked(time, work.backward, "time of chunk", k);
    add_checked(time, work.recompute, "time of chunk", k);
    times.push_back(time);
    shortest = (std::min)(shortest, work.forward + work.backward);
  }
  out.ranks = deal_chunks(out.chunks, {.sets = by.ranks}, times);
  for (auto const chains : out.ranks.sets) {
    auto& timeline = out.timelines.emplace_back();
    if (chains.empty()) {
      timeline.stages.resize(static_cast<std::size_t>(by.stages));
      continue;
    }
    auto const own = chunks_of(out.chunks, chains, {.size = by.chunk_size});
    timeline = simulate_order(chunked_order(by.stages, own.chains), chunk_work(own, by.work, cost));
    out.time.value = (std::max)(out.time.value, timeline.makespan.value);
    for (auto const& s : timeline.stages) out.peak = (std::max)(out.peak, s.peak_memory);
  }
  // The most loaded rank is busy for that long on each stage; its first and its last chunk also pass through all other stages.
  if (!times.empty()) out.time.lower_bound = out.ranks.load.lower_bound + static_cast<std::int64_t>(by.stages - 1) * shortest;
  return out;
}

/// @brief Bytes that a token of a chunk holds on one device, in all layers of a model.
///
/// Activations are those of `layers_of` without recomputation. Keys and values, and their gradients, are in 16 bits; a tensor-parallel
/// group shares the heads. They are counted beside the activations, as the paper's store of states holds them.
///
/// @param model  the shape
/// @param by     degrees, framework and loss
/// @return bytes per token
/// @throws invalid_input as `layers_of`, or if the model has linear or latent attention, for which the paper has no store
/// @par Complexity
/// O(layers).
template <class = when_called>
[[nodiscard]] inline chunk_bytes token_bytes(transformer const& model, model_setting const& by) {
  auto const others = model.kv_rank > 0 || model.linear.layers != layer_set{} || model.space.layers != layer_set{} ||
                      model.attention_layers != layer_set::all();
  require(!others,
          [] { return "the model has latent or linear attention, or state spaces: keys and values are not what later chunks need"; });
  chunk_bytes out;
  for (auto const& l : layers_of(model, by)) out.activations += l.options.front().bytes.per_token;
  auto const width = model.head_width + (model.v_width > 0 ? model.v_width : model.head_width);
  out.keys_values = model.layers * 2 * divide_up(model.kv_heads, by.spread.tensor) * width;
  out.key_gradients = out.keys_values;
  return out;
}

}  // namespace ballast::inline v0_2::chunkflow
