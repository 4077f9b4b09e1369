// SPDX-License-Identifier: Apache-2.0
// Trains one global batch of very different lengths on eight ranks, as a trainer runs a plan. Communicators are made first. Then each rank,
// here a thread, runs its passes in order and gathers the keys of the samples that it shares. The gradient is that of the unsharded batch.
#include <ballast/batching/shard_weights.hpp>
#include <ballast/core/random.hpp>
#include <ballast/methods/flexsp_costs.hpp>
#include <ballast/sharding.hpp>

#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <map>
#include <numeric>
#include <thread>
#include <vector>

using numbers = std::vector<std::int64_t>;

struct data_set {
  numbers lengths, starts, learnt;  // of each sample; the first tokens of a sample are its prompt, which is not learnt
  numbers tokens;                   // of all samples, one after the other
};
data_set draw_data() {
  data_set out;
  ballast::splitmix64 draw(1);
  for (int i = 0; i < 40; ++i) {
    auto const most = std::uint64_t{512} << draw() % 8;
    out.lengths.push_back(static_cast<std::int64_t>(most / 2 + draw() % most));
    out.starts.push_back(static_cast<std::int64_t>(out.tokens.size()));
    out.learnt.push_back(out.lengths.back() - out.lengths.back() / 4);
    for (std::int64_t t = 0; t < out.lengths.back(); ++t) out.tokens.push_back(static_cast<std::int64_t>(draw() % 1000));
  }
  return out;
}

/// The gradient of each token of a row: a function of the token and of all keys of its sample up to it, as in causal attention.
numbers backward(data_set const& data, numbers const& keys, std::vector<std::uint32_t> const& samples, numbers const& cu_seqlens,
                 numbers const& positions) {
  numbers out;
  for (std::size_t s = 0; s < samples.size(); ++s) {
    auto const i = samples[s];
    auto next = static_cast<std::size_t>(data.starts[i]);
    std::int64_t seen = 0;  // sum of the keys before `next`
    for (auto t = static_cast<std::size_t>(cu_seqlens[s]); t < static_cast<std::size_t>(cu_seqlens[s + 1]); ++t) {
      auto const at = static_cast<std::size_t>(data.starts[i] + positions[t]);
      while (next <= at) seen += keys[next++];
      out.push_back(positions[t] < data.lengths[i] - data.learnt[i] ? 0 : (31 * data.tokens[at] + seen) % 101 - 50);
    }
  }
  return out;
}
std::int64_t key_of(std::int64_t token, std::int64_t position) { return token * (position % 7 + 1); }

/// The gradient on one device: the mean over samples of their means over tokens.
double unsharded(data_set const& data) {
  double sum = 0;
  numbers keys(data.tokens.size());
  for (std::uint32_t i = 0; i < data.lengths.size(); ++i) {
    numbers positions(static_cast<std::size_t>(data.lengths[i]));
    std::iota(positions.begin(), positions.end(), 0);
    for (auto const t : positions) {
      auto const at = static_cast<std::size_t>(data.starts[i] + t);
      keys[at] = key_of(data.tokens[at], t);
    }
    auto const of_tokens = backward(data, keys, {i}, {0, data.lengths[i]}, positions);
    sum += static_cast<double>(std::accumulate(of_tokens.begin(), of_tokens.end(), std::int64_t{0})) / static_cast<double>(data.learnt[i]);
  }
  return sum / static_cast<double>(data.lengths.size());
}

int main() {
  auto const data = draw_data();
  auto const& model = ballast::flexsp::shape_named("gpt-7b");
  auto const cost = ballast::flexsp::cost_of(model);
  ballast::sharding_options const options{.capacity = 16384, .ranks = 8, .cost_per_pass = model.pass};
  auto const plan = ballast::plan_shards(data.lengths, options, cost);

  // One communicator for each list of ranks, however many groups have it. Here it only lets its ranks wait for each other.
  std::map<std::vector<std::uint32_t>, std::barrier<>> communicators;
  std::vector<std::barrier<>*> communicator;  // of each group
  for (auto const ranks : plan.rank_groups)
    communicator.push_back(
        &communicators.try_emplace({ranks.begin(), ranks.end()}, static_cast<std::ptrdiff_t>(ranks.size())).first->second);

  numbers keys(data.tokens.size());  // all keys, in place of what an all-gather leaves on each rank
  std::vector<double> gradient(plan.ranks());
  auto const train = [&](std::uint32_t rank) {
    auto const weights = shard_weights(plan, rank, data.learnt, ballast::loss_normaliser::sample_mean(), {});  // {}: ranks are averaged
    auto weight = weights.begin();
    for (std::size_t pass = 0; pass < plan.passes(rank); ++pass) {
      auto const samples = shard_samples(plan, rank, pass);
      auto const cu_seqlens = ballast::shard_cu_seqlens<std::int64_t>(plan, rank, pass);
      auto const positions = ballast::shard_position_ids<std::int64_t>(plan, rank, pass);
      auto const places = ballast::shard_token_indices(plan, rank, pass, data.starts);  // what a loader reads
      for (std::size_t t = 0; t < places.size(); ++t) {
        auto const at = static_cast<std::size_t>(places[t]);
        keys[at] = key_of(data.tokens[at], positions[t]);
      }
      auto const pieces = plan(rank, pass);  // shared ones first
      if (!pieces.empty() && pieces[0].group != ballast::not_shared) communicator[pieces[0].group]->arrive_and_wait();
      auto const of_tokens = backward(data, keys, samples, cu_seqlens, positions);
      auto token = of_tokens.begin();
      for (auto const& [sample, begin, end, group] : pieces) {
        std::int64_t sum = 0;
        for (auto t = begin; t < end; ++t) sum += *token++;
        gradient[rank] += *weight++ * static_cast<double>(sum);
      }
    }
  };
  std::vector<std::thread> ranks;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) ranks.emplace_back(train, r);
  for (auto& r : ranks) r.join();
  auto const trained = std::accumulate(gradient.begin(), gradient.end(), 0.0) / static_cast<double>(plan.ranks());

  auto const seconds = [](std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; };
  auto const busy = time_shards(plan, cost, options.cost_per_pass).busy;
  auto const mean = seconds(std::accumulate(busy.begin(), busy.end(), std::int64_t{0})) / static_cast<double>(plan.ranks());
  std::cout << plan.passes() << " passes, " << plan.rank_groups.size() << " groups, " << communicators.size() << " communicators\n"
            << seconds(plan.time.value) << " s, lower bound " << seconds(plan.time.lower_bound) << " s; with groups of one size "
            << seconds(homogeneous_shards(data.lengths, options, cost).time.value) << " s\n"
            << "slowest rank over the mean: " << seconds(*std::max_element(busy.begin(), busy.end())) / mean << "\n"
            << "gradient " << trained << ", unsharded " << unsharded(data) << "\n";
  return check_shards(plan, data.lengths, options).valid() && std::abs(trained - unsharded(data)) < 1e-9 ? 0 : 1;
}
