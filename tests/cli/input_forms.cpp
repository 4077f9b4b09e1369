// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include "support/catch.hpp"
#include "support/lengths.hpp"

#include <ballast/core/hash.hpp>
#include <ballast/packing/pack.hpp>

#include <cstdio>

namespace test_cli_input_forms {

namespace {

using namespace ballast_test;

/// Text of the lengths with something before, between and after them.
std::string joined(std::vector<std::int64_t> const& lengths, std::string const& open, std::string const& between,
                   std::string const& close) {
  std::string out = open;
  for (std::size_t i = 0; i < lengths.size(); ++i) out += (i == 0 ? "" : between) + std::to_string(lengths[i]);
  return out + close;
}

}  // namespace

TEST_CASE("one data set gives one plan in every form it can be read in", "[cli]") {
  scratch const in;
  ballast::splitmix64 draw(5);
  auto lengths = random_lengths(200, 100, draw);
  auto const plan = ballast::pack(lengths, {.capacity = 256}, ballast::search_limits{});
  char hash[17];
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(ballast::hash(plan.packs)));
  auto const expected = "\"hash\":\"" + std::string(hash) + "\"";

  std::vector<std::int64_t> rows;  // columns: id, length - 3, 3, 0
  for (std::size_t i = 0; i < lengths.size(); ++i)
    for (auto v : {static_cast<std::int64_t>(i), lengths[i], std::int64_t{3}, std::int64_t{0}}) rows.push_back(v);
  std::string csv = "id,\"len,gth\",length,rest\r\n", columns, objects = "[", object_lines;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    auto const id = std::to_string(i), l = std::to_string(lengths[i]), less = std::to_string(lengths[i] - 1);
    csv += id + ", \"a \"\"quoted\"\",\nname\"," + less + " ,1\r\n";
    columns += " " + id + "\t" + less + "  1\n";
    objects += (i == 0 ? "" : ",\n") + ("{\"id\": {\"n\": -1}, \"n\": " + l + ", \"more\": [1, {\"n\": \"x\"}]}");
    object_lines += "{\"n\":" + l + ",\"text\":\"\\u00e9\"}\n" + (i % 7 == 0 ? "\n" : "");
  }
  auto const text = as_text(lengths);
  struct form {
    std::string bytes, options = {};
  };
  form const forms[] = {
      {text},
      {text.substr(0, text.size() - 1)},
      {joined(lengths, "", "\r\n", "\r\n\r\n")},
      {joined(lengths, "\xef\xbb\xbflength\n", "\n\n", "\n")},
      {joined(lengths, "\n  ", " \n\t", "")},
      {joined(lengths, "", "\n00", "")},
      {joined(lengths, "\"", "\"\n\"", "\"\n")},
      {joined(lengths, "", "\n", "\n"), "--columns 1"},
      {joined(lengths, "length\n", "\n", "\n"), "--columns length"},
      {csv, "--columns 3+4"},
      {csv, "--columns length+rest"},
      {columns, "--columns 3+2"},
      {joined(lengths, "[", ", ", "]")},
      {joined(lengths, "\n[\n ", ",\n ", "\n]\n")},
      {objects + "]", "--field n"},
      {object_lines, "--field n"},
      {npy("<i8", "(200,)", lengths)},
      {npy("<u8", "(200,)", lengths)},
      {npy(">i8", "(200,)", lengths, "True")},
      {npy("<i4", "(200, 1)", lengths, "True", 2)},
      {npy(">u4", "(200,)", lengths, "False", 3)},
      {npy("<i2", "(200,)", lengths)},
      {npy(">u2", "(200,)", lengths)},
      {npy("|u1", "(200,)", lengths)},
      {npy("|i1", "(200,)", lengths)},
      {npy("<i4", "(200, 4)", rows), "--columns 2"},
      {npy("<i4", "(200, 4)", rows), "--columns 4+2"},
  };
  std::string first;
  for (auto const& f : forms) {
    CAPTURE(f.bytes.substr(0, 200), f.options);
    in.file("f", f.bytes);
    auto const o = in.ballast("pack f --capacity 256 --json " + f.options);
    CHECK(o.code == 0);
    CHECK(o.err.empty());
    CHECK(o.out.find(expected) != std::string::npos);
    if (first.empty()) first = figures(o.out);
    CHECK(figures(o.out) == first);
  }

  in.file("f", text);
  in.file("g", csv);
  in.file("a", joined({lengths.begin(), lengths.begin() + 77}, "", "\n", "\n"));
  in.file("b", joined({lengths.begin() + 77, lengths.end()}, "[", ",", "]"));
  for (std::string const way :
       {"gzip f && \"$B\" pack f.gz", "cat f.gz | \"$B\" pack -", "gzip -cd f.gz | \"$B\" pack -", "gzip b && \"$B\" pack a b.gz",
        "gzip g && \"$B\" pack g.gz --columns 3+4", "{ gzip -c a; gzip -cd b.gz | tr -d '[]' | tr , '\\n' | gzip; } | \"$B\" pack -"}) {
    CAPTURE(way);
    CHECK(figures(in.shell(way + " --capacity 256 --json").out) == first);
  }
}

TEST_CASE("lengths up to 2^63 - 1 are read exactly", "[cli]") {
  scratch const in;
  for (std::string const length : {"1", "99999999999999999", "999999999999999999", "1000000000000000000", "9223372036854775807"}) {
    in.file("f", length);
    in.file("j", "[" + length + "]");
    in.file("o", "{\"n\": " + length + "}");
    in.file("h", length + ",1");
    in.file("n", npy("<u8", "(1,)", {std::stoll(length)}));
    auto const expected = in.ballast("stats f --json").out;
    CHECK(expected.find("\"tokens\":" + length + ",\"min\":" + length + ",") != std::string::npos);
    CHECK(in.ballast("stats j --json").out == expected);
    CHECK(in.ballast("stats o --field n --json").out == expected);
    CHECK(in.ballast("stats h --histogram --json").out == expected);
    CHECK(in.ballast("stats n --json").out == expected);
  }
}

TEST_CASE("a histogram is read in any order, split and with zeros, and describes the same samples", "[cli]") {
  scratch const in;
  in.file("f", "5\n5\n5\n9\n2\n2\n");
  auto const expected = in.ballast("stats f --json").out;
  CHECK(expected ==
        "{\"samples\":6,\"tokens\":28,\"min\":2,\"mean\":4.666666666666667,\"p50\":5,\"p90\":9,\"p99\":9,\"p99.9\":9,\"max\":9,"
        "\"distinct\":3,\"histogram\":[{\"from\":2,\"samples\":2,\"sum\":4},{\"from\":4,\"samples\":3,\"sum\":15},"
        "{\"from\":8,\"samples\":1,\"sum\":9}],\"above\":[]}\n");
  in.file("a", "length,count\n5,2\n7,0\n9,1\n5,1\n2,2\n");
  in.file("b", "count length\n3 5\n1 9\n2 2\n");
  in.file("c", npy("<i4", "(3, 2)", {9, 1, 2, 2, 5, 3}));
  CHECK(in.ballast("stats a --histogram --json").out == expected);
  CHECK(in.ballast("stats b --histogram --columns length,count --json").out == expected);
  CHECK(in.ballast("stats b --histogram --columns 2,1 --json").out == expected);
  CHECK(in.ballast("stats c --histogram --json").out == expected);
}

}  // namespace test_cli_input_forms
