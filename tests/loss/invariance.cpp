// SPDX-License-Identifier: Apache-2.0
// Training on packs equals training without: the gradient of a packed, sharded and accumulated step of a small transformer is that of the
// same sequences one by one on one device, under every normaliser.
#include <ballast/layout/zigzag.hpp>
#include <ballast/loss.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/transformer.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace test_loss_invariance {

using namespace ballast;
using ballast_test::between;

namespace {

using gradient = std::vector<double>;
ballast_test::transformer const model(5);
label_options const shifted{.shift = label_shift::done};

struct sequence {
  std::vector<std::int64_t> tokens, labels;
  std::size_t rank = 0, micro_batch = 0;
  [[nodiscard]] std::int64_t counted() const {
    return static_cast<std::int64_t>(std::count_if(labels.begin(), labels.end(), [](auto l) { return l != -100; }));
  }
};

// A step, and how it is spread: sequences over ranks and micro-batches at random, so that some get nothing.
struct spread_step {
  std::vector<sequence> sequences;
  gradient_path path;
};
spread_step draw_step(splitmix64& draw) {
  auto const either = [&] { return draw() % 2 == 0 ? gradient_reduction::sum : gradient_reduction::average; };
  spread_step out;
  out.path.ranks = between(1, 3, draw);
  out.path.context = between(1, 3, draw);
  out.path.micro_batches = between(1, 3, draw);
  out.path.across_ranks = either();
  out.path.across_context = either();
  out.path.across_micro_batches = either();
  out.path.divides_by_tokens = draw() % 4 == 0;
  out.sequences.resize(static_cast<std::size_t>(between(3, 9, draw)));
  for (auto& s : out.sequences) {
    auto const silent = draw() % 6 == 0;
    auto const length = between(1, 12, draw);
    for (std::int64_t t = 0; t < length; ++t) {
      s.tokens.push_back(between(0, model.vocabulary - 1, draw));
      auto const label = between(0, model.vocabulary - 1, draw);
      s.labels.push_back(silent || draw() % 3 == 0 ? -100 : label);
    }
    s.rank = static_cast<std::size_t>(between(0, out.path.ranks - 1, draw));
    s.micro_batch = static_cast<std::size_t>(between(0, out.path.micro_batches - 1, draw));
  }
  out.sequences[0].labels[0] = 1;  // something is counted
  return out;
}

// The gradient of one sequence's summed loss, alone on one device.
gradient alone(sequence const& s) {
  std::vector<std::int64_t> const cu{0, static_cast<std::int64_t>(s.tokens.size())};
  std::vector<std::size_t> const owner(s.tokens.size(), 0);
  std::vector<double> weights;
  for (auto l : s.labels) weights.push_back(l == -100 ? 0 : 1);
  std::vector<gradient> out(1, gradient(model.parameters.size()));
  model.step(s.tokens, s.labels, cu, weights, owner, out);
  return out[0];
}

void add(gradient& sum, gradient const& part, double factor) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += factor * part[i];
}

// The sequences of one micro-batch of one rank as a packed row, each padded so that it divides over the context ranks.
struct row {
  std::vector<std::int64_t> tokens, labels, cu{0};
  std::vector<std::size_t> owner;
};
row pack(spread_step const& step, std::size_t rank, std::size_t micro_batch) {
  row out;
  auto const multiple = static_cast<std::size_t>(2 * step.path.context);
  for (auto const& s : step.sequences) {
    if (s.rank != rank || s.micro_batch != micro_batch) continue;
    out.tokens.insert(out.tokens.end(), s.tokens.begin(), s.tokens.end());
    out.labels.insert(out.labels.end(), s.labels.begin(), s.labels.end());
    while (out.tokens.size() % multiple != 0) {
      out.tokens.push_back(0);
      out.labels.push_back(-100);
    }
    out.cu.push_back(static_cast<std::int64_t>(out.tokens.size()));
  }
  out.owner.resize(out.tokens.size());
  for (std::int64_t r = 0; r < step.path.context; ++r)
    for (auto t : zigzag_indices<std::int64_t>(out.cu, zigzag{step.path.context}, r))
      out.owner[static_cast<std::size_t>(t)] = static_cast<std::size_t>(r);
  return out;
}

// Counts of whole sequences from what each context rank sees of them.
std::vector<std::int64_t> counts_of(row const& r, std::int64_t context) {
  std::vector<std::int64_t> sum(r.cu.size() - 1), cu;
  for (auto at : r.cu) cu.push_back(at / context);
  for (std::int64_t rank = 0; rank < context; ++rank) {
    std::vector<std::int64_t> labels;
    for (auto t : zigzag_indices<std::int64_t>(r.cu, zigzag{context}, rank)) labels.push_back(r.labels[static_cast<std::size_t>(t)]);
    auto const part = label_counts(labels, cu, shifted);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
  }
  return sum;
}

