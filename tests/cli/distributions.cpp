// SPDX-License-Identifier: Apache-2.0
#include "planning/distributions.hpp"

#include <ballast/core/hash.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

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
  CHECK(names == std::vector<std::string_view>{"chat-sft", "long-context-sft", "pretraining-documents", "reasoning-rollouts", "vlm-sft"});
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

TEST_CASE("distributions: the published figures are met") {
  auto const chat = sorted_column(named("chat-sft"), 0);
  CHECK(close_to(share_up_to(chat, 1024), 0.8712, 0.005));
  CHECK(close_to(share_up_to(chat, 4096), 0.9935, 0.002));
  auto const context = sorted_column(named("long-context-sft"), 0);
  CHECK(close_to(share_up_to(context, 8192), 0.4043, 0.01));
  CHECK(close_to(share_up_to(context, 32768), 0.9986, 0.001));
  auto const documents = sorted_column(named("pretraining-documents"), 0);
  CHECK(close_to(mean(documents), 1014, 0.1));
  CHECK(close_to(static_cast<double>(documents[samples * 75 / 100]), 862, 0.02));
  CHECK(close_to(share_up_to(documents, 8192), 0.984, 0.002));
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
  CHECK(hashes ==
        std::vector<std::uint64_t>{0x92a033b65b505b53, 0x2f6386fa5cf9ed39, 0xad015d6f7e281263, 0x52cf8b7f4b795cfc, 0x60140cdb901cc735});
  CHECK(draw(distributions()[0], 0, 1).empty());
}

}  // namespace test_cli_distributions
