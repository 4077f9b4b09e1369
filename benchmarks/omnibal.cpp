// SPDX-License-Identifier: Apache-2.0
// Prints the tables of docs/omnibal.md: iterative sampling and filtering as published, and every packer of several measures, on OmniBal's
// four published files and on stand-ins for its whole mixture. Each plan of the library is validated; a fault ends the program with status
// 1. Where the files are not at hand, they are redrawn from their published statistics.
#include "../tests/support/omnibal_surrogate.hpp"

#include <ballast/batching/vector_steps.hpp>
#include <ballast/core/random.hpp>
#include <ballast/methods/omnibal.hpp>
#include <ballast/methods/omnibal_units.hpp>
#include <ballast/packing/vector/best_fit.hpp>
#include <ballast/packing/vector/bin_completion.hpp>
#include <ballast/packing/vector/bounds.hpp>
#include <ballast/packing/vector/capacities.hpp>
#include <ballast/packing/vector/check.hpp>
#include <ballast/packing/vector/iterative_sampling.hpp>
#include <ballast/packing/vector/near_optimal.hpp>
#include <ballast/packing/vector/portfolio.hpp>
#include <ballast/packing/vector/rank_distance.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using ballast::groups;
using surrogate::samples;

struct limits {
  std::int64_t tiles, tokens;
};

struct reported {
  std::uint32_t rounds;
  std::int64_t packs;
  double tiles, text, text_64;  // rank distance of 8 ranks, of 64; 0: not reported
};

struct test_case {
  std::string name;
  samples const* data;
  limits most;
  std::vector<reported> published;  // what the authors' program makes of its own data (real ones, or a surrogate like ours)
};

class table {
 public:
  explicit table(test_case const& c) : case_(c), view_{c.data->tiles, c.data->tokens}, options_{.capacity = {c.most.tiles, c.most.tokens}} {
    std::printf("\n%s, capacity (%lld, %lld), %zu samples\n\n", c.name.c_str(), static_cast<long long>(c.most.tiles),
                static_cast<long long>(c.most.tokens), view_.size());
    std::puts(
        "| packer | packs | bound (by) | gap | lost | fill | | distance, 8 ranks | | 64 ranks | | CPU s |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|");
  }

  void published(reported const& r) {
    if (r.packs != 0)
      std::printf("| authors' program, %u rounds | %lld | | | | | | %s | %s | | %s | |\n", r.rounds, static_cast<long long>(r.packs),
                  number(r.tiles).c_str(), number(r.text).c_str(), number(r.text_64).c_str());
    auto const begin = std::clock();
    auto const plan = ballast::omnibal::pack_data(
        {case_.data->tiles, case_.data->tokens, {.tiles = case_.most.tiles, .tokens = case_.most.tokens}}, {.rounds = r.rounds});
    row("as published, " + std::to_string(r.rounds) + " rounds", plan.packing.packs, {}, seconds(begin));
  }

  template <class Packer>
  void ours(std::string const& name, Packer const& packer) {
    auto const begin = std::clock();
    auto const plan = packer(view_, options_);
    auto const spent = seconds(begin);
    auto const verdict = ballast::check_packing(plan, view_, options_);
    if (!verdict.valid()) throw std::logic_error(case_.name + ", " + name + ": " + ballast::describe(verdict));
    char bound[80];
    std::snprintf(bound, sizeof bound, "%lld (%s) | %s", static_cast<long long>(plan.count.lower_bound),
                  std::string(to_string(plan.bound)).c_str(),
                  plan.count.optimal() ? "optimal" : (number(100 * plan.count.gap()) + " %").c_str());
    row(name, plan.packs, bound, spent);
  }

