// SPDX-License-Identifier: Apache-2.0
// Prints the tables of docs/batching.md: what the planners of steps make of published traces, in files as they are, and drawn from with
// replacement where a file holds too few steps to judge their randomness. Every plan is validated; an invalid one ends the program with
// status 1. FOLDER --points prints the data of a picture instead, docs/figures/traces.json.
#include <ballast/batching.hpp>
#include <ballast/core/metrics/step_balance.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <numeric>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../tests/support/randomness.hpp"

namespace {

using options = ballast::batching_options;

struct trace {
  char const* name;
  char const* file;
  std::vector<std::size_t> columns;  // summed into one length
  std::int64_t capacity;
};

std::vector<std::int64_t> read(std::string const& path, std::vector<std::size_t> const& columns, std::int64_t capacity) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  std::vector<std::int64_t> lengths;
  for (std::string line; std::getline(in, line);) {
    std::istringstream numbers(line);
    std::vector<std::int64_t> row;
    for (std::int64_t v = 0; numbers >> v;) row.push_back(v);
    std::int64_t length = 0;
    for (auto c : columns) length += row.at(c);
    lengths.push_back((std::min)(length, capacity));
  }
  return lengths;
}

// `times` as many lengths, drawn from the given ones with replacement.
std::vector<std::int64_t> resampled(std::vector<std::int64_t> const& lengths, std::size_t times) {
  ballast::splitmix64 draw(1);
  std::vector<std::int64_t> out(times * lengths.size());
  for (auto& l : out) l = lengths[static_cast<std::size_t>(ballast::uniform_below(lengths.size(), draw))];
  return out;
}

// floor of a lognormal (mu 6.5, sigma 1.4), clipped to 16 … 131072.
std::vector<std::int64_t> lognormal(std::size_t count) {
  std::mt19937_64 generator(20240720);
  std::lognormal_distribution<double> draw(6.5, 1.4);
  std::vector<std::int64_t> out(count);
  for (auto& l : out) l = static_cast<std::int64_t>(std::clamp(draw(generator), 16.0, 131072.0));
  return out;
}

ballast::groups<> samples_of_steps(ballast::batching<> const& plan) {
  ballast::groups<> steps;
  std::vector<std::uint32_t> members;
  for (std::size_t s = 0; s < plan.steps(); ++s) {
    members.clear();
    for (auto const pack : plan.packs_of(s)) members.insert(members.end(), pack.begin(), pack.end());
    steps.push_back(members);
  }
  return steps;
}

template <class Plan>
void print_row(char const* method, std::vector<std::int64_t> const& lengths, options const& o, Plan const& make) {
  auto const start = std::clock();
  auto const plan = make();
  auto const ms = 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  if (auto const verdict = ballast::check_batching(plan, lengths, o, ballast::dense_4096_cost); !verdict.valid())
    throw std::logic_error(method + (": " + ballast::describe(verdict)));
  auto const random = ballast_test::randomness_of(samples_of_steps(plan), lengths);
  auto const slow = plan.slowest_over_mean();
  std::printf("| %s | %zu | %zu | %zu | %.4f | %.4f | %.3f | %.1f | %.1f | %.1f | %.2f | %.1f |\n", method, plan.steps(), plan.packs.size(),
              plan.dropped.size(), slow, slow * static_cast<double>(plan.slowest.lower_bound) / static_cast<double>(plan.slowest.value),
              plan.fill(o.capacity), random.ks_times, random.design_effect, random.design_effect_8,
              static_cast<double>(plan.token_delay) / static_cast<double>(plan.tokens), ms);
}

