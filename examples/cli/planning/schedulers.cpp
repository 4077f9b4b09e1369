// SPDX-License-Identifier: Apache-2.0
#include "planning/schedulers.hpp"

#include "errors.hpp"
#include "planning/framework_schedulers.hpp"

#include <ballast/chunks/chunk_work.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/methods/bytescale.hpp>
#include <ballast/methods/chunkflow.hpp>
#include <ballast/methods/distca_batch.hpp>
#include <ballast/methods/dynapipe.hpp>
#include <ballast/methods/flexsp.hpp>
#include <ballast/methods/hbp.hpp>
#include <ballast/methods/longalign.hpp>
#include <ballast/methods/megatron_hybrid_cp.hpp>
#include <ballast/methods/skrull_group_size.hpp>
#include <ballast/methods/verl.hpp>
#include <ballast/methods/wlb.hpp>
#include <ballast/methods/wlb_replay.hpp>
#include <ballast/methods/wlb_shards.hpp>
#include <ballast/sharding/make_shards.hpp>
#include <ballast/sharding/plan_shards.hpp>
#include <ballast/sharding/power_of_two_groups.hpp>
#include <ballast/sharding/simple_shards.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <deque>
#include <functional>
#include <numeric>
#include <string>
#include <utility>

namespace ballast_cli {

namespace {

using lengths_view = std::span<std::int64_t const>;
using ballast::execution;

/// The fewest GPUs that have room for the longest sample of the data, of those numbers that `allows` takes; 0 if none have.
template <class Allows>
[[nodiscard]] std::uint32_t degree_for_longest(scheduling_setting const& on, Allows const& allows) {
  auto const ranks = static_cast<std::int64_t>(on.options.ranks);
  for (auto degree = ballast::divide_up(on.longest, on.options.capacity); degree <= ranks; ++degree)
    if (allows(static_cast<std::uint32_t>(degree))) return static_cast<std::uint32_t>(degree);
  return 0;
}
[[nodiscard]] std::uint32_t divisor_for_longest(scheduling_setting const& on) {
  return degree_for_longest(on, [&](std::uint32_t degree) { return on.options.ranks % degree == 0; });
}
[[nodiscard]] std::uint32_t power_of_two_for_longest(scheduling_setting const& on) {
  return degree_for_longest(on, [](std::uint32_t degree) { return std::has_single_bit(degree); });
}

[[nodiscard]] scheduled without_plan(ballast::status why) {
  scheduled out;
  out.shards.status = why;
  return out;
}

/// Packs side by side in a micro-batch, each on `degree` GPUs, or on 1, 2, 4, ... if it has fewer tokens. Returns whether all have room
/// there.
template <class Packs>
[[nodiscard]] bool append_packs(lengths_view lengths, ballast::pass_list<>& list, Packs const& packs, std::uint32_t degree,
                                scheduling_setting const& on) {
  std::vector<std::pair<std::uint32_t, std::span<std::uint32_t const>>> wide;  // the widest first, so that blocks are aligned
  for (auto const pack : packs) {
    std::int64_t tokens = 0;
    for (auto const i : pack) tokens += lengths[i];
    auto const width = tokens >= std::int64_t{degree} ? std::uint64_t{degree} : std::bit_floor(static_cast<std::uint64_t>(tokens));
    if (ballast::divide_up(tokens, static_cast<std::int64_t>(width)) > on.options.capacity) return false;
    auto const wider = [&](auto const& other) { return other.first >= width; };
    wide.emplace(std::partition_point(wide.begin(), wide.end(), wider), static_cast<std::uint32_t>(width), pack);
  }
  ballast::grouped_samples<> together;
  for (auto const& [width, pack] : wide) {
    together.widths.push_back(width);
    together.samples.push_back(pack);
  }
  ballast::append_micro_batch(list, together, on.options.ranks);
  return true;
}

[[nodiscard]] scheduled in_lockstep(lengths_view lengths, ballast::pass_list<> const& list, scheduling_setting const& on) {
  scheduled out{ballast::make_shards(lengths, list, on.options.ranks)};
  out.shards.execution = execution::lockstep;
  return out;
}

scheduled one_setting(lengths_view lengths, scheduling_setting const& on) {
  return {ballast::static_shards(lengths, on.longest, on.options, on.cost)};
}

scheduled best_setting(lengths_view lengths, scheduling_setting const& on) {
  auto o = on.options;
  o.execution = execution::lockstep;
  return {ballast::homogeneous_shards(lengths, o, on.cost)};
}

scheduled verl(lengths_view lengths, scheduling_setting const& on) { return {ballast::verl::schedule(lengths, on.options, on.cost)}; }

/// Packs of similar lengths, on as many GPUs as the longest sample of the data needs, a number that divides all.
scheduled longalign(lengths_view lengths, scheduling_setting const& on) {
  auto const degree = divisor_for_longest(on);
  if (degree == 0) return without_plan(ballast::status::infeasible);
  std::vector<std::uint32_t> order(lengths.size());
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return lengths[a] != lengths[b] ? lengths[a] < lengths[b] : a < b; });
  std::vector<std::int64_t> sorted;
  for (auto const i : order) sorted.push_back(lengths[i]);
  auto plan = ballast::longalign::packing_steps(
      sorted, {.capacity = on.options.capacity * degree, .ranks = on.options.ranks / degree, .left_over = ballast::left_over::shorten},
      ballast::token_cost{});
  for (auto& i : plan.packs.members) i = order[i];
  ballast::pass_list<> list;
  for (std::size_t s = 0; s < plan.steps(); ++s)
    if (!append_packs(lengths, list, plan.packs_of(s), degree, on)) return without_plan(ballast::status::unknown);
  return in_lockstep(lengths, list, on);
}

