// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"
#include "refused.hpp"
#include "support/catch.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace test_cli_layout {

namespace {

using namespace ballast_test;
using nlohmann::json;

/// First fit by size takes 8 of these, the best layout takes the 7 that are in use at once.
std::string const seven =
    "id,lower,upper,size\n"
    "a,0,4,1\n"
    "b,0,2,3\n"
    "c,2,6,2\n"
    "d,4,8,4\n"
    "e,0,8,1\n"
    "f,1,3,1\n";

}  // namespace

TEST_CASE("layout: addresses do not overlap, and the figures agree", "[cli][layout]") {
  scratch const in;
  in.file("b.csv", seven);
  auto const o = in.ballast("layout b.csv --json --out o.csv");
  CAPTURE(o.err);
  REQUIRE(o.code == 0);
  auto const figures = json::parse(o.out);
  CHECK(figures["buffers"] == 6);
  CHECK(figures["max_load"] == 7);
  CHECK(figures["height"] == 7);
  CHECK(figures["lower_bound"] == 7);
  CHECK(figures["optimal"] == true);
  CHECK(figures["bound"] == "max-load");
  CHECK(figures["first_fit"].get<int>() >= 7);
  auto const offsets = figures["offsets"].get<std::vector<std::int64_t>>();
  std::int64_t const lower[] = {0, 0, 2, 4, 0, 1}, upper[] = {4, 2, 6, 8, 8, 3}, size[] = {1, 3, 2, 4, 1, 1};
  REQUIRE(offsets.size() == 6);
  std::string csv = "id,lower,upper,size,offset\n";
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(offsets[i] + size[i] <= 7);
    for (std::size_t j = 0; j < i; ++j)
      CHECK((upper[i] <= lower[j] || upper[j] <= lower[i] || offsets[i] + size[i] <= offsets[j] || offsets[j] + size[j] <= offsets[i]));
    csv += std::string(1, static_cast<char>('a' + i)) + "," + std::to_string(lower[i]) + "," + std::to_string(upper[i]) + "," +
           std::to_string(size[i]) + "," + std::to_string(offsets[i]) + "\n";
  }
  CHECK(read_whole(in / "o.csv") == csv);

  auto const again = in.ballast("layout o.csv --json");  // addresses that are given stay
  REQUIRE(again.code == 0);
  CHECK(json::parse(again.out)["offsets"] == figures["offsets"]);
}

TEST_CASE("layout: a capacity fits, is proven too small, or neither", "[cli][layout]") {
  scratch const in;
  in.file("b.csv", seven);
  auto const fits = in.ballast("layout b.csv --capacity 7");
  CHECK(fits.code == 0);
  CHECK(fits.out.find("The layout takes 7 bytes, which fits in 7 bytes; no layout takes less (proof: max-load).\n") != std::string::npos);
  check_refused(in.ballast("layout b.csv --capacity 6 --json"),
                "b.csv: no layout takes 6 bytes or less: every one takes at least 7 bytes (proof: max-load)\n", 3);
  in.file("fixed.csv", "id,lower,upper,size,offset\na,0,2,4,0\nb,1,3,4,2\n");
  check_refused(in.ballast("layout fixed.csv"),
                "fixed.csv: two buffers that are in use at the same time overlap at their fixed addresses, so there is no layout\n", 3);
  check_refused(in.ballast("layout b.csv --capacity 0"), "--capacity 0: expected a whole number of bytes from 1 to 2^58");
  check_refused(in.ballast("layout none.csv"), "none.csv: ");
  check_refused(in.ballast("layout b.csv --fast --work 5"), "--fast excludes --work\n");
  check_refused(in.ballast("layout b.csv --fast --seed 5"), "--fast excludes --seed\n");
}

TEST_CASE("layout: search is lower than greedy layouts, and these may neither fit nor rule out a capacity", "[cli][layout]") {
  scratch const in;
  std::string text = "id,lower,upper,size\n";
  std::uint64_t state = 2;
  auto const below = [&](std::uint64_t n) { return ((state = state * 6364136223846793005ULL + 1442695040888963407ULL) >> 40) % n; };
  for (int i = 0; i < 60; ++i) {
    auto const lower = below(20), upper = lower + 1 + below(12), size = 1 + below(30);
    text += std::to_string(i) + "," + std::to_string(lower) + "," + std::to_string(upper) + "," + std::to_string(size) + "\n";
  }
  in.file("b.csv", text);
  auto const figure = [&](std::string const& options, char const* key) {
    return json::parse(in.ballast("layout b.csv --json " + options).out)[key].get<int>();
  };
  auto const fast = figure("--fast", "height");
  CHECK(figure("", "height") < fast);
  CHECK(fast < figure("", "first_fit"));
  auto const capacity = std::to_string(fast - 1);
  CHECK(in.ballast("layout b.csv --capacity " + capacity).code == 0);
  check_refused(in.ballast("layout b.csv --fast --capacity " + capacity),
                "b.csv: no layout within " + capacity + " bytes was found, and none is proven impossible: the best found takes " +
                    std::to_string(fast) + " bytes",
                3);
}

TEST_CASE("layout: picture and page", "[cli][layout]") {
  scratch const in;
  in.file("b.csv", seven);
  REQUIRE(in.ballast("layout b.csv --capacity 8 --svg p.svg --report r.html").code == 0);
  auto const svg = read_whole(in / "p.svg"), page = read_whole(in / "r.html");
  auto const boxes = [](std::string const& text) {
    std::size_t count = 0;
    for (auto at = text.find("class=\"box"); at != text.npos; at = text.find("class=\"box", at + 1))
      if (text.find("<title>", at) < text.find("/>", at)) ++count;
    return count;
  };
  CHECK(svg.starts_with("<svg "));
  CHECK(boxes(svg) == 6);
  CHECK(svg.find("a: 1 bytes at ") != svg.npos);
  CHECK(svg.find(">capacity<") != svg.npos);
  CHECK(svg.find("address, bytes") != svg.npos);
  CHECK(page.starts_with("<!DOCTYPE html>"));
  CHECK(page.find("{{") == page.npos);
  CHECK(page.find("Lengths") == page.npos);
  CHECK(boxes(page) % 6 == 0);
  CHECK(page.find("ballast layout b.csv --capacity 8 --svg p.svg --report r.html") != page.npos);
}

}  // namespace test_cli_layout