void print_table(trace const& t, std::vector<std::int64_t> const& lengths, std::uint64_t ranks, std::uint64_t micro_batches) {
  options o{.capacity = t.capacity, .ranks = ranks, .micro_batches = micro_batches, .seed = 1};
  auto const decreasing = ballast::best_fit_decreasing(lengths, {.capacity = t.capacity}).packs;
  auto const shuffled = ballast::best_fit_shuffled(lengths, {.capacity = t.capacity, .seed = 1}).packs;
  auto const critical = ballast::deal_steps(decreasing, lengths, o, ballast::dense_4096_cost, {.how = ballast::dealing::random}).critical;
  std::printf("\n%s, capacity %lld, %llu ranks, %llu micro-batches: cost ratio %.2f, square ratio %.2f\n\n", t.name,
              static_cast<long long>(t.capacity), static_cast<unsigned long long>(ranks), static_cast<unsigned long long>(micro_batches),
              critical.cost, critical.square);
  std::puts(
      "| method | steps | packs | dropped | slow | bound | fill | KSx | D | D8 | delay | ms "
      "|\n|---|---|---|---|---|---|---|---|---|---|---|---|");
  print_row("best-fit decreasing, dealt at random", lengths, o,
            [&] { return ballast::deal_steps(decreasing, lengths, o, ballast::dense_4096_cost, {.how = ballast::dealing::random}); });
  print_row("random steps", lengths, o,
            [&] { return ballast::stream_steps(lengths, o, ballast::dense_4096_cost, {.tuning = {.threshold = 0}}); });
  print_row("best fit in random order, sorted, cyclic", lengths, o,
            [&] { return ballast::deal_steps(shuffled, lengths, o, ballast::dense_4096_cost); });
  print_row("windows of 16, redealt", lengths, o,
            [&] { return ballast::deal_steps(shuffled, lengths, o, ballast::dense_4096_cost, {.window = 16, .redeal = true}); });
  print_row("windows of 32, redealt", lengths, o,
            [&] { return ballast::deal_steps(shuffled, lengths, o, ballast::dense_4096_cost, {.window = 32, .redeal = true}); });
  print_row("stream, outliers over CP ranks", lengths, o,
            [&] { return ballast::stream_steps(lengths, o, ballast::dense_4096_cost, {.tuning = {.threshold = 0, .share = 400}}); });
  print_row("plan_steps", lengths, o, [&] { return ballast::plan_steps(lengths, o, ballast::dense_4096_cost); });
}

// What a run takes: the slowest ranks' cost, steps and fill. Packs that the end of the data leaves over are counted as a step.
struct run_figures {
  double cost = 0;
  std::size_t steps = 0;
  double idle = 0, fill = 0;
};

