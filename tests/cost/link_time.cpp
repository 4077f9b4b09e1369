// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/cost/calibrate.hpp>
#include <ballast/cost/link_time.hpp>
#include <ballast/cost/polynomial.hpp>

#include "support/catch.hpp"
#include "support/cost_border.hpp"
#include "support/lengths.hpp"
#include "support/nccl_tables.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace test_cost_link_time {

namespace {

using namespace ballast;
using ballast_test::int128;
using ballast_test::refusal;

constexpr std::int64_t us = 1'000'000;  // picoseconds

link_line fitted(std::span<timing const> rows) {
  auto const found = calibrate(rows, {}, linear_cost{.per_token = 0, .per_sample = 1}, token_cost{});
  return link_line_of(found.coefficients[0], found.coefficients[1]);
}
relative_errors errors(link_time const& link, std::span<timing const> rows) {
  relative_errors out;
  for (auto const& r : rows) {
    auto const error = std::fabs(static_cast<double>(link(r.length)) * 1e-9 / r.ms - 1);
    out.worst = (std::max)(out.worst, error);
    out.mean += error / static_cast<double>(rows.size());
  }
  return out;
}
// One line for each part of a table that is cut after the given rows.
link_time in_pieces(std::span<timing const> rows, std::vector<std::size_t> cuts) {
  cuts.push_back(rows.size());
  std::vector<link_line> lines;
  std::size_t from = 0;
  for (auto const cut : cuts) {
    lines.push_back(fitted(rows.subspan(from, cut - from)));
    from = cut;
  }
  return link_time(lines);
}
bool near(double value, double expected, double tolerance) { return std::fabs(value - expected) <= tolerance; }

// The definitions again, in 128 bits and without a quotient: the least t with t * width >= start * width + rise * over.
int128 on_line(int128 start, int128 rise, int128 over, int128 width) { return start + (rise * over + width - 1) / width; }
int128 fastest(std::vector<link_line> const& lines, int128 bytes) {
  auto least = on_line(lines[0].latency, 1'000'000'000'000, bytes, lines[0].bandwidth);
  for (auto const& l : lines) least = (std::min)(least, on_line(l.latency, 1'000'000'000'000, bytes, l.bandwidth));
  return least;
}
int128 interpolated(std::vector<link_point> const& points, int128 bytes) {
  if (points.size() == 1 || bytes <= points[0].bytes) return points[0].time;
  std::size_t i = 0;
  while (i + 2 < points.size() && points[i + 1].bytes < bytes) ++i;
  return on_line(points[i].time, points[i + 1].time - points[i].time, bytes - points[i].bytes, points[i + 1].bytes - points[i].bytes);
}

}  // namespace

TEST_CASE("link_time: two lines follow NVIDIA's times of all-reduce over two nodes, one line does not", "[published]") {
  auto const& rows = ballast_test::all_reduce_two_nodes;
  auto const one = errors(fitted(rows), rows), two = errors(in_pieces(rows, {5}), rows);  // cut between 16 and 32 MiB
  CHECK((near(one.worst, 0.598, 0.001) && near(one.mean, 0.265, 0.001)));
  CHECK((near(two.worst, 0.017, 0.001) && near(two.mean, 0.005, 0.001)));
  auto const slow = fitted(std::span(rows).first(5)), fast = fitted(std::span(rows).subspan(5));
  CHECK((near(static_cast<double>(slow.latency) / us, 151.3, 0.05) && near(1e12 / static_cast<double>(slow.bandwidth), 49.8, 0.05)));
  CHECK((near(static_cast<double>(fast.latency) / us, 890.8, 0.05) && near(1e12 / static_cast<double>(fast.bandwidth), 5.466, 0.0005)));
}

TEST_CASE("link_time: NVIDIA's times of all-reduce in one node by one, two and three lines", "[published]") {
  auto const& rows = ballast_test::all_reduce_one_node;
  auto const line = fitted(rows);
  CHECK((near(static_cast<double>(line.latency) / us, 30.6, 0.05) && near(1e12 / static_cast<double>(line.bandwidth), 3.976, 0.0005)));
  auto const one = errors(line, rows), two = errors(in_pieces(rows, {3}), rows), three = errors(in_pieces(rows, {2, 5}), rows);
  CHECK((near(one.worst, 0.270, 0.001) && near(one.mean, 0.110, 0.001)));
  CHECK((near(two.worst, 0.102, 0.001) && near(two.mean, 0.045, 0.001)));
  CHECK((near(three.worst, 0.047, 0.001) && near(three.mean, 0.018, 0.001)));
}

