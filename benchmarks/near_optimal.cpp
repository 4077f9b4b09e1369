// SPDX-License-Identifier: Apache-2.0
// Prints the table of docs/near-optimal.md: best-fit decreasing beside the near-optimal planner, on generated lengths and, where their
// folder is given, on published traces. Every plan is checked, and every linear-programming bound proven again; a fault ends the program
// with status 1.
//
//     bench_near_optimal [FOLDER]          that table
//     bench_near_optimal --parts [FOLDER]  what each part of the search buys
//     bench_near_optimal --library FILE [WORK]
//                                          instances of a library by class, without and with the exact parts of the search
//     bench_near_optimal --memory          reads and allocations of `pack` with a search
#include <ballast/core/random.hpp>
#include <ballast/packing/check_duals.hpp>
#include <ballast/packing/near_optimal.hpp>
#include <ballast/packing/pack.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <new>
#include <ranges>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "published_traces.hpp"

namespace {
std::size_t allocations = 0, bytes_allocated = 0;
}
void* operator new(std::size_t bytes) {
  ++allocations;
  bytes_allocated += bytes;
  if (auto* const p = std::malloc(bytes != 0 ? bytes : 1)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

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

// What each part of the search buys: packs, bound and millions of elementary operations with all parts, and without each.
void print_parts(std::string const& folder) {
  using tuning = ballast::detail::search_tuning;
  struct part {
    char const* name;
    bool tuning::* on;  // none: with all parts
  };
  part const parts[] = {{"all parts", nullptr},
                        {"reduction", &tuning::reduction},
                        {"random fill", &tuning::random_fill},
                        {"exact classes", &tuning::exact_classes},
                        {"pair concentration", &tuning::pair_concentration},
                        {"program bound", &tuning::program_bound},
                        {"exact finish", &tuning::exact_finish},
                        {"blocks", &tuning::grown_blocks},
                        {"ruin and recreate", &tuning::ruin_recreate},
                        {"finer dives", &tuning::finer_dives},
                        {"coarse lengths", &tuning::coarse_lengths},
                        {"completion start", &tuning::completion_start}};
  struct set {
    char const* name;
    ballast::histogram lengths;
    std::int64_t capacity;
    std::uint64_t max_samples = ~std::uint64_t{0};
  };
  auto const trace_of = [&](char const* file, std::vector<std::size_t> const& columns, std::int64_t capacity) {
    return cut(read(folder + "/" + file, columns), capacity);
  };
  set const sets[] = {{"gsm8k 512", trace_of("gsm8k_train_approx.txt", {0, 1}, 512), 512},
                      {"openchat 2048", trace_of("openchat_v1_sft.txt", {0}, 2048), 2048},
                      {"deepseek-r1 2048", trace_of("servegen_deepseek_r1_sampled.txt", {0, 1}, 2048), 2048},
                      {"squad 384", trace_of("hist_squad11_384.txt", {}, 384), 384},
                      {"deepseek-r1 32768, at most 4 samples", trace_of("servegen_deepseek_r1_sampled.txt", {0, 1}, 32768), 32768, 4},
                      {"uniform 0.2 to 0.5 of 131072, 10^6", generate(1'000'000, 131072, 200, 500, false, 11), 131072}};
  std::printf("| left out |");
  for (auto const& each : sets) std::printf(" %s |", each.name);
  std::printf("\n|---|---|---|---|---|---|---|\n");
  for (auto const& left_out : parts) {
    std::printf("| %s |", left_out.name);
    for (auto const& each : sets) {
      tuning parts_left;
      if (left_out.on != nullptr) parts_left.*left_out.on = false;
      ballast::detail::pooled_memory memory;
      ballast::detail::pool_scope const scope(memory);
      ballast::detail::best_fit_patterns best_fit;
      auto const packs = static_cast<std::int64_t>(best_fit.plan(each.lengths, each.capacity, each.max_samples));
      auto const bound = ballast::packing_lower_bound(each.lengths, each.capacity, each.max_samples, packs);
      auto const found = search_classes(each.lengths, each.capacity, each.max_samples, bound, best_fit, {}, parts_left);
      std::printf(" %llu, %lld, %llu |", static_cast<unsigned long long>(found.patterns.packs()), static_cast<long long>(found.bound.packs),
                  static_cast<unsigned long long>(found.work / 1'000'000));
      std::fflush(stdout);
    }
    std::printf("\n");
  }
}

// The class of an instance of BPPLIB, by its name.
std::string class_of(std::string const& name) {
  auto const has = [&](char const* part) { return name.find(part) != name.npos; };
  if (has("_DI_") || has("_NR_")) return (has("_DI_") ? "AI " : "ANI ") + name.substr(0, name.find('_'));
  if (has("Falkenauer")) return has("_t") ? "Falkenauer T" : "Falkenauer U";
  if (has("HARD")) return "Scholl 3";
  if (name[0] == 'N') return has("C") ? "Scholl 1" : "Scholl 2";
  if (has("BPP_")) return "random";
  return has("cs") ? "Irnich" : name.substr(0, name.find('_'));
}

// The instances of a file, a line each: name, capacity, proven lower bound, best known number of packs, and lengths ("LENGTH" or
// "LENGTHxCOUNT"). By class: how many plans have the best known number of packs without and with the exact parts of the search, how many
// are proven, and the work in millions of elementary operations.
void print_library(std::string const& file, std::uint64_t work) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read " + file);
  struct row {
    std::size_t before = 0, after = 0, proven = 0;
    std::vector<std::uint64_t> work;
    std::string missed;
  };
  std::map<std::string, row> rows;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string name;
    std::int64_t capacity = 0, bound = 0, best = 0;
    words >> name >> capacity >> bound >> best;
    std::vector<std::int64_t> lengths;
    for (std::string word; words >> word;) {
      auto const times = word.find('x');
      lengths.insert(lengths.end(), times == word.npos ? 1 : std::stoul(word.substr(times + 1)), std::stoll(word));
    }
    auto const h = ballast::fold(lengths);
    auto const search = [&](bool exact) {
      ballast::detail::search_tuning tuning;
      tuning.exact_finish = tuning.grown_blocks = exact;
      ballast::detail::pooled_memory memory;
      ballast::detail::pool_scope const scope(memory);
      ballast::detail::best_fit_patterns best_fit;
      auto const packs = static_cast<std::int64_t>(best_fit.plan(h, capacity));
      auto const by_formula = ballast::packing_lower_bound(h, capacity, ~std::uint64_t{0}, packs);
      auto const found = search_classes(h, capacity, ~std::uint64_t{0}, by_formula, best_fit, {.work = work}, tuning);
      ballast::near_optimal_plan plan;
      plan.patterns.append(found.patterns);
      plan.bound = found.bound;
      plan.duals.assign(found.proof.value.begin(), found.proof.value.end());
      plan.dual_capacity = found.proof.capacity;
      check(name, plan, h, capacity, 0);
      return std::tuple(static_cast<std::int64_t>(plan.patterns.packs()), plan.bound.packs, found.work / 1'000'000);
    };
    auto const [before, before_bound, before_work] = search(false);
    auto const [after, after_bound, after_work] = search(true);
    if (after < (std::max)(bound, after_bound)) throw std::logic_error(name + ": a bound is wrong");
    auto& r = rows[class_of(name)];
    r.before += before <= best ? 1 : 0;
    r.after += after <= best ? 1 : 0;
    r.proven += after == after_bound ? 1 : 0;
    r.work.push_back(after_work);
    if (after > best) r.missed += (r.missed.empty() ? "" : ", ") + name;
  }
  std::puts(
      "| class | instances | best known before | after | proven | median work | most work | missed |\n|---|---|---|---|---|---|---|---|");
  for (auto& [name, r] : rows) {
    std::sort(r.work.begin(), r.work.end());
    std::printf("| %s | %zu | %zu | %zu | %zu | %llu | %llu | %s |\n", name.c_str(), r.work.size(), r.before, r.after, r.proven,
                static_cast<unsigned long long>(r.work[r.work.size() / 2]), static_cast<unsigned long long>(r.work.back()),
                r.missed.c_str());
  }
}