// Outlier queues (WLB-LLM, arXiv 2503.17924, algorithm 1): of each batch of samples, those above a threshold wait until there is one for
// every rank; the others go longest first to the rank with least to do, else to the shortest, else to the next batch.
run_figures outlier_queues(std::vector<std::int64_t> const& lengths, options const& o, std::vector<std::int64_t> const& thresholds) {
  auto const ranks = static_cast<std::size_t>(o.ranks);
  auto const order = ballast::random_permutation<std::uint32_t>(lengths.size(), o.seed);
  std::vector<std::vector<std::int64_t>> queue(thresholds.size());
  std::vector<std::int64_t> carried, batch, tokens(ranks), load(ranks);
  run_figures f;
  double all_tokens = 0, all_cost = 0;
  std::size_t next = 0;
  auto const waits = [&] { return std::any_of(queue.begin(), queue.end(), [](auto const& q) { return !q.empty(); }); };
  while (next < order.size() || !carried.empty() || waits()) {
    batch.swap(carried);
    carried.clear();
    auto drawn = std::accumulate(batch.begin(), batch.end(), std::int64_t{0});
    for (auto& q : queue)
      if (q.size() >= ranks || (next == order.size() && !q.empty())) {
        auto const count = (std::min)(q.size(), ranks);
        batch.insert(batch.end(), q.begin(), q.begin() + static_cast<std::ptrdiff_t>(count));
        drawn += std::accumulate(q.begin(), q.begin() + static_cast<std::ptrdiff_t>(count), std::int64_t{0});
        q.erase(q.begin(), q.begin() + static_cast<std::ptrdiff_t>(count));
      }
    while (drawn < o.capacity * static_cast<std::int64_t>(ranks) * 98 / 100 && next < order.size()) {
      auto const l = lengths[order[next++]];
      std::size_t q = thresholds.size();
      while (q > 0 && l < thresholds[q - 1]) --q;
      if (q > 0) {
        queue[q - 1].push_back(l);
      } else {
        batch.push_back(l);
        drawn += l;
      }
    }
    std::sort(batch.begin(), batch.end(), std::greater<>{});
    std::fill(tokens.begin(), tokens.end(), 0);
    std::fill(load.begin(), load.end(), 0);
    for (auto l : batch) {
      auto r = static_cast<std::size_t>(std::min_element(load.begin(), load.end()) - load.begin());
      if (tokens[r] + l > o.capacity) r = static_cast<std::size_t>(std::min_element(tokens.begin(), tokens.end()) - tokens.begin());
      if (tokens[r] + l > o.capacity) {
        carried.push_back(l);
        continue;
      }
      tokens[r] += l;
      load[r] += ballast::dense_4096_cost(l);
    }
    batch.clear();
    f.cost += static_cast<double>(*std::max_element(load.begin(), load.end()));
    all_cost += static_cast<double>(std::accumulate(load.begin(), load.end(), std::int64_t{0}));
    all_tokens += static_cast<double>(std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0}));
    ++f.steps;
  }
  f.idle = 1 - all_cost / static_cast<double>(ranks) / f.cost;
  f.fill = all_tokens / (static_cast<double>(o.capacity) * static_cast<double>(ranks * f.steps));
  return f;
}

run_figures figures(ballast::batching<> const& plan, options const& o) {
  return {static_cast<double>(plan.slowest.value), plan.steps(), 1 - 1 / plan.slowest_over_mean(), plan.fill(o.capacity)};
}

// plan_steps against what others do at one micro-batch: packs of best-fit decreasing dealt at random; the same packs, sorted by cost in
// windows of 16 steps of their random order; outlier queues, the best of three settings.
void print_against(trace const& t, std::vector<std::int64_t> const& lengths, std::uint64_t ranks) {
  options const o{.capacity = t.capacity, .ranks = ranks, .seed = 1};
  auto const& cost = ballast::dense_4096_cost;
  auto const packs = ballast::best_fit_decreasing(lengths, {.capacity = t.capacity}).packs;
  auto const plan = ballast::plan_steps(lengths, o, cost);
  auto const print = [](run_figures const& f) { std::printf(" %.5g, %zu, %.2f, %.3f |", f.cost, f.steps, 100 * f.idle, f.fill); };
  std::printf("| %s | %llu |", t.name, static_cast<unsigned long long>(ranks));
  print(figures(plan, o));
  std::printf(" %s |", std::string(ballast::to_string(plan.method)).c_str());
  print(figures(ballast::deal_steps(packs, lengths, o, cost, {.how = ballast::dealing::random}), o));
  print(figures(ballast::deal_steps(packs, lengths, o, cost, {.window = 16}), o));
  run_figures queues;
  for (auto const& shares : {std::vector<std::int64_t>{2}, {4, 2}, {8, 4, 2}}) {
    std::vector<std::int64_t> thresholds;
    for (auto s : shares) thresholds.push_back(t.capacity / s);
    auto const f = outlier_queues(lengths, o, thresholds);
    if (queues.steps == 0 || f.cost < queues.cost) queues = f;
  }
  print(queues);
  std::puts("");
}