 private:
  static std::string number(double x) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4f", x);
    return x == 0 ? "" : text;
  }
  static double seconds(std::clock_t begin) { return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC; }

  void row(std::string const& name, groups<> const& packs, std::string const& bound, double spent) {
    groups<> mixed;  // steps of random packs, as the authors' sampler makes them
    for (auto const p : ballast::random_permutation(packs.size(), 1)) mixed.push_back(packs[p]);
    std::int64_t tiles = 0, tokens = 0;
    for (auto const i : packs.members) {
      tiles += case_.data->tiles[i];
      tokens += case_.data->tokens[i];
    }
    auto const room = static_cast<double>(packs.size());
    auto const by_8 = ballast::rank_distances(mixed, view_, 8), by_64 = ballast::rank_distances(mixed, view_, 64);
    std::printf("| %s | %zu | %s | %zu | %.3f | %.3f | %.4f | %.4f | %.4f | %.4f | %.3f |\n", name.c_str(), packs.size(),
                bound.empty() ? "|" : bound.c_str(), view_.size() - packs.members.size(),
                static_cast<double>(tiles) / (room * static_cast<double>(case_.most.tiles)),
                static_cast<double>(tokens) / (room * static_cast<double>(case_.most.tokens)), by_8[0], by_8[1], by_64[0], by_64[1], spent);
  }

  test_case const& case_;
  ballast::sample_measures view_;
  ballast::vector_packing_options options_;
};

void print_packers(test_case const& c) {
  table rows(c);
  for (auto const& r : c.published) rows.published(r);
  rows.ours("iterative_sampling", [](auto const& s, auto const& o) { return ballast::iterative_sampling(s, o); });
  rows.ours("vector_best_fit", [](auto const& s, auto const& o) { return ballast::vector_best_fit(s, o); });
  rows.ours("bin_completion", [](auto const& s, auto const& o) { return ballast::bin_completion(s, o); });
  rows.ours("near_optimal", [](auto const& s, auto const& o) { return ballast::near_optimal(s, o); });
  rows.ours("pack", [](auto const& s, auto const& o) { return ballast::pack(s, o); });
}

// Plans of one set under its capacities: the packers that make a first plan, the search and the default.
void print_search(std::string const& name, std::vector<std::vector<std::int64_t>> const& columns,
                  std::vector<std::int64_t> const& capacity) {
  ballast::sample_measures const samples(std::vector<std::span<std::int64_t const>>(columns.begin(), columns.end()));
  ballast::vector_packing_options const options{.capacity = capacity, .oversize = ballast::oversize::set_aside};
  auto const best_fit = ballast::vector_best_fit(samples, options), sampled = ballast::iterative_sampling(samples, options);
  auto const begin = std::clock();
  auto const found = ballast::near_optimal(samples, options);
  auto const between = std::clock();
  auto const plan = ballast::pack(samples, options);
  auto const end = std::clock();
  for (auto const* const p : {&found, &plan})
    if (auto const verdict = ballast::check_packing(*p, samples, options); !verdict.valid())
      throw std::logic_error(name + ": " + ballast::describe(verdict));
  std::string limits;
  for (auto const c : capacity) limits += (limits.empty() ? "" : ", ") + std::to_string(c);
  std::printf("| %s | %s | %zu | %zu | %zu | %zu | %lld (%s) | %.3f %% | %.2f | %.2f |\n", name.c_str(), limits.c_str(),
              best_fit.packs.size(), sampled.packs.size(), found.packs.size(), plan.packs.size(),
              static_cast<long long>(plan.count.lower_bound), std::string(to_string(plan.bound)).c_str(), 100 * plan.count.gap(),
              static_cast<double>(between - begin) / CLOCKS_PER_SEC, static_cast<double>(end - between) / CLOCKS_PER_SEC);
}

void print_searches(samples const& four, char const* folder) {
  std::puts(
      "\nmany classes (CPU s of the search and of pack)\n\n"
      "| set | capacity | best fit | iterative sampling | near optimal | pack | bound (by) | gap of pack | near optimal s | pack s |\n"
      "|---|---|---|---|---|---|---|---|---|---|");
  auto text = four.tokens;
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = (std::max)(text[i] - 256 * four.tiles[i], std::int64_t{1});
  print_search("four files: tiles, tokens", {four.tiles, four.tokens}, {60, 16384});
  print_search("four files: tiles, tokens, text", {four.tiles, four.tokens, text}, {24, 8192, 3072});
  if (folder == nullptr) return;
  std::ifstream in(std::string(folder) + "/servegen_mm_image_sampled.txt");
  std::vector<std::vector<std::int64_t>> images(3);  // all tokens, images, tokens of images
  for (std::int64_t prompt = 0, answer = 0, count = 0, of_images = 0; in >> prompt >> answer >> count >> of_images;) {
    images[0].push_back(prompt + answer + of_images);
    images[1].push_back(count);
    images[2].push_back(of_images);
  }
  for (auto const& capacity : {std::vector<std::int64_t>{8192, 8, 8192}, {8192, 6, 4096}, {16384, 12, 8192}, {32768, 32, 32768}})
    print_search("mm-image: tokens, images, image tokens", images, capacity);
}

