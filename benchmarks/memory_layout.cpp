// SPDX-License-Identifier: Apache-2.0
// Layouts of memory (docs/memory-layout.md): MiniMalloc's benchmark files, where BALLAST_TRACES names the folder that has them in
// minimalloc/, and generated buffers. Each row is one planner on one set of buffers:
//     fit     layout_buffers at the capacity of the file, or else at max load; one iteration for each of nine seeds
//     seeds   the same with thirty seeds
//     least   layout_buffers without a capacity; nine seeds
//     dives, dive                         layout_buffers_quickly, best of five and one
//     first_fit, best_fit                 by size, as TensorFlow Lite Micro and TVM place
//     all_fits                            the best of first fit and best fit in four orders each
//     whole, whole_best_fit               layout_buffers with the default work, and best fit, on 10^5 and 10^6 buffers, once
// Counters: `solved` (how often it was laid out within the capacity, or proven optimal), milliseconds of processor time and nodes (median,
// greatest), and the height over the lower bound (median; `best` the least). A layout that its validator refuses ends the program.
#include <ballast/core/random.hpp>
#include <ballast/memory/bounds.hpp>
#include <ballast/memory/buffer_addresses.hpp>
#include <ballast/memory/check_layout.hpp>
#include <ballast/memory/fast_layout.hpp>
#include <ballast/memory/fit_layouts.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace ballast;
using buffers = std::vector<buffer>;

struct instance {
  std::string name;
  buffers all;
  std::int64_t capacity;
};

std::int64_t below(std::uint64_t bound, splitmix64& draw) { return static_cast<std::int64_t>(uniform_below(bound, draw)); }

/// A rectangle of time and memory cut into `count` pieces: its height is the max load, and a layout of this height exists.
buffers rectangles(std::size_t count, std::uint64_t seed) {
  splitmix64 draw(seed);
  struct piece {
    buffer b;
    std::int64_t offset;
  };
  std::vector<piece> pieces{{{.lower = 0, .upper = 1 << 20, .size = 1 << 20}, 0}};
  while (pieces.size() < count) {
    auto const largest = std::max_element(pieces.begin(), pieces.end(), [](auto const& a, auto const& b) {
      return (a.b.upper - a.b.lower) * a.b.size < (b.b.upper - b.b.lower) * b.b.size;
    });
    auto& p = uniform_below(4, draw) == 0 ? *largest : pieces[uniform_below(pieces.size(), draw)];
    auto const time = p.b.upper - p.b.lower;
    auto other = p;
    if (uniform_below(2, draw) == 0 && time > 1) {
      p.b.upper = other.b.lower = p.b.lower + 1 + below(static_cast<std::uint64_t>(time - 1), draw);
    } else if (p.b.size > 1024) {
      p.b.size = 1024 * (1 + below(static_cast<std::uint64_t>(p.b.size / 1024 - 1), draw));
      other.b.size -= p.b.size;
    } else {
      continue;
    }
    pieces.push_back(other);
  }
  buffers out;
  for (auto const& p : pieces) out.push_back(p.b);
  return out;
}

/// Short lifetimes and, one in ten, long ones, about 80 at one time.
buffers random_lifetimes(std::size_t count, std::uint64_t seed) {
  splitmix64 draw(seed);
  buffers out(count);
  for (auto& b : out) {
    b.lower = below(count, draw);
    b.upper = b.lower + 1 + below(uniform_below(10, draw) == 0 ? 1000 : 60, draw);
    b.size = 1024 * (1 + below(100, draw));
  }
  return out;
}

/// Lifetimes of any begin and end, so that a third of all buffers is in use at one time.
buffers any_lifetimes(std::size_t count, std::uint64_t seed) {
  splitmix64 draw(seed);
  buffers out(count);
  for (auto& b : out) {
    auto const one = below(count, draw), other = below(count, draw);
    b = {.lower = (std::min)(one, other), .upper = (std::max)(one, other) + 1, .size = 1024 * (1 + below(100, draw))};
  }
  return out;
}