// What a framework of this gradient path hands its optimiser, when the sequences are weighted by the library.
gradient trained(spread_step const& step, loss_normaliser const& normaliser) {
  auto const& path = step.path;
  auto const ranks = static_cast<std::size_t>(path.ranks), micro_batches = static_cast<std::size_t>(path.micro_batches),
             context = static_cast<std::size_t>(path.context);
  std::vector<loss_totals> of_rank(ranks);
  std::vector<std::vector<row>> rows(ranks);
  for (std::size_t r = 0; r < ranks; ++r)
    for (std::size_t m = 0; m < micro_batches; ++m) {
      rows[r].push_back(pack(step, r, m));
      of_rank[r] += loss_totals_of(counts_of(rows[r][m], path.context), normaliser);
    }
  loss_totals totals;  // the all-reduce, over the context ranks too
  for (auto const& t : of_rank)
    for (std::size_t c = 0; c < context; ++c)
      for (std::size_t i = 0; i < t.words.size(); ++i) totals.words[i] += t.words[i];
  totals = totals.shared_by(path.context);

  auto const divisor = [](gradient_reduction how, std::int64_t n) {
    return how == gradient_reduction::average ? 1.0 / static_cast<double>(n) : 1.0;
  };
  gradient out(model.parameters.size());
  for (std::size_t r = 0; r < ranks; ++r)
    for (auto const& row : rows[r]) {
      auto const counts = counts_of(row, path.context);
      auto const part = normaliser.scope == loss_scope::rank ? of_rank[r] : loss_totals_of(counts, normaliser);
      auto const weights = token_weights<double>(loss_weights(counts, totals, normaliser, path, part), row.labels, row.cu, shifted);
      std::vector<gradient> gradients(context, gradient(model.parameters.size()));
      model.step(row.tokens, row.labels, row.cu, weights, row.owner, gradients);
      for (auto const& g : gradients) add(out, g, divisor(path.across_micro_batches, path.micro_batches));
    }
  auto const scale = divisor(path.across_context, path.context) * divisor(path.across_ranks, path.ranks);
  for (auto& x : out) x *= scale / (path.divides_by_tokens ? static_cast<double>(totals.tokens()) : 1.0);
  return out;
}

double relative_error(gradient const& a, gradient const& b) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference = (std::max)(difference, std::abs(a[i] - b[i]));
    size = (std::max)(size, std::abs(b[i]));
  }
  return difference / size;
}

// One step with all that its loss is made of, unpacked.
struct unpacked {
  spread_step const& step;
  std::vector<gradient> of_sequence;
  std::vector<double> counts;
  explicit unpacked(spread_step const& s) : step(s) {
    for (auto const& one : s.sequences) {
      of_sequence.push_back(alone(one));
      counts.push_back(static_cast<double>(one.counted()));
    }
  }
  // sum over the sequences that are counted of f(T)
  template <class F, class Pick>
  double sum(F const& f, Pick const& pick) const {
    double out = 0;
    for (std::size_t i = 0; i < counts.size(); ++i)
      if (counts[i] > 0 && pick(step.sequences[i])) out += f(counts[i]);
    return out;
  }
  // sum of weight(i) times the gradient of sequence i
  template <class Weight>
  gradient of(Weight const& weight) const {
    gradient out(model.parameters.size());
    for (std::size_t i = 0; i < counts.size(); ++i)
      if (counts[i] > 0) add(out, of_sequence[i], weight(i));
    return out;
  }
};
auto const one = [](double) { return 1.0; };
auto const all = [](sequence const&) { return true; };

}  // namespace

TEST_CASE("transformer: its backward pass is the derivative of its loss") {
  splitmix64 draw(1);
  auto const step = draw_step(draw);
  auto const r = pack(step, step.sequences[0].rank, step.sequences[0].micro_batch);
  std::vector<double> weights;
  for (auto l : r.labels) weights.push_back(l == -100 ? 0.0 : 0.25 + static_cast<double>(draw() % 4));
  auto const loss = [&](ballast_test::transformer const& m, std::vector<gradient>& g) {
    return m.step(r.tokens, r.labels, r.cu, weights, r.owner, g);
  };
  std::vector<gradient> exact(3, gradient(model.parameters.size())), unused = exact;
  loss(model, exact);
  for (std::size_t i = 0; i < model.parameters.size(); i += 7) {
    auto above = model, below = model;
    above.parameters[i] += 1e-5;
    below.parameters[i] -= 1e-5;
    auto const numeric = (loss(above, unused) - loss(below, unused)) / 2e-5;
    CHECK(std::abs(numeric - (exact[0][i] + exact[1][i] + exact[2][i])) < 1e-8);
  }
}

