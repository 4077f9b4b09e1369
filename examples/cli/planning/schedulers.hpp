// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/attention/attention_tasks.hpp>
#include <ballast/core/certificate.hpp>
#include <ballast/cost/degree_cost.hpp>
#include <ballast/cost/sample_degree_cost.hpp>
#include <ballast/cost/transformer_shape.hpp>
#include <ballast/sharding/options.hpp>
#include <ballast/sharding/result.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The planners of `ballast compare` and `ballast schedule`. To add one, write a function as those in schedulers.cpp and name it in
// `schedulers()`.

namespace ballast_cli {

/// What every scheduler plans for.
struct scheduling_setting {
  ballast::sharding_options options;   ///< GPUs, tokens of a pass, fixed nanoseconds of a pass; `execution` is each scheduler's own
  ballast::degree_cost cost;           ///< nanoseconds of a sample, by its length and the number of GPUs that share it
  ballast::transformer model;          ///< whose queries, keys and values are exchanged
  std::int64_t longest = 0;            ///< the longest sample of the data, for schedulers with one setting for all batches
  std::uint64_t seed = 0;              ///< of schedulers that draw
  std::span<std::int64_t const> data;  ///< all samples in their order, for schedulers that learn from them what a batch is like
  std::uint64_t batch = 1;             ///< samples of a batch
  std::uint64_t planned = 0;           ///< samples of all batches that are planned, which decides how far each is searched
};

/// What samples take whose work is no function of their length. Exchanges are those of the common cost.
class timed_samples {
 public:
  /// `costs` are nanoseconds of each whole sample on one GPU, at least 1 and below 2^53.
  timed_samples(std::span<std::int64_t const> lengths, std::span<std::int64_t const> costs, ballast::degree_cost const& common);
  [[nodiscard]] ballast::sample_degree_cost cost() const { return {.common = common_, .linear = linear_}; }

 private:
  ballast::degree_cost common_;
  std::vector<std::int64_t> linear_;
};

/// A batch that was planned.
struct scheduled {
  ballast::shards<> shards;  ///< what a trainer runs; samples in `left_out` wait for the next batch
  std::int64_t time = 0;     ///< modelled nanoseconds where the shards do not say what the method's runtime takes; 0: those of the shards
  std::vector<std::int64_t> busy{};  ///< with it, nanoseconds in which each GPU trains; empty: those of the shards
  /// Of each GPU, nanoseconds of padding or of forwards that run again, which shards do not say; empty: none.
  std::vector<std::int64_t> more{};
  std::vector<ballast::attention_plan<>> attention{};  ///< of each pass, where attention is computed; empty: where its tokens are
};

/// A step of a method that plans all batches at once.
struct epoch_step {
  std::vector<std::uint64_t> samples;  ///< ascending, as numbers of the data; sample i of the shards is the i-th of them
  scheduled plan;
};

/// What a scheduler may do with a sample, and so which bound holds for it.
enum class sample_division : std::uint8_t {
  powers_of_two,  ///< 1, 2, 4, ... GPUs share a sample equally, or any number where the GPUs are no power of two
  any,            ///< any number of GPUs share a sample equally
  any_size,       ///< the same, by the tighter bound of the planner of this library
  apart,          ///< any part of a sample may be on any GPU and in any pass, and exchanges are hidden
};

/// Plans one batch after the other: the samples that the last plan left out, in their order, then new ones.
using batch_planner = std::function<scheduled(std::span<std::int64_t const> lengths)>;

struct scheduler {
  std::string_view word;
  std::string_view about;       ///< in a few words
  std::string_view randomness;  ///< "none", or what is drawn
  sample_division division;
  batch_planner (*start)(scheduling_setting const& on);  ///< begins a run; throws bad_input if the method does not take that many GPUs
  bool for_longest = false;                              ///< whether all batches have groups for the longest sample of the data
  /// Plans the samples of all batches, in place of `start`: steps in training order, each sample in one of them.
  std::vector<epoch_step> (*epoch)(std::span<std::int64_t const> lengths, scheduling_setting const& on) = nullptr;
  /// Plans one batch of samples with costs of their own; null where the method goes by lengths.
  scheduled (*by_costs)(std::span<std::int64_t const> lengths, ballast::sample_degree_cost const& cost,
                        scheduling_setting const& on) = nullptr;
};

/// The words of the methods that take costs of samples: "ballast-lockstep, ...".
[[nodiscard]] std::string methods_by_costs();

/// Throws no_plan where a method has no plan of a batch, and std::logic_error, which is a fault of our own, where its shards are not valid.
void require_plan(scheduler const& by, ballast::shards<> const& shards, std::span<std::int64_t const> lengths, scheduling_setting const& on,
                  std::uint64_t batch);

/// Batches in the order of the data. What a plan leaves out is at the front of the next batch.
class batch_feed {
 public:
  batch_feed(std::span<std::int64_t const> data, std::uint64_t batch) : data_(data), batch_(batch) {}
  /// Goes on to the next batch. False where there is none: no sample waits, or a batch without new ones left all of it out.
  [[nodiscard]] bool next();
  /// Notes what a plan of the batch left out.
  void planned(ballast::shards<> const& plan);
  [[nodiscard]] std::span<std::int64_t const> lengths() const noexcept { return lengths_; }
  [[nodiscard]] std::span<std::uint64_t const> samples() const noexcept { return samples_; }  ///< of the batch, as numbers of the data
  [[nodiscard]] std::vector<std::uint64_t> const& left() const noexcept { return left_; }     ///< by the last plan
  [[nodiscard]] bool at_end() const noexcept { return next_ == data_.size(); }                ///< whether no new samples come

 private:
  std::span<std::int64_t const> data_;
  std::uint64_t batch_, next_ = 0;
  bool fresh_ = false;  // whether the last batch had new samples
  std::vector<std::uint64_t> samples_, left_;
  std::vector<std::int64_t> lengths_;
};

/// All schedulers, simple ones first. The last four are the planner of this library, once for each policy of execution and for groups of
/// any size.
[[nodiscard]] std::span<scheduler const> schedulers();

/// Those named between commas, in that order; all of them for an empty list. Throws bad_input, naming the option.
[[nodiscard]] std::vector<scheduler> schedulers_named(std::string const& option, std::string const& words);

}  // namespace ballast_cli
