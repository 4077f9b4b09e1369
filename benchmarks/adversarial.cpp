// SPDX-License-Identifier: Apache-2.0
// Prints what planners cost on inputs made to be hard for them; every plan is checked, and a fault ends the program with status 1.
// Packing: for each input the CPU time and the packs beside those of best-fit decreasing (more packs are a fault), and the worst of each at
// the end. Other rooms: what a planner takes for a hard input beside a typical one of the same size; more than twice that asks for a
// reason. The program takes names of rooms; without any, it runs all of them. A planner of another room is one more `trial` in `trials`.
#include <ballast/balance/check.hpp>
#include <ballast/balance/karmarkar_karp.hpp>
#include <ballast/core/random.hpp>
#include <ballast/cost/degree_cost.hpp>
#include <ballast/memory/buffer_addresses.hpp>
#include <ballast/memory/check_layout.hpp>
#include <ballast/memory/check_order.hpp>
#include <ballast/memory/fast_layout.hpp>
#include <ballast/memory/fit_layouts.hpp>
#include <ballast/memory/list_orders.hpp>
#include <ballast/memory/order.hpp>
#include <ballast/memory/peak.hpp>
#include <ballast/methods/dynapipe.hpp>
#include <ballast/methods/verl.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/check.hpp>
#include <ballast/packing/near_optimal.hpp>
#include <ballast/packing/pack.hpp>
#include <ballast/sharding/check.hpp>
#include <ballast/sharding/plan_shards.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../tests/support/graph_families.hpp"