// The frontier of `time_for_randomness`: idle in %, D and D8 at each price, and the window if packs were made first.
void print_frontier(trace const& t, std::vector<std::int64_t> const& lengths, std::uint64_t ranks) {
  options o{.capacity = t.capacity, .ranks = ranks, .seed = 1};
  std::printf("| %s, %lld, %llu |", t.name, static_cast<long long>(t.capacity), static_cast<unsigned long long>(ranks));
  for (auto const price : {options::automatic, 0U, 10U, 20U, 50U, 1000U}) {
    o.time_for_randomness = price;
    auto const plan = ballast::plan_steps(lengths, o, ballast::dense_4096_cost);
    auto const random = ballast_test::randomness_of(samples_of_steps(plan), lengths);
    std::printf(" %.2f, %.1f, %.1f %s", 100 * (1 - 1 / plan.slowest_over_mean()), random.design_effect, random.design_effect_8,
                std::string(ballast::to_string(plan.method)).c_str());
    if (plan.method == ballast::step_method::windows) std::printf(" %llu", static_cast<unsigned long long>(plan.window));
    std::printf(" |");
  }
  std::puts("");
}

// The same for a picture, as a line of JSON: idle in millionths and D8 in thousandths of packs of best-fit decreasing dealt at random,
// then of plan_steps at each price.
void print_points(trace const& t, std::vector<std::int64_t> const& lengths, std::uint64_t ranks) {
  options o{.capacity = t.capacity, .ranks = ranks, .seed = 1};
  auto const& cost = ballast::dense_4096_cost;
  auto const point = [&](char const* before, ballast::batching<> const& plan) {
    std::printf("%s[%lld, %lld]", before, static_cast<long long>(1e6 * (1 - 1 / plan.slowest_over_mean()) + 0.5),
                static_cast<long long>(ballast::randomness_of(plan, lengths).design_effect_8));
  };
  std::printf("\"%s, %lld, %llu\": ", t.name, static_cast<long long>(t.capacity), static_cast<unsigned long long>(ranks));
  auto const packs = ballast::best_fit_decreasing(lengths, {.capacity = t.capacity}).packs;
  point("[", ballast::deal_steps(packs, lengths, o, cost, {.how = ballast::dealing::random}));
  for (auto const price : {0U, 5U, 10U, 20U, 50U, 100U, 1000U}) {
    o.time_for_randomness = price;
    point(", ", ballast::plan_steps(lengths, o, cost));
  }
  std::printf("]");
}

// Attention balance of windows of 64 steps against the same packs dealt at random.
void print_attention(trace const& t, std::vector<std::int64_t> const& lengths) {
  ballast::quadratic_cost const attention{.linear = 0, .quadratic = 1};
  options const o{.capacity = 8192, .ranks = 8, .left_over = ballast::left_over::drop, .seed = 1};
  auto const packs = ballast::best_fit_shuffled(lengths, {.capacity = 8192, .seed = 1}).packs;
  auto const figures = [&](ballast::batching<> const& plan) {
    std::vector<std::int64_t> squares, costs;
    for (auto p : plan.table) {
      squares.push_back(0);
      costs.push_back(0);
      for (auto i : plan.packs[p]) {
        squares.back() += attention(lengths[i]);
        costs.back() += ballast::dense_4096_cost(lengths[i]);
      }
    }
    return std::pair{ballast::balance_of_steps(squares, 8).mean_ratio, ballast::balance_of_steps(costs, 8).idle()};
  };
  auto const [random_abr, random_idle] = figures(ballast::deal_steps(packs, lengths, o, attention, {.how = ballast::dealing::random}));
  auto const windows = ballast::deal_steps(packs, lengths, o, attention, {.window = 64, .emission = ballast::emission::shuffled});
  auto const [abr, idle] = figures(windows);
  std::printf("| %s | %zu | %.4f | %.4f | %.1f | %.4f | %.4f |\n", t.name, windows.steps(), random_abr, abr, random_abr / abr, random_idle,
              idle);
}

