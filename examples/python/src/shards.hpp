// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/attention/attention_tasks.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/cost/degree_cost.hpp>
#include <ballast/cost/transformer_shape.hpp>
#include <ballast/sharding/result.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "arrays.hpp"

// Shards as Python holds them: of a global batch, of a step of levels, of chunks.

namespace ballast_python {

/// Shards, the lengths of their samples, and as rows of integers the pieces and, where other ranks compute it, the attention of each pass.
class shard_plan {
 public:
  shard_plan(ballast::shards<> plan, std::vector<std::int64_t> lengths, double seconds = 0,
             std::span<ballast::attention_plan<> const> attention = {});

  [[nodiscard]] ballast::shards<> const& plan() const noexcept { return plan_; }
  [[nodiscard]] std::vector<std::int64_t> const& lengths() const noexcept { return lengths_; }
  [[nodiscard]] std::vector<std::int64_t> const& starts() const noexcept { return starts_; }  ///< of each sample behind those before it
  [[nodiscard]] std::vector<std::int64_t> const& rows() const noexcept { return rows_; }      ///< sample, begin, end, group or -1
  [[nodiscard]] std::vector<std::int64_t> const& tasks() const noexcept { return tasks_; }    ///< rank, pass, sample, home, four ends
  [[nodiscard]] double seconds() const noexcept { return seconds_; }                          ///< that the planner took; 0 if not measured

 private:
  ballast::shards<> plan_;
  std::vector<std::int64_t> lengths_, starts_, rows_, tasks_;
  double seconds_;
};

/// What a sample costs that several ranks share, and what a pass costs beside its samples, in nanoseconds.
struct shared_cost {
  ballast::degree_cost of;
  std::int64_t per_pass = 0;
  std::optional<ballast::transformer> model{};  ///< if the cost is that of a model
};

class shared_cost_argument : public nb::object {
  NB_OBJECT_DEFAULT(shared_cost_argument, nb::object, "str | Transformer | DegreeCost | None", is_any_object)
};

/// The cost that an argument names, on `ranks` ranks in passes of `capacity` tokens. Needs the GIL. Throws invalid_input.
[[nodiscard]] shared_cost shared_cost_of(shared_cost_argument const& argument, std::uint64_t ranks, std::int64_t capacity);

/// The packs of a step: pack p has the samples from `offsets[p]` on and is on the ranks from `first[p]` on.
struct shared_packs {
  std::vector<std::int64_t> lengths;  ///< tokens of each sample
  std::vector<std::size_t> offsets;   ///< where each pack begins; one entry more than there are packs
  std::vector<std::uint64_t> first;   ///< the first rank of each pack
  std::uint64_t degree = 1;           ///< ranks that share each pack
};
/// Each pack as a pass of its ranks. Throws invalid_input.
[[nodiscard]] ballast::shards<> shards_of_packs(shared_packs const& packs, std::uint64_t ranks, std::string const& layout);

/// The passes of a rank.
[[nodiscard]] nb::object passes_of(nb::object const& plan, std::int64_t rank);

}  // namespace ballast_python