void print_choice(char const* name, samples const& data, char const* authors) {
  auto const published = ballast::sampling_options{.finish = ballast::sampling_finish::next_fit, .keep = ballast::kept_round::last};
  auto const choice = ballast::choose_capacities({data.tiles, data.tokens}, {.sampling = published});
  for (std::size_t i = 0; i < choice.trials.size(); ++i) {
    auto const& t = choice.trials[i];
    std::printf("| %s%s | (%lld, %lld) | %lld | %.2f | %.4f | %.4f | %.4f | %s |\n", i == choice.best ? "chosen: " : "", name,
                static_cast<long long>(t.capacity[0]), static_cast<long long>(t.capacity[1]), static_cast<long long>(t.packs),
                t.samples_per_pack, t.rank_distance[0], t.rank_distance[1], t.score, i == choice.best ? authors : "");
  }
}

// The three samplers of the authors' code on the packs of their procedure: DistRatio over rows of `ranks` packs.
void print_samplers(test_case const& c) {
  ballast::sample_measures const view{c.data->tiles, c.data->tokens};
  ballast::omnibal::pack_limits const limits{.tiles = c.most.tiles, .tokens = c.most.tokens};
  auto const packs = ballast::omnibal::pack_data({c.data->tiles, c.data->tokens, limits}).packing.packs;
  std::vector<std::int64_t> tokens;
  for (auto const pack : packs) {
    tokens.push_back(0);
    for (auto const i : pack) tokens.back() += c.data->tokens[i];
  }
  for (std::uint64_t const ranks : {8U, 64U}) {
    auto const row = [&](char const* name, std::vector<std::uint32_t> const& order) {
      groups<> dealt;
      for (auto const p : order) dealt.push_back(packs[p]);
      auto const distance = ballast::rank_distances(dealt, view, ranks);
      std::printf("| %s | (%lld, %lld) | %llu | %s | %.4f | %.4f |\n", c.name.c_str(), static_cast<long long>(c.most.tiles),
                  static_cast<long long>(c.most.tokens), static_cast<unsigned long long>(ranks), name, distance[0], distance[1]);
    };
    auto order = ballast::random_permutation(packs.size(), 1);
    row("random", order);
    // length_group: the packs of a step are sorted, and with one pack for each rank that is all
    auto grouped = order;
    for (std::size_t at = 0; at + ranks <= grouped.size(); at += ranks)
      std::sort(grouped.begin() + static_cast<std::ptrdiff_t>(at), grouped.begin() + static_cast<std::ptrdiff_t>(at + ranks),
                [&](auto a, auto b) { return tokens[a] > tokens[b]; });
    row("length_group", grouped);
    // group_random: whole steps, the first packs repeated, then bins of 512 tokens from short to long
    for (std::size_t k = 0; order.size() % ranks != 0; ++k) order.push_back(order[k]);
    std::vector<std::uint32_t> steps, binned;
    for (auto const k : ballast::random_permutation(order.size() / ranks, 2))
      for (std::size_t r = 0; r < ranks; ++r) steps.push_back(order[k * ranks + r]);
    for (std::int64_t bin = 0; bin <= c.most.tokens / 512; ++bin)
      for (auto const p : steps)
        if (tokens[p] / 512 == bin) binned.push_back(p);
    row("group_random", binned);
  }
  auto const units = ballast::omnibal::sequence_units_of(packs, view, 4);
  std::printf("| %s | (%lld, %lld) | | units of 4 for sequence parallelism; padding %.7f | %.7f | %.7f |\n", c.name.c_str(),
              static_cast<long long>(c.most.tiles), static_cast<long long>(c.most.tokens), units.padding, units.distance[0],
              units.distance[1]);
}