namespace {

using lengths = std::vector<std::int64_t>;

struct input {
  std::string name;
  std::int64_t capacity;
  lengths samples;
};

// From low to high thousandths of the capacity.
lengths uniform(std::size_t n, std::int64_t capacity, int low, int high, std::uint64_t seed) {
  ballast::splitmix64 draw(seed);
  lengths out(n);
  auto const share = [&](int thousandths) { return capacity / 1000 * thousandths + capacity % 1000 * thousandths / 1000; };
  for (auto& l : out)
    l = share(low) + 1 + static_cast<std::int64_t>(ballast::uniform_below(static_cast<std::uint64_t>(share(high) - share(low)), draw));
  return out;
}
// Within `spread` above C / k + 1.
lengths cluster(std::size_t n, std::int64_t capacity, std::int64_t k, std::int64_t spread, std::uint64_t seed) {
  ballast::splitmix64 draw(seed);
  lengths out(n);
  for (auto& l : out) l = capacity / k + 1 + static_cast<std::int64_t>(ballast::uniform_below(static_cast<std::uint64_t>(spread), draw));
  return out;
}
lengths operator+(lengths a, lengths const& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<input> inputs() {
  std::vector<input> out;
  for (int const bits : {14, 17, 20, 30, 40}) {
    auto const c = std::int64_t{1} << bits;
    auto const at = " at 2^" + std::to_string(bits);
    out.push_back({"a million of 0.2 to 0.5" + at, c, uniform(1'000'000, c, 200, 500, 11)});
    out.push_back({"a hundred thousand of 0.15 to 0.65" + at, c, uniform(100'000, c, 150, 650, 12)});
    out.push_back({"ten thousand of 0.001 to 1" + at, c, uniform(10'000, c, 1, 1000, 13)});
    out.push_back({"around a half, a third and a quarter" + at, c,
                   cluster(20'000, c, 2, c / 50, 1) + cluster(20'000, c, 3, c / 50, 2) + cluster(20'000, c, 4, c / 50, 3)});
    out.push_back({"just above a quarter" + at, c, cluster(50'000, c, 4, (std::max)(c / 10'000, std::int64_t{1}), 4)});
    out.push_back({"a third and what fits beside two" + at, c, cluster(30'000, c, 3, c / 100, 5) + uniform(15'000, c, 310, 333, 6)});
    out.push_back({"thirty of 0.2 to 0.5" + at, c, uniform(30, c, 200, 500, 7)});
    out.push_back({"equal samples of 0.3" + at, c, lengths(100'000, c * 3 / 10)});
    out.push_back({"equal samples and one" + at, c, lengths(100'000, c * 3 / 10) + lengths{c / 7}});
    lengths correlated;  // all lengths have a large common part, so that few sums are near the capacity
    for (auto const l : uniform(20'000, c / 16, 0, 200, 8)) correlated.push_back(c / 16 * 3 + l);
    out.push_back({"3/16 and a little" + at, c, std::move(correlated)});
  }
  return out;
}

struct planner {
  std::string name;
  std::function<std::int64_t(lengths const&, std::int64_t)> packs;  // checked
};
template <class Pack>
planner checked(std::string name, Pack const& pack) {
  return {name, [=](lengths const& samples, std::int64_t capacity) {
            ballast::packing_options const options{.capacity = capacity};
            auto const plan = pack(samples, options);
            if (auto const v = ballast::check_packing(plan, samples, options); !v.valid())
              throw std::logic_error(name + ": " + ballast::describe(v));
            return plan.count.value;
          }};
}
std::vector<planner> planners() {
  return {
      checked("pack", [](auto const& samples, auto const& options) { return ballast::pack(samples, options, ballast::search_limits{}); }),
      checked("near_optimal", [](auto const& samples, auto const& options) { return ballast::near_optimal(samples, options); })};
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// A planner of any room on two inputs of the same size. Each callable makes its input, plans it, checks the plan (throws at a fault) and
/// returns what the planner took: the work that it counts itself, or `seconds_of` planning.
struct trial {
  std::string room, planner, typical, hard;
  std::string unit;  ///< of what is returned
  std::function<double()> on_typical, on_hard;
  std::string why{};  ///< the hard input may take more than twice as much
};

/// CPU seconds of a call.
template <class Plan>
double seconds_of(Plan const& plan) {
  auto const start = cpu_seconds();
  plan();
  return cpu_seconds() - start;
}

// Room memory. A chain of operators that make tensors of their own, views of the one before, or change it in place.
enum class chained { own, view, in_place };
ballast::graph chain_of(std::size_t n, chained kind) {
  ballast::graph g;
  auto last = g.add({.bytes = 100});
  for (std::size_t i = 0; i < n; ++i) {
    auto const next = kind == chained::own ? g.add({.bytes = 100}) : g.add({.shares = last, .in_place = kind == chained::in_place});
    g.add({}, {last}, {next});
    last = next;
  }
  return g;
}
// Operators that read up to four of the 200 tensors before them.
ballast::graph narrow_graph(std::size_t n) {
  ballast::splitmix64 draw(7);
  std::vector<ballast_test::graph_row> before(n);
  for (std::uint32_t v = 1; v < n; ++v)
    for (auto left = ballast::uniform_below(5, draw); left > 0; --left) {
      auto const u = static_cast<std::uint32_t>(v - 1 - ballast::uniform_below((std::min)(v, 200U), draw));
      if (std::find(before[v].begin(), before[v].end(), u) == before[v].end()) before[v].push_back(u);
    }
  return ballast_test::graph_of_edges(before, 100, draw);
}
// n / 2 operators, and one that reads what all of them make.
ballast::graph joined_graph(std::size_t n) {
  ballast::graph g;
  ballast_test::graph_row all;
  for (std::size_t i = 0; i < n / 2; ++i) {
    all.push_back(g.add({.bytes = 8}));
    g.add({}, {}, {all.back()});
  }
  g.add({}, all, ballast_test::graph_row{});
  for (auto const t : all) g.add({}, {t}, {});
  return g;
}
enum class lifetimes { brief, nested, mixed, any };
std::vector<ballast::buffer> buffers_of_kind(std::int64_t n, lifetimes kind) {
  ballast::splitmix64 draw(7);
  auto const below = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(ballast::uniform_below(static_cast<std::uint64_t>(bound), draw));
  };
  std::vector<ballast::buffer> out;
  for (std::int64_t i = 0; i < n; ++i) {
    auto const at = below(2 * n);
    auto lower = at, upper = at + 1 + below(below(20) == 0 ? n / 50 + 1 : 200);
    if (kind == lifetimes::brief) lower = i, upper = i + 1 + below(20);
    if (kind == lifetimes::nested) lower = i, upper = 2 * n - i;
    if (kind == lifetimes::any) upper = below(2 * n), lower = (std::min)(at, upper), upper = (std::max)(at, upper) + 1;
    out.push_back({.lower = lower, .upper = upper, .size = 1 + below(1000)});
  }
  return out;
}
void require(bool valid, std::string const& verdict) {
  if (!valid) throw std::logic_error("memory: " + verdict);
}
auto const ordered = [](ballast::graph const& g, std::uint64_t work = 1'000'000'000) {
  auto const found = ballast::order_operators(g, {}, {.work = work});
  auto const v = check_order(g, found.order, found.peak);
  require(v.valid(), describe(v));
  return found;
};
auto const placed = [](std::vector<ballast::buffer> const& all, ballast::memory_layout const& found) {
  auto const v = ballast::check_layout(all, found);
  require(v.valid(), describe(v));
  return found.height.value;
};
void add_memory(std::vector<trial>& out) {
  auto const order_seconds = [](auto const& make) { return [=] { return seconds_of([g = make()] { ordered(g); }); }; };
  auto const chain = [=](chained kind) { return order_seconds([=] { return chain_of(20'000, kind); }); };
  for (auto const& [name, kind] : {std::pair("20,000 views in a chain", chained::view), {"20,000 changes in place", chained::in_place}})
    out.push_back({"memory", "order_operators", "20,000 operators in a chain", name, "s", chain(chained::own), chain(kind)});
  auto const in_layers = [] {
    ballast::splitmix64 draw(7);
    return ballast_test::layered_graph(100'000, 8, draw);
  };
  auto const layered = order_seconds(in_layers);
  auto const narrow = order_seconds([] { return narrow_graph(100'000); });
  out.push_back({"memory", "order_operators", "100,000 in layers", "100,000 that read from the 200 before them", "s", layered, narrow,
                 "no window of the layers helps, so that not all of the work is spent; both stay within it"});
  auto const peak = [](std::uint64_t work) { return [=] { return static_cast<double>(ordered(narrow_graph(100'000), work).peak.value); }; };
  out.push_back({"memory", "order_operators", "the latter with ten times the work", "with the default work", "bytes", peak(10'000'000'000),
                 peak(1'000'000'000)});
  auto const listed = [](auto const& make) {
    return [=] {
      return seconds_of([g = make()] { static_cast<void>(evaluate_order(g, ballast::list_order(g, ballast::list_rule::reverse_net))); });
    };
  };
  out.push_back({"memory", "list_order", "100,000 in layers", "one of 100,000 reads half of them", "s", listed(in_layers),
                 listed([] { return joined_graph(100'000); })});
  auto const laid = [](std::int64_t n, lifetimes kind, auto const& plan) {
    return [=] { return seconds_of([=, all = buffers_of_kind(n, kind)] { placed(all, plan(all)); }); };
  };
  auto const quick = [](auto const& all) { return ballast::layout_buffers_quickly(all, {.dives = 1}); };
  auto const first_fit = [](auto const& all) { return ballast::first_fit_layout(all); };
  out.push_back({"memory", "layout_buffers_quickly, one dive", "20,000 brief lifetimes", "20,000 nested lifetimes", "s",
                 laid(20'000, lifetimes::brief, quick), laid(20'000, lifetimes::nested, quick)});
  out.push_back({"memory", "layout_buffers_quickly, one dive", "4,000 brief lifetimes", "4,000 of any begin and end", "s",
                 laid(4'000, lifetimes::brief, quick), laid(4'000, lifetimes::any, quick),
                 "O((n + c) log n): c is a twelfth of all pairs"});
  out.push_back({"memory", "first_fit_layout", "20,000 brief lifetimes", "20,000 nested lifetimes", "s",
                 laid(20'000, lifetimes::brief, first_fit), laid(20'000, lifetimes::nested, first_fit),
                 "O(n^2): all buffers are in use at one time, rather than ten"});
  auto const height = [](auto const& plan) {
    return [=, all = buffers_of_kind(100'000, lifetimes::mixed)] { return static_cast<double>(placed(all, plan(all))); };
  };
  out.push_back({"memory", "layout_buffers", "100,000 random, quick form", "by search", "bytes",
                 height([](auto const& all) { return ballast::layout_buffers_quickly(all); }),
                 height([](auto const& all) { return ballast::layout_buffers(all); })});
}

/// Lengths with a heavy tail, up to `longest`.
lengths pareto(std::size_t n, std::int64_t longest, std::uint64_t seed) {
  ballast::splitmix64 draw(seed);
  lengths out(n);
  for (auto& l : out) {  // 300 / u with a shape of 1
    auto const u = 1 + ballast::uniform_below(1'000'000, draw);
    l = (std::min)(longest, static_cast<std::int64_t>(300'000'000 / u));
  }
  return out;
}

void add_schedulers(std::vector<trial>& out) {
  auto const differencing = [](std::uint64_t sets, lengths const& items) {
    return seconds_of([&] {
      auto const plan = ballast::karmarkar_karp(items, {.sets = sets});
      if (auto const v = ballast::check_balance(plan, items, {.sets = sets}); !v.valid()) throw std::logic_error(ballast::describe(v));
    });
  };
  constexpr std::size_t million = 1'000'000;
  auto const flat = uniform(million, 10'000, 0, 1000, 21), tail = pareto(million, std::int64_t{1} << 40, 22);
  out.push_back({"balance", "karmarkar_karp", "64 sets, uniform", "a set for each 8 items, uniform", "s",
                 [=] { return differencing(64, flat); }, [=] { return differencing(million / 8, flat); }});
  out.push_back({"balance", "karmarkar_karp", "64 sets, heavy tail", "a set for each 8 items, heavy tail", "s",
                 [=] { return differencing(64, tail); }, [=] { return differencing(million / 8, tail); }});

  ballast::degree_cost const cost{.linear = 120'000, .square = 3, .exchange = {0, 9'000, 9'000, 9'000, 40'000}};
  constexpr std::size_t batch = 20'000;
  constexpr std::int64_t room = 131'072;
  auto const cut = [=](lengths const& samples) {
    return seconds_of([&] {
      ballast::dynapipe::options const by{.stages = 4, .replicas = 32, .memory = 8 * room, .quadrangle = true};
      auto const plan = ballast::dynapipe::schedule(
          samples, by,
          [&](ballast::dynapipe::padded const& b, std::uint64_t) {
            return static_cast<std::int64_t>(b.samples) * cost(b.longest, 2) + 14'000'000;
          },
          [](ballast::dynapipe::padded const& b, std::uint64_t) { return static_cast<std::int64_t>(b.samples) * b.longest; });
      if (plan.status != ballast::status::feasible) throw std::logic_error("dynapipe: no plan");
    });
  };
  out.push_back({"methods", "dynapipe", "20,000 samples, heavy tail", "20,000 equal samples", "s",
                 [=] { return cut(pareto(batch, room, 23)); }, [=] { return cut(lengths(batch, 1000)); },
                 "every cut into equal micro-batches is as good as its shifts, so bounds rule out fewer spans"});

  auto const shards_by = [=](auto const& plan, lengths const& samples) {
    ballast::sharding_options const by{.capacity = 16'384, .ranks = 64, .cost_per_pass = 14'000'000};
    ballast::shards<> made;
    auto const took = seconds_of([&] { made = plan(samples, by); });
    if (auto const v = ballast::check_shards(made, samples, by); !v.valid()) throw std::logic_error(ballast::describe(v));
    return took;
  };
  auto const verl = [=](lengths const& samples, ballast::sharding_options const& by) { return ballast::verl::schedule(samples, by, cost); };
  auto const quick = [=](lengths const& samples, ballast::sharding_options const& by) { return ballast::plan_shards(samples, by, cost); };
  auto const even = uniform(batch, 2'000, 0, 1000, 24), skewed = pareto(batch, room, 25);
  out.push_back({"methods", "verl", "20,000 samples, uniform", "20,000 samples, heavy tail", "s", [=] { return shards_by(verl, even); },
                 [=] { return shards_by(verl, skewed); }});
  out.push_back({"sharding", "plan_shards", "20,000 samples, uniform", "20,000 samples, heavy tail", "s",
                 [=] { return shards_by(quick, even); }, [=] { return shards_by(quick, skewed); }});
  out.push_back({"sharding", "plan_shards", "20,000 samples, uniform", "20,000 equal samples", "s", [=] { return shards_by(quick, even); },
                 [=] { return shards_by(quick, lengths(batch, 1000)); }});
}

/// A room adds its own by a function before this one.
std::vector<trial> trials() {
  std::vector<trial> out;
  add_memory(out);
  add_schedulers(out);
  return out;
}

void try_packing() {
  auto const best_fit = checked("best fit decreasing", [](auto const& s, auto const& o) { return ballast::best_fit_decreasing(s, o); });
  auto const all = planners();
  struct worst {
    double seconds = 0, times = 0, packs = 0;
    std::string slowest, farthest, fullest;
  };
  std::vector<worst> worsts(all.size());
  std::puts(
      "| input | samples | bound | best fit packs | best fit s | planner | packs | over the bound | s "
      "|\n|---|---|---|---|---|---|---|---|---|");
  for (auto const& in : inputs()) {
    auto const start = cpu_seconds();
    auto const base = best_fit.packs(in.samples, in.capacity);
    auto const base_seconds = cpu_seconds() - start;
    auto const bound = ballast::packing_lower_bound(ballast::fold(in.samples), in.capacity, in.samples.size() + 1).packs;
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto const before = cpu_seconds();
      auto const packs = all[i].packs(in.samples, in.capacity);
      auto const seconds = cpu_seconds() - before;
      std::printf("| %s | %zu | %lld | %lld | %.3f | %s | %lld | %.4f %% | %.3f |\n", in.name.c_str(), in.samples.size(),
                  static_cast<long long>(bound), static_cast<long long>(base), base_seconds, all[i].name.c_str(),
                  static_cast<long long>(packs), 100 * (static_cast<double>(packs) / static_cast<double>(bound) - 1), seconds);
      std::fflush(stdout);
      if (packs > base) throw std::logic_error(all[i].name + ": more packs than best-fit decreasing");
      auto& w = worsts[i];
      if (seconds > w.seconds) {
        w.seconds = seconds;
        w.slowest = in.name;
      }
      if (auto const factor = seconds / (std::max)(base_seconds, 1e-6); factor > w.times) {
        w.times = factor;
        w.farthest = in.name;
      }
      if (auto const factor = static_cast<double>(packs) / static_cast<double>(base); factor > w.packs) {
        w.packs = factor;
        w.fullest = in.name;
      }
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    std::printf("%s: at most %.3f s (%s), %.0f times the time of best-fit decreasing (%s) and %.4f times its packs (%s)\n",
                all[i].name.c_str(), worsts[i].seconds, worsts[i].slowest.c_str(), worsts[i].times, worsts[i].farthest.c_str(),
                worsts[i].packs, worsts[i].fullest.c_str());
}

void try_rooms(std::vector<trial> const& all, std::function<bool(std::string const&)> const& wanted) {
  std::puts("| room | planner | typical | takes | hard | takes | unit | factor | why |\n|---|---|---|---|---|---|---|---|---|");
  for (auto const& t : all) {
    if (!wanted(t.room)) continue;
    auto const typical = t.on_typical(), hard = t.on_hard(), factor = hard / (std::max)(typical, 1e-6);
    auto const* const why = factor <= 2 ? "" : t.why.empty() ? "NOT SAID" : t.why.c_str();
    std::printf("| %s | %s | %s | %.6g | %s | %.6g | %s | %.2f | %s |\n", t.room.c_str(), t.planner.c_str(), t.typical.c_str(), typical,
                t.hard.c_str(), hard, t.unit.c_str(), factor, why);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::vector<std::string> const rooms(argv + 1, argv + argc);
    auto const wanted = [&](std::string const& room) {
      return rooms.empty() || std::find(rooms.begin(), rooms.end(), room) != rooms.end();
    };
    if (wanted("packing")) try_packing();
    try_rooms(trials(), wanted);
  } catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
