// SPDX-License-Identifier: Apache-2.0
// Weights the loss so that packing changes no gradient: two ranks hold unequal packs, and the framework averages their gradients.
#include <ballast/loss.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <vector>

int main() {
  // Each rank holds the labels of a packed row (-100: not learnt) and the positions at which its sequences begin and end.
  struct {
    std::vector<std::int64_t> labels, cu_seqlens;
  } const rank[2] = {{{-100, -100, 7, 3, -100, 5}, {0, 4, 6}}, {{-100, 4, 4, 9, 1, 2, 8, 6, -100, 3}, {0, 8, 10}}};

  auto preset = ballast::loss_preset_named("hf");  // or a normaliser and a gradient path of your own
  preset.path.ranks = 2;

  ballast::loss_totals totals;  // an all-reduce in your trainer: the sum of totals.words over the ranks
  for (auto const& r : rank) totals += ballast::loss_totals_of(ballast::label_counts(r.labels, r.cu_seqlens), preset.normaliser);

  double trained = 0, naive = 0, expected = 0;
  for (auto const& r : rank) {
    auto const counts = ballast::label_counts(r.labels, r.cu_seqlens);
    auto const weights = ballast::loss_weights(counts, totals, preset.normaliser, preset.path);
    auto const per_token = ballast::token_weights<double>(weights, r.labels, r.cu_seqlens);
    double loss = 0, sum = 0, tokens = 0;
    for (std::size_t t = 0; t < r.labels.size(); ++t) {
      auto const token_loss = 1.0 / static_cast<double>(r.labels.size());  // from your model: cross entropy without reduction
      loss += per_token[t] * token_loss;                                   // then loss.backward()
      if (per_token[t] != 0) sum += token_loss, ++tokens;
    }
    trained += loss / 2;  // the framework averages
    naive += sum / tokens / 2;
    expected += sum / static_cast<double>(totals.tokens());
  }
  std::cout << "mean over " << totals.tokens() << " tokens: " << expected << "\nweighted by ballast:  " << trained
            << "\nmean of rank means:   " << naive << "\n";
  return std::abs(trained - expected) < 1e-12 ? 0 : 1;
}