TEST_CASE("link_time: a measured table gives back its rows", "[published]") {
  for (auto const& rows : {ballast_test::all_reduce_one_node, ballast_test::all_reduce_two_nodes}) {
    std::vector<link_point> points;
    for (auto const& r : rows) points.push_back({r.length, std::llround(r.ms * 1e9)});
    link_time const link{points};
    for (auto const& p : points) CHECK(link(p.bytes) == p.time);
    CHECK(link(0) == points.front().time);
    CHECK(link(2 * points.back().bytes) > points.back().time);
  }
}

TEST_CASE("link_time: one line, several lines and tables, as restated in 128 bits", "[property]") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    splitmix64 draw(seed);
    auto const any = [&](std::int64_t least) {  // of every magnitude
      return (std::max)(least, static_cast<std::int64_t>(draw() >> (4 + draw() % 60)));
    };
    std::vector<link_line> lines(1 + draw() % 4);
    for (auto& l : lines) l = {any(0), any(1)};
    std::vector<link_point> points(1 + draw() % 6);
    std::int64_t bytes = any(0) / 16, time = any(0) / 16;
    for (auto& p : points) {
      p = {bytes, time};
      bytes += any(1) / 8 + 1;
      time += any(0) / 8;
    }
    auto const check = [&](link_time const& link, auto const& exact) {
      ballast_test::check_border(link, exact);
      std::int64_t before = 0, at = 0;
      for (int i = 0; i < 20; ++i, at += any(0) / 32) {
        if (!link.fits(at)) break;
        REQUIRE(int128{link(at)} == exact(int128{at}));
        REQUIRE(link(at) >= before);
        before = link(at);
      }
    };
    check(link_time(lines[0]), [&](int128 b) { return fastest({lines[0]}, b); });
    check(link_time(lines), [&](int128 b) { return fastest(lines, b); });
    if (points.size() == 1 || points[points.size() - 1].time > points[points.size() - 2].time)  // else every size fits
      check(link_time(points), [&](int128 b) { return interpolated(points, b); });
    for (auto const& p : points)  // on both sides of each row
      for (auto const b : {p.bytes, p.bytes + 1})
        if (link_time const link{points}; link.fits(b)) REQUIRE(int128{link(b)} == interpolated(points, b));
  }
}

TEST_CASE("link_time: without lines nothing takes time, a constant table fits every size") {
  constexpr auto most = (std::numeric_limits<std::int64_t>::max)();
  CHECK((link_time{}(0) == 0 && link_time{}(most) == 0 && link_time{}.fits(most) && !link_time{}.fits(-1)));
  link_time const constant{std::vector<link_point>{{4, 9}}};
  CHECK((constant(0) == 9 && constant(most) == 9));
  link_time const flat{std::vector<link_point>{{4, 9}, {5, 9}}};
  CHECK((flat(most) == 9 && flat.fits(most)));
  CHECK(link_time(link_line{.latency = 3, .bandwidth = 7})(14) == 3 + 2'000'000'000'000);
  CHECK(link_time(link_line{.latency = 3, .bandwidth = 3'000'000'000'000})(1) == 4);  // a third of a picosecond, rounded up
}

TEST_CASE("link_time: bad input") {
  constexpr auto above = (std::int64_t{1} << 60) + 1;
  auto const lines = [](std::vector<link_line> const& l) { return refusal([&] { return link_time(l); }); };
  CHECK(lines({}) == "lines is empty");
  CHECK(lines({{0, 1}, {-1, 1}}) == "lines[1].latency = -1 must be in [0, 2^60]");
  CHECK(lines({{0, 0}}) == "lines[0].bandwidth = 0 must be in [1, 2^60]");
  CHECK(lines({{above, 1}}) == "lines[0].latency = 1152921504606846977 must be in [0, 2^60]");
  auto const points = [](std::vector<link_point> const& p) { return refusal([&] { return link_time(p); }); };
  CHECK(points({}) == "points is empty");
  CHECK(points({{-1, 0}}) == "points[0].bytes = -1 must be in [0, 2^60]");
  CHECK(points({{0, above}}) == "points[0].time = 1152921504606846977 must be in [0, 2^60]");
  CHECK(points({{5, 1}, {5, 2}}) == "points[1].bytes = 5 must be above its predecessor");
  CHECK(points({{5, 3}, {6, 2}}) == "points[1].time = 2 must not be below its predecessor");
  CHECK(link_line_of(0.5, 1e-6) == link_line{500'000'000, 1'000'000'000});
  CHECK(refusal([] { return link_line_of(-1, 1); }).starts_with("latency_ms = -1.0"));
  CHECK(refusal([] { return link_line_of(0, 0); }).starts_with("ms_per_byte = 0.0"));
  CHECK(refusal([] { return link_line_of(0, std::numeric_limits<double>::quiet_NaN()); }).starts_with("ms_per_byte = "));
  CHECK(refusal([] { return link_line_of(0, 2000); }).starts_with("ms_per_byte = 2000.0"));
}

}  // namespace test_cost_link_time
