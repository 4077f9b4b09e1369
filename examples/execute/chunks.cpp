// SPDX-License-Identifier: Apache-2.0
// Executes chains of chunks: a long sample is trained in pieces that keep keys and values, some of which run forward twice. The gradient
// is that of whole samples, and the bytes that live at once are those of the plan.
#include "data.hpp"
#include "ranks.hpp"
#include "transformer.hpp"

#include <ballast/batching/shard_weights.hpp>
#include <ballast/chunks.hpp>
#include <ballast/cost.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

using namespace execute;

namespace {

/// What a chunk keeps from its forward to its backward pass.
struct chunk_state {
  std::vector<layer_state> layers;
  numbers x;  // the input of the head
  std::size_t bytes() const {
    auto sum = x.size() * sizeof(double);
    for (auto const& l : layers) sum += l.bytes();
    return sum;
  }
};

/// Trains the chunks of one chain in the order of some tasks.
class chain_run {
 public:
  chain_run(transformer const& model, numbers const& p, std::vector<row> chunks, numbers& gradient)
      : model_(model), p_(p), chunks_(std::move(chunks)), states_(chunks_.size()), stored_(chunks_.size()), gradient_(gradient) {}

  void run(ballast::chunk_task const& task) {
    using enum ballast::chunk_pass;
    auto const k = std::size_t{task.chunk};
    if (task.pass == backward) {
      for (auto& of_chunk : stored_)
        for (auto& each : of_chunk)
          if (each.dk.empty()) each.dk.assign(each.k.size(), 0), each.dv.assign(each.v.size(), 0);
      peak_ = std::max(peak_, bytes());
      back(k);
    } else {
      forward(k, task.pass == forward_again);
      peak_ = std::max(peak_, bytes());
      if (task.pass == forward_drop) states_[k] = {};
    }
  }
  /// The most bytes of activations, keys, values and their gradients that lived at once.
  std::size_t peak() const { return peak_; }

 private:
  void forward(std::size_t k, bool again) {
    auto const& at = chunks_[k];
    auto& s = states_[k];
    s.layers.resize(model_.layers);
    if (!again) stored_[k].resize(model_.layers);
    s.x = model_.embed(p_, at);
    for (std::size_t l = 0; l < model_.layers; ++l) {
      model_.before_attention(p_, l, at, std::move(s.x), s.layers[l]);
      auto& a = s.layers[l].attention;
      if (!again) stored_[k][l] = {.at = {}, .k = a.k, .v = a.v, .dk = {}, .dv = {}};
      a.k = a.v = {};
      each_pair(k, l, [&](std::size_t q, std::size_t head, block& keys, std::size_t key) {
        model_.attend(a, q, head, &keys.k[key], &keys.v[key]);
      });
      s.x = model_.after_attention(p_, l, at, s.layers[l]);
    }
  }
  void back(std::size_t k) {
    auto const& at = chunks_[k];
    auto& s = states_[k];
    if (s.layers.empty()) throw std::runtime_error("chunk " + std::to_string(k) + " runs backward without activations");
    numbers dx;
    (void)model_.loss(p_, at, s.x, dx, gradient_);
    for (auto l = model_.layers; l-- > 0;) {
      auto const d_out = model_.after_attention_backward(p_, l, at, s.layers[l], dx, gradient_);
      attention_state d;
      d.q.assign(d_out.size(), 0);
      each_pair(k, l, [&](std::size_t q, std::size_t head, block& keys, std::size_t key) {
        auto const place = q * model_.hidden + head * model_.width();
        model_.attend_backward(s.layers[l].attention, q, head, &keys.k[key], &keys.v[key], &d_out[place], &d.q[place], &keys.dk[key],
                               &keys.dv[key]);
      });
      d.k = stored_[k][l].dk;  // later chunks have added theirs
      d.v = stored_[k][l].dv;
      model_.before_attention_backward(p_, l, at, s.layers[l], d, dx, gradient_);
    }
    model_.embed_backward(gradient_, at, dx);
    s = {};
    stored_[k].clear();
  }
  /// Calls `visit(query, head, block, place of key)` for the keys of this chunk and of those before it.
  template <class Visit>
  void each_pair(std::size_t k, std::size_t layer, Visit const& visit) {
    for (std::size_t q = 0; q < chunks_[k].size(); ++q)
      for (std::size_t from = 0; from <= k; ++from) {
        if (stored_[from].empty())
          throw std::runtime_error("chunk " + std::to_string(k) + " lacks the keys of chunk " + std::to_string(from));
        for (std::size_t t = 0; t < chunks_[from].size(); ++t)
          if (chunks_[from][t].sample == chunks_[k][q].sample && chunks_[from][t].position <= chunks_[k][q].position)
            for (std::size_t head = 0; head < model_.heads; ++head)
              visit(q, head, stored_[from][layer], t * model_.hidden + head * model_.width());
      }
  }
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (auto const& s : states_) sum += s.bytes();
    for (auto const& of_chunk : stored_)
      for (auto const& each : of_chunk) sum += (each.k.size() + each.v.size() + each.dk.size() + each.dv.size()) * sizeof(double);
    return sum;
  }

  transformer const& model_;
  numbers const& p_;
  std::vector<row> chunks_;
  std::vector<chunk_state> states_;
  std::vector<std::vector<block>> stored_;  // of each chunk and layer; `at` is not used
  numbers& gradient_;
  std::size_t peak_ = 0;
};

/// The bytes of a token as the runs above hold them.
ballast::chunk_bytes bytes_of(transformer const& model) {
  auto const each = static_cast<std::int64_t>(sizeof(double)), layers = static_cast<std::int64_t>(model.layers);
  auto const hidden = static_cast<std::int64_t>(model.hidden), heads = static_cast<std::int64_t>(model.heads);
  return {.activations = each * (layers * (4 * hidden + 2 * heads) + hidden),
          .keys_values = each * layers * 2 * hidden,
          .key_gradients = each * layers * 2 * hidden};
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
  std::stable_sort(out.begin() + static_cast<std::ptrdiff_t>(chunks), out.end(),
                   [](auto const& a, auto const& b) { return a.chunk < b.chunk; });
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
