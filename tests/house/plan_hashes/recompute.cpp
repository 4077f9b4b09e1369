// SPDX-License-Identifier: Apache-2.0
#include <ballast/recompute.hpp>

#include "stages.hpp"

#include <array>

namespace plan_hashes {

using namespace ballast;

inline void put(digest& d, chain_step const& s) { put(d, s.action, s.block); }
inline void put(digest& d, chain_schedule const& s) { put(d, s.status, s.time, s.steps); }
inline void put(digest& d, chain_figures const& f) { put(d, f.time, f.peak); }
inline void put(digest& d, option_classes const& c) { put(d, c.offsets, c.options, c.counts); }
inline void put(digest& d, selection const& s) { put(d, s.status, s.time, s.memory, s.transfer, s.copies); }
inline void put(digest& d, kept_tensors const& k) { put(d, k.status, k.time, k.memory, k.kept); }

namespace {

void choices() {
  splitmix64 draw(81);
  for (std::size_t const n : {0U, 6U, 40U, 120U}) {
    option_classes items;
    std::int64_t all = 0;
    std::vector<saved_tensor> tensors;
    for (std::size_t k = 0; k < n; ++k) {
      std::vector<memory_option> options;
      auto const ways = between(1, 4, draw);
      auto const kind = between(1, 9, draw) * 100;
      for (std::int64_t j = 0; j < ways; ++j) options.push_back({kind / (j + 1), j * between(1, 3, draw) * 10, j == 3 ? 7 : 0});
      all += options[0].memory;
      items.add(options);
      tensors.push_back({between(1, 90, draw), between(0, 30, draw), between(0, 4, draw), static_cast<std::uint64_t>(between(1, 3, draw))});
    }
    auto const folded = fold(items);
    show("fold_options", std::to_string(n), folded.classes, folded.class_of);
    for (std::int64_t const percent : {30, 60, 90}) {
      auto const name = std::to_string(n) + ',' + std::to_string(percent);
      auto const chosen = choose_options(folded.classes, {.budget = all * percent / 100});
      show("choose_options", name, chosen);
      if (chosen.status == status::feasible) show("option_of_each", name, option_of_each(folded, chosen));
      show("choose_options", name + ",hidden",
           choose_options(folded.classes, {.budget = all * percent / 100, .hidden_transfer = 20}, {.work = 300'000}));
      show("choose_options_greedily", name, choose_options_greedily(folded.classes, {.budget = all * percent / 100, .hidden_transfer = 5}));
      show("keep_tensors", name, keep_tensors(tensors, static_cast<std::int64_t>(n) * percent, {.work = 10'000'000}));
    }
  }
}

void chains() {
  splitmix64 draw(82);
  for (std::size_t const n : {0U, 1U, 7U, 25U}) {
    std::vector<chain_block> chain(n);
    std::int64_t all = 0;
    for (auto& s : chain) {
      s.forward = between(1, 9, draw);
      s.backward = between(1, 9, draw);
      s.output = between(1, 5, draw);
      s.saved = s.output + between(0, 6, draw);
      s.gradient = between(0, 5, draw);
      s.forward_overhead = between(0, 3, draw);
      s.backward_overhead = between(0, 3, draw);
      all += s.saved;
    }
    for (std::int64_t const percent : {20, 50, 100}) {
      auto const name = std::to_string(n) + ',' + std::to_string(percent);
      auto const plan = checkpoint_chain(chain, {.budget = all * percent / 100 + 12, .input = 2});
      show("checkpoint_chain", name, plan);
      show("checkpoint_chain", name + ",slots=20", checkpoint_chain(chain, {.budget = all * percent / 100 + 12, .input = 2, .slots = 20}));
      if (auto const figures = chain_peak(chain, 2, plan.steps)) show("chain_peak", name, *figures);
    }
  }
}

}  // namespace

void recompute() {
  choices();
  chains();
}

}  // namespace plan_hashes
