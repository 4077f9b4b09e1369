// SPDX-License-Identifier: Apache-2.0
// Prints the tables of docs/time-model.md: published throughputs beside what `time_of` computes for the same settings, with the parts of a
// step, and beside the simple count of FLOPs at 40 % of the peak.
#include <ballast/plan/calibrate_steps.hpp>
#include <ballast/plan/judge_setting.hpp>
#include <ballast/plan/time_of.hpp>

#include "../tests/support/published_times.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct result : ballast_test::timed_result {
  ballast_test::timed_question asked;
  double planned;  ///< tokens per second and GPU by a simulated step with the same kernels
  double simple;   ///< tokens per second and GPU by the simple count
  [[nodiscard]] double simple_error() const { return simple / row.measured - 1; }
};

/// FLOPs at 40 % of the 16-bit peak, exchanges at the rates of the datasheet, and the bubble of the schedule.
double simple_count(ballast_test::timed_question const& asked) {
  auto const judged =
      ballast::judge_setting(asked.model, asked.by, {.device = asked.on, .mfu = 0.4, .time = {}, .links = {}, .hidden = {}});
  return asked.tokens_per_second(std::llround(judged.step_ms() * 1e9));
}

std::vector<result> results() {
  std::vector<result> out;
  for (auto const& row : ballast_test::published_times()) {
    auto asked = ballast_test::question_of(row);
    auto const simple = simple_count(asked);
    auto const judged =
        ballast::judge_setting(asked.model, asked.by, {.device = asked.on, .mfu = {}, .time = asked.with, .links = {}, .hidden = {}});
    auto const planned = asked.tokens_per_second(judged.time.value * 1000);
    out.push_back({ballast_test::timed(row), std::move(asked), planned, simple});
  }
  return out;
}

void print_rows(std::vector<result> const& rows) {
  std::printf("Tokens per second and GPU; shares of the step of the stage that waits least, in percent\n");
  std::printf("%-15s %-10s %5s %7s %3s %-14s %-20s %-12s %-17s %9s %9s %8s %8s  %s\n", "model", "device", "GPUs", "tokens", "mbs",
              "TP.PP.VPP.CP.EP", "kernels", "recompute", "flags", "measured", "modelled", "error", "simple",
              "gemm expert attn memory exch again host p2p bubble end");
  std::string_view group;
  for (auto const& r : rows) {
    auto const& row = r.row;
    if (row.group->source != group) std::printf("%s\n", (group = row.group->source).data());
    auto const degrees = std::to_string(row.tensor) + "." + std::to_string(row.stages) + "." + std::to_string(row.chunks) + "." +
                         std::to_string(row.context) + "." + std::to_string(row.expert);
    auto const text = [](std::string_view s) { return std::string(s); };
    std::printf("%-15s %-10s %5lld %7lld %3lld %-15s %-20s %-12s %-17s %9.1f %9.1f %+6.1f %% %+6.0f %% ", text(row.model).c_str(),
                text(row.device).c_str(), static_cast<long long>(row.gpus), static_cast<long long>(row.sequence),
                static_cast<long long>(row.micro_batch), degrees.c_str(), text(row.kernels).c_str(), text(row.recompute).c_str(),
                text(row.flags).c_str(), row.measured, r.modelled, 100 * r.error(), 100 * r.simple_error());
    auto const& p = r.slowest;
    for (auto const part : {p.gemm, p.experts, p.attention, p.memory, p.exchange, p.recompute, p.host, p.p2p, p.bubble, p.end})
      std::printf(" %4.1f", 100 * static_cast<double>(part) / static_cast<double>(p.total()));
    std::printf("\n");
  }
}

/// Errors of some rows as a line of a table.
template <class Chosen>
void print_errors(char const* name, std::vector<result> const& rows, Chosen const& chosen) {
  std::vector<double> after, before;
  for (auto const& r : rows)
    if (chosen(r)) {
      after.push_back(std::fabs(r.error()));
      before.push_back(std::fabs(r.simple_error()));
    }
  std::printf("%-30s %4zu", name, after.size());
  for (auto const* of : {&before, &after}) {
    auto const within = [&](double share) { return std::count_if(of->begin(), of->end(), [&](double e) { return e < share; }); };
    std::printf("   %5.1f %5.0f %5.0f  %4lld %4lld", 100 * ballast_test::quantile(*of, 0.5), 100 * ballast_test::quantile(*of, 0.9),
                100 * ballast_test::quantile(*of, 1), static_cast<long long>(within(0.1)), static_cast<long long>(within(0.2)));
  }
  std::printf("\n");
}

double ranks(std::vector<result const*> const& rows, double result::* by) {
  std::vector<double> measured, modelled;
  for (auto const* r : rows) {
    measured.push_back(r->row.measured);
    modelled.push_back(r->*by);
  }
  return ballast_test::rank_correlation(measured, modelled);
}