/// The levels that HBP's rule chooses of packs for 1, 2, 4, ... GPUs, by the modelled time of the samples that each can hold.
[[nodiscard]] std::vector<ballast::level> hbp_levels(lengths_view lengths, scheduling_setting const& on, std::uint32_t widest) {
  std::vector<ballast::hbp::profiled_level> profile;
  for (std::uint32_t sp = 1; sp <= widest; sp *= 2) {
    ballast::hbp::profiled_level of{.setting = {.capacity = on.options.capacity * sp, .sp = sp}, .time = 0, .tokens = 0};
    for (auto const l : lengths) {
      if (l > of.setting.capacity) continue;
      of.time += on.cost(l, sp) * sp;
      of.tokens += l;
    }
    if (of.time > 0) profile.push_back(of);
  }
  return ballast::hbp::select_levels(profile);
}

/// Levels for all samples; packs of a level that cost similarly are a step. As published, every level has all GPUs, of which the widest
/// takes a multiple.
std::vector<epoch_step> hbp(lengths_view lengths, scheduling_setting const& on) {
  std::vector<epoch_step> out;
  auto const refused = [&](ballast::status why) {
    out = {{{}, without_plan(why)}};
    for (std::uint64_t i = 0; i < lengths.size(); ++i) out[0].samples.push_back(i);
    return out;
  };
  auto here = on;
  here.longest = *std::max_element(lengths.begin(), lengths.end());
  auto const widest = power_of_two_for_longest(here);
  if (widest == 0) return refused(ballast::status::infeasible);
  auto const levels = hbp_levels(lengths, on, widest);
  auto const plan = ballast::hbp::plan_training(lengths, levels, {.devices = on.options.ranks / widest * widest, .seed = on.seed});
  for (std::size_t i = 0; i < plan.order.size(); ++i) {
    auto const at = plan.order.at(i);
    auto const packs = plan.steps.steps[at.source].packs_of(at.index);
    epoch_step step;
    for (auto const pack : packs) step.samples.insert(step.samples.end(), pack.begin(), pack.end());
    std::sort(step.samples.begin(), step.samples.end());
    std::vector<std::int64_t> mine;
    for (auto const s : step.samples) mine.push_back(lengths[static_cast<std::size_t>(s)]);
    std::vector<std::vector<std::uint32_t>> members;  // of each pack, as indices of `mine`
    for (auto const pack : packs) {
      auto& of = members.emplace_back();
      for (auto const s : pack)
        of.push_back(static_cast<std::uint32_t>(std::lower_bound(step.samples.begin(), step.samples.end(), s) - step.samples.begin()));
    }
    ballast::pass_list<> list;
    std::vector<std::span<std::uint32_t const>> const views(members.begin(), members.end());
    if (!append_packs(mine, list, views, at.setting.sp, on)) return refused(ballast::status::unknown);
    step.plan = in_lockstep(mine, list, on);
    out.push_back(std::move(step));
  }
  return out;
}

