// SPDX-License-Identifier: Apache-2.0
// Prints what planners cost on inputs made to be hard for them; every plan is checked, and a fault ends the program with status 1.
// Packing: for each input the CPU time and the packs beside those of best-fit decreasing (more packs are a fault), and the worst of each at
// the end. Other rooms: what a planner takes for a hard input beside a typical one of the same size; more than twice that asks for a
// reason. The program takes names of rooms; without any, it runs all of them. A planner of another room is one more `trial` in `trials`.
#include <ballast/core/random.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/check.hpp>
#include <ballast/packing/near_optimal.hpp>
#include <ballast/packing/pack.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

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

/// A room adds its own by a function before this one.
std::vector<trial> trials() {
  std::vector<trial> out;
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