/// A chain of layers: activations from forward to backward, gradients and temporaries.
buffers training(std::size_t count, std::uint64_t seed) {
  splitmix64 draw(seed);
  auto const layers = static_cast<std::int64_t>(count / 5);
  buffers out;
  auto const add = [&](std::int64_t lower, std::int64_t upper, std::uint64_t most) {
    out.push_back({.lower = lower, .upper = upper, .size = 1024 * (1 + below(most, draw))});
  };
  for (std::int64_t i = 0; i < layers; ++i) {
    auto const forward = 3 * i, backward = 6 * layers - 3 * i - 3;
    add(forward, backward + 3, 40);
    add(forward + 1, backward + 1, 20);
    add(forward, forward + 2, 100);
    add(backward, backward + 2, 100);
    add(backward + 1, backward + 5, 60);
  }
  return out;
}

/// All in use at one time.
buffers one_lifetime(std::size_t count, std::uint64_t seed) {
  splitmix64 draw(seed);
  buffers out(count);
  for (auto& b : out) b = {.lower = 0, .upper = 1, .size = 1024 * (1 + below(100, draw))};
  return out;
}

std::vector<instance> load() {
  std::vector<instance> out;
  if (auto const* const folder = std::getenv("BALLAST_TRACES")) {
    for (std::string const name : {"C", "D", "E", "F", "G", "I", "K"}) {
      std::ifstream file(std::string(folder) + "/minimalloc/" + name + ".1048576.csv");
      if (name == "E" && !file) continue;  // for those who have it
      auto& all = out.emplace_back(instance{name, {}, 1048576}).all;
      std::string id, lower, upper, size;
      std::getline(file, id);
      while (std::getline(file, id, ',') && std::getline(file, lower, ',') && std::getline(file, upper, ',') && std::getline(file, size))
        all.push_back({.lower = std::stoll(lower), .upper = std::stoll(upper), .size = std::stoll(size)});
    }
    out.push_back({"C_least", out.front().all, 1039360});
  }
  for (std::size_t const n : {100U, 300U}) out.push_back({"rectangles_" + std::to_string(n), rectangles(n, n), 0});
  for (std::size_t const n : {300U, 1000U}) out.push_back({"lifetimes_" + std::to_string(n), random_lifetimes(n, n), 0});
  for (std::size_t const n : {300U, 3000U}) out.push_back({"training_" + std::to_string(n), training(n, n), 0});
  for (auto& i : out)
    if (i.capacity == 0) i.capacity = max_load(i.all);
  return out;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

template <class Plan>
void measure(benchmark::State& state, buffers const& all, std::int64_t capacity, Plan const& plan) {
  std::vector<double> times, nodes, heights;
  int solved = 0;
  std::uint64_t seed = 0;
  for (auto _ : state) {
    auto const start = std::clock();
    auto const layout = plan(++seed);
    times.push_back(1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    if (auto const v = check_layout(all, layout, capacity); !v.valid()) throw std::logic_error(describe(v));
    nodes.push_back(static_cast<double>(layout.nodes));
    if (layout.status == status::feasible) heights.push_back(1 + layout.height.gap());
    solved += layout.status == status::feasible && (capacity > 0 || layout.height.optimal()) ? 1 : 0;
  }
  state.counters["n"] = static_cast<double>(all.size());
  state.counters["median_ms"] = median(times);
  state.counters["slowest_ms"] = *std::max_element(times.begin(), times.end());
  if (!heights.empty()) {
    state.counters["height"] = median(heights);
    state.counters["best"] = *std::min_element(heights.begin(), heights.end());
  }
  state.counters["solved"] = solved;
  state.counters["nodes"] = median(nodes);
  state.counters["most_nodes"] = *std::max_element(nodes.begin(), nodes.end());
}

memory_layout all_fits(buffers const& all) {
  memory_layout best = first_fit_layout(all);
  for (auto const order : {fit_order::size, fit_order::lifetime, fit_order::area, fit_order::given})
    for (auto&& other : {first_fit_layout(all, order), best_fit_layout(all, order)})
      if (other.height.value < best.height.value) best = other;
  return best;
}

int register_all() {
  static auto const instances = load();
  auto const add = [](std::string const& name, instance const& i, std::int64_t capacity, int rounds, auto plan) {
    benchmark::RegisterBenchmark((name + "/" + i.name).c_str(),
                                 [&i, capacity, plan](benchmark::State& state) {
                                   measure(state, i.all, capacity, [&](std::uint64_t seed) { return plan(i, seed); });
                                 })
        ->Iterations(rounds)
        ->Unit(benchmark::kMillisecond);
  };
  for (auto const& i : instances) {
    add("fit", i, i.capacity, 9, [](auto const& x, auto seed) { return layout_buffers(x.all, {.capacity = x.capacity, .seed = seed}); });
    add("seeds", i, i.capacity, 30, [](auto const& x, auto seed) { return layout_buffers(x.all, {.capacity = x.capacity, .seed = seed}); });
    add("least", i, 0, 9, [](auto const& x, auto seed) { return layout_buffers(x.all, {.seed = seed}); });
    add("dives", i, 0, 9, [](auto const& x, auto) { return layout_buffers_quickly(x.all); });
    add("dive", i, 0, 9, [](auto const& x, auto) { return layout_buffers_quickly(x.all, {.dives = 1}); });
    add("first_fit", i, 0, 9, [](auto const& x, auto) { return first_fit_layout(x.all); });
    add("best_fit", i, 0, 9, [](auto const& x, auto) { return best_fit_layout(x.all); });
    add("all_fits", i, 0, 3, [](auto const& x, auto) { return all_fits(x.all); });
  }
  static std::vector<instance> const large = [] {
    std::vector<instance> out;
    for (std::size_t const n : {1000U, 10000U, 100000U}) {
      out.push_back({"lifetimes_" + std::to_string(n), random_lifetimes(n, n), 0});
      out.push_back({"training_" + std::to_string(n), training(n, n), 0});
    }
    out.push_back({"any_lifetimes_10000", any_lifetimes(10000, 10000), 0});
    return out;
  }();
  for (auto const& i : large) {
    if (i.name == "training_100000") continue;  // best fit takes long
    add("growth_best_fit", i, 0, 1, [](auto const& x, auto) { return best_fit_layout(x.all); });
    add("growth_dives", i, 0, 1, [](auto const& x, auto) { return layout_buffers_quickly(x.all); });
  }
  for (auto const& i : large) add("growth", i, 0, 3, [](auto const& x, auto) { return layout_buffers_quickly(x.all, {.dives = 1}); });
  using generator = buffers (*)(std::size_t, std::uint64_t);
  for (auto const& [kind, lifetimes] : {std::pair<std::string, generator>{"lifetimes", random_lifetimes},
                                        {"any_lifetimes", any_lifetimes},
                                        {"training", training},
                                        {"one_lifetime", one_lifetime}})
    for (std::size_t const n : {100'000U, 1'000'000U}) {
      auto const once = [&, make = lifetimes](std::string const& name, auto plan) {
        auto const row = [=](benchmark::State& state) {
          auto const all = make(n, n);
          measure(state, all, 0, [&](std::uint64_t) { return plan(all); });
        };
        benchmark::RegisterBenchmark((name + '/' + kind + '_' + std::to_string(n)).c_str(), row)
            ->Iterations(1)
            ->Unit(benchmark::kMillisecond);
      };
      once("whole", [](auto const& all) { return layout_buffers(all); });
      if (n < 1'000'000 || kind == "lifetimes")  // on other lifetimes, it goes through all pairs
        once("whole_best_fit", [](auto const& all) { return best_fit_layout(all); });
    }
  return 0;
}

[[maybe_unused]] int const registered = register_all();

}  // namespace
