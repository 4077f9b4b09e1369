// SPDX-License-Identifier: Apache-2.0
#include "planning/comparison.hpp"

#include "errors.hpp"
#include "report/packing.hpp"

#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/sharding/bounds.hpp>
#include <ballast/sharding/check.hpp>
#include <ballast/sharding/makespan_bound.hpp>
#include <ballast/sharding/plan_shards.hpp>
#include <ballast/sharding/price_bound.hpp>
#include <ballast/sharding/time_shards.hpp>

#include <algorithm>
#include <numeric>

namespace ballast_cli {

namespace {

constexpr std::size_t few_samples = 2048;                     // of a batch whose bound is raised by prices
constexpr std::uint64_t most_pairs = std::uint64_t{1} << 20;  // of a sample and a number of GPUs, for which a bound is computed

/// Adds up the steps of one scheduler.
class step_sums {
 public:
  step_sums(scheduling_setting const& on, batch_bounds& bounds) : on_(on), bounds_(bounds), silent_(on.cost) {
    silent_.exchange.clear();
    silent_.exchange_by_ranks.clear();
  }

  /// `trained` are the lengths of the samples in the plan.
  void add(scheduled const& planned, std::span<std::int64_t const> trained, sample_division division) {
    auto const& plan = planned.shards;
    auto const fixed = on_.options.cost_per_pass;
    auto const times = time_shards(plan, on_.cost, fixed), free = time_shards(plan, silent_, fixed);
    std::int64_t passes = 0;
    for (std::size_t p = 0; p < plan.passes(); ++p) {
      std::int64_t tokens = 0;
      for (auto const& piece : plan.of_pass(p)) tokens += piece.end - piece.begin;
      passes += tokens > 0;
      out.most_tokens = (std::max)(out.most_tokens, tokens);
    }
    auto const sum = [](std::vector<std::int64_t> const& v) { return static_cast<double>(std::accumulate(v.begin(), v.end(), 0.0)); };
    auto const ms = static_cast<double>(planned.time > 0 ? planned.time : times.makespan) * 1e-6;
    busy_ += sum(planned.busy.empty() ? times.busy : planned.busy) + sum(planned.more);
    silent_busy_ += sum(planned.busy.empty() ? free.busy : planned.busy) + sum(planned.more);
    fixed_ += static_cast<double>(passes) * static_cast<double>(fixed);
    bound_ += static_cast<double>(bounds_(trained, division)) * 1e-6;
    out.ms_of_steps.push_back(ms);
    for (auto const l : trained) out.tokens += static_cast<std::uint64_t>(l);
    out.samples += trained.size();
  }

  [[nodiscard]] judged_scheduler take() {
    auto const ms = std::accumulate(out.ms_of_steps.begin(), out.ms_of_steps.end(), 0.0);
    auto const n = static_cast<double>(out.ms_of_steps.size()), all = ms * 1e6 * static_cast<double>(on_.options.ranks);
    out.steps = out.ms_of_steps.size();
    if (out.steps == 0 || ms <= 0) return std::move(out);
    out.step_ms = ms / n;
    out.bound_ms = bound_ / n;
    out.planner_ms /= n;
    out.slowest_over_mean = all / busy_;
    out.exchange = (busy_ - silent_busy_) / all;
    out.fixed = fixed_ / all;
    out.compute = silent_busy_ / all - out.fixed;
    out.waiting = (std::max)(1 - busy_ / all, 0.0);  // never -0 by rounding
    if (out.tokens > 0) out.token_delay /= static_cast<double>(out.tokens);
    return std::move(out);
  }

  judged_scheduler out;