/// Groups of 2, 4, ... GPUs or, where they divide the GPUs, of 3, 6, 12, ..., of 5, 10, 20, ... and so on.
scheduled flexsp(lengths_view lengths, scheduling_setting const& on) {
  auto const ranks = on.options.ranks;
  auto best = ballast::flexsp::schedule(lengths, on.options, on.cost, {.fewest_ranks = (std::min)(ranks, std::uint64_t{2})});
  for (std::uint64_t fewest = 3; fewest <= ranks && ballast::detail::takes_any_size(on.options, lengths.size()); fewest += 2) {
    if (ranks % fewest != 0) continue;
    auto next = ballast::flexsp::schedule(lengths, on.options, on.cost, {.fewest_ranks = fewest});
    if (next.status == ballast::status::feasible && (best.status != ballast::status::feasible || next.time.value < best.time.value))
      best = std::move(next);
  }
  return {std::move(best)};
}

scheduled megatron_hybrid_cp(lengths_view lengths, scheduling_setting const& on) {
  auto const& o = on.options;
  if (!std::has_single_bit(o.ranks))
    throw bad_input("megatron-hybrid-cp takes 1, 2, 4, ... GPUs, not " + std::to_string(o.ranks) + "; another method takes any number");
  auto plan = ballast::megatron_hybrid_cp::schedule(
      lengths, {.capacity = o.capacity, .ranks = o.ranks, .cost_per_pass = o.cost_per_pass, .widest_first = true}, on.cost);
  return {std::move(plan.shards), plan.time.value};
}

/// The best size of groups; samples are whole on a GPU of the group or shared by all of it.
scheduled skrull(lengths_view lengths, scheduling_setting const& on) {
  auto const& o = on.options;
  ballast::global_schedule_options const by{.groups = 1,
                                            .group = {.capacity = o.capacity, .ranks = o.ranks, .cost_per_pass = o.cost_per_pass}};
  return {ballast::skrull::best_groups(lengths, by, on.cost).schedule.shards};
}

scheduled bytescale(lengths_view lengths, scheduling_setting const& on) {
  auto const& o = on.options;
  return {ballast::bytescale::schedule(lengths, {.capacity = o.capacity, .ranks = o.ranks, .cost_per_pass = o.cost_per_pass}, on.cost)};
}

/// Packs balanced by work in groups of `degree` GPUs, which divides all. Outliers wait in queues, whose thresholds are tuned on the first
/// batches.
class wlb_stream {
 public:
  wlb_stream(scheduling_setting const& on, std::uint32_t degree)
      : on_(on), degree_(degree), groups_(on.options.ranks / degree_), packer_(shape(), work()) {}

