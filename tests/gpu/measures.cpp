// SPDX-License-Identifier: Apache-2.0
// Packing of several measures on a backend is packing on the host, to the last index.
#include "support/backends.hpp"
#include "support/distributions.hpp"

#include <ballast/core/random.hpp>
#include <ballast/gpu/packing/vector/measures.cuh>
#include <ballast/gpu/packing/vector/planner.cuh>
#include <ballast/gpu/packing/vector/portfolio.cuh>
#include <ballast/packing/vector/portfolio.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gpu = ballast::gpu;
using ballast::oversize;
using ballast::vector_packer;
using ballast_test::expect;
using ballast_test::expect_equal;
using ballast_test::one_of;
using ballast_test::part;
using gpu::fetch;
using gpu::send;

namespace {

using columns = std::vector<std::vector<std::int64_t>>;

ballast::sample_measures view(columns const& all) {
  return ballast::sample_measures(std::vector<std::span<std::int64_t const>>(all.begin(), all.end()));
}

// The samples in memory of a backend.
template <class Value, class On>
struct sent_columns {
  std::vector<gpu::array<Value, On>> arrays;
  std::size_t count;
  sent_columns(On on, columns const& all) : count(all.empty() ? 0 : all[0].size()) {
    for (auto const& column : all) arrays.push_back(send(on, std::vector<Value>(column.begin(), column.end())));
  }
  [[nodiscard]] gpu::sample_measures<Value> view() const {
    auto const at = [&](std::size_t m) -> Value const* { return arrays[m].data(); };
    switch (arrays.size()) {
      case 0: return {{}, count};
      case 1: return {{at(0)}, count};
      case 2: return {{at(0), at(1)}, count};
      case 3: return {{at(0), at(1), at(2)}, count};
      case 4: return {{at(0), at(1), at(2), at(3)}, count};
      default: return {{at(0), at(1), at(2), at(3), at(4)}, count};
    }
  }
};

struct problem {
  std::string name;
  columns samples;
  ballast::vector_packing_options options;
  ballast::portfolio_options portfolio;
};

// Tokens of a shape, and for each further measure a few tiles; a quarter of the samples have none.
columns draw(int shape, std::size_t n, std::size_t measures, std::int64_t tokens, std::uint64_t tiles) {
  ballast::splitmix64 random(7 + n);
  columns out(measures - 1, std::vector<std::int64_t>(n));
  for (auto& column : out)
    for (auto& v : column) v = random() % 4 == 0 ? 0 : static_cast<std::int64_t>(1 + random() % tiles);
  out.push_back(ballast_test::lengths_of(shape, n, tokens));
  return out;
}

std::vector<problem> problems() {
  constexpr auto fit = vector_packer::best_fit, completion = vector_packer::completion, sampling = vector_packer::iterative_sampling;
  std::vector<problem> out;
  auto const add = [&](std::string name, columns samples, ballast::vector_packing_options options, std::vector<vector_packer> members) {
    name += ", " + std::to_string(samples[0].size()) + " samples: ";
    out.push_back({std::move(name), std::move(samples), std::move(options), {.members = std::move(members)}});
  };
  for (std::size_t const n : {0U, 1U, 31U, 32U, 33U, 1000U}) {
    for (int shape = 0; shape < 5; ++shape)
      add("shape " + std::to_string(shape), draw(shape, n, 2, 500, 9), {.capacity = {24, 500}}, {fit});
    add("completion", draw(0, n, 3, 500, 4), {.capacity = {9, 11, 700}, .max_samples = 5}, {fit, completion});
    add("sampling", draw(2, n, 2, 90, 9), {.capacity = {16, 100}, .seed = 5}, {sampling});
    add("one measure", draw(4, n, 1, 500, 1), {.capacity = {500}}, {fit});
    add("wide keys", draw(2, n, 4, 60'000, 30'000), {.capacity = {30'000, 30'000, 30'000, 60'000}}, {fit});
    add("all", draw(0, n / 8, 2, 500, 9), {.capacity = {24, 500}}, ballast::portfolio_options{}.members);
  }
  add("keys of 16 bits", draw(0, 500, 2, 256, 254), {.capacity = {254, 256}}, {fit});
  add("keys of 17 bits", draw(0, 500, 2, 255, 255), {.capacity = {255, 255}}, {fit});
  add("equal", {std::vector<std::int64_t>(4097, 3), std::vector<std::int64_t>(4097, 40)}, {.capacity = {10, 100}}, {fit, completion});
  columns distinct(2);
  for (std::int64_t i = 0; i < 700; ++i) {
    distinct[0].push_back((i * 37) % 700);
    distinct[1].push_back(700 - i);
  }
  add("all distinct", distinct, {.capacity = {900, 900}}, {fit});
  add("many", draw(0, 100'000, 2, 200, 6), {.capacity = {12, 300}}, {completion});
#if !defined(BALLAST_PRETENDED_DEVICE) && !defined(BALLAST_LANES)
  add("a million", draw(0, 1'000'000, 2, 200, 6), {.capacity = {12, 300}}, {fit});
#endif
  return out;
}

template <class On, class Index, class Found>
void expect_plan(On on, Found const& found, ballast::vector_packing<Index> const& wanted, std::string const& name) {
  expect_equal(fetch(on, found.packs.offsets), wanted.packs.offsets, name + "offsets");
  expect_equal(fetch(on, found.packs.members), wanted.packs.members, name + "members");
  expect_equal(fetch(on, found.set_aside), wanted.set_aside, name + "set aside");
}
template <class Found, class Wanted>
void expect_figures(Found const& found, Wanted const& wanted, std::string const& name) {
  expect(found.status == wanted.status && found.count == wanted.count && found.bound == wanted.bound && found.measure == wanted.measure &&
             found.packer == wanted.packer && found.complete && wanted.complete,
         name + "certificate");
  expect_equal(found.totals, wanted.totals, name + "totals");
}

template <class On>
void test_packing(On on, problem const& p, gpu::vector_planner<On>& planner) {
  auto const wanted = ballast::pack_portfolio(view(p.samples), p.options, p.portfolio);
  sent_columns<std::int32_t, On> const there(on, p.samples);
  auto const found = gpu::pack_portfolio(on, there.view(), p.options, p.portfolio);
  expect_plan(on, found, wanted, p.name);
  expect_figures(found, wanted, p.name);

  // The same with a planner that has packed other samples before, every output, 64-bit indices and measures.
  auto const n = there.count;
  sent_columns<std::int64_t, On> const wide(on, p.samples);
  gpu::array<std::uint64_t, On> const offsets(on, n + 1), members(on, n), pack(on, n), member(on, n);
  gpu::array<std::uint32_t, On> const slot(on, n), offset(on, n);
  gpu::pack_arrays<std::uint64_t> const out{offsets.data(), members.data(), pack.data(), slot.data(), offset.data(), member.data()};
  call(on, "pack_portfolio", [&](void* temp, std::size_t& bytes) {
    return gpu::pack_portfolio(on, temp, bytes, wide.view(), p.options, p.portfolio, planner, out);
  });
  expect_figures(planner.found, wanted, p.name + "planner, ");
  auto ends = fetch(on, offsets);
  ends.resize(wanted.packs.size() + 1);
  expect_equal(ends, wanted.packs.offsets, p.name + "offsets again");
  expect_equal(fetch(on, members), wanted.packs.members, p.name + "members again");
  std::vector<std::uint64_t> packs(n), positions(n);
  std::vector<std::uint32_t> slots(n), tokens(n);
  std::uint64_t at = 0;
  for (std::size_t b = 0; b < wanted.packs.size(); ++b) {
    std::uint32_t filled = 0, before = 0;
    for (auto const i : wanted.packs[b]) {
      packs[i] = b;
      positions[i] = at++;
      slots[i] = before++;
      tokens[i] = filled;
      filled += static_cast<std::uint32_t>(p.samples.back()[i]);
    }
  }
  expect_equal(fetch(on, pack), packs, p.name + "pack");
  expect_equal(fetch(on, slot), slots, p.name + "slot");
  expect_equal(fetch(on, offset), tokens, p.name + "offset");
  expect_equal(fetch(on, member), positions, p.name + "member");
}

// Random samples and options, many of them bad: the twin returns what the host returns, and throws what it throws.
template <class On>
void test_as_host(On on) {
  constexpr auto most = (std::numeric_limits<std::int64_t>::max)();
  ballast::splitmix64 random(42);
  int refused = 0, feasible = 0, aside = 0, alone = 0, raised = 0;
  for (int round = 0; round < 300; ++round) {
    auto const k = static_cast<std::size_t>(1 + random() % 4);
    auto samples = draw(2, random() % 50, k, 90, 7);
    ballast::vector_packing_options o{.max_samples = random() % 4};
    for (std::size_t m = 0; m < k; ++m) o.capacity.push_back(m + 1 == k ? 100 : 10);
    if (random() % 12 == 0) o.capacity[random() % k] = one_of<std::int64_t>(random, {0, -3});
    if (random() % 20 == 0) o.capacity.push_back(7);
    o.oversize = one_of(random, {oversize::reject, oversize::set_aside, oversize::alone, oversize::alone, oversize::set_aside});
    if (random() % 30 == 0) o.oversize = oversize::split;
    o.pack_count_multiple = one_of<std::uint64_t>(random, {1, 1, 1, 4, 16, 0, std::uint64_t{1} << 40});
    for (auto bad = random() % 4; bad > 0 && !samples[0].empty(); --bad) {
      auto const i = random() % samples[0].size();
      auto& column = samples[random() % k];
      if (o.oversize == oversize::reject || random() % 4 == 0)
        column[i] = one_of<std::int64_t>(random, {-1, -most, most, most / 2 + 1, 101});
      else
        column[i] = one_of<std::int64_t>(random, {101, 5000, most / 8});
      if (random() % 20 == 0)
        for (auto& c : samples) c[i] = 0;
    }
    ballast::portfolio_options const with{
        .members = {one_of(random, {vector_packer::best_fit, vector_packer::completion, vector_packer::iterative_sampling})}};
    auto const name = "round " + std::to_string(round) + ": ";
    sent_columns<std::int64_t, On> const there(on, samples);
    if (ballast_test::expect_as_host([&] { return gpu::pack_portfolio(on, there.view(), o, with); },
                                     [&] { return ballast::pack_portfolio(view(samples), o, with); }, name)) {
      ++refused;
      continue;
    }
    auto const wanted = ballast::pack_portfolio(view(samples), o, with);
    auto const found = gpu::pack_portfolio(on, there.view(), o, with);
    expect_plan(on, found, wanted, name);
    expect_figures(found, wanted, name);
    auto const is_plan = wanted.status == ballast::status::feasible;
    feasible += is_plan;
    aside += !wanted.set_aside.empty();
    auto const exceeds = [&](std::size_t m) { return *std::max_element(samples[m].begin(), samples[m].end()) > o.capacity[m]; };
    for (std::size_t m = 0; m < k && !samples[m].empty(); ++m) alone += is_plan && o.oversize == oversize::alone && exceeds(m);
    raised += is_plan && o.pack_count_multiple > 1 && !wanted.packs.empty();
  }
  expect(refused > 60 && feasible > 60 && aside > 20 && alone > 20 && raised > 20,
         "kinds of rounds: " + std::to_string(refused) + ", " + std::to_string(feasible) + ", " + std::to_string(aside) + ", " +
             std::to_string(alone) + ", " + std::to_string(raised));
}

template <class On>
void test_refusals(On on) {
  columns const samples{{1, 2, 3, 4}, {50, 60, 70, 80}};
  sent_columns<std::int32_t, On> const there(on, samples);
  gpu::vector_planner<On> planner(on);
  gpu::array<std::uint32_t, On> const offset(on, 4);
  auto const packs = [&](gpu::sample_measures<std::int32_t> const& of, ballast::vector_packing_options const& options, std::size_t less,
                         std::uint32_t* offsets = nullptr) {
    std::size_t bytes = 0;
    ballast::portfolio_options const with{.members = {vector_packer::best_fit}};
    gpu::pack_arrays<> const out{.offset = offsets};
    auto const sized = gpu::pack_portfolio(on, nullptr, bytes, of, options, with, planner, out);
    if (sized != typename On::error_type{}) return sized;
    gpu::array<std::byte, On> const temp(on, bytes);
    bytes -= less;
    return gpu::pack_portfolio(on, temp.data(), bytes, of, options, with, planner, out);
  };
  typename On::error_type const good{};
  expect(packs(there.view(), {.capacity = {6, 100}}, 0) == good && planner.plan.packs == 4, "good");
  expect(packs(there.view(), {.capacity = {6, 100}}, 1) == On::invalid_value, "a byte too few");
  expect(packs(there.view(), {.capacity = {6}}, 0) == On::invalid_value, "a capacity too few");
  expect(packs(there.view(), {.capacity = {6, 100}, .pack_count_multiple = 2}, 0) == On::invalid_value, "a multiple");
  expect(packs(there.view(), {.capacity = {6, 100}, .oversize = oversize::alone}, 0) == On::invalid_value, "a policy");
  expect(packs(there.view(), {.capacity = {2, 75}}, 0) == On::invalid_value && planner.first_bad == 2, "the first bad sample");
  expect(packs(there.view(), {.capacity = {6}}, 0) == On::invalid_value && planner.first_bad == gpu::none_bad,
         "no bad sample, but bad options");
  expect(packs(there.view(), {.capacity = {6, std::int64_t{1} << 32}}, 0) == good, "a capacity of 33 bits");
  expect(packs(there.view(), {.capacity = {6, std::int64_t{1} << 32}}, 0, offset.data()) == On::invalid_value, "an offset of 33 bits");
  expect(packs(there.view(), {.capacity = {1LL << 31, 1LL << 31}}, 0) == good, "keys of 63 bits");
  ballast_test::expect_refusal("capacity: more than 2^63 combinations of measures fit a pack, too many for a device; lower the capacities",
                               [&] { (void)gpu::pack(on, there.view(), {.capacity = {1LL << 32, 1LL << 31}}); });
  columns const five(5, {1, 2, 3});
  sent_columns<std::int32_t, On> const wide(on, five);
  ballast_test::expect_refusal("5 measures, but a device takes at most 4",
                               [&] { (void)gpu::pack(on, wide.view(), {.capacity = {9, 9, 9, 9, 9}}); });
  ballast_test::expect_same_refusal([&] { return gpu::pack(on, sent_columns<std::int32_t, On>(on, {}).view(), {}); },
                                    [&] { return ballast::pack(view({}), {}); }, "no measures");
  ballast_test::expect_same_refusal([&] { return gpu::pack_portfolio(on, there.view(), {.capacity = {6, 100}}, {.members = {}}); },
                                    [&] { return ballast::pack_portfolio(view(samples), {.capacity = {6, 100}}, {.members = {}}); },
                                    "no members");
  auto const found = gpu::pack(on, there.view(), {.capacity = {6, 200}});
  expect_plan(on, found, ballast::pack(view(samples), {.capacity = {6, 200}}), "the default: ");
}

}  // namespace

int main(int argc, char** argv) {
  auto const all = problems();
  return ballast_test::run_everywhere(argc, argv,
                                      part{"pack_portfolio",
                                           [&]<class On>(On on) {
                                             gpu::vector_planner<On> planner(on);
                                             for (auto const& p : all) test_packing(on, p, planner);
                                           }},
                                      part{"as_host", [](auto on) { test_as_host(on); }},
                                      part{"refusals", [](auto on) { test_refusals(on); }});
}