 private:
  scheduling_setting const& on_;
  batch_bounds& bounds_;
  ballast::degree_cost silent_;  // without exchanges
  double busy_ = 0, silent_busy_ = 0, fixed_ = 0, bound_ = 0;
};

/// The samples that a plan trains, ascending.
[[nodiscard]] std::vector<std::uint32_t> samples_in(ballast::shards<> const& plan) {
  std::vector<std::uint32_t> out;
  for (auto const& p : plan.pieces) out.push_back(p.sample);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// Plans batch after batch and adds up their steps, until all are planned or one has no plan.
void plan_steps(scheduler const& by, std::span<std::int64_t const> lengths, std::uint64_t batch, std::uint64_t steps,
                scheduling_setting const& on, step_sums& sums) {
  batch_feed feed(lengths, batch);
  stopwatch watch;
  auto const plan_batch = by.start(on);
  sums.out.start_ms = 1000 * watch.lap();
  for (std::uint64_t step = 0; step < steps && !feed.at_end() && feed.next(); ++step) {
    auto const mine = feed.lengths();
    (void)watch.lap();
    auto const planned = plan_batch(mine);
    auto const& plan = planned.shards;
    sums.out.planner_ms += 1000 * watch.lap();
    require_plan(by, plan, mine, on, step);
    sums.out.policy = to_string(plan.execution);
    feed.planned(plan);
    std::vector<std::int64_t> trained;
    for (std::uint32_t j = 0; j < mine.size(); ++j) {
      if (std::binary_search(plan.left_out.begin(), plan.left_out.end(), j)) continue;
      trained.push_back(mine[j]);
      auto const delay = step - feed.samples()[j] / batch;
      sums.out.delayed += delay > 0;
      sums.out.token_delay += static_cast<double>(delay) * static_cast<double>(mine[j]);
    }
    sums.add(planned, trained, by.division);
  }
  sums.out.dropped = feed.left().size();
}

/// Plans all samples at once and adds up the steps.
void plan_epoch(scheduler const& by, std::span<std::int64_t const> lengths, scheduling_setting const& on, step_sums& sums) {
  stopwatch watch;
  auto const steps = by.epoch(lengths, on);
  sums.out.planner_ms = 1000 * watch.lap();
  sums.out.epoch = true;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    std::vector<std::int64_t> trained;
    for (auto const i : steps[s].samples) trained.push_back(lengths[static_cast<std::size_t>(i)]);
    require_plan(by, steps[s].plan.shards, trained, on, s);
    sums.out.policy = to_string(steps[s].plan.shards.execution);
    sums.add(steps[s].plan, trained, by.division);
  }
}

}  // namespace

std::int64_t batch_bounds::operator()(std::span<std::int64_t const> lengths, sample_division division) {
  if (lengths.empty()) return 0;
  std::vector<std::int64_t> sorted(lengths.begin(), lengths.end());
  std::sort(sorted.begin(), sorted.end());
  auto const [entry, is_new] = known_.try_emplace({sorted, division}, 0);
  auto& bound = entry->second;
  if (!is_new) return bound;
  auto o = on_.options;
  if (division == sample_division::apart) {
    std::int64_t work = 0, tokens = 0;
    for (auto const l : sorted) {
      work += on_.cost(l, 1);
      tokens += l;
    }
    auto const ranks = static_cast<std::int64_t>(o.ranks);
    return bound = ballast::divide_up(work + ballast::divide_up(tokens, o.capacity) * o.cost_per_pass, ranks) -
                   static_cast<std::int64_t>(sorted.size());  // each sample was rounded up
  }
  if (division == sample_division::any || (division == sample_division::any_size && sorted.size() > most_pairs / o.ranks))
    return bound = least_time(sorted, o, on_.cost);
  if (division == sample_division::any_size) o.sizes = ballast::group_sizes::any;
  bound = shard_bounds(sorted, o, on_.cost).lower();
  if (sorted.size() > few_samples) return bound;
  auto const plan = plan_shards(sorted, o, on_.cost);
  if (plan.time.value > bound)
    bound = (std::max)(bound, price_bound(sorted, o, on_.cost, {.lower = bound, .upper = plan.time.value}).lower_bound());
  return bound;
}

judged_scheduler judge(scheduler const& by, std::span<std::int64_t const> lengths, std::uint64_t batch, std::uint64_t steps,
                       scheduling_setting const& on, batch_bounds& bounds) {
  step_sums sums(on, bounds);
  sums.out.word = by.word;
  sums.out.about = by.about;
  sums.out.randomness = by.randomness;
  try {
    by.epoch != nullptr ? plan_epoch(by, lengths, on, sums) : plan_steps(by, lengths, batch, steps, on, sums);
  } catch (no_plan const& e) {
    sums.out.no_plan = e.what();
  } catch (bad_input const& e) {  // not every method takes every number of GPUs
    sums.out.no_plan = e.what();
  } catch (ballast::invalid_input const& e) {
    sums.out.no_plan = e.what();
  }
  return sums.out.no_plan ? std::move(sums.out) : sums.take();
}

judged_scheduler judge(std::string const& name, std::span<ballast::shards<> const> plan, std::span<std::int64_t const> lengths,
                       std::uint64_t batch, std::uint64_t steps, scheduling_setting const& on, batch_bounds& bounds) {
  step_sums sums(on, bounds);
  sums.out.word = name;
  sums.out.about = "the given plan";
  sums.out.randomness = "as given";
  std::vector<bool> seen(lengths.size());
  for (std::size_t b = 0; b < plan.size(); ++b) {
    auto const where = name + ": batch " + std::to_string(b) + ": ";
    auto local = plan[b];
    auto const samples = samples_in(local);
    std::vector<std::int64_t> mine;
    for (auto const i : samples) {
      if (i >= lengths.size())
        throw bad_input(where + "sample " + std::to_string(i) + " is beyond the data, which has " + std::to_string(lengths.size()));
      if (seen[i]) throw bad_input(where + "sample " + std::to_string(i) + " is in an earlier batch too");
      seen[i] = true;
      mine.push_back(lengths[i]);
      auto const delay = static_cast<std::uint64_t>(b) > i / batch ? b - i / batch : 0;
      sums.out.delayed += delay > 0;
      sums.out.token_delay += static_cast<double>(delay) * static_cast<double>(mine.back());
    }
    for (auto& p : local.pieces)
      p.sample = static_cast<std::uint32_t>(std::lower_bound(samples.begin(), samples.end(), p.sample) - samples.begin());
    local.left_out.clear();
    if (auto const verdict = check_shards(local, mine, on.options); !verdict.valid()) throw bad_input(where + describe(verdict));
    sums.out.policy = to_string(local.execution);
    sums.add({std::move(local)}, mine, sample_division::any);
  }
  auto const considered = (std::min)(static_cast<std::uint64_t>(lengths.size()), batch * steps);
  sums.out.dropped = static_cast<std::uint64_t>(std::count(seen.begin(), seen.begin() + static_cast<std::ptrdiff_t>(considered), false));
  return sums.take();
}

}  // namespace ballast_cli
