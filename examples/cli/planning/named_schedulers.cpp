// SPDX-License-Identifier: Apache-2.0
#include "commands/options.hpp"
#include "errors.hpp"
#include "planning/schedulers.hpp"
#include "report/words.hpp"

#include <ballast/sharding/check.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace ballast_cli {

std::vector<scheduler> schedulers_named(std::string const& option, std::string const& words) {
  if (words.empty()) return {schedulers().begin(), schedulers().end()};
  std::vector<scheduler> out;
  for (auto const& word : words_of(words)) out.push_back(named(option, word, schedulers()));
  return out;
}

void require_plan(scheduler const& by, ballast::shards<> const& shards, std::span<std::int64_t const> lengths, scheduling_setting const& on,
                  std::uint64_t batch) {
  auto const where = "batch " + std::to_string(batch) + ": " + std::string(by.word);
  auto const longest = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  auto const of_all = by.for_longest && shards.status == ballast::status::infeasible && on.longest > longest;
  if (shards.status != ballast::status::feasible)
    throw no_plan(where + " finds no plan for its " + counted(lengths.size(), "sample") +
                  (of_all ? "; its groups are for the longest sample of all, of " : ", the longest of ") +
                  counted(static_cast<std::uint64_t>(of_all ? on.longest : longest), "token") +
                  (shards.status == ballast::status::infeasible ? ", which has no room; a larger --capacity or more --gpus make room"
                                                                : "; another method, --capacity or --batch may have one"));
  if (auto const verdict = check_shards(shards, lengths, on.options); !verdict.valid())
    throw std::logic_error(where + ": " + describe(verdict));
}

}  // namespace ballast_cli
