// SPDX-License-Identifier: Apache-2.0
#include "planning/distributions.hpp"

#include <ballast/core/hash.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace test_cli_distributions {

namespace {

using namespace ballast_cli;

constexpr std::uint64_t samples = 200000;

distribution const& named(std::string_view name) {
  for (auto const& d : distributions())
    if (d.name == name) return d;
  throw std::runtime_error("no distribution " + std::string(name));
}

std::vector<std::int64_t> sorted_column(distribution const& d, std::size_t column) {
  auto const rows = draw(d, samples, 3);
  std::vector<std::int64_t> values;
  for (auto i = column; i < rows.size(); i += d.columns.size()) values.push_back(rows[i]);
  std::sort(values.begin(), values.end());
  return values;
}

double share_up_to(std::vector<std::int64_t> const& sorted, std::int64_t value) {
  return static_cast<double>(std::upper_bound(sorted.begin(), sorted.end(), value) - sorted.begin()) / static_cast<double>(sorted.size());
}
double mean(std::vector<std::int64_t> const& values) {
  double sum = 0;
  for (auto v : values) sum += static_cast<double>(v);
  return sum / static_cast<double>(values.size());
}

// The share that one table gives to values up to `value`, by straight lines between its points.
double table_share(std::vector<quantile> const& points, std::int64_t value) {
  double share = 0;
  for (std::size_t i = 1; i < points.size() && points[i - 1].value <= value; ++i) {
    auto const step = static_cast<double>(points[i].per_million - points[i - 1].per_million) / 1e6;
    auto const width = static_cast<double>(points[i].value - points[i - 1].value + 1);
    share += step * std::fmin(1.0, static_cast<double>(value - points[i - 1].value + 1) / width);
  }
  return share;
}

// Mean, and the shares of the longest 1 % in the tokens and in the squared lengths, of one table.
struct table_figures {
  double mean = 0, top_tokens = 0, top_squares = 0;
};
table_figures figures_of(std::vector<quantile> const& points) {
  table_figures out;
  double squares = 0;
  for (std::size_t i = 1; i < points.size(); ++i) {
    auto const share = static_cast<double>(points[i].per_million - points[i - 1].per_million) / 1e6;
    auto const low = static_cast<double>(points[i - 1].value), high = static_cast<double>(points[i].value);
    auto const tokens = share * (low + high) / 2, of_squares = share * (low * low + low * high + high * high) / 3;
    auto const top = points[i].per_million > 990000;
    out.mean += tokens;
    squares += of_squares;
    if (top) out.top_tokens += tokens;
    if (top) out.top_squares += of_squares;
  }
  return {out.mean, out.top_tokens / out.mean, out.top_squares / squares};
}

// Published figures of a set of documents, 0 where there are none. The length files of FlexSP and DistCA give all of them, Skrull's table 1
// the shares and the longest.
struct published {
  std::string_view name;
  double up_to[5];  // percent of samples of at most 1K, 4K, 8K, 32K and 128K tokens
  std::int64_t longest;
  double mean;
  std::int64_t quantiles[6];  // p50, p75, p90, p95, p99, p99.9
  double top_tokens, top_squares;
};
constexpr published documents[]{
    {"chat-sft", {87.12, 99.35, 99.87, 99.98, 99.99}, 303000, 0, {}, 0, 0},
    {"long-context-sft", {21.92, 31.48, 40.43, 99.86, 100}, 99000, 0, {}, 0, 0},
    {"wikipedia-chinese", {87.88, 99.34, 99.92, 99.99, 100}, 78000, 0, {}, 0, 0},
    {"pretraining-documents", {78.81, 95.61, 98.40, 99.87, 100}, 1824000, 1014, {347, 862, 2112, 3721, 10921, 37367}, 0.219, 0.838},
    {"wlb", {15.96, 63.70, 97.63, 99.11, 100}, 125000, 3962, {3227, 4832, 5784, 6110, 26070, 119836}, 0.178, 0.791},
    {"prolong", {14.97, 80.34, 94.74, 99.79, 99.98}, 340000, 3052, {1914, 3467, 6051, 8379, 16273, 47500}, 0.104, 0.632},
};
constexpr std::int64_t lengths_of_shares[]{1024, 4096, 8192, 32768, 131072};
constexpr std::uint32_t ranks_of_quantiles[]{500000, 750000, 900000, 950000, 990000, 999000};

bool close_to(double value, double expected, double tolerance) { return std::fabs(value - expected) <= tolerance * expected; }

}  // namespace

TEST_CASE("distributions: the tables are distributions of positive numbers") {
  std::vector<std::string_view> names;
  for (auto const& d : distributions()) {
    CAPTURE(d.name);
    names.push_back(d.name);
    CHECK((!d.description.empty() && !d.source.empty()));
    REQUIRE(!d.parts.empty());
    for (auto const& p : d.parts) {
      CHECK(p.weight > 0);
      REQUIRE(p.columns.size() == d.columns.size());
      for (auto const& points : p.columns) {
        REQUIRE(points.size() >= 2);
        CHECK((points.front().per_million == 0 && points.back().per_million == 1000000 && points.front().value >= 1));
        for (std::size_t i = 1; i < points.size(); ++i)
          CHECK((points[i - 1].per_million < points[i].per_million && points[i - 1].value <= points[i].value));
      }
    }
  }
  CHECK(names == std::vector<std::string_view>{"chat-sft", "long-context-sft", "pretraining-documents", "prolong", "reasoning-rollouts",
                                               "vlm-sft", "wikipedia-chinese", "wlb"});
}