  scheduled operator()(lengths_view lengths) {
    auto const fresh = lengths.subspan(waiting_.size());
    for (std::size_t i = 0; i < fresh.size(); ++i) waiting_.push_back(next_++);
    if (fresh.empty() && last_.empty())
      for (auto& step : packer_.flush()) last_.push_back(std::move(step));
    ballast::stream_step step;
    if (last_.empty()) {
      step = packer_.push(fresh);
    } else {
      step = std::move(last_.front());
      last_.pop_front();
    }
    std::vector<std::uint32_t> here;  // of each sample of the step, its index in `lengths`
    for (auto const number : step.micro_batches.members)
      here.push_back(static_cast<std::uint32_t>(std::lower_bound(waiting_.begin(), waiting_.end(), number) - waiting_.begin()));
    scheduled out{ballast::wlb::step_shards(step, {.groups = groups_, .shares = {.ranks = degree_}}, ballast::stepped_tile_time{3, 2})};
    for (std::size_t p = 0; p < out.shards.passes(); ++p) {  // a micro-batch of fewer tokens than GPUs is on one of them
      std::int64_t tokens = 0;
      for (auto const& piece : out.shards.of_pass(p)) tokens += piece.end - piece.begin;
      if (tokens > on_.options.capacity) return without_plan(ballast::status::unknown);
    }
    for (auto& p : out.shards.pieces) p.sample = here[p.sample];
    out.shards.time = {};
    std::vector<bool> planned(lengths.size());
    for (auto const i : here) planned[i] = true;
    std::vector<std::uint64_t> left;
    for (std::uint32_t i = 0; i < lengths.size(); ++i)
      if (!planned[i]) {
        out.shards.left_out.push_back(i);
        left.push_back(waiting_[i]);
      }
    waiting_ = std::move(left);
    return out;
  }

 private:
  struct work_of {
    ballast::degree_cost cost;
    std::int64_t ranks;
    std::int64_t operator()(std::int64_t length) const { return cost(length, ranks); }
  };
  [[nodiscard]] work_of work() const { return {on_.cost, degree_}; }
  [[nodiscard]] ballast::wlb::options shape() const {
    constexpr std::size_t batches = 16;
    std::vector<std::vector<std::int64_t>> first;
    std::int64_t tokens = 0;
    auto const each = static_cast<std::size_t>(on_.batch);
    for (std::size_t at = 0; at < on_.data.size() && first.size() < batches; at += each) {
      auto const batch = on_.data.subspan(at, (std::min)(each, on_.data.size() - at));
      first.emplace_back(batch.begin(), batch.end());
      tokens = (std::max)(tokens, std::accumulate(batch.begin(), batch.end(), std::int64_t{0}));
    }
    auto const room = on_.options.capacity * degree_;
    auto const count = ballast::divide_up(tokens + tokens / 20, room * static_cast<std::int64_t>(groups_));
    ballast::wlb::options out{.micro_batches = static_cast<std::uint64_t>(count) * groups_, .capacity = room, .thresholds = {}};
    std::vector<std::int64_t> candidates;
    for (std::int64_t eighths = 1; eighths < 8; ++eighths)
      if (auto const l = on_.longest * eighths / 8; l > 0 && (candidates.empty() || l > candidates.back())) candidates.push_back(l);
    out.thresholds = ballast::wlb::tune_thresholds(first, out, work(), candidates, 2).thresholds;
    return out;
  }

  scheduling_setting on_;
  std::uint32_t degree_;
  std::uint64_t groups_;
  ballast::wlb::packer<work_of> packer_;
  std::deque<ballast::stream_step> last_;  // behind the last new samples, those that are not handed out
  std::vector<std::uint64_t> waiting_;     // numbers of the samples that were left, then of those to plan; ascending
  std::uint64_t next_ = 0;
};