/// Every one, every two and all but one of the rows of a sweep are the measured steps, the others are predicted.
void print_calibration(std::string_view name, std::vector<result const*> const& rows) {
  auto const step = [](result const& r) {
    auto const& by = r.asked.by;
    auto const tokens = by.micro_batch * by.sequence;
    auto const ms = static_cast<double>(by.global_batch() * by.sequence) / static_cast<double>(by.gpus()) / r.row.measured * 1000;
    return ballast::measured_step{.by = by, .with = r.asked.with, .batch = {.tokens = tokens, .squares = tokens * by.sequence}, .ms = ms};
  };
  auto const& first = *rows.front();
  std::array<std::vector<double>, 4> errors, order;  // the last: two rows whose micro-batches differ
  auto const predict = [&](std::vector<std::size_t> const& known, std::size_t k) {
    std::vector<ballast::measured_step> steps;
    for (auto const i : known) steps.push_back(step(*rows[i]));
    auto const found = ballast::calibrate_steps(first.asked.model, first.asked.on, steps);
    std::vector<double> measured, modelled;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (std::find(known.begin(), known.end(), i) != known.end()) continue;
      auto asked = rows[i]->asked;
      asked.with.rates = ballast::calibrated(asked.with.rates, found);
      measured.push_back(rows[i]->row.measured);
      modelled.push_back(asked.tokens_per_second(ballast::slowest_of(asked.parts()).total()));
      errors[k].push_back(std::fabs(modelled.back() / measured.back() - 1));
    }
    if (measured.size() > 2) order[k].push_back(ballast_test::rank_correlation(measured, modelled));
  };
  predict({}, 0);
  std::vector<ballast::measured_step> all;
  for (auto const* r : rows) all.push_back(step(*r));
  auto const without = ballast::leave_one_out(first.asked.model, first.asked.on, all);
  std::vector<double> unseen;
  for (std::size_t i = 0; i < all.size(); ++i) unseen.push_back(std::fabs(all[i].ms / without[i] - 1));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    predict({i}, 1);
    for (std::size_t j = i + 1; j < rows.size(); ++j) {
      predict({i, j}, 2);
      if (rows[i]->row.micro_batch != rows[j]->row.micro_batch) predict({i, j}, 3);
    }
  }
  std::printf("%-14.*s %3zu", static_cast<int>(name.size()), name.data(), rows.size());
  for (std::size_t k = 0; k < errors.size(); ++k) {
    errors[k].empty() ? (void)std::printf("   %5s", "-") : (void)std::printf("   %5.1f", 100 * ballast_test::quantile(errors[k], 0.5));
    order[k].empty() ? (void)std::printf(" %5s", "-") : (void)std::printf(" %+5.2f", ballast_test::quantile(order[k], 0.5));
  }
  std::printf("   %5.1f %5.1f\n", 100 * ballast_test::quantile(unseen, 0.5), 100 * ballast_test::quantile(unseen, 1));
}

}  // namespace

int main() {
  auto const begin = std::clock();
  auto const rows = results();
  auto const seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  print_rows(rows);

  std::printf("\n%-30s %4s   %-29s   %s\n%-30s %4s   %5s %5s %5s  %4s %4s   %5s %5s %5s  %4s %4s\n", "|modelled / measured - 1|, %", "",
              "simple count", "time_of", "rows", "", "half", "90 %", "worst", "<10", "<20", "half", "90 %", "worst", "<10", "<20");
  print_errors("all", rows, [](result const&) { return true; });
  print_errors("all but gpt-oss", rows, [](result const& r) { return r.row.group->name != "gpt-oss"; });
  print_errors("dense models", rows, [](result const& r) { return r.dense(); });
  print_errors("experts, without gpt-oss", rows, [](result const& r) { return !r.dense() && r.row.group->name != "gpt-oss"; });
  std::string_view before;
  for (auto const& g : ballast_test::published_time_tables) {
    if (g.name != before) print_errors(std::string(g.name).c_str(), rows, [&](result const& r) { return r.row.group->name == g.name; });
    before = g.name;
  }

  std::map<std::string_view, std::vector<result const*>> sweeps, groups;
  for (auto const& r : rows) {
    if (!r.row.group->sweep.empty()) sweeps[r.row.group->sweep].push_back(&r);
    groups[r.row.group->name].push_back(&r);
  }
  std::vector<double> apart;
  for (auto const& r : rows) apart.push_back(std::fabs(r.planned / r.modelled - 1));
  std::printf("\nsimulated steps against time_of, %%: half %.2f, 90 %% %.1f, worst %.1f\n", 100 * ballast_test::quantile(apart, 0.5),
              100 * ballast_test::quantile(apart, 0.9), 100 * ballast_test::quantile(apart, 1));
  std::printf("\nSpearman's rank correlation with what was measured\n%-14s %4s %7s %8s %9s\n", "", "rows", "simple", "time_of",
              "simulated");
  for (auto const* all : {&sweeps, &groups})
    for (auto const& [name, of] : *all)
      if (of.size() > 2)
        std::printf("%-14.*s %4zu %+7.2f %+8.2f %+9.2f\n", static_cast<int>(name.size()), name.data(), of.size(),
                    ranks(of, &result::simple), ranks(of, &result::modelled), ranks(of, &result::planned));

  std::printf(
      "\nCalibrated with no, one, two, two rows of a sweep with different micro-batches, and all but one: median error of the others in "
      "percent, and their rank correlation, of the last the worst\n");
  for (auto const& [name, of] : sweeps) {
    std::map<std::string_view, std::vector<result const*>> models;
    for (auto const* r : of) models[r->row.model].push_back(r);
    for (auto const& [model, some] : models)
      if (some.size() > 1) print_calibration(name, some);
  }
  std::printf("\nboth models of all rows: %.2f s\n", seconds);
  return 0;
}
