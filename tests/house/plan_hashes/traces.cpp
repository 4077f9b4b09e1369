// SPDX-License-Identifier: Apache-2.0
#include <ballast/batching/plan_steps.hpp>
#include <ballast/core/classes.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/packing.hpp>
#include <ballast/plan/plan_data.hpp>

#include "plan.hpp"
#include "runs.hpp"

#include <fstream>
#include <sstream>

namespace plan_hashes {

using namespace ballast;

namespace {

/// The columns of a trace; none if there is no such file.
std::vector<numbers> read(std::string const& file) {
  std::vector<numbers> columns;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream row(line);
    std::size_t c = 0;
    for (std::int64_t value = 0; row >> value; ++c) {
      if (c == columns.size()) columns.emplace_back();
      columns[c].push_back(value);
    }
  }
  return columns;
}

struct trace {
  char const* name;
  std::size_t columns;  // whose sum is the length
  std::int64_t capacity;
};
constexpr trace all[] = {{"arxiv_summarization_llama2", 2, 4096},
                         {"azure_llm_2023_conv", 2, 8192},
                         {"gsm8k_train_approx", 2, 2048},
                         {"mooncake_fast25_conversation", 2, 131072},
                         {"omnibal_vlm_sft", 1, 4096},
                         {"openchat_v1_sft", 1, 8192},
                         {"repo_source_files_approx", 1, 8192},
                         {"servegen_deepseek_r1_sampled", 2, 8192},
                         {"servegen_mm_image_sampled", 2, 8192}};

}  // namespace

void traces(std::string const& folder) {
  auto const model = transformer_preset("llama-3.1-8b");
  auto const cost = sample_cost(model);
  for (auto const& t : all) {
    auto const columns = read(folder + '/' + t.name + ".txt");
    if (columns.empty()) continue;
    numbers lengths;
    for (std::size_t i = 0; i < columns[0].size(); ++i) {
      auto const length = columns[0][i] + (t.columns == 2 ? columns[1][i] : 0);
      if (length > 0) lengths.push_back((std::min)(length, t.capacity));
    }
    for (auto const capacity : {t.capacity, 2 * t.capacity + 96}) {
      auto const name = std::string(t.name) + ',' + std::to_string(capacity);
      packing_options const packed{.capacity = capacity};
      batching_options const steps{.capacity = capacity, .ranks = 8, .left_over = left_over::shorten};
      batching_options const many{.capacity = capacity, .ranks = 32, .micro_batches = 4, .seed = 1};
      show("trace pack_with_search", name, pack(lengths, packed, search_limits{}));
      show("trace best_fit_decreasing", name, best_fit_decreasing(lengths, packed));
      show("trace next_fit", name, next_fit(lengths, packed));
      show("trace near_optimal", name, near_optimal(lengths, packed, {.work = 20'000'000}));
      show("trace plan_steps", name, plan_steps(lengths, steps, cost));
      show("trace plan_steps", name + ",many", plan_steps(lengths, many, cost));
      show_data("trace ", name, plan_data(lengths, {.steps = steps}, model), {.steps = steps});
      show_data("trace ", name + ",many", plan_data(lengths, {.steps = many}, model), {.steps = many});
    }
  }
  if (auto const columns = read(folder + "/omnibal_vlm_sft.txt"); columns.size() >= 2) {
    sample_measures const samples{columns[1], columns[0]};
    vector_packing_options const o{.capacity = {9, 4096}, .oversize = oversize::set_aside};
    show("trace pack_vector", "omnibal_vlm_sft,9,4096", pack(samples, o));
    show("trace vector_best_fit", "omnibal_vlm_sft,9,4096", vector_best_fit(samples, o));
    show("trace bin_completion", "omnibal_vlm_sft,9,4096", bin_completion(samples, o));
    show("trace iterative_sampling", "omnibal_vlm_sft,9,4096", iterative_sampling(samples, o, {.rounds = 5}));
    show("trace near_optimal_vector", "omnibal_vlm_sft,9,4096", near_optimal(samples, o, {.work = 20'000'000}));
  }
  for (auto const* const name : {"hist_squad11_384", "hist_wikipedia_bert512"}) {
    auto const columns = read(folder + '/' + name + ".txt");
    if (columns.size() < 2) continue;
    histogram classes;
    for (std::size_t i = 0; i < columns[0].size(); ++i)
      if (columns[1][i] > 0) {
        classes.lengths.push_back(columns[0][i]);
        classes.counts.push_back(static_cast<std::uint64_t>(columns[1][i]));
      }
    packing_options const o{.capacity = 512};
    show("trace count_packs", name, count_packs(classes, o));
    show("trace count_packs_of_pack", name, count_packs(classes, o, search_limits{}));
    show("trace count_near_optimal", name, count_near_optimal(classes, o, {.work = 20'000'000}));
    show("trace plan_near_optimal", name, plan_near_optimal(classes, o, {.work = 20'000'000}));
    show("trace plan_best_fit_decreasing", name, plan_best_fit_decreasing(classes, o));
  }
}

}  // namespace plan_hashes
