// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "transformer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

// Ranks that train rows together, as a loop. Rows of a group of ranks attend to each other: keys and values move by one of three ways.

namespace execute {

inline constexpr std::uint32_t alone = 0xffffffff;  // a row's group: only rows of its own rank are of its sample

/// How the ranks of a group see each other's keys and values.
enum class exchange {
  ring,        ///< blocks of keys and values travel from rank to rank, and their gradients with them
  all_gather,  ///< each rank gets all keys and values; their gradients are added where they came from
  ulysses,     ///< each rank gets all rows of some of the heads, and returns what attention made of them
};

/// The rows of a pass of one rank.
struct rank_pass {
  std::size_t rank = 0;
  row at;
  std::vector<std::uint32_t> group;  // of each token
};

/// Rows of one rank with their keys and values, which other ranks may get.
struct block {
  row at;
  numbers k, v, dk, dv;
};

/// What follows the MLP of each layer, on the rows of all ranks.
struct sublayer {
  sublayer() = default;
  sublayer(sublayer const&) = delete;
  virtual ~sublayer() = default;
  virtual void forward(std::size_t layer, std::vector<numbers>& x) = 0;
  virtual void backward(std::size_t layer, std::vector<numbers>& dx) = 0;
};

class rank_group {
 public:
  rank_group(transformer const& model, exchange how, sublayer* behind = nullptr) : model_(model), how_(how), behind_(behind) {}

  /// Runs forward and backward passes, and adds the gradients of the ranks' weights to `gradient[rank]`. Returns the loss.
  double train(numbers const& p, std::vector<rank_pass> const& ranks, std::vector<numbers>& gradient) {
    members_.clear();
    for (std::size_t r = 0; r < ranks.size(); ++r)
      for (std::size_t t = 0; t < ranks[r].at.size(); ++t) {
        auto& of_group = members_[{ranks[r].group[t], ranks[r].group[t] == alone ? r : 0}];
        if (of_group.empty() || of_group.back().first != r) of_group.push_back({r, {}});
        of_group.back().second.push_back(t);
      }
    std::vector<numbers> x;
    for (auto const& r : ranks) x.push_back(model_.embed(p, r.at));
    std::vector<std::vector<layer_state>> states(model_.layers, std::vector<layer_state>(ranks.size()));
    for (std::size_t l = 0; l < model_.layers; ++l) {
      for (std::size_t r = 0; r < ranks.size(); ++r) model_.before_attention(p, l, ranks[r].at, std::move(x[r]), states[l][r]);
      for (auto const& [group, members] : members_) attend(ranks, states[l], members);
      for (std::size_t r = 0; r < ranks.size(); ++r) x[r] = model_.after_attention(p, l, ranks[r].at, states[l][r]);
      if (behind_ != nullptr) behind_->forward(l, x);
    }
    double loss = 0;
    std::vector<numbers> dx(ranks.size());
    for (std::size_t r = 0; r < ranks.size(); ++r) loss += model_.loss(p, ranks[r].at, x[r], dx[r], gradient[ranks[r].rank]);
    for (auto l = model_.layers; l-- > 0;) {
      if (behind_ != nullptr) behind_->backward(l, dx);
      std::vector<numbers> d_out;
      std::vector<attention_state> d(ranks.size());
      for (std::size_t r = 0; r < ranks.size(); ++r) {
        d_out.push_back(model_.after_attention_backward(p, l, ranks[r].at, states[l][r], dx[r], gradient[ranks[r].rank]));
        for (auto* const each : {&d[r].q, &d[r].k, &d[r].v}) each->assign(d_out[r].size(), 0);
      }
      for (auto const& [group, members] : members_) attend_backward(ranks, states[l], d_out, d, members);
      for (std::size_t r = 0; r < ranks.size(); ++r)
        model_.before_attention_backward(p, l, ranks[r].at, states[l][r], d[r], dx[r], gradient[ranks[r].rank]);
    }
    for (std::size_t r = 0; r < ranks.size(); ++r) model_.embed_backward(gradient[ranks[r].rank], ranks[r].at, dx[r]);
    return loss;
  }
  /// Pairs of a query and a key that forward passes computed so far, in all heads and layers.
  std::uint64_t pairs() const { return pairs_; }

 private:
  using member = std::pair<std::size_t, std::vector<std::size_t>>;  // a rank of the pass, and its rows of the group

