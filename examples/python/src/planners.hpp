// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/options.hpp>
#include <ballast/balance/result.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/packing/result.hpp>
#include <ballast/plan/plan_data.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "any_cost.hpp"
#include "baselines.hpp"
#include "integer_view.hpp"
#include "sample_numbers.hpp"

// The planners that take long to compile, for the types of Python alone. One source compiles them, because they share most of their parts;
// it reads no header of Python, so a compiler cache keeps it.

namespace ballast_python {

[[nodiscard]] ballast::packing<> pack(integer_view const& lengths, ballast::packing_options const& options);
[[nodiscard]] ballast::packing<> pack(integer_view const& lengths, ballast::packing_options const& options,
                                      ballast::search_limits const& limits);
[[nodiscard]] ballast::packing<> near_optimal(integer_view const& lengths, ballast::packing_options const& options,
                                              ballast::search_limits const& limits);
[[nodiscard]] ballast::batching<> plan_steps(integer_view const& lengths, ballast::batching_options const& options, any_cost const& cost,
                                             ballast::step_constraints const& constraints, std::size_t threads,
                                             std::stop_token const& stop);
[[nodiscard]] ballast::micro_batching<> micro_batches(integer_view const& lengths, ballast::batching_options const& options,
                                                      any_cost const& cost, ballast::micro_batch_constraints const& constraints);
[[nodiscard]] ballast::balanced_sets<> balance(integer_view const& weights, ballast::balance_options const& options);

/// What Python says of a training run.
struct run_request {
  ballast::batching_options steps;
  ballast::oversize oversize = ballast::oversize::reject;
  std::uint64_t epochs = 1;
  std::uint64_t steps_per_epoch = 0;
  std::int64_t tokens_per_step = 0;
  std::string order;  ///< empty: that of the plan
  std::string key = "mean_length";
  std::uint64_t buckets = 16;
};

/// Lengths, read where they lie, and what keeps them there.
struct kept_lengths {
  integer_view view;
  std::shared_ptr<void const> owner;
};

/// What a training run is saved as: the words of its state, and its plan, of whose samples `set_aside` and `pieces` alone count.
struct saved_run {
  std::vector<std::uint64_t> words;
  ballast::data_plan<> plan;
};

/// A training run of the library. A stop ends what plans early: then drop the run, which is cheap to copy before.
class planned_run {
 public:
  struct numbers {
    std::uint64_t step = 0, epoch = 0;
  };
  virtual ~planned_run() = default;
  std::shared_ptr<sample_numbers const> samples;  ///< of the samples that the functions below return
  [[nodiscard]] virtual std::uint64_t steps(std::stop_token const& stop) const = 0;
  /// Whether that is known without planning.
  [[nodiscard]] virtual bool counted() const = 0;
  [[nodiscard]] virtual std::uint64_t step() const = 0;
  [[nodiscard]] virtual bool done(std::stop_token const& stop) const = 0;
  /// Whether `next` need not plan.
  [[nodiscard]] virtual bool ready() const = 0;
  virtual numbers next(std::stop_token const& stop) = 0;
  [[nodiscard]] virtual ballast::groups<> packs_of(std::uint64_t rank) const = 0;
  [[nodiscard]] virtual std::vector<std::uint64_t> words() const = 0;
  virtual void resume(std::span<std::uint64_t const> words, std::stop_token const& stop) = 0;
  [[nodiscard]] virtual std::uint64_t hash() const = 0;
  [[nodiscard]] virtual std::unique_ptr<planned_run> copy() const = 0;
  /// Goes on where a changed copy is.
  virtual void take(planned_run const& copy) = 0;
  /// Takes the time of the last step, or that of each rank in it.
  virtual void observe(double ms) = 0;
  virtual void observe(std::span<double const> ms) = 0;
  /// What the times say, as words of `run_costs`.
  [[nodiscard]] virtual std::vector<std::uint64_t> measured() const = 0;
  virtual bool recalibrate(std::span<std::uint64_t const> words, std::stop_token const& stop) = 0;
  /// The plan of this pass, or of its rest, without tokens and costs of its samples.
  [[nodiscard]] virtual ballast::data_plan<> const& plan() const = 0;
  /// Samples longer than the capacity that are in no pass.
  [[nodiscard]] virtual std::vector<std::uint32_t> set_aside() const = 0;
  /// The plan of this pass beside others of the same samples.
  [[nodiscard]] virtual plan_comparison compared() const = 0;
};
[[nodiscard]] std::unique_ptr<planned_run> make_run(kept_lengths lengths, run_request const& request, any_cost const& cost,
                                                    std::stop_token const& stop);
/// The same from what `words` and `plan` returned: nothing is planned.
[[nodiscard]] std::unique_ptr<planned_run> restored_run(kept_lengths lengths, run_request const& request, any_cost const& cost,
                                                        saved_run saved);

}  // namespace ballast_python
