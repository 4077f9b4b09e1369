// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/attention.hpp>
#include <ballast/cost/calibrate.hpp>
#include <ballast/cost/calibrated_rates.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/cost/scaled.hpp>
#include <ballast/cost/tiles.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace test_cost_calibrate {

namespace {

using namespace ballast;
using ballast_test::refusal;

constexpr linear_cost constant{.per_token = 0, .per_sample = 1};
constexpr quadratic_cost square{.linear = 0, .quadratic = 1};

// Causal attention forward on an H100, bfloat16, 64 query and 4 key heads of width 128, one document, without tensor or context
// parallelism: hao-ai-lab/distca, distca/profiling/data/compute-attn-H100.csv; milliseconds.
std::vector<timing> const h100{{64, 0.028433},     {128, 0.030415},    {256, 0.036643},    {512, 0.061332},
                               {1024, 0.132740},   {2048, 0.355045},   {4096, 1.055083},   {8192, 3.706723},
                               {16384, 13.503299}, {32768, 51.893895}, {65536, 206.286644}};

bool close_to(double value, double expected, double tolerance) { return std::fabs(value - expected) <= tolerance; }

}  // namespace

TEST_CASE("calibrate: the H100 rows, with and without the launch floor") {
  auto const full = calibrate(h100, {}, constant, token_cost{}, square);
  CHECK(close_to(full.coefficients[0], 0.02290, 0.00001));
  CHECK(close_to(full.coefficients[1], 5.353e-5, 0.001e-5));
  CHECK(close_to(full.coefficients[2], 4.782e-8, 0.001e-8));
  CHECK(close_to(full.fit.worst, 0.084, 0.0005));
  CHECK(close_to(full.fit.mean, 0.032, 0.0005));
  CHECK(close_to(calibrate(h100, {}, token_cost{}, square).fit.worst, 0.73, 0.005));
  CHECK(close_to(calibrate(h100, {}, square).fit.worst, 0.99, 0.005));
  auto const tiled = calibrate(h100, {}, constant, token_cost{}, attention_tiles{});  // what the kernel computes explains more than L^2
  CHECK((tiled.fit.worst < full.fit.worst && tiled.held_out.worst < full.held_out.worst));
  CHECK(close_to(full.held_out.worst, 0.137, 0.0005));
  CHECK(close_to(tiled.held_out.worst, 0.104, 0.0005));
  auto const planned = scaled(full, 1e6);  // nanoseconds
  CHECK((planned.fits(65536) && close_to(static_cast<double>(planned(65536)), full(65536) * 1e6, 1)));
}

TEST_CASE("calibrate: recovers what made the times, whatever the order of the rows") {
  std::vector<timing> rows;
  for (std::int64_t l : {7, 100, 900, 3000, 20000, 20000, 100000})
    rows.push_back({l, 0.25 + 3e-4 * static_cast<double>(l) + 2e-9 * static_cast<double>(causal_pairs{}(l))});
  std::rotate(rows.begin(), rows.begin() + 3, rows.end());
  auto const found = calibrate(rows, {.folds = 3}, constant, token_cost{}, causal_pairs{});
  CHECK(close_to(found.coefficients[0] / 0.25, 1, 1e-9));
  CHECK(close_to(found.coefficients[1] / 3e-4, 1, 1e-9));
  CHECK(close_to(found.coefficients[2] / 2e-9, 1, 1e-9));
  CHECK((found.fit.worst < 1e-9 && found.held_out.worst < 1e-7 && found.fit.mean <= found.fit.worst));
  CHECK(
      close_to(found(900), rows[6].length == 900 ? rows[6].ms : 0.25 + 3e-4 * 900 + 2e-9 * static_cast<double>(causal_pairs{}(900)), 1e-9));
}

TEST_CASE("calibrate: no coefficient is negative, and no small change of them fits better") {
  // concave times: unconstrained least squares would take a negative square
  std::vector<timing> rows;
  for (std::int64_t l = 1; l <= 20; ++l) rows.push_back({1000 * l, std::sqrt(static_cast<double>(l)) + (l % 3 == 0 ? 0.1 : 0.0)});
  auto found = calibrate(rows, {}, constant, token_cost{}, square);
  CHECK((found.coefficients[0] > 0 && found.coefficients[1] > 0 && found.coefficients[2] == 0));
  auto const loss = [&] {
    double sum = 0;
    for (auto const& r : rows) sum += (found(r.length) / r.ms - 1) * (found(r.length) / r.ms - 1);
    return sum;
  };
  auto const least = loss();
  for (std::size_t k = 0; k < 3; ++k)
    for (double step : {-1e-4, 1e-4}) {
      auto const kept = found.coefficients[k];
      found.coefficients[k] = kept + step * (k == 0 ? 1 : k == 1 ? 1e-4 : 1e-9);
      if (found.coefficients[k] >= 0) CHECK(loss() > least);
      found.coefficients[k] = kept;
    }
}

