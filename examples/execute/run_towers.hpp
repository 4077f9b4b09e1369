// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "data.hpp"
#include "ranks.hpp"
#include "transformer.hpp"

#include <ballast/core/random.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// Samples of text and of pieces of other kinds (image tiles, sound), each kind with a linear tower that turns a piece into rows of the
// language model, and the training of a micro-batch of them.

namespace execute {

/// A linear map from the values of one piece to `rows` rows of the language model.
struct tower {
  std::size_t values = 1, rows = 1;
};
struct piece {
  std::uint32_t sample = 0;
  std::size_t kind = 0;  // of tower
  numbers of;            // its values
};
/// Weights, or gradients of weights: of the language model, and of the towers one behind the other.
struct tower_weights {
  numbers model, towers;
  friend bool operator==(tower_weights const&, tower_weights const&) = default;
};

/// A language model with towers in front. Rows that a tower made have an id above the vocabulary until a pass gives them their place.
struct tower_model {
  transformer language;
  std::vector<tower> kinds;
  std::size_t begin_of(std::size_t kind) const {
    std::size_t at = 0;
    for (std::size_t k = 0; k < kinds.size() && k < kind; ++k) at += kinds[k].values * kinds[k].rows * language.hidden;
    return at;
  }
  tower_weights initial() const {
    tower_weights out{language.initial(), numbers(begin_of(kinds.size()))};
    for (std::size_t i = 0; i < out.towers.size(); ++i) out.towers[i] = 0.3 * std::cos(2.0 + 7.233 * static_cast<double>(i));
    return out;
  }
  tower_weights zeros() const { return {numbers(language.size()), numbers(begin_of(kinds.size()))}; }
};

struct tower_samples {
  samples text;                                     // tokens of each sample, rows of towers included
  std::vector<std::vector<piece>> pieces;           // of each sample, in the order of the sequence
  std::vector<std::vector<std::int64_t>> measures;  // pieces of each kind, then tokens: of each sample
};
/// Samples whose texts have pieces at drawn places; half of them, at least, have text alone if `seed` is odd.
inline tower_samples draw_tower_samples(tower_model const& model, std::size_t number, std::uint64_t seed) {
  tower_samples out{.text = draw_samples(number, 16, model.language.vocabulary, seed), .pieces = {}, .measures = {}};
  ballast::splitmix64 draw(~seed);
  out.measures.resize(model.kinds.size() + 1);
  for (std::uint32_t i = 0; i < number; ++i) {
    auto& pieces = out.pieces.emplace_back();
    auto& tokens = out.text.tokens[i];
    std::vector<std::int64_t> counts(model.kinds.size());
    auto const most = seed % 2 == 1 && draw() % 2 == 0 ? 1 : 1 + draw() % 5;
    row with;
    for (auto const& text : tokens) {
      if (draw() % 3 == 0 && pieces.size() + 1 < most) {
        auto const kind = static_cast<std::size_t>(draw() % model.kinds.size());
        auto& each = pieces.emplace_back(piece{.sample = i, .kind = kind, .of = {}});
        for (std::size_t v = 0; v < model.kinds[kind].values; ++v) each.of.push_back(static_cast<double>(draw() % 2001) / 1000 - 1);
        for (std::size_t r = 0; r < model.kinds[kind].rows; ++r) with.push_back({.sample = i, .id = model.language.vocabulary + kind});
        ++counts[kind];
      }
      with.push_back(text);
    }
    for (std::size_t t = 0; t < with.size(); ++t) with[t].position = static_cast<std::int64_t>(t);
    tokens = std::move(with);
    out.text.lengths[i] = static_cast<std::int64_t>(tokens.size());
    for (std::size_t k = 0; k < counts.size(); ++k) out.measures[k].push_back(counts[k]);
    out.measures.back().push_back(out.text.lengths[i]);
  }
  return out;
}

/// What a rank did so far: pieces by kind, then tokens, then pairs of a query and a key.
using work_done = std::vector<std::int64_t>;

/// Trains a micro-batch: its pieces run through the towers, and their rows stand in the sequence where it has places for them, in order.
/// @param weight  of each token's cross entropy
/// @throws std::runtime_error if the pieces are not as many as the sequence has places for
inline void train_with_towers(tower_model const& model, tower_weights const& w, row at, std::vector<piece> const& pieces, double weight,
                              tower_weights& gradient, work_done& done) {
  auto const& language = model.language;
  auto const hidden = language.hidden, behind = language.size() / hidden;  // rows of towers follow the weights, as more of the table
  auto p = w.model;
  std::vector<std::size_t> kind_of;
  for (auto const& each : pieces) {
    auto const& [values, rows] = model.kinds[each.kind];
    auto const first = p.size();
    p.resize(first + rows * hidden);
    add_product(&p[first], each.of.data(), &w.towers[model.begin_of(each.kind)], 1, values, rows * hidden);
    kind_of.insert(kind_of.end(), rows, each.kind);
    ++done[each.kind];
  }
  std::size_t next = 0;
  for (auto& token : at) {
    token.weight *= weight;
    if (token.id < language.vocabulary) continue;
    if (next < kind_of.size() && kind_of[next] == token.id - language.vocabulary) token.id = behind + next;
    ++next;
  }
  for (auto const& token : at)
    if (next != kind_of.size() || (token.id >= language.vocabulary && token.id < behind))
      throw std::runtime_error("a micro-batch has places for " + std::to_string(next) + " rows of towers, and its pieces make " +
                               std::to_string(kind_of.size()) + " or of other kinds");
  std::vector<numbers> of_rank(1, std::move(gradient.model));
  of_rank[0].resize(p.size());
  rank_group run(language, exchange::ring);
  (void)run.train(p, {{.rank = 0, .at = at, .group = std::vector<std::uint32_t>(at.size(), alone)}}, of_rank);
  auto d = language.size();
  for (auto const& each : pieces) {
    auto const& [values, rows] = model.kinds[each.kind];
    auto const begin = model.begin_of(each.kind);
    numbers d_values(values);
    add_product_backward(d_values.data(), &gradient.towers[begin], &of_rank[0][d], each.of.data(), &w.towers[begin], 1, values,
                         rows * hidden);
    d += rows * hidden;
  }
  of_rank[0].resize(language.size());
  gradient.model = std::move(of_rank[0]);
  done[model.kinds.size()] += static_cast<std::int64_t>(at.size());
  done[model.kinds.size() + 1] += static_cast<std::int64_t>(run.pairs() / (language.heads * language.layers));
}

/// The same for the samples of a micro-batch, as a pack or one by one.
inline void train_pack(tower_model const& model, tower_weights const& w, tower_samples const& data, std::span<std::uint32_t const> pack,
                       std::vector<piece> const& pieces, double weight, tower_weights& gradient, work_done& done) {
  row at;
  for (std::uint32_t i = 0; i < pack.size(); ++i)
    for (auto token : data.text.tokens[pack[i]]) {
      token.sample = i;
      at.push_back(token);
    }
  train_with_towers(model, w, std::move(at), pieces, weight, gradient, done);
}
inline std::vector<piece> pieces_of(tower_samples const& data, std::span<std::uint32_t const> pack) {
  std::vector<piece> out;
  for (auto const i : pack) out.insert(out.end(), data.pieces[i].begin(), data.pieces[i].end());
  return out;
}

}  // namespace execute
