// SPDX-License-Identifier: Apache-2.0
// Packing on a backend is packing on the host, to the last index: whole, from a plan, counted, and in shards.
#include "support/backends.hpp"
#include "support/distributions.hpp"

#include <ballast/core/classes.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/random.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/gpu/core/classes.cuh>
#include <ballast/gpu/layout/cu_seqlens.cuh>
#include <ballast/gpu/packing/best_fit_decreasing.cuh>
#include <ballast/gpu/packing/expand.cuh>
#include <ballast/gpu/packing/planned.cuh>
#include <ballast/gpu/packing/run_length.cuh>
#include <ballast/gpu/packing/runs.cuh>
#include <ballast/gpu/packing/sharded.cuh>
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/expand.hpp>
#include <ballast/packing/run_length.hpp>

#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>

namespace gpu = ballast::gpu;
using ballast::gpu::fetch;
using ballast::gpu::send;
using ballast_test::expect;
using ballast_test::expect_equal;
using ballast_test::part;
using ballast_test::refusal;

namespace {

struct problem {
  std::string name;
  std::vector<std::uint32_t> lengths;
  ballast::packing_options options;
  ballast::packing<> wanted;
  [[nodiscard]] std::int64_t longest() const {
    return options.capacity / options.pack_multiple * options.pack_multiple / options.sample_multiple * options.sample_multiple;
  }
};

problem problem_of(int shape, std::size_t n, ballast::packing_options const& options) {
  auto const capacity = options.capacity / options.pack_multiple * options.pack_multiple;
  auto lengths = ballast_test::lengths_of<std::uint32_t>(shape, n, capacity / options.sample_multiple * options.sample_multiple);
  auto wanted = ballast::best_fit_decreasing(lengths, options);
  auto name = "shape " + std::to_string(shape) + ", " + std::to_string(n) + " samples, capacity " + std::to_string(options.capacity) +
              ", limit " + std::to_string(options.max_samples) + ": ";
  return {std::move(name), std::move(lengths), options, std::move(wanted)};
}

std::vector<problem> problems() {
  ballast::packing_options const asked[] = {
      {.capacity = 8192},
      {.capacity = 8192, .max_samples = 3, .sample_multiple = 64, .pack_multiple = 100},
      {.capacity = 65536, .max_samples = 1},
      {.capacity = 131072, .max_samples = 20},       // 32-bit keys, and lengths beyond shared memory
      {.capacity = 150'000, .sample_multiple = 16},  // 16-bit keys again
  };
  std::vector<problem> out;
  for (int shape = 0; shape < 5; ++shape) {
    for (auto const& options : asked)
      for (std::size_t const n : {0U, 1U, 31U, 32U, 33U, 1000U, 4097U})  // the last is alone in its strip
        out.push_back(problem_of(shape, n, options));
    out.push_back(problem_of(shape, 100'000, asked[shape]));
  }
  std::vector<std::uint32_t> equal(50'000, 100);  // one block of packs, and the last pack
  auto wanted = ballast::best_fit_decreasing(equal, asked[0]);
  out.push_back({"equal lengths: ", std::move(equal), asked[0], std::move(wanted)});
#if !defined(BALLAST_PRETENDED_DEVICE)  // which takes a minute for it
  out.push_back(problem_of(0, 1'000'000, asked[0]));
#endif
  return out;
}

template <class Tally>  // a pack_tally or a packing
void expect_tally(Tally const& tally, ballast::packing<> const& wanted, std::string const& name) {
  expect(tally.status == wanted.status && tally.count == wanted.count && tally.bound == wanted.bound && tally.tokens == wanted.tokens,
         name + "certificate");
}

// What each sample's place is, from the packs.
struct places {
  std::vector<std::uint64_t> pack, member;
  std::vector<std::uint32_t> slot, offset;
  places(problem const& p) : pack(p.lengths.size()), member(pack), slot(pack.size()), offset(slot) {
    std::uint64_t at = 0;
    for (std::size_t b = 0; b < p.wanted.packs.size(); ++b) {
      std::uint32_t filled = 0, before = 0;
      for (auto const i : p.wanted.packs[b]) {
        pack[i] = b;
        member[i] = at++;
        slot[i] = before++;
        offset[i] = filled;
        auto const multiple = static_cast<std::uint32_t>(p.options.sample_multiple);
        filled += (p.lengths[i] + multiple - 1) / multiple * multiple;
      }
    }
  }
};

template <class On>
void test_best_fit_decreasing(On on, problem const& p, gpu::pack_planner<On>& planner) {
  auto const n = p.lengths.size();
  auto const lengths = send(on, p.lengths);
  auto const packed = gpu::best_fit_decreasing(on, lengths.data(), n, p.options);
  expect_equal(fetch(on, packed.packs.offsets), p.wanted.packs.offsets, p.name + "offsets");
  expect_equal(fetch(on, packed.packs.members), p.wanted.packs.members, p.name + "members");
  expect_tally(packed, p.wanted, p.name);
  expect(packed.packs.size() == p.wanted.packs.size(), p.name + "number of packs");
  expect_tally(gpu::count_packs(on, lengths.data(), n, p.options), p.wanted, p.name + "counted, ");

  // The same with a planner that has packed other samples before, every output, and 64-bit indices.
  gpu::array<std::uint64_t, On> const offsets(on, n + 1), members(on, n), pack(on, n), member(on, n);
  gpu::array<std::uint32_t, On> const slot(on, n), offset(on, n);
  gpu::pack_arrays<std::uint64_t> const out{offsets.data(), members.data(), pack.data(), slot.data(), offset.data(), member.data()};
  call(on, "best_fit_decreasing", [&](void* temp, std::size_t& bytes) {
    return gpu::best_fit_decreasing(on, temp, bytes, lengths.data(), n, p.options, planner, out);
  });
  expect(planner.plan == ballast::plan_best_fit_decreasing(ballast::fold(p.lengths), p.options), p.name + "plan");
  expect_tally(planner.tally, p.wanted, p.name + "planner, ");
  auto found = fetch(on, offsets);
  found.resize(p.wanted.packs.size() + 1);
  expect_equal(found, p.wanted.packs.offsets, p.name + "offsets again");
  expect_equal(fetch(on, members), p.wanted.packs.members, p.name + "members again");
  places const wanted(p);
  expect_equal(fetch(on, pack), wanted.pack, p.name + "pack");
  expect_equal(fetch(on, slot), wanted.slot, p.name + "slot");
  expect_equal(fetch(on, offset), wanted.offset, p.name + "offset");
  expect_equal(fetch(on, member), wanted.member, p.name + "member");
}

template <class On>
void test_expand(On on, problem const& p) {
  auto const n = p.lengths.size();
  auto const lengths = send(on, p.lengths);
  auto const plan = ballast::plan_best_fit_decreasing(ballast::fold(p.lengths), p.options);
  auto const packs = gpu::expand(on, plan, lengths.data(), n);
  expect_equal(fetch(on, packs.offsets), p.wanted.packs.offsets, p.name + "expanded offsets");
  expect_equal(fetch(on, packs.members), p.wanted.packs.members, p.name + "expanded members");

  auto const order = ballast::random_permutation(n, 5);
  auto const visit = send(on, order);
  gpu::device_runs<On> runs(on);
  gpu::check(runs.upload(plan), "upload");
  gpu::array<std::uint32_t, On> const members(on, n);
  gpu::array<std::uint64_t, On> const first_bad(on, 1);
  call(on, "expand", [&](void* temp, std::size_t& bytes) {
    return gpu::expand(on, temp, bytes, runs, lengths.data(), n, visit.data(), gpu::pack_arrays<>{.members = members.data()},
                       first_bad.data());
  });
  expect_equal(fetch(on, members), ballast::expand(plan, p.lengths, order).members, p.name + "shuffled members");
  expect(fetch(on, first_bad)[0] == gpu::none_bad, p.name + "all good");
}

// Costs and cumulative lengths from the plan alone are those of its packs.
template <class On>
void test_planned(On on, problem const& p) {
  constexpr ballast::quadratic_cost cost{.linear = 3, .quadratic = 7};
  auto const plan = ballast::plan_best_fit_decreasing(ballast::fold(p.lengths), p.options);
  std::vector<std::int64_t> costs;
  for (std::size_t b = 0; b < p.wanted.packs.size(); ++b) {
    costs.push_back(0);
    for (auto const i : p.wanted.packs[b]) costs.back() += cost(ballast::round_up(std::int64_t{p.lengths[i]}, p.options.sample_multiple));
  }
  expect_equal(fetch(on, gpu::pack_costs(on, plan, cost)), costs, p.name + "costs by the plan");
  auto const lengths = send(on, p.lengths);
  auto const members = send(on, p.wanted.packs.members);
  auto const offsets = send(on, p.wanted.packs.offsets);
  auto const entries = p.lengths.size() + p.wanted.packs.size();
  gpu::device_runs<On> runs(on);
  gpu::check(runs.upload(plan), "upload");
  gpu::array<std::int32_t, On> const cu(on, entries);
  gpu::check(gpu::cu_seqlens(on, runs, cu.data()), "cu_seqlens");
  expect_equal(fetch(on, cu),
               fetch(on, gpu::cu_seqlens(on, offsets.data(), p.wanted.packs.size(), members.data(), p.lengths.size(), lengths.data(),
                                         p.lengths.size(), p.options.sample_multiple)),
               p.name + "cumulative lengths by the plan");
}

template <class On>
void test_planned_refusals(On on) {
  auto const plan = ballast::plan_best_fit_decreasing({{5}, {5}}, {.capacity = 10});
  constexpr auto most = ballast::checked::most;
  using steps = std::vector<gpu::pack_step>;
  expect(gpu::cost_steps(plan, ballast::token_cost{}) == steps{{0, 10}, {2, 5}}, "two packs of ten, and one of five");
  expect(gpu::cost_steps(ballast::pack_runs{}, ballast::token_cost{}).empty(), "no packs");
  expect(gpu::cost_steps(plan, [](std::int64_t) { return most / 2; })[0].cost == most - 1, "the largest cost");
  ballast_test::expect_refusal("runs[0]: the samples of a pack bring its cost to 2^63 or more",
                               [&] { (void)gpu::pack_costs(on, plan, [](std::int64_t) { return most / 2 + 1; }); });
  ballast_test::expect_refusal("runs[0] = 5 has cost -1, outside [0, 2^63)",
                               [&] { (void)gpu::pack_costs(on, plan, [](std::int64_t) { return std::int64_t{-1}; }); });
  auto const mixed = ballast::plan_best_fit_decreasing({{4, 6}, {1, 1}}, {.capacity = 10});
  ballast_test::expect_refusal("pack 0 has a cost of 2^63 or more",
                               [&] { (void)gpu::pack_costs(on, mixed, [](std::int64_t l) { return l == 4 ? 1 : most; }); });
  gpu::device_runs<On> runs(on);
  gpu::check(runs.upload(plan), "upload");
  gpu::array<std::int8_t, On> const narrow(on, 8);
  expect(gpu::cu_seqlens(on, runs, narrow.data()) == typename On::error_type{}, "tokens that fit");
  gpu::check(runs.upload(ballast::plan_best_fit_decreasing({{5}, {5}}, {.capacity = 128})), "upload");
  expect(gpu::cu_seqlens(on, runs, narrow.data()) == On::invalid_value, "tokens that do not fit");
}

// Stands in for a collective: what each rank sends is known, and this one's words are compared with it.
template <class On>
auto gather_from(On on, std::vector<std::vector<std::uint64_t>> sent, std::size_t rank) {
  return [on, sent = std::move(sent), rank, first = std::make_shared<std::size_t>(0)](std::uint64_t const* from, std::uint64_t* to,
                                                                                      std::size_t words) {
    auto const here = fetch(on, from, words);
    std::vector<std::uint64_t> all;
    for (auto const& of_rank : sent)
      for (std::size_t w = 0; w < words; ++w) all.push_back(of_rank.empty() ? here[w] : of_rank[*first + w]);
    if (!sent[rank].empty())
      expect_equal(here,
                   std::vector(sent[rank].begin() + static_cast<std::ptrdiff_t>(*first),
                               sent[rank].begin() + static_cast<std::ptrdiff_t>(*first + words)),
                   "words of the rank");
    *first += words;
    gpu::check(on.upload(to, all.data(), all.size()), "upload");
  };
}

// Three ranks, one after the other, with the words that a collective would give them.
template <class On>
void test_sharded(On on, problem const& p) {
  auto const n = p.lengths.size();
  std::size_t const cuts[] = {0, n / 3, n / 3, n};
  places const wanted(p);
  std::vector<std::vector<std::uint64_t>> sent(3, std::vector<std::uint64_t>(static_cast<std::size_t>(p.longest()) + 2));
  for (std::size_t r = 0; r < 3; ++r)
    for (auto i = cuts[r]; i < cuts[r + 1]; ++i) ++sent[r][1 + p.lengths[i]];
  for (std::size_t r = 0; r < 3; ++r) {
    auto const cut = [&](auto const& all) {
      using element = std::remove_cvref_t<decltype(all[0])>;
      return std::vector<element>(all.begin() + static_cast<std::ptrdiff_t>(cuts[r]),
                                  all.begin() + static_cast<std::ptrdiff_t>(cuts[r + 1]));
    };
    auto const lengths = send(on, cut(p.lengths));
    auto const found = gpu::pack_sharded(on, lengths.data(), lengths.size(), p.options, r, 3, gather_from(on, sent, r));
    auto const name = p.name + "rank " + std::to_string(r) + " ";
    expect_tally(found.tally, p.wanted, name);
    expect_equal(fetch(on, found.pack), cut(wanted.pack), name + "pack");
    expect_equal(fetch(on, found.slot), cut(wanted.slot), name + "slot");
    expect_equal(fetch(on, found.offset), cut(wanted.offset), name + "offset");
    expect_equal(fetch(on, found.member), cut(wanted.member), name + "member");
  }
}

// An exchange in parts, and a rank that fails after all the others have been served.
template <class On>
void test_exchange(On on) {
  constexpr std::size_t ranks = 5, lengths = 2500, rank = 3;
  auto const word = [](std::size_t r, std::size_t w) { return std::uint64_t{r * 7 + w}; };
  std::size_t first = 0, calls = 0;
  auto const gather = [&](std::uint64_t const* from, std::uint64_t* to, std::size_t words) {
    auto const here = fetch(on, from, words);
    std::vector<std::uint64_t> all(ranks * words);
    for (std::size_t r = 0; r < ranks; ++r)
      for (std::size_t w = 0; w < words; ++w) all[r * words + w] = r == rank ? here[w] : first + w == 0 ? 0 : word(r, first + w);
    first += words;
    ++calls;
    gpu::check(on.upload(to, all.data(), all.size()), "upload");
  };
  auto const count = [&](std::uint64_t* counts) {
    std::vector<std::uint64_t> own(lengths);
    for (std::size_t w = 0; w < lengths; ++w) own[w] = word(rank, w + 1);
    gpu::check(on.upload(counts, own.data(), lengths), "upload");
  };
  auto const found = gpu::detail::exchange_counts(on, lengths, rank, ranks, count, gather, 5000);
  expect(calls == 3 && first == lengths + 1, "parts of the exchange");
  for (std::size_t w = 0; w < lengths; ++w) {
    auto const sum = [&](std::uint64_t n) { return 7 * n * (n - 1) / 2 + n * (w + 1); };
    expect(found.before[w] == sum(rank) && found.all[w] == sum(ranks) && found.here[w] == word(rank, w + 1), "sums of ranks");
  }

  std::uint64_t told = 0;
  auto const alone = [&](std::uint64_t const* from, std::uint64_t* to, std::size_t words) {
    told = fetch(on, from, words)[0];
    gpu::check(on.upload(to, fetch(on, from, words).data(), words), "upload");
  };
  try {
    (void)gpu::detail::exchange_counts(on, 4, 0, 1, [](std::uint64_t*) { throw std::length_error("no memory"); }, alone);
    expect(false, "a rank that failed");
  } catch (std::length_error const&) {
    expect(told == 1, "the others are told of a rank that failed");
  }
}

template <class Length, class On>
void test_length_type(On on) {
  constexpr std::int64_t capacity = 1 << 15;
  auto const wide = ballast_test::lengths_of<std::uint32_t>(2, 20'000, capacity - 1);
  std::vector<Length> const lengths(wide.begin(), wide.end());
  auto const there = send(on, lengths);
  expect(gpu::fold(on, there.data(), lengths.size(), capacity) == ballast::fold(lengths), "fold");
  auto const packed = gpu::best_fit_decreasing<std::uint64_t>(on, there.data(), lengths.size(), {.capacity = capacity});
  expect_equal(fetch(on, packed.packs.members), ballast::best_fit_decreasing<std::uint64_t>(lengths, {.capacity = capacity}).packs.members,
               "64-bit members");
}

template <class On>
void test_bad_data(On on) {
  ballast::packing_options const options{.capacity = 1000, .sample_multiple = 8};
  auto const try_with = [&](std::int32_t a, std::int32_t b) {
    std::vector<std::int32_t> lengths(70'000, 10);
    lengths[40'000] = a;
    lengths[60'000] = b;
    auto const n = lengths.size();
    auto const there = send(on, lengths);
    auto const name = " of " + std::to_string(a) + " and " + std::to_string(b);
    auto const wanted = refusal([&] { (void)ballast::best_fit_decreasing(lengths, options); });
    auto const same = [&](std::string const& found, std::string const& what) { expect(found == wanted, what + name + ": " + found); };
    same(refusal([&] { (void)gpu::best_fit_decreasing(on, there.data(), n, options); }), "packing");
    same(refusal([&] { (void)gpu::count_packs(on, there.data(), n, options); }), "counting");
    same(refusal([&] { (void)gpu::pack_sharded(on, there.data(), n, options, 0, 1, gather_from(on, {{}}, 0)); }), "sharded");
    auto const beside = [&](std::uint64_t status, std::uint64_t bad) {
      std::vector<std::uint64_t> other(1002);
      other[0] = status;
      other[1] = bad;
      return refusal([&] { (void)gpu::pack_sharded(on, there.data(), 10, options, 0, 2, gather_from(on, {{}, other}, 0)); });
    };
    expect(beside(0, 2) == "2 lengths of other shards are outside 1 … 1000", "a bad length elsewhere");
    expect(beside(1, 0) == "another rank could not count its samples; its message says why", "a rank that failed elsewhere");
    auto const at = std::to_string(a == 10 ? 60'000 : 40'000) + "] = " + std::to_string(a == 10 ? b : a);
    expect(refusal([&] { (void)gpu::fold(on, there.data(), n, 1000); }) == "lengths[" + at + " must be in 1 … 1000", "folding" + name);

    gpu::pack_planner<On> planner(on);
    std::size_t bytes = 0;
    gpu::check(gpu::best_fit_decreasing(on, nullptr, bytes, there.data(), n, options, planner, gpu::pack_arrays<>{}), "size");
    gpu::array<std::byte, On> const temp(on, bytes);
    expect(gpu::best_fit_decreasing(on, temp.data(), bytes, there.data(), n, options, planner, gpu::pack_arrays<>{}) == On::invalid_value &&
               planner.first_bad == (a == 10 ? 60'000U : 40'000U),
           "first bad" + name);
    --bytes;
    expect(gpu::best_fit_decreasing(on, temp.data(), bytes, there.data(), n, options, planner, gpu::pack_arrays<>{}) == On::invalid_value &&
               planner.first_bad == gpu::none_bad,
           "no bad sample, but too few bytes" + name);

    // Against a plan for good samples: the members are not written where they do not belong.
    auto const plan = ballast::plan_best_fit_decreasing({{10}, {n}}, options);
    same(refusal([&] { (void)gpu::best_fit_decreasing(on, there.data(), n, options); }), "packing");
    expect(refusal([&] { (void)gpu::expand(on, plan, there.data(), n); }) == refusal([&] { (void)ballast::expand(plan, lengths); }),
           "expanding" + name);
  };
  try_with(0, 10);
  try_with(10, -7);
  try_with(1001, 10);
  try_with((std::numeric_limits<std::int32_t>::max)(), 0);
}

template <class On>
void test_refusals(On on) {
  std::vector<std::int32_t> const lengths{3, 5, 3, 8};
  auto const there = send(on, lengths);
  gpu::pack_planner<On> planner(on);
  auto const packs = [&](ballast::packing_options const& options, std::size_t less) {
    std::size_t bytes = 0;
    auto const sized = gpu::best_fit_decreasing(on, nullptr, bytes, there.data(), 4, options, planner, gpu::pack_arrays<>{});
    if (sized != typename On::error_type{}) return sized;
    gpu::array<std::byte, On> const temp(on, bytes);
    bytes -= less;
    return gpu::best_fit_decreasing(on, temp.data(), bytes, there.data(), 4, options, planner, gpu::pack_arrays<>{});
  };
  expect(packs({.capacity = 8}, 0) == typename On::error_type{} && planner.plan.packs == 3, "good");
  expect(packs({.capacity = 8}, 1) == On::invalid_value, "a byte too few");
  for (ballast::packing_options const& bad : {ballast::packing_options{.capacity = 0},
                                              {.capacity = (1 << 24) + 1},
                                              {.capacity = 8, .sample_multiple = 0},
                                              {.capacity = 8, .pack_multiple = 9}}) {
    expect(packs(bad, 0) == On::invalid_value, "bad options");
    expect(refusal([&] { (void)gpu::best_fit_decreasing(on, there.data(), 4, bad); }) != "accepted", "bad options refused");
  }
  for (ballast::packing_options const& other :
       {ballast::packing_options{.capacity = 8, .pack_count_multiple = 2},
        {.capacity = 8, .pack_count = 4},
        {.capacity = 8, .oversize = ballast::oversize::split}}) {  // oversize.cpp tests the other form
    expect(packs(other, 0) == On::invalid_value, "options of the form that allocates");
    expect(refusal([&] { (void)gpu::pack_sharded(on, there.data(), 4, other, 0, 1, gather_from(on, {{}}, 0)); }) ==
               "pack_sharded takes no demanded number of packs and no over-size policy: call apply_oversize before",
           "options of shards");
  }
  auto const plan = ballast::plan_best_fit_decreasing({{3, 5}, {3, 1}}, {.capacity = 8});
  std::vector<std::int32_t> const other{3, 5, 3, 5};
  auto const others = send(on, other);
  expect(refusal([&] { (void)gpu::expand(on, plan, others.data(), 4); }) == refusal([&] { (void)ballast::expand(plan, other); }),
         "samples of another plan");
  expect(refusal([&] { (void)gpu::expand(on, plan, others.data(), 3); }) == "3 lengths, but the plan was made for 4 samples",
         "fewer samples");

  // The first sample that is not of the plan is named. An order that is no permutation is found, and nothing is read where no sample is.
  auto const first_bad_of = [&](ballast::pack_runs const& wrong, std::uint32_t const* visit) {
    gpu::device_runs<On> runs(on);
    gpu::check(runs.upload(wrong), "upload");
    gpu::array<std::uint64_t, On> const first_bad(on, 1);
    call(on, "expand", [&](void* temp, std::size_t& bytes) {
      return gpu::expand(on, temp, bytes, runs, there.data(), 4, visit, gpu::pack_arrays<>{}, first_bad.data());
    });
    return gpu::fetch_one(on, first_bad.data());
  };
  auto const good = ballast::plan_best_fit_decreasing(ballast::fold(lengths), {.capacity = 8});
  expect(first_bad_of(good, nullptr) == gpu::none_bad, "the samples of the plan");
  expect(
      first_bad_of(plan, nullptr) == 1 && first_bad_of(ballast::plan_best_fit_decreasing({{3, 5}, {2, 2}}, {.capacity = 8}), nullptr) == 3,
      "the first sample of another plan");
  auto const visit = send(on, std::vector<std::uint32_t>{0, 1, 4'000'000'000, 3});
  expect(first_bad_of(good, visit.data()) != gpu::none_bad, "no permutation");
}

}  // namespace

int main(int argc, char** argv) {
  auto const all = problems();
  return ballast_test::run_everywhere(argc, argv,
                                      part{"best_fit_decreasing",
                                           [&]<class On>(On on) {
                                             gpu::pack_planner<On> planner(on);
                                             for (auto const& p : all) test_best_fit_decreasing(on, p, planner);
                                             test_length_type<std::uint16_t>(on);
                                             test_length_type<std::int32_t>(on);
                                             test_length_type<std::int64_t>(on);
                                           }},
                                      part{"expand",
                                           [&](auto on) {
                                             for (auto const& p : all)
                                               if (p.lengths.size() <= 100'000) test_expand(on, p);
                                           }},
                                      part{"planned",
                                           [&](auto on) {
                                             for (auto const& p : all)
                                               if (p.lengths.size() <= 100'000) test_planned(on, p);
                                             test_planned_refusals(on);
                                           }},
                                      part{"sharded",
                                           [&](auto on) {
                                             for (auto const& p : all)
                                               if (p.lengths.size() <= 100'000) test_sharded(on, p);
                                             test_exchange(on);
                                           }},
                                      part{"bad_data", [](auto on) {
                                             test_bad_data(on);
                                             test_refusals(on);
                                           }});
}