TEST_CASE("calibrate: too few rows for an estimate give an infinite one; what cannot be fitted is refused") {
  auto const infinite = std::numeric_limits<double>::infinity();
  std::vector<timing> const two{{10, 1.0}, {20, 1.5}};
  auto const exact = calibrate(two, {}, constant, token_cost{});
  CHECK((exact.fit.worst < 1e-9 && exact.held_out.worst == infinite && exact.held_out.mean == infinite));
  std::vector<timing> const three{{10, 1.0}, {20, 1.5}, {30, 2.1}};
  CHECK(calibrate(three, {}, constant, token_cost{}).held_out.worst == infinite);
  CHECK(calibrate(three, {}, token_cost{}).held_out.worst < 1);
  auto const of = [](std::vector<timing> const& rows) { return refusal([&] { return calibrate(rows, {}, constant, token_cost{}); }); };
  CHECK(of({{1, 1.0}}) == "1 timings do not determine 2 coefficients");
  CHECK(of({{1, 1.0}, {2, 0.0}}) == "timings[1].ms = 0.000000 must be positive and finite");
  CHECK(of({{1, infinite}, {2, 1.0}}) == "timings[0].ms = inf must be positive and finite");
  CHECK(of({{-1, 1.0}, {2, 1.0}}) == "timings[0].length = -1 has no cost in one of the terms");
  CHECK(refusal([&] { return calibrate(two, {.folds = 1}, constant); }) == "folds = 1 must be 2 or more");
}

TEST_CASE("calibrate: from micro-batches, the constant of a micro-batch apart from that of a sample", "[property]") {
  constexpr double per_micro_batch = 6, per_sample = 0.05, per_token = 2e-3, per_square = 1e-6;
  for (auto const noise : {0.0, 0.02, 0.05})
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      CAPTURE(noise, seed);
      ballast::splitmix64 draw(seed);
      auto const unit = [&] { return static_cast<double>(draw() >> 11) / 9007199254740992.0; };
      std::vector<micro_batch_timing> rows(400), unseen;
      std::vector<timing> singles;
      for (auto& row : rows) {  // a few long samples or many short ones, and more tokens or fewer
        auto const longest = ballast_test::between(50, 4096, draw);
        row.ms = per_micro_batch;
        for (auto left = ballast_test::between(64, 4096, draw); left > 0 && row.lengths.size() < 64; left -= row.lengths.back()) {
          row.lengths.push_back(ballast_test::between(1, (std::min)(left, longest), draw));
          auto const l = static_cast<double>(row.lengths.back());
          row.ms += per_sample + per_token * l + per_square * l * l;
        }
        unseen.push_back(row);
        row.ms *= 1 + noise * (2 * unit() - 1);
        auto const l = static_cast<double>(row.lengths[0]);
        singles.push_back({row.lengths[0], per_micro_batch + per_sample + per_token * l + per_square * l * l});
      }
      auto const found = calibrate(rows, {}, constant, token_cost{}, square);
      CHECK(close_to(found.per_micro_batch / per_micro_batch, 1, 1e-9 + 0.2 * noise));
      CHECK(close_to(found.coefficients[0] / per_sample, 1, 1e-9 + 3 * noise));  // a few of 20 ms
      CHECK(close_to(found.coefficients[1] / per_token, 1, 1e-9 + 0.5 * noise));
      CHECK(close_to(found.coefficients[2] / per_square, 1, 1e-9 + noise));
      CHECK((found.fit.worst <= 1.5 * noise + 1e-9 && found.held_out.worst <= 1.5 * noise + 1e-9));
      // What planners add up predicts whole micro-batches; a fit to single samples charges each of them the launch.
      auto const alone = calibrate(singles, {}, constant, token_cost{}, square);
      CHECK(alone.per_micro_batch == 0);
      auto const planned = scaled(found, 1e6);
      double worst = 0, worst_alone = 0;
      for (auto const& row : unseen) {
        auto sum = std::llround(found.per_micro_batch * 1e6);
        for (auto const l : row.lengths) sum += planned(l);
        REQUIRE(close_to(static_cast<double>(sum), found.of_micro_batch(row.lengths) * 1e6, static_cast<double>(row.lengths.size())));
        worst = (std::max)(worst, std::fabs(static_cast<double>(sum) / 1e6 / row.ms - 1));
        worst_alone = (std::max)(worst_alone, std::fabs(alone.of_micro_batch(row.lengths) / row.ms - 1));
      }
      CHECK(worst < 1e-6 + 0.5 * noise);
      CHECK(worst_alone > 10);
    }
}

