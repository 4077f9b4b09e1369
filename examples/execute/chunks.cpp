// SPDX-License-Identifier: Apache-2.0
// Executes chains of chunks: a long sample is trained in pieces that keep keys and values, some of which run forward twice. The gradient
// is that of whole samples, and the bytes that live at once are those of the plan.
#include "data.hpp"
#include "stage.hpp"
#include "transformer.hpp"

#include <ballast/batching/shard_weights.hpp>
#include <ballast/chunks.hpp>
#include <ballast/cost.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <map>
#include <utility>
#include <vector>

using namespace execute;

namespace {

/// Trains the chunks of one chain in the order of some tasks.
class chain_run {
 public:
  chain_run(transformer const& model, numbers const& p, std::vector<row> chunks, numbers& gradient)
      : layers_(model, p, 0, std::vector<keeping>(model.layers, keeping::all)), chunks_(chunks.size()), gradient_(gradient) {
    for (std::size_t k = 0; k < chunks.size(); ++k) {
      chunks_[k].at = std::move(chunks[k]);
      for (std::size_t i = 0; i <= k; ++i) chunks_[k].chain.push_back(&chunks_[i]);
    }
  }
  void run(ballast::chunk_task const& task) {
    using enum ballast::chunk_pass;
    auto& chunk = chunks_[task.chunk];
    if (task.pass == backward) {
      (void)layers_.backward(chunk, {}, gradient_, true, [&](std::size_t) { peak_ = std::max(peak_, bytes()); });
      chunk.layers.clear();
      chunk.stored.clear();
      chunk.end.clear();
    } else {
      (void)layers_.forward(chunk, {}, task.pass == forward_again);
      peak_ = std::max(peak_, bytes());
      if (task.pass == forward_drop) chunk.layers.clear(), chunk.end.clear();
    }
  }
  /// The most bytes of activations, keys, values and their gradients that lived at once.
  std::size_t peak() const { return peak_; }

 private:
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (auto const& chunk : chunks_) sum += layers_.bytes(chunk);
    return sum;
  }

  stage layers_;
  std::vector<piece_state> chunks_;
  numbers& gradient_;
  std::size_t peak_ = 0;
};

/// The bytes of a token as the runs above hold them.
ballast::chunk_bytes bytes_of(transformer const& model) {
  layer_bytes const of(model);
  auto const in_layers = [&](std::size_t bytes) { return static_cast<std::int64_t>(model.layers * bytes); };
  return {.activations = in_layers(of.state) + static_cast<std::int64_t>(of.input),
          .keys_values = in_layers(of.keys),
          .key_gradients = in_layers(of.keys)};
}

/// Trains a batch; the ranks average their gradients. Tells `to` what each chain held.
void train(transformer const& model, numbers const& p, samples const& data, ballast::chunking<> const& plan,
           ballast::groups<std::uint32_t> const& ranks, std::uint64_t retained,
           std::vector<ballast::chunk_task> (*tasks)(std::uint64_t, std::uint64_t), numbers& gradient, outcome& to) {
  auto const shards = shards_of(plan, ranks);
  std::map<std::pair<std::uint32_t, std::int64_t>, double> weight;  // of the tokens of a sample from some token on
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    auto const weights = shard_weights(shards, rank, data.learnt, ballast::loss_normaliser::token_mean(), {});
    std::size_t used = 0;
    for (std::size_t pass = 0; pass < shards.passes(rank); ++pass)
      for (auto const& piece : shards(rank, pass)) weight[{piece.sample, piece.begin}] = weights[used++];
  }
  gradient.assign(model.size(), 0);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    numbers mine(model.size());
    for (auto const chain : ranks[rank]) {
      std::vector<row> chunks;
      std::vector<std::int64_t> tokens;
      for (auto const k : plan.chains[chain]) {
        auto& at = chunks.emplace_back();
        for (auto const& range : plan[k])
          for (auto t = range.begin; t < range.end; ++t) {
            at.push_back(data.tokens[range.sample][static_cast<std::size_t>(t)]);
            at.back().weight *= weight.at({range.sample, range.begin});
          }
        tokens.push_back(static_cast<std::int64_t>(at.size()));
      }
      auto const number = chunks.size();
      chain_run run(model, p, std::move(chunks), mine);
      for (auto const& task : tasks(number, retained)) run.run(task);
      to.add_bytes(ballast::retained_peak(tokens, retained, bytes_of(model)), static_cast<std::int64_t>(run.peak()));
    }
    for (std::size_t i = 0; i < mine.size(); ++i) gradient[i] += mine[i] / static_cast<double>(ranks.size());
  }
}

/// The order in which chunks other than the last ones run backward in ascending order, which lacks gradients.
std::vector<ballast::chunk_task> ascending(std::uint64_t chunks, std::uint64_t retained) {
  auto out = ballast::retained_tasks(chunks, retained);
  std::sort(out.begin() + static_cast<std::ptrdiff_t>(chunks), out.end(),
            [](auto const& a, auto const& b) { return a.chunk != b.chunk ? a.chunk < b.chunk : a.pass < b.pass; });
  return out;
}

}  // namespace

int main() {
  transformer const model;
  auto const p = model.initial();
  outcome chains{.what = "chains of chunks"};
  std::size_t spoilt = 0, found = 0;
  for (std::uint64_t seed = 0; seed < 240; ++seed) {
    ballast::splitmix64 draw(seed);
    auto const data = draw_samples(2 + draw() % 8, 48, model.vocabulary, seed);
    auto const plan = ballast::make_chunks(data.lengths, {.size = 4 + static_cast<std::int64_t>(draw() % 12)});
    auto const ranks = ballast::deal_chunks(plan, {.sets = 1 + draw() % 3}, ballast::chunk_times(plan, ballast::token_cost{}));
    auto const retained = 1 + draw() % 4;
    std::int64_t learnt = 0;
    for (auto const n : data.learnt) learnt += n;
    auto const expected = unpacked(model, p, data, std::vector<double>(data.lengths.size(), 1 / static_cast<double>(learnt)));
    numbers gradient;
    train(model, p, data, plan, ranks.sets, retained, ballast::retained_tasks, gradient, chains);
    chains.add(difference(gradient, expected), true);
    auto const longest = std::max_element(data.lengths.begin(), data.lengths.end());
    if (plan.size() == plan.chains.size() || *longest < 16) continue;
    ++spoilt;
    outcome wrong;
    try {
      train(model, p, data, plan, ranks.sets, retained, ascending, gradient, wrong);
      found += !(difference(gradient, expected) < 1e-12);
    } catch (std::exception const&) {
      ++found;
    }
  }
  auto const right = chains.print();
  std::cout << "backward passes in ascending order: " << found << " of " << spoilt << " found\n";
  return right && found == spoilt ? 0 : 1;
}
