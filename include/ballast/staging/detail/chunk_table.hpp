// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/range_maximum.hpp>
#include <ballast/staging/chunk_options.hpp>
#include <ballast/staging/layer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Stages with several chunks: what they have for given cuts. Private.

namespace ballast::inline v0_2::detail {

/// Layers in classes, their sums over ranges, and the rows of the stages.
template <class = when_called>
class chunk_table {
 public:
  chunk_table(std::span<stage_layer const> layers, chunks_in_flight const& held, chunk_options const& options)
      : chain(fold_layers(layers)), held_(held), options_(options), chunks_(options.capacity.size()), sums_(layers.size() + 1) {
    require_valid(chain, held, options);
    for (std::size_t k = 0; k < held.stage_of.size(); ++k) chunks_[held.stage_of[k]].push_back(k);
    std::vector<std::int64_t> working;
    for (std::size_t r = 0; r < chain.runs.size(); ++r)
      for (auto n = chain.runs.counts[r]; n > 0; --n) {
        auto const k = static_cast<std::size_t>(chain.runs.values[r]);
        auto const i = class_of.size();
        class_of.push_back(k);
        working.push_back(chain.classes[k].working);
        sums_[i + 1] = sums_[i];
        sums_[i + 1].add(stage_sums(chain.classes[k]), 1);
      }
    working_ = range_maximum(std::span<std::int64_t const>(working));
  }

  [[nodiscard]] std::size_t stages() const { return chunks_.size(); }
  [[nodiscard]] std::size_t virtual_stages() const { return held_.stage_of.size(); }
  [[nodiscard]] std::size_t stage_of(std::size_t k) const { return held_.stage_of[k]; }
  [[nodiscard]] std::size_t layers() const { return class_of.size(); }
  [[nodiscard]] std::vector<std::size_t> const& chunks_of(std::size_t stage) const { return chunks_[stage]; }
  [[nodiscard]] std::size_t rows_of(std::size_t stage) const { return held_.held[stage].size() / chunks_[stage].size(); }
  [[nodiscard]] std::int64_t row(std::size_t stage, std::size_t r, std::size_t c) const {
    return static_cast<std::int64_t>(held_.held[stage][r * chunks_[stage].size() + c]);
  }
  [[nodiscard]] chunk_options const& options() const { return options_; }
  /// Time of layers without recomputation.
  [[nodiscard]] std::int64_t time(std::size_t begin, std::size_t end) const { return sums_[end].time - sums_[begin].time; }
  /// Whether layers fit as a chunk of a stage if its other chunks are empty.
  [[nodiscard]] bool fits_alone(std::size_t stage, std::size_t c, std::size_t begin, std::size_t end) const {
    std::int64_t most = 0;
    for (std::size_t r = 0; r < rows_of(stage); ++r) most = (std::max)(most, row(stage, r, c));
    auto const least = sums_[end].least - sums_[begin].least, state = sums_[end].state - sums_[begin].state;
    return most * least <= options_.capacity[stage] - state - working_(begin, end);
  }
  struct measured : stage_sums {
    std::vector<std::int64_t> least_of, free_of;  // by chunk
  };
  [[nodiscard]] measured measure(std::size_t stage, std::vector<std::size_t> const& cuts) const {
    measured out;
    for (auto const k : chunks_[stage]) {
      auto of = sums_[cuts[k + 1]];
      of.add(sums_[cuts[k]], -1);
      out.add(of, 1);
      out.working = (std::max)(out.working, working_(cuts[k], cuts[k + 1]));
      out.least_of.push_back(of.least);
      out.free_of.push_back(of.free);
    }
    return out;
  }
  /// The most bytes that a stage holds of its chunks, given those of one micro-batch; `at` becomes the row of this time.
  [[nodiscard]] std::int64_t most_held(std::size_t stage, std::vector<std::int64_t> const& bytes, std::size_t* at = nullptr) const {
    std::int64_t most = -1;
    for (std::size_t r = 0; r < rows_of(stage); ++r) {
      std::int64_t sum = 0;
      for (std::size_t c = 0; c < bytes.size(); ++c) sum += row(stage, r, c) * bytes[c];
      if (sum > most && at != nullptr) *at = r;
      most = (std::max)(most, sum);
    }
    return most;
  }

  layer_chain const chain;
  std::vector<std::size_t> class_of;  // of each layer

 private:
  chunks_in_flight const& held_;
  chunk_options const& options_;
  std::vector<std::vector<std::size_t>> chunks_;  // virtual stages of each stage
  std::vector<stage_sums> sums_;                  // of all layers before a position
  range_maximum<std::int64_t> working_;
};

}  // namespace ballast::inline v0_2::detail