// Steps of one pack per rank: the published method, and plan_steps under several windows.
void print_steps(test_case const& c) {
  ballast::sample_measures const view{c.data->tiles, c.data->tokens};
  for (std::uint64_t const ranks : {8U, 64U}) {
    auto const row = [&](char const* name, auto const& plan, double tiles, double tokens, std::clock_t begin) {
      std::printf("| %s | (%lld, %lld) | %llu | %s | %zu | %zu | %.4f | %.4f | %.3f |\n", c.name.c_str(),
                  static_cast<long long>(c.most.tiles), static_cast<long long>(c.most.tokens), static_cast<unsigned long long>(ranks), name,
                  plan.steps(), plan.dropped.size(), tiles, tokens, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
    };
    auto begin = std::clock();
    auto const paper = ballast::omnibal::plan_data(c.data->tiles, c.data->tokens,
                                                   {.limits = {.tiles = c.most.tiles, .tokens = c.most.tokens}, .ranks = ranks});
    row("omnibal::plan_data", paper.steps, paper.distance[0], paper.distance[1], begin);
    for (std::uint64_t const window : {1U, 4U, 16U, 64U}) {
      begin = std::clock();
      auto const plan =
          ballast::plan_steps(view, {.steps = {.capacity = c.most.tokens, .ranks = ranks}, .others = {c.most.tiles}, .window = window});
      auto const name = window == 1 ? "packs of plan_steps at random" : "plan_steps, window " + std::to_string(window);
      row(name.c_str(), plan, plan.balance[0].mean_ratio, plan.balance[1].mean_ratio, begin);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  auto const* const folder = argc > 1 ? argv[1] : std::getenv("BALLAST_TRACES");
  try {
    auto const four =
        folder == nullptr ? surrogate::four_files_redrawn() : surrogate::read_four_files(std::string(folder) + "/omnibal_vlm_sft.txt");
    auto const mixture = surrogate::vision_mixture(four);
    auto const text = surrogate::pure_text();
    if (folder == nullptr)
      std::puts("the four files are redrawn: give the folder of the traces as argument or in BALLAST_TRACES for the published ones");
    std::vector<test_case> const cases{
        {"mixture of 1.27 M",
         &mixture,
         {9, 4096},
         {{1, 322135, .1347, .2175, .2765},
          {5, 286617, .0285, .1563, .1947},
          {10, 284744, .0221, .1551, .1900},
          {50, 284348, .0207, .1555, .1891}}},
        {"mixture of 1.27 M", &mixture, {10, 4528}, {{50, 0, 0, 0, 0}}},
        {"four files",
         &four,
         {18, 6016},
         {{1, 17035, .0860, .1142, .1737},
          {5, 15822, .0190, .0805, .1314},
          {10, 15566, .0028, .0703, .1208},
          {50, 15523, .0001, .0701, .1184}}},
        {"four files",
         &four,
         {9, 4096},
         {{1, 42680, .2332, .2649, .3533}, {10, 42838, .2754, .3079, .3757}, {50, 43942, .2936, .3292, .3949}}},
        {"four files", &four, {16, 5376}, {{50, 17533, .0041, .0760, .1294}}},
        {"text of 1 M",
         &text,
         {9, 4096},
         {{1, 194187, 0, .1496, 0}, {5, 174225, 0, .0608, 0}, {10, 168045, 0, .0268, 0}, {50, 165589, 0, .0125, .0142}}}};
    std::puts(
        "Fill and distance: tiles, then tokens. Distance: packs in random order. The authors' figures for the mixture and the text are\n"
        "those of their program on draws from the same distributions.");
    for (auto const& c : cases) print_packers(c);
    print_searches(four, folder);
    std::puts(
        "\nsteps\n\n| data | capacity | ranks | plan | steps | dropped | distance: tiles | tokens | CPU s |\n"
        "|---|---|---|---|---|---|---|---|---|");
    for (auto const& c : cases) print_steps(c);
    std::puts(
        "\nsamplers of the authors' code\n\n| data | capacity | ranks | sampler | distance: tiles | tokens |\n|---|---|---|---|---|---|");
    print_samplers(cases[0]);
    print_samplers(cases[2]);
    std::puts(
        "\nchoose_capacities\n\n| data | capacity | packs | samples per pack | distance: tiles | tokens | score | authors' choice |\n"
        "|---|---|---|---|---|---|---|---|");
    print_choice("four files", four, "(18, 6016)");
    print_choice("mixture of 1.27 M", mixture, "(10, 4528)");
  } catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
