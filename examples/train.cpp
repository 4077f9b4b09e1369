// SPDX-License-Identifier: Apache-2.0
// Trains a small model on planned, packed batches; its backward pass is written out. It shows that the gradient of a packed step on several
// ranks is that of its samples one by one, and that a run which is stopped and resumed ends with the same parameters.
#include <ballast/core/random.hpp>
#include <ballast/cost.hpp>
#include <ballast/layout.hpp>
#include <ballast/loss.hpp>
#include <ballast/plan.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <span>
#include <vector>

namespace {

using numbers = std::vector<double>;
using integers = std::vector<std::int64_t>;
constexpr std::size_t vocabulary = 16, longest = 128;
constexpr std::uint64_t ranks = 4;

struct corpus {
  integers lengths;
  std::vector<integers> tokens, labels;  // a label of -100 is not learnt: here the first third of a sample, its prompt
};

corpus draw_corpus(std::size_t samples) {
  corpus out;
  ballast::splitmix64 draw(7);
  for (std::size_t i = 0; i < samples; ++i) {
    integers tokens(4 + draw() % (draw() % 8 == 0 ? longest - 3 : 28));
    for (std::size_t t = 0; t < tokens.size(); ++t)
      tokens[t] =
          static_cast<std::int64_t>((draw() % 4 == 0 || t == 0 ? draw() : 3 * static_cast<std::uint64_t>(tokens[t - 1]) + 1) % vocabulary);
    out.lengths.push_back(static_cast<std::int64_t>(tokens.size()));
    out.labels.push_back(tokens);
    std::fill_n(out.labels.back().begin(), tokens.size() / 3, -100);
    out.tokens.push_back(tokens);
  }
  return out;
}

// The model: the logits of the next token are a row of parameters for the token before, plus a row for that token's position.
// Returns the weighted cross entropy, and adds its gradient.
double forward_backward(numbers const& parameters, std::int64_t before, std::int64_t position, std::int64_t label, double weight,
                        numbers& gradient) {
  auto const a = static_cast<std::size_t>(before) * vocabulary, b = (vocabulary + static_cast<std::size_t>(position)) * vocabulary;
  std::array<double, vocabulary> power;
  double sum = 0;
  for (std::size_t v = 0; v < vocabulary; ++v) sum += power[v] = std::exp(parameters[a + v] + parameters[b + v]);
  for (std::size_t v = 0; v < vocabulary; ++v) {
    auto const slope = weight * (power[v] / sum - (v == static_cast<std::size_t>(label) ? 1 : 0));
    gradient[a + v] += slope;
    gradient[b + v] += slope;
  }
  return weight * std::log(sum / power[static_cast<std::size_t>(label)]);
}

// What a rank needs of a pack: the row's arrays, tokens and labels, and how many labels each sample has.
struct micro_batch {
  ballast::packed_row<std::int64_t> row;
  integers tokens, labels, counts;
};

micro_batch collate(corpus const& data, std::span<std::uint32_t const> pack) {
  micro_batch out{ballast::packed_row<std::int64_t>(pack, data.lengths), {}, {}, {}};
  for (auto const sample : pack) {
    out.tokens.insert(out.tokens.end(), data.tokens[sample].begin(), data.tokens[sample].end());
    out.labels.insert(out.labels.end(), data.labels[sample].begin(), data.labels[sample].end());
  }
  out.counts = ballast::label_counts(out.labels, out.row.cu_seqlens());
  return out;
}

// One rank's gradient of a step. Each weighted loss is added to its micro-batch's gradient; the token before predicts a label.
numbers gradient_of(numbers const& parameters, std::vector<micro_batch> const& batches, ballast::loss_totals const& totals,
                    ballast::loss_preset const& preset, double& loss) {
  numbers gradient(parameters.size());
  for (auto const& batch : batches) {
    auto const weights = ballast::loss_weights(batch.counts, totals, preset.normaliser, preset.path);
    auto const per_token = ballast::token_weights<double>(weights, batch.labels, batch.row.cu_seqlens());
    for (std::size_t t = 1; t < per_token.size(); ++t)
      if (per_token[t] != 0)
        loss += forward_backward(parameters, batch.tokens[t - 1], batch.row.position_ids()[t - 1], batch.labels[t], per_token[t], gradient);
  }
  return gradient;
}

// The gradient of the same samples without packing and without ranks: the mean over all labels of the step.
numbers unpacked_gradient(numbers const& parameters, corpus const& data, ballast::batching<> const& plan, std::size_t step) {
  double labels = 0, loss = 0;
  auto const each_label = [&](auto const& body) {
    for (auto const pack : plan.packs_of(step))
      for (auto const i : pack)
        for (std::size_t t = 1; t < data.tokens[i].size(); ++t)
          if (data.labels[i][t] != -100) body(data.tokens[i][t - 1], static_cast<std::int64_t>(t - 1), data.labels[i][t]);
  };
  each_label([&](auto...) { ++labels; });
  numbers gradient(parameters.size());
  each_label(
      [&](auto before, auto position, auto label) { loss += forward_backward(parameters, before, position, label, 1 / labels, gradient); });
  return gradient;
}

double distance(numbers const& a, numbers const& b) {
  double most = 0;
  for (std::size_t k = 0; k < a.size(); ++k) most = (std::max)(most, std::abs(a[k] - b[k]));
  return most;
}

// What a checkpoint holds: the parameters, and a few integers of the run.
struct checkpoint {
  numbers parameters = numbers((vocabulary + longest) * vocabulary);
  std::vector<std::uint64_t> run;
};

// Trains for at most so many steps. Returns the largest distance of a packed gradient from the unpacked one.
double train(corpus const& data, checkpoint& at, std::uint64_t most_steps) {
  ballast::training_run run(data.lengths,
                            {.data = {.steps = {.capacity = 128, .ranks = ranks, .micro_batches = 2, .seed = 2026}},
                             .epochs = 2,
                             .order = ballast::run_order{.order = ballast::curriculum_order::shuffled_buckets, .buckets = 4}},
                            ballast::token_cost{});
  if (!at.run.empty()) run.resume(ballast::run_state::from_words(at.run));
  auto preset = ballast::loss_preset_named("hf");  // the mean over all labels of a step; ranks average their gradients
  preset.path.ranks = ranks;
  double worst = 0;
  while (!run.done() && most_steps-- > 0) {
    auto const now = run.next();
    std::vector<std::vector<micro_batch>> batches(ranks);
    ballast::loss_totals totals;  // an all-reduce in your trainer: the sum of totals.words over the ranks
    for (std::size_t rank = 0; rank < ranks; ++rank)
      for (auto const pack : run.packs_of(rank)) {
        batches[rank].push_back(collate(data, pack));
        totals += ballast::loss_totals_of(batches[rank].back().counts, preset.normaliser);
      }
    numbers mean(at.parameters.size());  // another all-reduce: the mean of the ranks' gradients
    double loss = 0;
    for (auto const& mine : batches) {
      auto const gradient = gradient_of(at.parameters, mine, totals, preset, loss);
      for (std::size_t k = 0; k < mean.size(); ++k) mean[k] += gradient[k] / static_cast<double>(ranks);
    }
    worst =
        (std::max)(worst, distance(mean, unpacked_gradient(at.parameters, data, run.plan().steps, static_cast<std::size_t>(now.place))));
    for (std::size_t k = 0; k < mean.size(); ++k) at.parameters[k] -= 8 * mean[k];  // stochastic gradient descent
    if (now.step % 16 == 0)
      std::cout << "epoch " << now.epoch << ", step " << now.step << " of " << run.steps() << ": loss " << loss / static_cast<double>(ranks)
                << '\n';
  }
  at.run = run.state().words();
  return worst;
}

}  // namespace

int main() {
  auto const data = draw_corpus(1500);
  checkpoint straight, resumed;
  auto const worst = train(data, straight, SIZE_MAX);
  std::cout << "gradients of packed steps differ from unpacked ones by at most " << worst << "\nstop in the second epoch, and resume:\n";
  static_cast<void>(train(data, resumed, 50));
  static_cast<void>(train(data, resumed, SIZE_MAX));
  auto const same = resumed.parameters == straight.parameters;
  std::cout << (same ? "the same parameters\n" : "other parameters\n");
  return worst < 1e-12 && same ? 0 : 1;
}
