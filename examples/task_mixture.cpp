// SPDX-License-Identifier: Apache-2.0
// Several tasks in one run, some with images and some with text alone, as M6 was trained: an epoch draws each task in its share, and its
// steps balance images and tokens over the ranks. Samples without images have packs and steps of their own.
#include <ballast/batching/vector_steps.hpp>
#include <ballast/core/random.hpp>
#include <ballast/streams/mixture.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <vector>

int main() {
  // Task, image patches and tokens of each sample: from your data set.
  std::vector<std::uint32_t> task;
  std::vector<std::int64_t> patches, tokens;
  ballast::splitmix64 random(1);
  for (int i = 0; i < 6000; ++i) {
    auto const t = static_cast<std::uint32_t>(random() % 3);  // 0: denoising of text, 1: captions, 2: questions about images
    task.push_back(t);
    patches.push_back(t == 0 ? 0 : 64 * (1 + static_cast<std::int64_t>(random() % 4)));
    tokens.push_back(16 + static_cast<std::int64_t>(random() % (t == 0 ? 1000 : 120)));
  }
  constexpr std::array<std::int64_t, 3> share{3, 2, 1};
  auto const epoch = ballast::mixture(task, share, 4000, 7);  // a task of which there are too few samples is repeated

  std::vector<std::int64_t> drawn_patches, drawn_tokens;
  std::array<int, 3> drawn{};
  for (auto const i : epoch) {
    drawn_patches.push_back(patches[i]);
    drawn_tokens.push_back(tokens[i]);
    ++drawn[task[i]];
  }
  auto const plan =
      ballast::plan_steps({drawn_patches, drawn_tokens},
                          {.steps = {.capacity = 1024, .ranks = 8, .micro_batches = 2}, .others = {1024}, .separate = std::size_t{0}});
  std::cout << "denoising " << drawn[0] << ", captions " << drawn[1] << ", questions " << drawn[2] << "\n"
            << plan.steps() << " steps; distance between ranks: patches " << plan.balance[0].mean_ratio << ", tokens "
            << plan.balance[1].mean_ratio << "\n";

  std::size_t mixed = 0;  // packs of samples with images and of others
  for (auto const pack : plan.packs)
    for (auto const i : pack) mixed += (drawn_patches[i] == 0) != (drawn_patches[pack[0]] == 0) ? 1U : 0U;
  return mixed == 0 && drawn == std::array<int, 3>{2000, 1334, 666} ? 0 : 1;
}
