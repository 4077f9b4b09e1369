// SPDX-License-Identifier: Apache-2.0
// Schedulers of frameworks beside what the published code returned, in the folder rivals of BALLAST_TRACES: 20 drawn batches.
#include <ballast/cost/presets.hpp>
#include <ballast/methods/batch_rebalance.hpp>
#include <ballast/methods/megatron_dp_balanced.hpp>
#include <ballast/methods/megatron_dynamic_cp.hpp>
#include <ballast/methods/slime.hpp>

#include "support/catch.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace test_cli_published_schedules {

namespace {

using nlohmann::json;
using lists = std::vector<std::vector<std::uint32_t>>;

std::optional<json> golden(std::string const& name) {
  auto const* const folder = std::getenv("BALLAST_TRACES");
  std::ifstream in(std::string(folder == nullptr ? "." : folder) + "/rivals/" + name + ".json");
  if (!in.good()) {
    WARN("the folder rivals of BALLAST_TRACES has no " + name + ".json, so it is not checked");
    return {};
  }
  return json::parse(in);
}

struct batch {
  std::uint64_t gpus = 0;
  std::int64_t capacity = 0;
  std::vector<std::int64_t> lengths;
};
std::vector<batch> batches() {
  std::vector<batch> out;
  if (auto const read = golden("batches"))
    for (auto const& b : (*read)["cases"]) out.push_back({b["gpus"], b["capacity"], b["lengths"]});
  return out;
}

template <class Packs>
lists as_lists(Packs const& packs) {
  lists out;
  for (auto const p : packs) out.emplace_back(p.begin(), p.end());
  return out;
}

}  // namespace

TEST_CASE("published schedules: Megatron-Core's default_dynamic_cp, slot by slot") {
  auto const read = golden("megatron_default_dynamic_cp");
  if (!read) return;
  auto const of = batches();
  std::size_t failed = 0;
  for (auto const& run : (*read)["runs"]) {
    auto const& b = of[run["id"]];
    ballast::megatron_dynamic_cp::options const o{.capacity = b.capacity,
                                                  .ranks = b.gpus,
                                                  .fewest_ranks = run["min_cp"],
                                                  .micro_batch_multiple = run["vpp"].is_null() ? 1 : run["vpp"].get<std::uint64_t>()};
    auto const plan = ballast::megatron_dynamic_cp::micro_batches(b.lengths, o);
    CAPTURE(run["id"].get<int>(), o.ranks, o.fewest_ranks, o.micro_batch_multiple);
    REQUIRE(plan.status == ballast::status::feasible);
    CHECK(plan.micro_batches.size() % o.micro_batch_multiple == 0);
    if (run.contains("error")) {
      ++failed;
      continue;
    }
    auto ours = json::array();
    for (auto const& m : plan.micro_batches) {
      auto groups = json::array();
      std::uint32_t first = 0;
      for (std::size_t g = 0; g < m.widths.size(); ++g) {
        groups.push_back({first, m.widths[g], std::vector<std::uint32_t>(m.packs[g].begin(), m.packs[g].end())});
        first += m.widths[g];
      }
      ours.push_back(groups);
    }
    CHECK(ours == run["micro_batches"]);
  }
  CHECK(failed == 3);
}

TEST_CASE("published schedules: Megatron-Core's dp_balanced, slot by slot") {
  auto const read = golden("megatron_dp_balanced");
  if (!read) return;
  auto const of = batches();
  for (auto const& run : (*read)["runs"]) {
    auto const& b = of[run["id"]];
    auto const number = [&](char const* key, std::uint64_t otherwise) {
      return run[key].is_null() ? otherwise : run[key].get<std::uint64_t>();
    };
    auto const ranks = number("dp", 1);
    auto const packs = ballast::megatron_dp_balanced::packs(b.lengths, {.capacity = b.capacity * run["cp"].get<std::int64_t>(),
                                                                        .data_ranks = ranks,
                                                                        .max_samples = number("max_num_seqs", 0),
                                                                        .micro_batch_multiple = number("vpp", 1)});
    CAPTURE(run["id"].get<int>(), ranks);
    lists published;
    for (auto const& m : run["micro_batches"])
      for (auto const& pack : m) published.push_back(pack);
    CHECK(as_lists(packs) == published);
  }
}

TEST_CASE("published schedules: slime's three modes, slot by slot") {
  auto const read = golden("slime_dp_schedule");
  if (!read) return;
  auto const of = batches();
  auto const work = ballast::slime::workload(ballast::transformer_preset("llama-3.1-8b"));
  for (auto const& run : (*read)["runs"]) {
    auto const& b = of[run["id"]];
    using ballast::slime::balance;
    auto const how = run["balance_by_flops"] ? balance::by_packs : run["balance_data"] ? balance::by_ranks : balance::in_turn;
    auto const ranks = run["dp"].get<std::size_t>();
    auto const packs = ballast::slime::packs(
        b.lengths, {.capacity = b.capacity * run["cp"].get<std::int64_t>(), .data_ranks = ranks, .balance = how}, work);
    CAPTURE(run["id"].get<int>(), ranks, static_cast<int>(how));
    lists published(packs.size());
    for (std::size_t r = 0; r < ranks; ++r)
      for (std::size_t m = 0; m < run["ranks"][r].size(); ++m)
        published.at(m * ranks + r) = run["ranks"][r][m].get<std::vector<std::uint32_t>>();
    CHECK(as_lists(packs) == published);
  }
}

TEST_CASE("published schedules: transformers' BatchRebalanceSampler, slot by slot") {
  auto const read = golden("transformers_batch_rebalance");
  if (!read) return;
  auto const of = batches();
  for (auto const& run : (*read)["runs"]) {
    auto lengths = of[run["id"]].lengths;
    for (auto& l : lengths) l = (std::min)(l, std::int64_t{8192});
    auto const ranks = run["dp"].get<std::size_t>();
    auto const plan = ballast::batch_rebalance::as_published(lengths, {.ranks = ranks, .micro_batches = run["grad_accum"]});
    CAPTURE(run["id"].get<int>(), ranks);
    lists published(plan.micro_batches.size());
    for (std::size_t r = 0; r < ranks; ++r)
      for (std::size_t m = 0; m < run["rank_micro_batches"][r].size(); ++m)
        published.at(m * ranks + r) = run["rank_micro_batches"][r][m].get<std::vector<std::uint32_t>>();
    CHECK(as_lists(plan.micro_batches) == published);
    CHECK(plan.most.value >= plan.most.lower_bound);
  }
}

}  // namespace test_cli_published_schedules