TEST_CASE("loss_weights: a packed, sharded, accumulated step has the gradient of the unpacked one") {
  splitmix64 draw(20);
  for (int round = 0; round < 30; ++round) {
    auto const step = draw_step(draw);
    unpacked const u(step);
    CAPTURE(round, step.path.ranks, step.path.context, step.path.micro_batches);
    auto const tokens = u.sum([](double t) { return t; }, all), counted = u.sum(one, all);
    auto const all_sequences = static_cast<double>(step.sequences.size());
    auto const agrees = [&](loss_normaliser const& normaliser, auto const& weight) {
      return relative_error(trained(step, normaliser), u.of(weight)) <= 1e-12;
    };
    CHECK(agrees(loss_normaliser::sum(), [](std::size_t) { return 1.0; }));
    CHECK(agrees(loss_normaliser::token_mean(), [&](std::size_t) { return 1 / tokens; }));
    CHECK(agrees(loss_normaliser::sample_mean(), [&](std::size_t i) { return 1 / (counted * u.counts[i]); }));
    CHECK(agrees(loss_normaliser::sequence_mean(), [&](std::size_t) { return 1 / counted; }));
    CHECK(agrees(loss_normaliser::fixed_length(17), [&](std::size_t) { return 1 / (counted * 17); }));
    CHECK(agrees({.divisor = loss_divisor::length, .length = 17}, [&](std::size_t) { return 1 / 17.0; }));
    CHECK(agrees({.power = 1, .divisor = loss_divisor::sequences, .count_empty = true},
                 [&](std::size_t i) { return 1 / (all_sequences * u.counts[i]); }));
    CHECK(
        agrees({.power = 0.5, .divisor = loss_divisor::sequences}, [&](std::size_t i) { return 1 / (counted * std::sqrt(u.counts[i])); }));
    for (auto const p : {0.0, 0.2, 0.5, 0.7, 1.0}) {
      auto const weight = u.sum([&](double t) { return std::pow(t, 1 - p); }, all);
      CHECK(agrees(loss_normaliser::length_power(p), [&](std::size_t i) { return std::pow(u.counts[i], -p) / weight; }));
    }

    // means of parts, which depend on the partition by definition
    auto const ranks = static_cast<double>(step.path.ranks), parts = ranks * static_cast<double>(step.path.micro_batches);
    auto const of_rank = [&](std::size_t i) { return [&, i](sequence const& s) { return s.rank == step.sequences[i].rank; }; };
    auto const of_micro_batch = [&](std::size_t i) {
      return [&, i](sequence const& s) { return s.rank == step.sequences[i].rank && s.micro_batch == step.sequences[i].micro_batch; };
    };
    auto const identity = [](double t) { return t; };
    CHECK(agrees(loss_normaliser::token_mean(loss_scope::rank), [&](std::size_t i) { return 1 / (ranks * u.sum(identity, of_rank(i))); }));
    CHECK(agrees(loss_normaliser::square_root(loss_scope::rank), [&](std::size_t i) {
      return 1 / (ranks * std::sqrt(u.counts[i]) * u.sum([](double t) { return std::sqrt(t); }, of_rank(i)));
    }));
    CHECK(agrees(loss_normaliser::sample_mean(loss_scope::micro_batch),
                 [&](std::size_t i) { return 1 / (parts * u.counts[i] * u.sum(one, of_micro_batch(i))); }));
    CHECK(agrees(loss_normaliser::ave_token(), [&](std::size_t i) { return counted / (ranks * u.sum(one, of_rank(i)) * tokens); }));
  }
}

TEST_CASE("loss_weights: means of means are another loss, and the test above sees it") {
  splitmix64 draw(21);
  int seen = 0, spread = 0;
  for (int round = 0; round < 20; ++round) {
    auto const step = draw_step(draw);
    if (step.path.ranks * step.path.micro_batches == 1) continue;
    ++spread;
    auto const right = trained(step, loss_normaliser::token_mean());
    seen += relative_error(trained(step, loss_normaliser::token_mean(loss_scope::micro_batch)), right) > 0.01 ? 1 : 0;
  }
  CHECK(spread >= 12);
  CHECK(seen == spread);
}

TEST_CASE("loss_weights: weights of shards instead of whole sequences are another loss too") {
  splitmix64 draw(22);
  auto step = draw_step(draw);
  while (step.path.context == 1) step = draw_step(draw);
  auto const normaliser = loss_normaliser::sample_mean();
  unpacked const u(step);
  auto const counted = u.sum(one, all);
  auto const right = u.of([&](std::size_t i) { return 1 / (counted * u.counts[i]); });
  CHECK(relative_error(trained(step, normaliser), right) <= 1e-12);
  // each context rank divides by what it sees itself, as a mean over its own part of every sequence
  gradient wrong(model.parameters.size());
  for (auto const& s : step.sequences) {
    spread_step const single{{s}, {.context = step.path.context}};
    auto const r = pack(single, s.rank, s.micro_batch);
    for (std::size_t c = 0; c < static_cast<std::size_t>(step.path.context); ++c) {
      std::vector<double> weights(r.labels.size());
      double seen = 0;
      for (std::size_t t = 0; t < weights.size(); ++t) seen += r.owner[t] == c && r.labels[t] != -100 ? 1 : 0;
      for (std::size_t t = 0; t < weights.size(); ++t)
        weights[t] = r.owner[t] == c && r.labels[t] != -100 ? 1 / (seen * counted * static_cast<double>(step.path.context)) : 0;
      std::vector<gradient> g(static_cast<std::size_t>(step.path.context), gradient(model.parameters.size()));
      model.step(r.tokens, r.labels, r.cu, weights, r.owner, g);
      for (auto const& part : g) add(wrong, part, 1);
    }
  }
  CHECK(relative_error(wrong, right) > 0.01);
}

}  // namespace test_loss_invariance
