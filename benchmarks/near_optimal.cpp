// SPDX-License-Identifier: Apache-2.0
// Prints the table of docs/near-optimal.md: best-fit decreasing beside the near-optimal planner, on generated lengths and, where their
// folder is given, on published traces. Every plan is checked, and every linear-programming bound proven again; a fault ends the program
// with status 1.
#include <ballast/core/random.hpp>
#include <ballast/packing/check_duals.hpp>
#include <ballast/packing/near_optimal.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void check(std::string const& name, ballast::near_optimal_plan const& plan, ballast::histogram const& h, std::int64_t capacity,
           std::uint64_t max_samples) {
  std::vector<std::uint64_t> placed(h.lengths.size(), 0);
  for (std::size_t p = 0; p < plan.patterns.size(); ++p) {
    std::int64_t tokens = 0;
    std::uint64_t samples = 0;
    for (auto const& [c, copies] : plan.patterns[p]) {
      placed.at(c) += copies * plan.patterns.repeats[p];
      tokens += h.lengths[c] * copies;
      samples += copies;
    }
    if (max_samples != 0 && samples > max_samples) throw std::logic_error(name + ": a pack holds too many samples");
    if (tokens > capacity) throw std::logic_error(name + ": a pack exceeds the capacity");
  }
  if (placed != h.counts) throw std::logic_error(name + ": samples are lost or doubled");
  if (plan.bound.bound == ballast::packing_bound::linear_program && capacity <= 8192 &&
      !check_duals(h, capacity, plan.duals, plan.dual_capacity, plan.bound.packs, max_samples))
    throw std::logic_error(name + ": the duals prove nothing");
}

void print_row(std::string const& name, ballast::histogram const& h, std::int64_t capacity, std::uint64_t max_samples = 0) {
  ballast::packing_options const options{.capacity = capacity, .max_samples = max_samples};
  auto const start = cpu_seconds();
  auto const baseline = ballast::count_packs(h, options);
  auto const between = cpu_seconds();
  auto const plan = ballast::plan_near_optimal(h, options);
  auto const end = cpu_seconds();
  check(name, plan, h, capacity, max_samples);
  std::printf("| %s | %lld | %llu | %zu | %lld | %lld | %lld (%s) | %.3f %% | %s | %.4f | %.3f |\n", name.c_str(),
              static_cast<long long>(capacity), static_cast<unsigned long long>(h.samples()), h.lengths.size(),
              static_cast<long long>(baseline.count.value), static_cast<long long>(plan.count.value),
              static_cast<long long>(plan.count.lower_bound), std::string(ballast::to_string(plan.bound.bound)).c_str(),
              100 * (static_cast<double>(baseline.count.value) / static_cast<double>(plan.count.value) - 1),
              plan.count.optimal() ? "optimal" : ("+" + std::to_string(plan.count.value - plan.count.lower_bound)).c_str(), between - start,
              end - between);
  std::fflush(stdout);
}

// A histogram of a trace: columns summed into one length, or none where the file holds lengths and counts.
struct trace {
  char const* name;
  char const* file;
  std::vector<std::size_t> columns;
};
ballast::histogram read(std::string const& path, std::vector<std::size_t> const& columns) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  std::vector<std::int64_t> lengths;
  ballast::histogram h;
  for (std::string line; std::getline(in, line);) {
    std::istringstream numbers(line);
    std::vector<std::int64_t> row;
    for (std::int64_t v = 0; numbers >> v;) row.push_back(v);
    if (columns.empty()) {
      if (row.at(1) > 0) h += {{row[0]}, {static_cast<std::uint64_t>(row[1])}};
      continue;
    }
    std::int64_t length = 0;
    for (auto c : columns) length += row.at(c);
    lengths.push_back(length);
  }
  return columns.empty() ? h : ballast::fold(lengths);
}
ballast::histogram cut(ballast::histogram const& h, std::int64_t capacity) {
  ballast::histogram out;
  for (std::size_t i = 0; i < h.lengths.size(); ++i) out += {{(std::min)(h.lengths[i], capacity)}, {h.counts[i]}};
  return out;
}

// Lengths from low to high thousandths of the capacity; with `two_kinds` half of them are 256 … 767 instead.
ballast::histogram generate(std::size_t n, std::int64_t capacity, int low, int high, bool two_kinds, std::uint64_t seed) {
  ballast::splitmix64 draw(seed);
  std::vector<std::int64_t> lengths(n);
  for (auto& l : lengths) {
    auto const is_short = two_kinds && draw() % 2 == 0;
    auto const first = is_short ? 256 : capacity * low / 1000;
    auto const last = is_short ? 768 : capacity * high / 1000;
    l = first + static_cast<std::int64_t>(ballast::uniform_below(static_cast<std::uint64_t>(last - first), draw));
  }
  return ballast::fold(lengths);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::puts(
        "| set | capacity | samples | lengths | best fit | near optimal | bound (by) | best fit over it | from the bound | best fit s | "
        "near "
        "optimal s |\n|---|---|---|---|---|---|---|---|---|---|---|");
    for (std::int64_t const capacity : {8192, 131072})
      for (std::size_t const n : {10'000U, 100'000U, 1'000'000U}) {
        print_row("uniform 0.2 to 0.5", generate(n, capacity, 200, 500, false, 11), capacity);
        print_row("uniform 0.15 to 0.65", generate(n, capacity, 150, 650, false, 12), capacity);
        print_row("short and uniform", generate(n, capacity, 200, 500, true, 13), capacity);
      }
    auto const* const folder = argc > 1 ? argv[1] : std::getenv("BALLAST_TRACES");
    if (folder == nullptr) {
      std::puts("traces skipped: give their folder as argument or in BALLAST_TRACES (see docs/packing-on-traces.md)");
      return 0;
    }
    std::vector<trace> const traces{{"omnibal", "omnibal_vlm_sft.txt", {0}},
                                    {"azure", "azure_llm_2023_conv.txt", {0, 1}},
                                    {"mooncake", "mooncake_fast25_conversation.txt", {0, 1}},
                                    {"arxiv", "arxiv_summarization_llama2.txt", {0, 1}},
                                    {"openchat", "openchat_v1_sft.txt", {0}},
                                    {"gsm8k", "gsm8k_train_approx.txt", {0, 1}},
                                    {"deepseek-r1", "servegen_deepseek_r1_sampled.txt", {0, 1}},
                                    {"mm-image", "servegen_mm_image_sampled.txt", {0, 1, 3}},
                                    {"repositories", "repo_source_files_approx.txt", {0}},
                                    {"wikipedia", "hist_wikipedia_bert512.txt", {}},
                                    {"squad", "hist_squad11_384.txt", {}}};
    for (auto const& t : traces) {
      auto const h = read(std::string(folder) + "/" + t.file, t.columns);
      for (std::int64_t const capacity : {384, 512, 2048, 4096, 8192, 32768, 131072})
        if (capacity != 384 || std::string(t.name) == "squad") print_row(t.name, cut(h, capacity), capacity);
    }
    for (std::uint64_t const most : {3U, 4U, 6U}) {
      auto const name = ", at most " + std::to_string(most) + " samples";
      print_row("wikipedia" + name, read(std::string(folder) + "/hist_wikipedia_bert512.txt", {}), 512, most);
      print_row("omnibal" + name, cut(read(std::string(folder) + "/omnibal_vlm_sft.txt", {0}), 4096), 4096, most);
      print_row("deepseek-r1" + name, cut(read(std::string(folder) + "/servegen_deepseek_r1_sampled.txt", {0, 1}), 32768), 32768, most);
    }
  } catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