// Replicas that are pipelines of 4 stages, with different and with equal numbers of micro-batches in a step: time of the slowest replica
// over its mean work, and the mean number of micro-batches of the busiest one.
void print_equal(trace const& t, std::vector<std::int64_t> const& lengths, std::uint64_t ranks, std::uint64_t micro_batches) {
  std::printf("| %s, %lld, %llu, %llu |", t.name, static_cast<long long>(t.capacity), static_cast<unsigned long long>(ranks),
              static_cast<unsigned long long>(micro_batches));
  for (auto const equal : {false, true}) {
    options const o{.capacity = t.capacity,
                    .ranks = ranks,
                    .micro_batches = micro_batches,
                    .synchronisation = ballast::synchronisation::pipeline,
                    .stages = 4,
                    .equal_micro_batches = equal};
    auto const plan = ballast::plan_steps(lengths, o, ballast::dense_4096_cost);
    std::size_t busiest = 0;
    for (std::size_t s = 0; s < plan.steps(); ++s) {
      std::size_t most = 0;
      for (std::size_t r = 0; r < ranks; ++r) {
        std::size_t count = 0;
        for ([[maybe_unused]] auto const pack : plan.packs_of(s, r)) ++count;
        most = (std::max)(most, count);
      }
      busiest += most;
    }
    if (!equal) std::printf(" %zu |", plan.steps());
    std::printf(" %.3f, %.1f |", plan.slowest_over_mean(), static_cast<double>(busiest) / static_cast<double>(plan.steps()));
  }
  std::puts("");
}

}  // namespace