TEST_CASE("distributions: what is drawn follows the tables at every point") {
  for (auto const& d : distributions())
    for (std::size_t c = 0; c < d.columns.size(); ++c) {
      auto const values = sorted_column(d, c);
      double worst = 0, weights = 0;
      for (auto const& p : d.parts) weights += static_cast<double>(p.weight);
      for (auto const& at : d.parts)
        for (auto const& point : at.columns[c]) {
          double expected = 0;
          for (auto const& p : d.parts) expected += static_cast<double>(p.weight) / weights * table_share(p.columns[c], point.value);
          worst = std::fmax(worst, std::fabs(share_up_to(values, point.value) - expected));
        }
      CAPTURE(d.name, d.columns[c], worst);
      CHECK(worst < 0.005);  // four standard deviations of a share among 200,000
      CHECK((values.front() >= 1 && values.size() == samples));
    }
}

TEST_CASE("distributions: the tables of documents have the published figures", "[published]") {
  for (auto const& as : documents) {
    CAPTURE(as.name);
    auto const& points = named(as.name).parts[0].columns[0];
    CHECK(points.back().value == as.longest);
    for (std::size_t i = 0; i < 5; ++i) CHECK(std::fabs(100 * table_share(points, lengths_of_shares[i]) - as.up_to[i]) < 0.05);
    if (as.mean == 0) continue;
    for (std::size_t i = 0; i < 6; ++i)
      CHECK(std::any_of(points.begin(), points.end(),
                        [&](quantile const& q) { return q.per_million == ranks_of_quantiles[i] && q.value == as.quantiles[i]; }));
    auto const figures = figures_of(points);
    CAPTURE(figures.mean, figures.top_tokens, figures.top_squares);
    CHECK(close_to(figures.mean, as.mean, 0.015));
    CHECK(std::fabs(figures.top_tokens - as.top_tokens) < 0.005);
    CHECK(std::fabs(figures.top_squares - as.top_squares) < 0.012);
  }
}

TEST_CASE("distributions: what is drawn has the published shares, quantiles and means", "[published]") {
  for (auto const& as : documents) {
    CAPTURE(as.name);
    auto const drawn = sorted_column(named(as.name), 0);
    for (std::size_t i = 0; i < 5; ++i) {
      CAPTURE(lengths_of_shares[i]);  // four standard deviations among 200,000, and the digits that are published
      auto const share = as.up_to[i] / 100;
      auto const spread = 4 * std::sqrt(share * (1 - share) / static_cast<double>(samples));
      CHECK(std::fabs(share_up_to(drawn, lengths_of_shares[i]) - share) < spread + 0.0005);
    }
    CHECK(drawn.back() <= as.longest);
    if (as.mean == 0) continue;
    CHECK(close_to(mean(drawn), as.mean, 0.04));
    for (std::size_t i = 0; i < 6; ++i) {
      CAPTURE(ranks_of_quantiles[i]);
      auto const at = static_cast<double>(drawn[static_cast<std::size_t>(samples * ranks_of_quantiles[i] / 1000000)]);
      CHECK(close_to(at, static_cast<double>(as.quantiles[i]), i < 5 ? 0.03 : 0.15));
    }
  }
}

TEST_CASE("distributions: the published figures of rollouts and of the vision-language mixture are met", "[published]") {
  CHECK(close_to(mean(sorted_column(named("reasoning-rollouts"), 0)), 1272.2, 0.05));
  CHECK(close_to(mean(sorted_column(named("reasoning-rollouts"), 1)), 1529.8, 0.03));
  auto const tokens = sorted_column(named("vlm-sft"), 0), tiles = sorted_column(named("vlm-sft"), 1);
  CHECK(close_to(mean(tiles), 1.977, 0.01));
  CHECK(close_to(mean(tokens), 742, 0.015));
  CHECK(close_to(static_cast<double>(tokens[samples / 2]), 565, 0.02));
  CHECK(close_to(static_cast<double>(tokens[samples * 9 / 10]), 1377, 0.02));
  CHECK(tokens.back() <= 4096);
}

TEST_CASE("distributions: the same seed draws the same rows everywhere") {
  std::vector<std::uint64_t> hashes;
  for (auto const& d : distributions()) {
    auto const rows = draw(d, 1000, 7);
    REQUIRE(rows.size() == 1000 * d.columns.size());
    auto const fewer = draw(d, 10, 7);
    CHECK(std::equal(fewer.begin(), fewer.end(), rows.begin()));
    CHECK(rows != draw(d, 1000, 8));
    ballast::fnv1a h;
    for (auto v : rows) h.append(static_cast<std::uint64_t>(v));
    hashes.push_back(h.value());
  }
  CHECK(hashes == std::vector<std::uint64_t>{0x92a033b65b505b53, 0x2f6386fa5cf9ed39, 0x61366db67d41d008, 0xc71189436b0cf5a9,
                                             0x52cf8b7f4b795cfc, 0x60140cdb901cc735, 0xfa1afba2def65d7d, 0xff6c2e08cc2136e9});
  CHECK(draw(distributions()[0], 0, 1).empty());
}

}  // namespace test_cli_distributions
