// SPDX-License-Identifier: Apache-2.0
// Trains an encoder on packs instead of padded batches, as for CKBERT: samples have two measures, tokens and negatives of a contrastive
// task; both are balanced over the ranks, and the loss counts the masked tokens of each sample.
#include <ballast/batching/vector_steps.hpp>
#include <ballast/core/random.hpp>
#include <ballast/loss.hpp>
#include <ballast/methods/ckbert.hpp>

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <span>
#include <vector>

int main() {
  constexpr std::int64_t longest = 128, most_negatives = 64;
  ballast::splitmix64 random(1);
  std::vector<std::int64_t> tokens, negatives;  // from your data set
  for (int i = 0; i < 4000; ++i) {
    tokens.push_back(8 + static_cast<std::int64_t>(random() % (longest - 7)));
    negatives.push_back(static_cast<std::int64_t>(random() % (random() % 4 == 0 ? 24 : 4)));
  }
  auto const cost = ballast::sample_cost(ballast::ckbert::encoder("bert-base"));
  auto const plan =
      ballast::plan_steps({tokens, negatives}, {.steps = {.capacity = most_negatives, .ranks = 8, .micro_batches = 4}, .others = {longest}},
                          [&](std::span<std::int64_t const> of) { return cost(of[0]); });
  std::cout << plan.steps() << " steps; " << plan.packs.size() << " packs of " << longest << " tokens instead of " << tokens.size()
            << " padded samples\n";

  std::size_t fullest = 0;
  for (std::size_t p = 1; p < plan.packs.size(); ++p)
    if (plan.packs[p].size() > plan.packs[fullest].size()) fullest = p;

  // A pack whose masked tokens are labelled: the others are not learnt (-100). Samples count by their masked tokens, not by their length.
  std::vector<std::int64_t> labels, cu_seqlens{0};
  for (auto const i : plan.packs[fullest]) {
    for (std::int64_t t = 0; t < tokens[i]; ++t) labels.push_back(random() % 100 < 15 ? 7 : -100);
    cu_seqlens.push_back(static_cast<std::int64_t>(labels.size()));
  }
  auto const masked = ballast::label_counts(labels, cu_seqlens, ballast::label_options{.shift = ballast::label_shift::done});
  std::int64_t all = 0;
  for (auto const n : masked) all += n;
  std::cout << "a pack has " << plan.packs[fullest].size() << " samples with " << all << " masked tokens\n";
  return plan.packs.size() < tokens.size() && 4 * all > 0 ? 0 : 1;
}
