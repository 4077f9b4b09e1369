// SPDX-License-Identifier: Apache-2.0
// Executes attention away from home: DistCA's servers compute attention of queries that other servers hold, in parts that are merged; and
// batches whose samples are whole or shared by all ranks. The gradient is that of each sample by itself.
#include "run_shards.hpp"

#include <ballast/methods/distca.hpp>
#include <ballast/methods/local_or_distributed.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <vector>

using namespace execute;

namespace {

/// Servers that hold tokens, and compute attention of any of them.
class servers {
 public:
  servers(transformer const& model, samples const& data, ballast::distca::schedule<> const& plan, double weight)
      : model_(model), plan_(plan.attention), places_(data.lengths.size()) {
    for (std::size_t s = 0; s < plan.shards.ranks(); ++s) {
      auto& at = rows_.emplace_back();
      for (std::size_t pass = 0; pass < plan.shards.passes(s); ++pass)
        for (auto const& piece : plan.shards(s, pass))
          for (auto t = piece.begin; t < piece.end; ++t) {
            auto& places = places_[piece.sample];
            places.resize(data.tokens[piece.sample].size());
            places[static_cast<std::size_t>(t)] = {s, at.size()};
            at.push_back(data.tokens[piece.sample][static_cast<std::size_t>(t)]);
            at.back().weight *= weight;
          }
    }
  }

  numbers train(numbers const& p) {
    auto const n = rows_.size();
    numbers gradient(model_.size());
    std::vector<numbers> x;
    for (auto const& at : rows_) x.push_back(model_.embed(p, at));
    states_.assign(model_.layers, std::vector<layer_state>(n));
    for (std::size_t l = 0; l < model_.layers; ++l) {
      for (std::size_t s = 0; s < n; ++s) model_.before_attention(p, l, rows_[s], std::move(x[s]), states_[l][s]);
      for (std::size_t s = 0; s < n; ++s)
        for (auto const& task : plan_(s)) attend(l, s, task);
      for (std::size_t s = 0; s < n; ++s) x[s] = model_.after_attention(p, l, rows_[s], states_[l][s]);
    }
    std::vector<numbers> dx(n);
    for (std::size_t s = 0; s < n; ++s) (void)model_.loss(p, rows_[s], x[s], dx[s], gradient);
    for (auto l = model_.layers; l-- > 0;) {
      d_out_.clear();
      d_.assign(n, {});
      for (std::size_t s = 0; s < n; ++s) {
        d_out_.push_back(model_.after_attention_backward(p, l, rows_[s], states_[l][s], dx[s], gradient));
        for (auto* const each : {&d_[s].q, &d_[s].k, &d_[s].v}) each->assign(d_out_[s].size(), 0);
      }
      for (std::size_t s = 0; s < n; ++s)
        for (auto const& task : plan_(s)) attend_backward(l, task);
      for (std::size_t s = 0; s < n; ++s) model_.before_attention_backward(p, l, rows_[s], states_[l][s], d_[s], dx[s], gradient);
    }
    for (std::size_t s = 0; s < n; ++s) model_.embed_backward(gradient, rows_[s], dx[s]);
    return gradient;
  }
  /// Bytes of queries, outputs, keys and values that forward passes sent to other servers and back, in one layer.
  std::int64_t moved() const { return moved_ / static_cast<std::int64_t>(model_.layers); }