  block taken(row const& at, attention_state const& a, std::vector<std::size_t> const& rows) const {
    block out;
    for (auto const t : rows) {
      out.at.push_back(at[t]);
      for (std::size_t i = 0; i < model_.hidden; ++i) {
        out.k.push_back(a.k[t * model_.hidden + i]);
        out.v.push_back(a.v[t * model_.hidden + i]);
      }
    }
    out.dk.assign(out.k.size(), 0);
    out.dv.assign(out.v.size(), 0);
    return out;
  }
  /// Calls `visit(query, head, place of key in the block)` where a query sees a key.
  template <class Visit>
  void each_pair(row const& at, std::vector<std::size_t> const& rows, block const& keys, std::size_t first, std::size_t last,
                 Visit const& visit) const {
    for (auto const q : rows)
      for (std::size_t k = 0; k < keys.at.size(); ++k)
        if (keys.at[k].sample == at[q].sample && keys.at[k].position <= at[q].position)
          for (auto head = first; head < last; ++head) visit(q, head, k * model_.hidden + head * model_.width());
  }
  /// Calls `visit(member of the queries, block, first head, past the last)` in the order in which keys and values arrive.
  template <class Visit>
  void each_part(std::vector<member> const& members, std::vector<block>& blocks, Visit const& visit) const {
    auto const n = members.size();
    if (how_ == exchange::ring) {
      for (std::size_t step = 0; step < n; ++step) {
        for (std::size_t m = 0; m < n; ++m) visit(m, blocks[m], 0, model_.heads);
        std::rotate(blocks.rbegin(), blocks.rbegin() + 1, blocks.rend());  // each block goes to the next rank
      }
    } else if (how_ == exchange::all_gather) {
      for (std::size_t m = 0; m < n; ++m)
        for (auto& each : blocks) visit(m, each, 0, model_.heads);
    } else {
      for (std::size_t owner = 0; owner < n; ++owner)  // of heads
        for (std::size_t m = 0; m < n; ++m)
          for (auto& each : blocks) visit(m, each, owner * model_.heads / n, (owner + 1) * model_.heads / n);
    }
  }
  void attend(std::vector<rank_pass> const& ranks, std::vector<layer_state>& states, std::vector<member> const& members) {
    std::vector<block> blocks;
    for (auto const& [r, rows] : members) blocks.push_back(taken(ranks[r].at, states[r].attention, rows));
    each_part(members, blocks, [&](std::size_t m, block& keys, std::size_t first, std::size_t last) {
      auto const r = members[m].first;
      each_pair(ranks[r].at, members[m].second, keys, first, last, [&](std::size_t q, std::size_t head, std::size_t k) {
        model_.attend(states[r].attention, q, head, &keys.k[k], &keys.v[k]);
        ++pairs_;
      });
    });
  }
  void attend_backward(std::vector<rank_pass> const& ranks, std::vector<layer_state>& states, std::vector<numbers> const& d_out,
                       std::vector<attention_state>& d, std::vector<member> const& members) const {
    std::vector<block> blocks;
    for (auto const& [r, rows] : members) blocks.push_back(taken(ranks[r].at, states[r].attention, rows));
    each_part(members, blocks, [&](std::size_t m, block& keys, std::size_t first, std::size_t last) {
      auto const r = members[m].first;
      each_pair(ranks[r].at, members[m].second, keys, first, last, [&](std::size_t q, std::size_t head, std::size_t k) {
        auto const at = q * model_.hidden + head * model_.width();
        model_.attend_backward(states[r].attention, q, head, &keys.k[k], &keys.v[k], &d_out[r][at], &d[r].q[at], &keys.dk[k], &keys.dv[k]);
      });
    });
    for (std::size_t m = 0; m < members.size(); ++m) {  // gradients are home
      auto const& [r, rows] = members[m];
      for (std::size_t t = 0; t < rows.size(); ++t)
        for (std::size_t i = 0; i < model_.hidden; ++i) {
          d[r].k[rows[t] * model_.hidden + i] += blocks[m].dk[t * model_.hidden + i];
          d[r].v[rows[t] * model_.hidden + i] += blocks[m].dv[t * model_.hidden + i];
        }
    }
  }

  transformer const& model_;
  exchange how_;
  sublayer* behind_;
  std::map<std::pair<std::uint32_t, std::size_t>, std::vector<member>> members_;  // of each group; of rows alone, by rank
  std::uint64_t pairs_ = 0;
};

}  // namespace execute
