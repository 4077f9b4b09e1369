// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/search_watch.hpp>
#include <ballast/core/status.hpp>
#include <ballast/recompute/choose.hpp>
#include <ballast/recompute/memory_option.hpp>
#include <ballast/staging/detail/chunk_table.hpp>
#include <ballast/staging/result.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

// The cost of a stage with several chunks. Private.

namespace ballast::inline v0_2::detail {

/// The cost of a stage: bytes that it lacks, then its time. A stage that lacks bytes is worse than any that does not.
struct chunk_cost {
  std::int64_t lacks = 0, time = 0;
  friend constexpr auto operator<=>(chunk_cost const&, chunk_cost const&) = default;
};

/// Costs of stages for given cuts, by selections of options that fit under all rows of the stage.
template <class = when_called>
class chunk_oracle {
 public:
  chunk_oracle(chunk_table<> const& table, search_limits const& limits)
      : table_(table), last_(table.stages()), limits_(limits), budget_(limits, 1 << 14) {}

  [[nodiscard]] search_budget& budget() { return budget_; }

  /// The cost of a stage, by greedy selections.
  [[nodiscard]] chunk_cost cost(std::size_t stage, std::vector<std::size_t> const& cuts) { return known(stage, cuts).cost; }
  /// Improves the selection of a stage by exact ones; returns whether it was not solved before.
  bool solve(std::size_t stage, std::vector<std::size_t> const& cuts) {
    auto& a = known(stage, cuts);
    if (a.solved || !budget_.allows()) return false;
    a.solved = true;
    select(stage, cuts, a, (limits_.work - budget_.spent()) / 4);
    return true;
  }
  /// Whether a stage does not fit, however little its layers hold.
  [[nodiscard]] bool lacks(std::size_t stage, std::vector<std::size_t> const& cuts) const {
    auto const of = table_.measure(stage, cuts);
    return table_.most_held(stage, of.least_of) > room_beside(stage, of);
  }
  /// Figures of a stage, and the options of its layers.
  void fill(std::size_t stage, std::vector<std::size_t> const& cuts, staged_figures& figures, std::vector<std::uint32_t>& option) {
    auto const& a = known(stage, cuts);
    auto const of = table_.measure(stage, cuts);
    figures = {.time = of.time, .added = a.cost.time - of.time, .state = of.state, .working = of.working};
    std::vector<std::int64_t> bytes;
    for (std::size_t c = 0; c < table_.chunks_of(stage).size(); ++c) {
      bytes.push_back(0);
      for (auto i = cuts[table_.chunks_of(stage)[c]]; i < cuts[table_.chunks_of(stage)[c] + 1]; ++i) {
        auto const& o = table_.chain.classes[table_.class_of[i]].options;
        option[i] = a.option.empty() ? free_option(o) : a.option[c][i - cuts[table_.chunks_of(stage)[c]]];
        bytes.back() += o[option[i]].memory;
        figures.transfer += o[option[i]].transfer;
      }
      figures.activations += bytes.back();
    }
    figures.memory = of.state + of.working + table_.most_held(stage, bytes);
  }