template <execution policy, ballast::group_sizes sizes, class Cost>
scheduled planned_by(lengths_view lengths, Cost const& cost, scheduling_setting const& on) {
  constexpr std::size_t few = 8192, in_all = std::size_t{1} << 17;  // samples of a batch, and of a run, that are searched deeply
  auto o = on.options;
  o.execution = policy;
  o.sizes = sizes;
  return {ballast::plan_shards(lengths, o, cost, {.deep = lengths.size() <= few && on.planned <= in_all})};
}
template <execution policy, ballast::group_sizes sizes>
scheduled planned(lengths_view lengths, scheduling_setting const& on) {
  return planned_by<policy, sizes>(lengths, on.cost, on);
}

/// Exchanges are hidden; filling is one-sided, as published.
scheduled distca(lengths_view lengths, scheduling_setting const& on) {
  auto const& o = on.options;
  auto by = ballast::distca::published(ballast::distca::run_of(on.model, o.ranks));
  by.per_token = on.cost.linear;  // picoseconds
  by.per_pair = 2 * on.cost.square;
  auto plan = ballast::distca::plan_batch(lengths, o.capacity, by, 1000 * o.cost_per_pass);
  for (auto& b : plan.busy) b /= 1000;
  return {
      std::move(plan.shards), ballast::divide_up(plan.time.value, std::int64_t{1000}), std::move(plan.busy), {}, std::move(plan.attention)};
}

/// The GPUs of one of several groups of equal size.
[[nodiscard]] std::vector<std::uint32_t> gpus_of(std::size_t group, std::uint64_t degree) {
  std::vector<std::uint32_t> out(static_cast<std::size_t>(degree));
  std::iota(out.begin(), out.end(), static_cast<std::uint32_t>(group * degree));
  return out;
}

/// Padded micro-batches of consecutive lengths, dealt to groups of the best size. There are no stages: the weight of the slowest
/// micro-batch, which makes it easier to balance groups, is that of 1, 2 or 4 stages, whatever is best.
scheduled dynapipe(lengths_view lengths, scheduling_setting const& on) {
  auto const& o = on.options;
  auto const longest = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  auto best = without_plan(ballast::status::infeasible);
  for (std::uint64_t degree = 1; degree <= o.ranks; ++degree) {
    auto const d = static_cast<std::int64_t>(degree);
    if (o.ranks % degree != 0 || longest > o.capacity * d) continue;
    if (best.shards.status == ballast::status::infeasible) best.shards.status = ballast::status::unknown;
    for (auto const stages : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{4}}) {
      auto const padded = ballast::dynapipe::schedule(
          lengths,
          {.stages = stages,
           .replicas = o.ranks / degree,
           .memory = o.capacity * d * static_cast<std::int64_t>(stages),
           .quadrangle = true},
          [&](ballast::dynapipe::padded const& b, std::uint64_t) {
            return static_cast<std::int64_t>(b.samples) * on.cost(b.longest, d) + o.cost_per_pass;
          },
          [](ballast::dynapipe::padded const& b, std::uint64_t) { return static_cast<std::int64_t>(b.samples) * b.longest; });
      scheduled next;
      ballast::pass_list<> list;
      auto every_gpu_has_tokens = true;
      for (std::size_t g = 0; g < padded.replicas.size(); ++g) {
        std::int64_t time = 0, more = 0;
        for (auto const m : padded.replicas[g]) {
          std::int64_t tokens = 0, alone = o.cost_per_pass;
          for (auto const i : padded.micro_batches[m]) {
            list.placements.push_back({i, static_cast<std::uint32_t>(list.ranks.size())});
            tokens += lengths[i];
            alone += on.cost(lengths[i], d);
          }
          every_gpu_has_tokens &= tokens >= d;
          list.ranks.push_back(gpus_of(g, degree));
          time += padded.times[m];
          more += padded.times[m] - alone;
        }
        next.time = (std::max)(next.time, time);
        next.more.insert(next.more.end(), static_cast<std::size_t>(degree), more);
      }
      if (!every_gpu_has_tokens || (best.shards.status == ballast::status::feasible && best.time <= next.time)) continue;
      next.shards = ballast::make_shards(lengths, list, o.ranks);
      best = std::move(next);
    }
  }
  return best;
}