 private:
  struct home_row {
    std::size_t server = 0, row = 0;
  };
  /// Calls `visit(position)` for the queries of a task.
  template <class Visit>
  static void each_query(ballast::attention_task<> const& task, Visit const& visit) {
    for (auto t = task.begin; t < task.end; ++t) visit(static_cast<std::size_t>(t));
    for (auto t = task.tail_begin; t < task.tail_end; ++t) visit(static_cast<std::size_t>(t));
  }
  /// Keys and values of a sample up to the last that a task needs.
  block keys_of(std::size_t l, ballast::attention_task<> const& task) const {
    block out;
    for (std::int64_t t = 0; t < task.keys(); ++t) {
      auto const [server, r] = places_[task.sample][static_cast<std::size_t>(t)];
      auto const& a = states_[l][server].attention;
      out.k.insert(out.k.end(), &a.k[r * model_.hidden], &a.k[r * model_.hidden] + model_.hidden);
      out.v.insert(out.v.end(), &a.v[r * model_.hidden], &a.v[r * model_.hidden] + model_.hidden);
    }
    return out;
  }
  void attend(std::size_t l, std::size_t server, ballast::attention_task<> const& task) {
    auto const keys = keys_of(l, task);
    auto const hidden = model_.hidden;
    each_query(task, [&](std::size_t t) {
      auto const [home, r] = places_[task.sample][t];
      auto& at_home = states_[l][home].attention;
      attention_state parts[2];  // of the earlier and of the later keys
      for (auto& part : parts) {
        part.q.assign(&at_home.q[r * hidden], &at_home.q[r * hidden] + hidden);
        part.out.assign(hidden, 0);
        part.most.assign(model_.heads, -1e300);
        part.sum.assign(model_.heads, 0);
      }
      for (std::size_t k = 0; k <= t; ++k)
        for (std::size_t head = 0; head < model_.heads; ++head) {
          auto const place = k * hidden + head * model_.width();
          model_.attend(parts[k > t / 2], 0, head, &keys.k[place], &keys.v[place]);
        }
      for (std::size_t head = 0; head < model_.heads; ++head) {  // merged by the logarithms of their sums
        auto& most = at_home.most[r * model_.heads + head];
        most = std::max(parts[0].most[head], parts[1].most[head]);
        for (auto const& part : parts) {
          auto const share = std::exp(part.most[head] - most);
          at_home.sum[r * model_.heads + head] += share * part.sum[head];
          for (std::size_t i = head * model_.width(); i < (head + 1) * model_.width(); ++i)
            at_home.out[r * hidden + i] += share * part.out[i];
        }
      }
    });
    if (server != task.home) moved_ += static_cast<std::int64_t>(2 * hidden * sizeof(double)) * (task.queries() + task.keys());
  }
  void attend_backward(std::size_t l, ballast::attention_task<> const& task) {
    auto const keys = keys_of(l, task);
    numbers dk(keys.k.size()), dv(keys.v.size());
    each_query(task, [&](std::size_t t) {
      auto const [home, r] = places_[task.sample][t];
      for (std::size_t k = 0; k <= t; ++k)
        for (std::size_t head = 0; head < model_.heads; ++head) {
          auto const at = r * model_.hidden + head * model_.width(), place = k * model_.hidden + head * model_.width();
          model_.attend_backward(states_[l][home].attention, r, head, &keys.k[place], &keys.v[place], &d_out_[home][at], &d_[home].q[at],
                                 &dk[place], &dv[place]);
        }
    });
    for (std::size_t t = 0; t * model_.hidden < dk.size(); ++t) {  // back to where the keys are
      auto const [server, r] = places_[task.sample][t];
      for (std::size_t i = 0; i < model_.hidden; ++i) {
        d_[server].k[r * model_.hidden + i] += dk[t * model_.hidden + i];
        d_[server].v[r * model_.hidden + i] += dv[t * model_.hidden + i];
      }
    }
  }

  transformer const& model_;
  ballast::attention_plan<> const& plan_;
  std::vector<row> rows_;                         // of each server
  std::vector<std::vector<home_row>> places_;     // of each token of each sample
  std::vector<std::vector<layer_state>> states_;  // of each layer and server
  std::vector<numbers> d_out_;                    // of each server, in one layer
  std::vector<attention_state> d_;
  std::int64_t moved_ = 0;
};

}  // namespace

int main() {
  transformer const model;
  auto const p = model.initial();
  outcome published{.what = "DistCA, as published"}, windows{.what = "DistCA, two-sided, by windows"},
      split{.what = "local_or_distributed"};
  std::size_t spoilt = 0, found = 0, moved = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    ballast::splitmix64 draw(seed);
    auto const data = draw_samples(1 + draw() % 8, 48, model.vocabulary, seed);
    std::int64_t learnt = 0;
    for (auto const n : data.learnt) learnt += n;
    auto const weight = 1 / static_cast<double>(std::max<std::int64_t>(1, learnt));
    auto const expected = unpacked(model, p, data, std::vector<double>(data.lengths.size(), weight));
    auto const each = static_cast<std::int64_t>(2 * model.hidden * sizeof(double));
    ballast::distca::run by{.servers = {.servers = 1 + draw() % 6, .query_bytes = each, .key_value_bytes = each, .multiple = 2},
                            .per_token = 20,
                            .per_pair = 1};
    if (draw() % 2 == 0) by.placement = ballast::distca::placement::in_order;
    for (auto const how : {false, true}) {
      auto plan = ballast::distca::plan(data.lengths, how ? ballast::distca::published(by) : by);
      servers run(model, data, plan, weight);
      auto const apart = difference(run.train(p), expected);
      (how ? published : windows).add(apart, run.moved() == plan.attention.bytes_moved);
      moved += plan.attention.moves;
      if (plan.attention.tasks.empty()) continue;
      auto& task = plan.attention.tasks[seed % plan.attention.tasks.size()];
      if (task.end - task.begin < 2 || learnt == 0 || data.learnt[task.sample] < data.lengths[task.sample]) continue;
      ++spoilt;
      --task.end;  // a query without attention
      found += !(difference(servers(model, data, plan, weight).train(p), expected) < 1e-12);
    }
    auto const longest = *std::max_element(data.lengths.begin(), data.lengths.end());
    auto const plan =
        ballast::local_or_distributed(data.lengths, {.capacity = longest + static_cast<std::int64_t>(draw() % 64), .ranks = 1 + draw() % 6},
                                      [](std::int64_t tokens, std::int64_t ranks) { return (tokens * tokens + 20 * tokens) / ranks; });
    if (plan.status == ballast::status::feasible)
      compare(split, model, p, data, plan.shards, {exchange::ring, exchange::all_gather, exchange::ulysses});
  }
  auto right = true;
  for (auto const* each : {&published, &windows, &split}) right = each->print() && right;
  std::cout << moved << " tasks ran away from home; spoilt plans: " << found << " of " << spoilt << " found\n";
  return right && found == spoilt && moved > 0 ? 0 : 1;
}