// How often `pack` with a search reads a length, and what it allocates, with and without memory to use again.
void print_memory() {
  std::puts(
      "| lengths | capacity | packs | reads a sample | allocations, cold | allocations, warm | bytes, warm, over those of the lengths |\n"
      "|---|---|---|---|---|---|---|");
  struct shape {
    char const* name;
    int low, high;
    std::int64_t capacity;
  };
  for (auto const& [name, low, high, capacity] :
       {shape{"uniform 0.01 to 0.2", 10, 200, 8192}, shape{"uniform 0.2 to 0.5", 200, 500, 8192},
        shape{"uniform 0.15 to 0.65", 150, 650, 8192}, shape{"uniform 0.2 to 0.5", 200, 500, 131072}}) {
    std::vector<std::int32_t> const lengths = [&] {
      ballast::splitmix64 draw(11);
      std::vector<std::int32_t> out(20'000);
      auto const first = capacity * low / 1000, range = capacity * high / 1000 - first;
      for (auto& l : out) l = static_cast<std::int32_t>(first) + static_cast<std::int32_t>(draw() % static_cast<std::uint64_t>(range));
      return out;
    }();
    std::size_t reads = 0;
    auto const counted = std::views::transform(lengths, [&reads](auto l) { return ++reads, l; });
    ballast::packing_workspace<> workspace;
    ballast::packing<> plan;
    auto const measure = [&] {
      allocations = bytes_allocated = reads = 0;
      ballast::pack(counted, {.capacity = capacity}, ballast::token_cost{}, {}, workspace, plan);
      return allocations;
    };
    auto const cold = measure(), warm = measure();
    std::printf("| %s | %lld | %zu | %.2f | %zu | %zu | %.1f |\n", name, static_cast<long long>(capacity), plan.packs.size(),
                static_cast<double>(reads) / static_cast<double>(lengths.size()), cold, warm,
                static_cast<double>(bytes_allocated) / static_cast<double>(lengths.size() * sizeof(lengths[0])));
  }
}

// Every set, near-optimal beside best fit.
void print_table(char const* folder) {
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
  if (folder == nullptr) {
    std::puts("traces skipped: give their folder as argument or in BALLAST_TRACES (see docs/packing-on-traces.md)");
    return;
  }
  for (auto const& t : benchmarks::published_traces) {
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
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::vector<std::string> const arguments(argv + 1, argv + argc);
    auto const asked = [&](char const* what) { return !arguments.empty() && arguments[0] == what; };
    auto const at = asked("--parts") || asked("--memory") ? 1 : 0;
    auto const* const folder = argc > at + 1 ? argv[at + 1] : std::getenv("BALLAST_TRACES");
    if (asked("--library")) {
      if (arguments.size() < 2) throw std::runtime_error("--library needs the file of the instances");
      print_library(arguments[1], arguments.size() > 2 ? std::stoull(arguments[2]) : ballast::search_limits{}.work);
    } else if (asked("--memory"))
      print_memory();
    else if (!asked("--parts"))
      print_table(folder);
    else if (folder != nullptr)
      print_parts(folder);
    else
      throw std::runtime_error("--parts needs the folder of the traces, as argument or in BALLAST_TRACES");
  } catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