TEST_CASE("calibrate: what a micro-batch cannot tell, and what is refused") {
  std::vector<micro_batch_timing> rows;
  for (std::int64_t l : {10, 20, 30, 50, 80}) rows.push_back({{l, 2 * l}, 4 + 0.3 * static_cast<double>(l)});
  auto const found = calibrate(rows, {}, constant, token_cost{});
  CHECK(
      (close_to(found.per_micro_batch, 4, 1e-9) && close_to(found.coefficients[0], 0, 1e-9) && close_to(found.coefficients[1], 0.1, 1e-9)));
  auto const of = [](std::vector<micro_batch_timing> const& r) { return refusal([&] { return calibrate(r, {}, token_cost{}); }); };
  CHECK(of({{{1, 2}, 1.0}}) == "1 timings do not determine 2 coefficients");
  CHECK(of({{{1}, 1.0}, {{}, 1.0}}) == "timings[1].lengths is empty");
  CHECK(of({{{1}, 1.0}, {{1}, -1.0}}) == "timings[1].ms = -1.000000 must be positive and finite");
  CHECK(of({{{1}, 1.0}, {{3, -1}, 1.0}}) == "timings[1].lengths[1] = -1 has no cost in one of the terms");
  CHECK(refusal([&] { return calibrate(rows, {.folds = 0}, constant); }) == "folds = 0 must be 2 or more");
  CHECK(calibrate(std::vector<micro_batch_timing>{{{1}, 1.0}, {{5}, 2.0}}, {}, token_cost{}).held_out.worst ==
        std::numeric_limits<double>::infinity());
}

TEST_CASE("calibrate: rows of any units of work") {
  ballast::splitmix64 draw(3);
  std::vector<work_timing<3>> rows;  // steps, micro-batches, tokens
  for (int i = 0; i < 40; ++i) {
    auto const batches = static_cast<double>(ballast_test::between(1, 8, draw)),
               tokens = static_cast<double>(ballast_test::between(100, 9000, draw));
    rows.push_back({{1, batches, tokens}, 20 + 3 * batches + 0.01 * tokens});
  }
  auto const found = calibrate(rows);
  CHECK((close_to(found.coefficients[0], 20, 1e-9) && close_to(found.coefficients[1], 3, 1e-9)));
  CHECK((close_to(found.coefficients[2], 0.01, 1e-12) && found.fit.worst < 1e-9 && found.held_out.worst < 1e-9));
  for (auto& row : rows) row = {{1, 4, 500}, 37};  // one row in effect: the first unit takes it all
  CHECK(close_to(calibrate(rows).coefficients[0], 37, 1e-9));
  rows[7].units[2] = -1;
  CHECK(refusal([&] { return calibrate(rows); }) == "timings[7].units[2] = -1.000000 must be finite and not negative");
  rows[7] = {{1, 1, 1}, 0};
  CHECK(refusal([&] { return calibrate(rows); }) == "timings[7].ms = 0.000000 must be positive and finite");
  rows.resize(2);
  CHECK(refusal([&] { return calibrate(rows); }) == "2 timings do not determine 3 coefficients");
}

TEST_CASE("calibrate_rates: one factor of steps that wait alike, two of others", "[calibrate][calibrate_rates]") {
  using rows = std::vector<ballast::work_timing<2>>;
  CHECK(ballast::calibrate_rates(rows{}) == ballast::step_calibration{});
  CHECK(ballast::calibrate_rates(rows{{{80, 20}, 110}}) == ballast::step_calibration{1100, 1100, false});
  CHECK(ballast::calibrate_rates(rows{{{80, 20}, 110}, {{160, 40}, 220}}) == ballast::step_calibration{1100, 1100, false});
  CHECK(ballast::calibrate_rates(rows{{{80, 20}, 120}, {{90, 1}, 92}}) == ballast::step_calibration{1000, 2000, true});
  auto const both = ballast::calibrate_rates(rows{{{80, 20}, 118}, {{80, 5}, 95.5}});  // 1.1 and 1.5, pulled to a time of 1
  CHECK(both == ballast::step_calibration{1064, 1680, true});
  auto const alike = ballast::calibrate_rates(rows{{{80, 20}, 500}, {{90, 1}, 9}});  // two factors would leave too little of the work
  CHECK((!alike.sync_known && alike.time == alike.sync));
  CHECK(refusal([] { return ballast::calibrate_rates(rows{{{80, 20}, 9}}); }).starts_with("the measured steps take 90 thousandths"));
}

}  // namespace test_cost_calibrate