/// Chunks of as many tokens as groups have room for, the best size of groups. The chunks of a long sample run one after the other; only
/// the activations of one are kept, so the others run their forward again: a third of forward and backward.
scheduled chunkflow(lengths_view lengths, scheduling_setting const& on) {
  auto const& o = on.options;
  auto best = without_plan(ballast::status::unknown);
  for (std::uint64_t degree = 1; degree <= o.ranks; ++degree) {
    auto const d = static_cast<std::int64_t>(degree);
    if (o.ranks % degree != 0) continue;
    auto const cost = [&](std::int64_t l) { return on.cost(l, d); };
    ballast::chunkflow::setting const by{
        .chunk_size = o.capacity * d, .ranks = o.ranks / degree, .work = {.per_chunk = o.cost_per_pass}};  // times are thirds
    auto const made = ballast::chunkflow::plan_iteration(lengths, by, cost);
    auto const& chunks = made.chunks;
    auto const time = ballast::divide_up(made.time.value, std::int64_t{3});
    if (best.shards.status == ballast::status::feasible && best.time <= time) continue;
    auto every_gpu_has_tokens = true;
    for (std::uint32_t k = 0; k < chunks.size(); ++k) every_gpu_has_tokens &= chunks.tokens(k) >= d;
    if (!every_gpu_has_tokens) continue;
    best = {.shards = {}, .time = time};
    std::vector<std::int64_t> tokens;  // of the ranges, each of which is planned as a sample of its own
    for (auto const& r : chunks.ranges) tokens.push_back(r.end - r.begin);
    auto const works = ballast::chunk_work(chunks, by.work, cost);
    ballast::pass_list<> list;
    for (std::size_t g = 0; g < made.ranks.sets.size(); ++g) {
      std::int64_t again = 0;
      for (auto const c : made.ranks.sets[g])
        for (auto const k : chunks.chains[c]) {
          again += works.of_chunk[k].recompute;
          for (auto r = chunks.offsets[k]; r < chunks.offsets[k + 1]; ++r)
            list.placements.push_back({static_cast<std::uint32_t>(r), static_cast<std::uint32_t>(list.ranks.size())});
          list.ranks.push_back(gpus_of(g, degree));
        }
      best.more.insert(best.more.end(), static_cast<std::size_t>(degree), ballast::divide_up(again, std::int64_t{3}));
    }
    best.shards = ballast::make_shards(tokens, list, o.ranks);
    for (auto& p : best.shards.pieces) {
      auto const& r = chunks.ranges[p.sample];
      p = {r.sample, r.begin + p.begin, r.begin + p.end, p.group};
    }
  }
  return best;
}

/// A scheduler that plans each batch by itself.
template <scheduled (*plan)(lengths_view, scheduling_setting const&)>
batch_planner each_batch(scheduling_setting const& on) {
  return [on](lengths_view lengths) { return plan(lengths, on); };
}
/// A row of the planner of this library.
template <execution policy, sample_division division = sample_division::powers_of_two>
constexpr scheduler by_library(std::string_view word, std::string_view about) {
  constexpr auto sizes = division == sample_division::any_size ? ballast::group_sizes::any : ballast::group_sizes::automatic;
  return {.word = word,
          .about = about,
          .randomness = "none",
          .division = division,
          .start = each_batch<planned<policy, sizes>>,
          .by_costs = planned_by<policy, sizes, ballast::sample_degree_cost>};
}

batch_planner wlb(scheduling_setting const& on) {
  auto const degree = divisor_for_longest(on);
  if (degree == 0) return [](lengths_view) { return without_plan(ballast::status::infeasible); };
  return [stream = wlb_stream(on, degree)](lengths_view lengths) mutable { return stream(lengths); };
}

}  // namespace