 private:
  /// The selection for a stage.
  struct answer {
    chunk_cost cost;
    bool solved = false;                             // by an exact selection, or nothing is left to select
    std::vector<std::vector<std::uint32_t>> option;  // for each chunk, the options of its layers; empty: the ones that cost nothing
  };
  /// The bytes for what layers hold.
  [[nodiscard]] std::int64_t room_beside(std::size_t stage, auto const& of) const {
    return (std::min)(table_.options().capacity[stage] - of.state - of.working, std::int64_t{1} << 58);
  }
  [[nodiscard]] static std::uint32_t free_option(std::vector<memory_option> const& options) {
    std::uint32_t best = 0;
    for (std::uint32_t j = 0; j < options.size(); ++j)
      if (options[j].time == 0 && options[j].transfer == 0 &&
          (options[best].time != 0 || options[best].transfer != 0 || options[j].memory < options[best].memory))
        best = j;
    return best;
  }
  answer& known(std::size_t stage, std::vector<std::size_t> const& cuts) {
    budget_.spend(150);
    auto& [key, last] = last_[stage];
    auto const before = std::exchange(last, nullptr);
    auto same = before != nullptr;
    key.resize(1 + 2 * table_.chunks_of(stage).size(), stage);
    auto* part = key.data();
    for (auto const k : table_.chunks_of(stage))
      for (auto const cut : {cuts[k], cuts[k + 1]}) same = std::exchange(*++part, cut) == cut && same;
    if (same) return *(last = before);
    auto const [at, added] = known_.try_emplace(key);
    if (added) select(stage, cuts, at->second, 0);
    return *(last = &at->second);
  }
  /// Selects options, exactly if the work is enough for a state. Several rows limit the bytes. Their sum is one limit that every selection
  /// keeps; a selection within it that breaks a row is made again with this row in the sum, and at last within less memory.
  void select(std::size_t stage, std::vector<std::size_t> const& cuts, answer& out, std::uint64_t work) {
    auto const of = table_.measure(stage, cuts);
    auto const room = room_beside(stage, of);
    std::size_t tight = 0;
    if (auto const least = table_.most_held(stage, of.least_of, &tight); least > room) {
      out = {.cost = {least - room, of.time}, .solved = true, .option = {}};
      return;
    }
    if (of.bound == 0 && table_.most_held(stage, of.free_of, &tight) <= room) {
      out = {.cost = {0, of.time}, .solved = true, .option = {}};
      return;
    }
    auto const v = table_.chunks_of(stage).size();
    std::vector<std::int64_t> weight(v);
    std::vector<std::vector<std::uint64_t>> counts(v, std::vector<std::uint64_t>(table_.chain.classes.size()));
    for (std::size_t c = 0; c < v; ++c)
      for (auto i = cuts[table_.chunks_of(stage)[c]]; i < cuts[table_.chunks_of(stage)[c] + 1]; ++i) ++counts[c][table_.class_of[i]];
    auto const window = of.hidden(table_.options().hidden_percent);
    std::int64_t added_rows = 0, less = 0;
    for (int tries = 0; tries < 8; ++tries) {
      if (tries < 4) {
        for (std::size_t c = 0; c < v; ++c) weight[c] += table_.row(stage, tight, c);
        ++added_rows;
      }
      auto const budget = added_rows * room - less;
      if (budget < 0) break;
      option_classes items;
      for (std::size_t c = 0; c < v; ++c)
        for (std::size_t k = 0; k < table_.chain.classes.size(); ++k) {
          if (counts[c][k] == 0) continue;
          auto weighed = table_.chain.classes[k].options;
          for (auto& o : weighed) o.memory *= weight[c];
          items.add(weighed, counts[c][k]);
        }
      selection_options const request{.budget = budget, .hidden_transfer = window};
      auto left = limits_;
      left.work = work, left.progress = {};
      auto const chosen = work < 100 ? choose_options_greedily(items, request) : choose_options(items, request, left);
      budget_.spend(chosen.operations + 100);
      if (chosen.status != status::feasible) break;
      auto const option = options_of(cuts, stage, counts, items, chosen);
      std::vector<std::int64_t> bytes(v);
      for (std::size_t c = 0; c < v; ++c)
        for (std::size_t i = 0; i < option[c].size(); ++i)
          bytes[c] += table_.chain.classes[table_.class_of[cuts[table_.chunks_of(stage)[c]] + i]].options[option[c][i]].memory;
      auto const over = table_.most_held(stage, bytes, &tight) - room;
      if (over <= 0) {
        auto const time = of.time + chosen.time.value;
        if (out.option.empty() || time < out.cost.time) {
          out.cost = {0, time};
          out.option = option;
        }
        return;
      }
      if (tries >= 3) less += added_rows * over;
    }
    if (out.option.empty()) take_least(stage, cuts, of.time, window, out);
  }
  /// Lets every layer hold as little as it can.
  void take_least(std::size_t stage, std::vector<std::size_t> const& cuts, std::int64_t time, std::int64_t window, answer& out) const {
    std::int64_t transfer = 0;
    for (auto const k : table_.chunks_of(stage)) {
      auto& taken = out.option.emplace_back();
      for (auto i = cuts[k]; i < cuts[k + 1]; ++i) {
        auto const& o = table_.chain.classes[table_.class_of[i]].options;
        auto const least = std::min_element(o.begin(), o.end(), [](auto const& a, auto const& b) {
          return a.memory != b.memory ? a.memory < b.memory : a.time + a.transfer < b.time + b.transfer;
        });
        taken.push_back(static_cast<std::uint32_t>(least - o.begin()));
        time += least->time;
        transfer += least->transfer;
      }
    }
    out.cost = {0, time + (std::max)(transfer - window, std::int64_t{0})};
  }
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> options_of(std::vector<std::size_t> const& cuts, std::size_t stage,
                                                                   std::vector<std::vector<std::uint64_t>> const& counts,
                                                                   option_classes const& items, selection const& chosen) const {
    std::vector<std::vector<std::uint32_t>> out(counts.size());
    std::size_t item = 0;
    for (std::size_t c = 0; c < counts.size(); ++c) {
      std::vector<std::size_t> first(counts[c].size());  // where the options of a class begin
      for (std::size_t k = 0; k < first.size(); ++k)
        if (counts[c][k] > 0) first[k] = static_cast<std::size_t>(items.offsets[item++]);
      auto left = chosen.copies;
      for (auto i = cuts[table_.chunks_of(stage)[c]]; i < cuts[table_.chunks_of(stage)[c] + 1]; ++i) {
        auto j = first[table_.class_of[i]];
        while (left[j] == 0) ++j;
        --left[j];
        out[c].push_back(static_cast<std::uint32_t>(j - first[table_.class_of[i]]));
      }
    }
    return out;
  }

  chunk_table<> const& table_;
  std::map<std::vector<std::size_t>, answer> known_;                // by stage, and where its chunks begin and end
  std::vector<std::pair<std::vector<std::size_t>, answer*>> last_;  // of each stage, what was asked for last
  search_limits const& limits_;
  search_budget budget_;
};

}  // namespace ballast::inline v0_2::detail