int main(int argc, char** argv) {
  auto const* const folder = argc > 1 ? argv[1] : std::getenv("BALLAST_TRACES");
  if (folder == nullptr) {
    std::puts("skipped: give the folder of the traces as argument or in BALLAST_TRACES (see docs/packing-on-traces.md)");
    return 0;
  }
  auto const path = [&](trace const& t) { return std::string(folder) + "/" + t.file; };
  trace const mooncake{"mooncake", "mooncake_fast25_conversation.txt", {0, 1}, 131072},
      r1{"deepseek-r1", "servegen_deepseek_r1_sampled.txt", {0, 1}, 32768},
      source{"repositories", "repo_source_files_approx.txt", {0}, 131072}, omnibal{"omnibal", "omnibal_vlm_sft.txt", {0}, 8192};
  trace const openchat{"openchat", "openchat_v1_sft.txt", {0}, 4096}, arxiv{"arxiv", "arxiv_summarization_llama2.txt", {0, 1}, 8192},
      azure{"azure", "azure_llm_2023_conv.txt", {0, 1}, 8192};
  try {
    if (argc > 2 && argv[2] == std::string("--points")) {
      auto const* before = "{\n";
      for (auto const& [t, ranks] : {std::pair{openchat, 64U}, {arxiv, 64U}, {azure, 64U}, {omnibal, 64U}, {r1, 64U}, {mooncake, 8U}}) {
        std::printf("%s", std::exchange(before, ",\n"));
        print_points(t, read(path(t), t.columns, t.capacity), ranks);
      }
      std::puts("\n}");
      return 0;
    }
    for (auto const& t : {mooncake, r1, source, omnibal}) {
      auto const lengths = read(path(t), t.columns, t.capacity);
      for (std::uint64_t const ranks : {8U, 64U})
        for (std::uint64_t const micro_batches : {1U, 4U}) print_table(t, lengths, ranks, micro_batches);
    }
    std::puts(
        "\nOne micro-batch: cost of the slowest ranks, steps, idle in %, fill\n\n| trace | ranks | plan_steps | method | dealt at random | "
        "windows "
        "of 16 | outlier queues |\n|---|---|---|---|---|---|---|");
    for (auto const& t : std::vector<trace>{arxiv,
                                            {"openchat", "openchat_v1_sft.txt", {0}, 8192},
                                            azure,
                                            {"gsm8k", "gsm8k_train_approx.txt", {0, 1}, 8192},
                                            mooncake,
                                            r1,
                                            source,
                                            omnibal})
      for (std::uint64_t const ranks : {8U, 64U}) print_against(t, read(path(t), t.columns, t.capacity), ranks);
    print_against({"lognormal, 10^5", "", {}, 131072}, lognormal(100'000), 64);
    std::puts("\nDrawn with replacement: mooncake 16 times, deepseek-r1 4 times, repositories 64 times; lognormal: 10^6 draws");
    for (auto const& [t, times] : {std::pair{mooncake, 16U}, std::pair{r1, 4U}, std::pair{source, 64U}}) {
      auto const lengths = resampled(read(path(t), t.columns, t.capacity), times);
      for (std::uint64_t const micro_batches : {1U, 4U}) print_table(t, lengths, 64, micro_batches);
    }
    std::puts(
        "\nOne micro-batch at a price of randomness in thousandths: idle in %, D, D8, method\n\n| trace, capacity, ranks | automatic | 0 | "
        "10 | 20 | 50 | 1000 |\n|---|---|---|---|---|---|---|");
    trace const short_r1{"deepseek-r1", "servegen_deepseek_r1_sampled.txt", {0, 1}, 4096};
    for (auto const& [t, ranks] : {std::pair{openchat, 8U}, {openchat, 64U}, {arxiv, 8U}, {short_r1, 64U}, {r1, 8U}, {omnibal, 64U}})
      print_frontier(t, read(path(t), t.columns, t.capacity), ranks);
    print_frontier(
        {"lognormal", "", {}, 8192},
        [] {
          auto lengths = lognormal(200'000);
          for (auto& l : lengths) l = (std::min)(l, std::int64_t{8192});
          return lengths;
        }(),
        64);
    trace const drawn{"lognormal", "", {}, 131072};
    for (std::uint64_t const micro_batches : {1U, 5U, 16U}) print_table(drawn, lognormal(1'000'000), 64, micro_batches);
    std::puts(
        "\nWindows of 64 steps, capacity 8192, 8 ranks, packs of best fit in random order sorted by attention cost\n\n"
        "| trace | steps | ABR random | ABR windows | times lower | idle random | idle windows |\n|---|---|---|---|---|---|---|");
    for (auto const& t : std::vector<trace>{omnibal,
                                            azure,
                                            mooncake,
                                            arxiv,
                                            {"openchat", "openchat_v1_sft.txt", {0}, 8192},
                                            {"gsm8k", "gsm8k_train_approx.txt", {0, 1}, 8192},
                                            r1,
                                            {"mm-image", "servegen_mm_image_sampled.txt", {0, 1, 3}, 8192},
                                            source})
      print_attention(t, read(path(t), t.columns, 8192));
    std::puts(
        "\nPipelines of 4 stages: slowest replica over mean work, micro-batches of the busiest\n\n"
        "| trace, capacity, ranks, micro-batches | steps | unequal: slow, number | equal: slow, number |\n|---|---|---|---|");
    for (auto [t, ranks, micro_batches] :
         std::vector<std::tuple<trace, std::uint64_t, std::uint64_t>>{{{"arxiv", "arxiv_summarization_llama2.txt", {0, 1}, 32768}, 8, 4},
                                                                      {{"openchat", "openchat_v1_sft.txt", {0}, 8192}, 8, 4},
                                                                      {{"azure", "azure_llm_2023_conv.txt", {0, 1}, 16384}, 16, 8},
                                                                      {{"omnibal", "omnibal_vlm_sft.txt", {0}, 16384}, 16, 8},
                                                                      {{"repositories", "repo_source_files_approx.txt", {0}, 65536}, 8, 4},
                                                                      {mooncake, 8, 4},
                                                                      {r1, 8, 4}})
      print_equal(t, read(path(t), t.columns, t.capacity), ranks, micro_batches);
  } catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
