// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/cost/schedule.hpp>
#include <ballast/pipeline/order.hpp>
#include <ballast/staging/layer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <numeric>
#include <set>
#include <span>
#include <variant>
#include <vector>

/// @file
/// @brief Options for planners of stages with several chunks, and the micro-batches of each chunk that a stage holds at once.

namespace ballast::inline v0_2 {

/// @brief The virtual stages of a pipeline: the stage of each, and the micro-batches of each that a stage holds at once.
///
/// The chunks of a stage do not hold most at the same time. So there are several rows for a stage: each says how many micro-batches of each
/// of its chunks it holds at some time, chunks in the order of the model.
struct chunks_in_flight {
  std::vector<std::uint32_t> stage_of;           ///< for each virtual stage, its stage; every stage has at least one
  std::vector<std::vector<std::uint64_t>> held;  ///< for each stage, its rows one after the other, each with one number per chunk
  friend bool operator==(chunks_in_flight const&, chunks_in_flight const&) = default;
};

/// @brief Returns what the stages hold at once under a schedule, with any number of chunks per stage.
///
/// The order of the schedule's tasks fixes which activations are held at which task. If the backward is split, activations count until the
/// weight part is done. The simulator does weight parts where stages wait. The rows are those of a run without such waits, in which weight
/// parts are done as late as they may be; no run holds more.
///
/// @param schedule       any schedule
/// @param stages         number of stages of the pipeline, at least 1
/// @param micro_batches  number of micro-batches in a step, at least 1
/// @return the stage of each virtual stage, and for each stage the rows that no other row dominates, in lexicographic order
/// @throws invalid_input as `order_of`
/// @par Complexity
/// O(virtual stages * min(micro-batches, stages) * log), plus the square of the different rows of a stage. GPipe: all micro-batches.
/// @par Determinism
/// A pure function of its arguments.
template <class = when_called>
[[nodiscard]] inline chunks_in_flight held_by_chunk(any_schedule const& schedule, std::uint64_t stages, std::uint64_t micro_batches) {
  auto const whole = std::holds_alternative<gpipe_schedule>(schedule) ||
                     (std::holds_alternative<interleaved_schedule>(schedule) && micro_batches % stages != 0);  // which is refused
  auto const distinct = whole ? micro_batches : (std::min)(micro_batches, 2 * stages);  // then what stages hold repeats itself
  auto const order = order_of(schedule, stages, distinct);
  chunks_in_flight out{order.stage_of, std::vector<std::vector<std::uint64_t>>(order.stages())};
  for (std::size_t s = 0; s < order.stages(); ++s) {
    std::vector<std::size_t> chunk(order.stage_of.size());  // of a virtual stage, its number among those of this stage
    std::size_t chunks = 0;
    for (std::size_t k = 0; k < chunk.size(); ++k)
      if (order.stage_of[k] == s) chunk[k] = chunks++;
    std::vector<std::uint64_t> row(chunks);
    std::set<std::vector<std::uint64_t>> rows;
    std::deque<std::size_t> pending;  // chunks of the weight parts that are left to do
    std::uint64_t all = 0;
    for (auto i = static_cast<std::size_t>(order.offsets[s]); i < order.offsets[s + 1]; ++i) {
      auto const& task = order.tasks[i];
      auto const c = chunk[task.virtual_stage];
      if (task.pass == pipeline_pass::forward) {
        for (; !pending.empty() && all >= order.fill[s]; pending.pop_front(), --all) --row[pending.front()];
        ++all;
        ++row[c];
        rows.insert(row);
      } else if (task.pass == pipeline_pass::backward_input) {
        pending.push_back(c);
      } else {
        --all;
        --row[c];
      }
    }
    // a row is dominated by rows with more micro-batches alone
    auto const total = [](auto const& r) { return std::accumulate(r.begin(), r.end(), std::uint64_t{0}); };
    std::vector<std::vector<std::uint64_t>> by_total(rows.begin(), rows.end()), kept;
    std::sort(by_total.begin(), by_total.end(), [&](auto const& a, auto const& b) {
      auto const of_a = total(a), of_b = total(b);
      return of_a != of_b ? of_a > of_b : a < b;
    });
    std::size_t more = 0;  // rows in `kept` with more micro-batches than the row
    for (auto const& one : by_total) {
      while (more < kept.size() && total(kept[more]) > total(one)) ++more;
      auto const dominates = [&](auto const& by) { return std::equal(one.begin(), one.end(), by.begin(), std::less_equal{}); };
      if (std::none_of(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(more), dominates)) kept.push_back(one);
    }
    std::sort(kept.begin(), kept.end());
    for (auto const& one : kept) out.held[s].insert(out.held[s].end(), one.begin(), one.end());
  }
  return out;
}

/// @brief Work of `plan_chunks` where no other is given.
inline constexpr std::uint64_t chunks_work = 20'000'000;

/// @brief Options of `plan_chunks`. `capacity` has no default.
struct chunk_options {
  std::span<std::int64_t const> capacity{};  ///< for each stage, the bytes that the plan may use, not negative
  std::uint64_t min_layers = 1;              ///< smallest number of layers of a virtual stage; 0 allows empty ones
  std::int64_t hidden_percent = 0;           ///< 0 … 100: share of a stage's forward and backward time that hides transfers
  bool move_cuts = true;                     ///< false: chunks stay balanced in time, and only what they recompute is planned
  std::uint64_t seed = 0;                    ///< seed of the random perturbations of the search
};

/// @brief Throws unless a chain, virtual stages and options are valid and match.
/// @param chain    the layers
/// @param held     the virtual stages
/// @param options  the options
/// @throws invalid_input naming the field, or if the bytes of all micro-batches held may exceed 2^56
inline void require_valid(layer_chain const& chain, chunks_in_flight const& held, chunk_options const& options) {
  require_valid(chain);
  auto const stages = options.capacity.size();
  require(stages >= 1 && held.held.size() == stages && held.stage_of.size() <= std::size_t{1} << 24, [&] {
    return sentence("capacity has ", stages, " and held ", held.held.size(), " entries, stage_of ", held.stage_of.size(),
                    "; the first two must be equal and not 0, the last at most 2^24");
  });
  std::uint64_t most = 1;
  std::vector<std::size_t> chunks(stages);
  for (std::size_t k = 0; k < held.stage_of.size(); ++k) {
    require(held.stage_of[k] < stages,
            [&] { return sentence(entry("stage_of", k, held.stage_of[k]), " must be below ", stages, ", the number of stages"); });
    ++chunks[held.stage_of[k]];
  }
  for (std::size_t s = 0; s < stages; ++s) {
    require(chunks[s] > 0 && !held.held[s].empty() && held.held[s].size() % chunks[s] == 0,
            [&] { return sentence("held[", s, "] has ", held.held[s].size(), " numbers, no rows for ", chunks[s], " chunks"); });
    for (std::size_t i = 0; i < held.held[s].size(); ++i) {
      most = (std::max)(most, held.held[s][i]);
      require(held.held[s][i] <= std::uint64_t{1} << 32,
              [&] { return sentence("held[", s, "]: ", entry("number", i, held.held[s][i]), " must be at most 2^32"); });
    }
    require(options.capacity[s] >= 0, [&] { return entry("capacity", s, options.capacity[s]) + " must not be negative"; });
  }
  require(options.hidden_percent >= 0 && options.hidden_percent <= 100,
          [&] { return sentence("hidden_percent = ", options.hidden_percent, " must be in [0, 100]"); });
  auto left = (std::uint64_t{1} << 56) / most;
  for (std::size_t r = 0; r < chain.runs.size(); ++r) {
    std::uint64_t largest = 0;
    for (auto const& one : chain.classes[static_cast<std::size_t>(chain.runs.values[r])].options)
      largest = (std::max)(largest, static_cast<std::uint64_t>(one.memory));
    require(largest == 0 || chain.runs.counts[r] <= left / largest,
            [&] { return sentence("runs[", r, "] brings the bytes of all micro-batches held, ", most, " at most, above 2^56"); });
    left -= largest * chain.runs.counts[r];
  }
}

}  // namespace ballast::inline v0_2
