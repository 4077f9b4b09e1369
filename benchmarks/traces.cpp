// SPDX-License-Identifier: Apache-2.0
// Prints the table of docs/packing-on-traces.md: published traces of lengths, packed at six capacities. Each plan is validated and compared
// with best-fit decreasing done item by item; a difference ends the program with status 1. The last columns are those of near_optimal with
// its default work. Last come 10^7 made lengths: floor of a lognormal (mu 6.5, sigma 1.4), clipped to 16 … 131072.
#include <ballast/core/random.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/check.hpp>
#include <ballast/packing/near_optimal.hpp>
#include <ballast/packing/next_fit.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "item_by_item.hpp"
#include "published_traces.hpp"

namespace {

std::vector<std::int32_t> read(std::string const& path, std::vector<std::size_t> const& columns) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  std::vector<std::int32_t> lengths;
  for (std::string line; std::getline(in, line);) {
    std::istringstream numbers(line);
    std::vector<std::int32_t> row;
    for (std::int32_t v = 0; numbers >> v;) row.push_back(v);
    if (columns.empty()) {
      lengths.insert(lengths.end(), static_cast<std::size_t>(row.at(1)), row.at(0));
      continue;
    }
    std::int32_t length = 0;
    for (auto c : columns) length += row.at(c);
    lengths.push_back(length);
  }
  if (!columns.empty()) return lengths;
  auto shuffled = lengths;  // a histogram has no order, and next fit needs one
  auto const order = ballast::random_permutation(lengths.size(), 1);
  for (std::size_t i = 0; i < order.size(); ++i) shuffled[i] = lengths[order[i]];
  return shuffled;
}

std::vector<std::int32_t> lognormal() {
  std::mt19937_64 generator(42);
  std::lognormal_distribution<double> draw(6.5, 1.4);
  std::vector<std::int32_t> lengths(10'000'000);
  for (auto& l : lengths) l = static_cast<std::int32_t>(std::clamp(draw(generator), 16.0, 131072.0));
  return lengths;
}

void print_rows(char const* name, std::vector<std::int32_t> const& lengths) {
  for (std::int32_t capacity : {512, 2048, 4096, 8192, 32768, 131072}) {
    auto const cut = std::count_if(lengths.begin(), lengths.end(), [&](auto l) { return l > capacity; });
    auto tokens = lengths;
    for (auto& l : tokens) l = (std::min)(l, capacity);

    ballast::packing_options const options{.capacity = capacity};
    auto const plan = ballast::best_fit_decreasing(tokens, options);
    auto const verdict = ballast::check_packing(plan, tokens, options);
    if (!verdict.valid()) throw std::logic_error(std::string(name) + ": " + ballast::describe(verdict));
    if (plan.packs != baseline::multiset_bfd(tokens, capacity))
      throw std::logic_error(std::string(name) + ": not the plan of best-fit decreasing item by item");

    auto const naive = ballast::next_fit(tokens, options).count.value;
    auto const begin = std::clock();
    auto const best = ballast::near_optimal(tokens, options);
    auto const seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    if (auto const v = ballast::check_packing(best, tokens, options); !v.valid())
      throw std::logic_error(std::string(name) + ": " + ballast::describe(v));
    auto const gap = [](ballast::certificate const& count) {
      char text[32];
      std::snprintf(text, sizeof text, "%.3f %%", 100 * count.gap());
      return count.optimal() ? std::string("optimal") : std::string(text);
    };
    std::printf("| %s | %d | %.1f %% | %lld | %s | %lld | %.1f %% | %lld | %lld (%s) | %s | %.2f |\n", name, static_cast<int>(capacity),
                100 * static_cast<double>(cut) / static_cast<double>(lengths.size()), static_cast<long long>(plan.count.value),
                gap(plan.count).c_str(), static_cast<long long>(naive),
                100 * (1 - static_cast<double>(plan.count.value) / static_cast<double>(naive)), static_cast<long long>(best.count.value),
                static_cast<long long>(best.count.lower_bound), std::string(ballast::to_string(best.bound)).c_str(),
                gap(best.count).c_str(), seconds);
  }
}

}  // namespace

int main(int argc, char** argv) {
  auto const* const folder = argc > 1 ? argv[1] : std::getenv("BALLAST_TRACES");
  if (folder == nullptr) {
    std::puts("skipped: give the folder of the traces as argument or in BALLAST_TRACES (see docs/packing-on-traces.md)");
    return 0;
  }
  try {
    std::puts(
        "| trace | capacity | truncated | packs | gap | next fit | saved | near optimal | bound (by) | gap | CPU s "
        "|\n|---|---|---|---|---|---|---|---|---|---|---|");
    for (auto const& t : benchmarks::published_traces) print_rows(t.name, read(std::string(folder) + "/" + t.file, t.columns));
    print_rows("lognormal", lognormal());
  } catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