bool batch_feed::next() {
  if (at_end() && (left_.empty() || (!fresh_ && left_.size() == samples_.size()))) return false;
  fresh_ = !at_end();
  samples_ = left_;
  for (std::uint64_t k = 0; k < batch_ && !at_end(); ++k) samples_.push_back(next_++);
  lengths_.clear();
  for (auto const i : samples_) lengths_.push_back(data_[i]);
  return true;
}

void batch_feed::planned(ballast::shards<> const& plan) {
  left_.clear();
  for (auto const j : plan.left_out) left_.push_back(samples_[j]);
}

timed_samples::timed_samples(lengths_view lengths, lengths_view costs, ballast::degree_cost const& common) : common_(common) {
  common_.square = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) linear_.push_back(1000 * costs[i] / lengths[i]);  // picoseconds of a token
}

std::string methods_by_costs() {
  std::string out;
  for (auto const& s : schedulers())
    if (s.by_costs != nullptr) out += (out.empty() ? "" : ", ") + std::string(s.word);
  return out;
}

std::span<scheduler const> schedulers() {
  using enum sample_division;
  static constexpr scheduler all[] = {
      {"static", "packs by first fit, the GPUs of the longest sample", "none", powers_of_two, each_batch<one_setting>, true},
      {"homogeneous", "equal groups, the best size for each batch", "none", powers_of_two, each_batch<best_setting>},
      {"verl", "Karmarkar-Karp, the best size of groups", "none", powers_of_two, each_batch<verl>},
      {"longalign", "packs of similar lengths", "none", powers_of_two, each_batch<longalign>, true},
      {"hbp", "levels for the samples of all batches, in steps of their own", "packs and steps", powers_of_two, nullptr, false, hbp},
      {"skrull", "whole samples beside shared ones, the best size of groups", "none", powers_of_two, each_batch<skrull>},
      {"wlb", "packs balanced by work, outliers wait for others", "none", any, wlb, true},
      {"flexsp", "groups of 2, 4, ... GPUs for each micro-batch", "none", powers_of_two, each_batch<flexsp>},
      {"megatron-dp-balanced", "packs in the order of arrival, the best size of groups", "none", any, each_batch<megatron_dp_balanced>},
      {"megatron-dynamic-cp", "packs of similar work, GPUs for each pack", "none", any, each_batch<megatron_dynamic_cp>},
      {"megatron-hybrid-cp", "rounds of groups, as many GPUs as tokens need; gives way to megatron-dynamic-cp", "none", powers_of_two,
       each_batch<megatron_hybrid_cp>},
      {"slime", "packs by first fit, split, dealt by Karmarkar-Karp; the best size of groups", "none", any, each_batch<slime>},
      {"transformers", "padded micro-batches cut until they cost alike, the best size of groups", "none", any, each_batch<transformers>},
      {"padded-cut", "padded micro-batches, cut where the slowest GPU is fastest", "none", any, each_batch<best_padded_cut>},
      {"dynapipe", "padded micro-batches of similar lengths, the best size of groups", "none", powers_of_two, each_batch<dynapipe>},
      {"chunkflow", "long samples in chunks, one after the other, if their keys and values fit", "none", apart, each_batch<chunkflow>},
      {"distca", "tokens placed evenly, attention moved to idle GPUs", "none", apart, each_batch<distca>},
      {"bytescale", "as many GPUs as tokens need, passes of equal work", "none", any, each_batch<bytescale>},
      by_library<execution::lockstep>("ballast-lockstep", "plan_shards, a barrier after every micro-batch"),
      by_library<execution::independent>("ballast-pure", "plan_shards, whole samples apart from shared ones"),
      by_library<execution::mixed, any_size>("ballast-any", "plan_shards, groups of any number of GPUs"),
      by_library<execution::mixed>("ballast", "plan_shards, whole samples beside shared ones"),
  };
  return all;
}

}  // namespace ballast_cli
