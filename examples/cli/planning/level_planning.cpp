// SPDX-License-Identifier: Apache-2.0
#include "planning/level_planning.hpp"

#include <ballast/levels/choose.hpp>
#include <ballast/methods/hbp.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace ballast_cli {

namespace {

using ballast::timed_level;

/// Degrees that share out the GPUs and the heads of attention evenly.
[[nodiscard]] std::vector<std::uint32_t> degrees_of(ballast::sequence_parallel_setup const& on) {
  std::vector<std::uint32_t> degrees;
  for (std::uint32_t sp = 1; sp <= 64 && on.devices % sp == 0 && on.model.query_heads % std::int64_t{sp} == 0; sp *= 2)
    degrees.push_back(sp);
  return degrees;
}

/// The length asked for and its halves, down to 1024 tokens.
[[nodiscard]] std::vector<std::int64_t> lengths_to_try(std::int64_t longest) {
  std::vector<std::int64_t> out{longest};
  while (out.back() / 2 >= 1024) out.push_back(out.back() / 2);
  return out;
}

/// HBP's profile: what the samples up to each length take in packs of it.
[[nodiscard]] std::vector<ballast::hbp::profiled_level> profile_of(ballast::histogram const& h,
                                                                   std::vector<timed_level> const& candidates) {
  std::vector<ballast::hbp::profiled_level> out;
  for (auto const& [at, time] : candidates) {
    std::int64_t tokens = 0, squares = 0;
    for (std::size_t i = 0; i < h.lengths.size() && h.lengths[i] <= at.capacity; ++i) {
      tokens += h.lengths[i] * static_cast<std::int64_t>(h.counts[i]);
      squares += h.lengths[i] * h.lengths[i] * static_cast<std::int64_t>(h.counts[i]);
    }
    if (tokens > 0) out.push_back({at, time(static_cast<std::uint64_t>((tokens - 1) / at.capacity + 1), tokens, squares), tokens});
  }
  return out;
}

}  // namespace

ballast::histogram within(ballast::histogram const& lengths, std::int64_t longest, ballast::oversize policy) {
  std::map<std::int64_t, std::uint64_t> counts;
  for (std::size_t i = 0; i < lengths.lengths.size(); ++i) {
    auto const length = lengths.lengths[i];
    auto const count = lengths.counts[i];
    if (length <= longest) {
      counts[length] += count;
    } else if (policy == ballast::oversize::truncate) {
      counts[longest] += count;
    } else if (policy == ballast::oversize::split) {
      counts[longest] += count * static_cast<std::uint64_t>(length / longest);
      if (length % longest != 0) counts[length % longest] += count;
    }
  }
  ballast::histogram out;
  for (auto const& [length, count] : counts) {
    out.lengths.push_back(length);
    out.counts.push_back(count);
  }
  return out;
}

std::vector<timed_level> candidate_levels(ballast::sequence_parallel_setup const& on, std::int64_t longest) {
  return ballast::modelled_levels(on, lengths_to_try(longest), degrees_of(on));
}

level_choice choose_among(std::vector<timed_level> const& candidates, level_rule rule, ballast::histogram const& lengths,
                          std::size_t most_levels) {
  if (rule == level_rule::hbp) most_levels = 0;  // the choice it is measured by has no limit
  auto exact = ballast::choose_levels(lengths, candidates, most_levels);
  level_choice out{
      .levels = std::move(exact.levels), .rule = rule, .candidates = candidates.size(), .most_levels = most_levels, .time = exact.time};
  if (rule != level_rule::hbp || out.levels.empty()) return out;
  out.levels.clear();
  for (auto const& at : ballast::hbp::select_levels(profile_of(lengths, candidates)))
    out.levels.push_back(*std::find_if(candidates.begin(), candidates.end(), [&](timed_level const& c) { return c.setting == at; }));
  out.time->value = ballast::time_of_levels(lengths, out.levels);
  return out;
}

ballast::level_plan<> plan_of(std::span<std::int64_t const> lengths, level_choice const& choice, ballast::level_options options) {
  if (choice.rule != level_rule::hbp) return ballast::plan_levels(lengths, choice.levels, options);
  options.fill = ballast::level_fill::always;
  return ballast::plan_levels(lengths, choice.levels, options, ballast::attention_only);
}

}  // namespace ballast_cli
