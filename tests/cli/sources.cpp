// SPDX-License-Identifier: Apache-2.0
#include "readers/sources.hpp"
#include "refused.hpp"

#include <ballast/core/random.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <numeric>

namespace test_cli_sources {

namespace {

using namespace ballast_test;
using ballast_cli::source;

template <class Integer>
void append(std::string& out, Integer value, unsigned bytes) {
  for (auto b = 0U; b < bytes; ++b) out += static_cast<char>((static_cast<std::uint64_t>(value) >> (8 * b)) & 0xff);
}

/// Megatron's index of sequences of tokens of two bytes, by the book.
std::string megatron(std::vector<std::int64_t> const& lengths, std::vector<std::int64_t> const& documents, char version = 1,
                     char type = 8) {
  std::string out("MMIDIDX\0\0", 9);
  append(out, version, 8);
  out += type;
  append(out, lengths.size(), 8);
  append(out, documents.size(), 8);
  for (auto const length : lengths) append(out, length, 4);
  std::int64_t at = 0;
  for (auto const length : lengths) append(out, at, 8), at += 2 * length;
  for (auto const end : documents) append(out, end, 8);
  return out;
}

nlohmann::json stats(scratch const& in, std::string const& arguments) {
  auto const o = in.ballast("stats --json " + arguments);
  CAPTURE(arguments, o.err);
  REQUIRE(o.code == 0);
  return nlohmann::json::parse(o.out);
}

}  // namespace

TEST_CASE("Megatron's index gives the lengths of sequences, or of documents", "[cli]") {
  scratch const in;
  std::vector<std::int64_t> const lengths{7, 3, 5, 1, 9}, documents{0, 2, 3, 5};
  auto const whole = megatron(lengths, documents);
  in.file("c.idx", whole);
  in.file("sequences", as_text(lengths));
  in.file("documents", as_text({10, 5, 10}));
  for (auto const& [arguments, same] : {std::pair{"c.idx", "sequences"},
                                        {"c.idx --columns sequences", "sequences"},
                                        {"c.idx --columns 1", "sequences"},
                                        {"c.idx --columns documents", "documents"}})
    CHECK(stats(in, arguments) == stats(in, same));
  in.file("c.idx", whole + std::string(5, '\1'));  // of multimodal data, with a mode of each sequence
  CHECK(stats(in, "c.idx") == stats(in, "sequences"));

  for (std::size_t size = 0; size < whole.size(); ++size) {
    ballast_cli::table rows(1);
    CHECK_THROWS_AS(ballast_cli::append_lengths(rows, std::string_view(whole).substr(0, size), "c.idx", {}), ballast_cli::bad_input);
  }
  auto const with = [&](std::size_t at, std::int64_t value, unsigned bytes) {
    std::string number;
    append(number, value, bytes);
    return std::string(whole).replace(at, bytes, number);
  };
  struct bad {
    std::string bytes, sentence, options = {};
  };
  bad const cases[] = {
      {whole.substr(0, 20), "c.idx: the header of Megatron's index ends early, the file is truncated\n"},
      {megatron(lengths, documents, 2), "c.idx: is of version 2 of Megatron's index, and version 1 is read\n"},
      {megatron(lengths, documents, 1, 9), "c.idx: names token type 9, and those of Megatron are 1 to 8; the file is damaged\n"},
      {megatron(lengths, documents, 1, 0), "c.idx: names token type 0, "},
      {whole.substr(0, whole.size() - 1),
       "c.idx: the header announces 5 sequences and 4 ends of documents, and 91 bytes follow, too few; the file is truncated\n"},
      {whole + "ab",
       "c.idx: the header announces 5 sequences and 4 ends of documents, and 94 bytes follow, 2 too many; the file is damaged\n"},
      {with(18, -1, 8), "c.idx: the header announces 18446744073709551615 sequences"},
      {with(18, std::int64_t{1} << 62, 8), "c.idx: the header announces 4611686018427387904 sequences"},
      {with(26, std::int64_t{1} << 61, 8), "c.idx: the header announces 5 sequences and 2305843009213693952 ends"},
      {with(34, -7, 4), "c.idx: entry 1: -7 is not a length"},
      {with(38, 0, 4), "c.idx: entry 2: 0 is not a length: lengths are whole numbers from 1 to 2^63-1; --zero-length skip"},
      {with(38, 4, 4), "c.idx: entry 3: begins at byte 20 of the .bin file, where entry 2 ends at 22; the index is damaged\n"},
      {with(54, -8, 8), "c.idx: entry 1: begins at byte -8 of the .bin file"},
      {with(62, (std::int64_t{1} << 62) + ((std::int64_t{1} << 62) - 1), 8), "c.idx: entry 2: begins at byte 9223372036854775807"},
      {with(94, 1, 8), "c.idx: entry 0 of its documents is 1, expected is 0; the index is damaged\n", "--columns documents"},
      {with(102, 4, 8), "c.idx: entry 2 of its documents is 3, expected is at least the one before; the index is damaged\n",
       "--columns documents"},
      {with(118, 6, 8), "c.idx: entry 3 of its documents is 6, expected is 5, the number of sequences; the index is damaged\n",
       "--columns 2"},
      {megatron(lengths, {0, 2, 2, 5}), "c.idx: entry 2: 0 is not a length", "--columns documents"},
      {megatron(lengths, {}), "c.idx: there are no lengths in it\n", "--columns documents"},
      {megatron({}, {0}), "c.idx: there are no lengths in it\n"},
      {whole, "c.idx: there is no column document among its 2 columns (sequences, documents); did you mean documents?\n",
       "--columns document"},
      {whole, "c.idx: sequences and documents of Megatron's index are two data sets", "--columns 1,2"},
      {whole, "c.idx: sequences and documents of Megatron's index are two data sets", "--columns 1+2"},
      {whole, "c.idx: this is Megatron's index, which is no histogram", "--histogram"},
      {"TNTIDX\1", "c.idx: is an index of fairseq's old form"},
  };
  for (auto const& [bytes, sentence, options] : cases) {
    in.file("c.idx", bytes);
    check_refused(in.ballast("stats c.idx " + options), sentence);
  }
  in.file("c.bin", std::string("\1\0\2\0", 4));
  check_refused(in.ballast("stats c.bin"), "c.bin: holds tokens and not their lengths; those are in the .idx file beside it\n");
  auto const longest = stats(in, "sequences")["tokens"].get<std::int64_t>();
  CHECK(longest == 25);
}

TEST_CASE("a file that only the Python package reads is named in a sentence", "[cli]") {
  scratch const in;
  std::string tar(257, '\0');
  for (auto const& [bytes, what] : {std::pair<std::string, std::string>{"PAR1", "a Parquet file"},
                                    {std::string("ARROW1\0\0", 8), "an Arrow file"},
                                    {"FEA1", "a Feather file"},
                                    {"\xff\xff\xff\xff", "an Arrow stream"},
                                    {"\x28\xb5\x2f\xfd", "compressed by zstd"},
                                    {tar + "ustar", "a tar file, perhaps a shard of WebDataset"}}) {
    in.file("f", bytes);
    check_refused(in.ballast("stats f"),
                  "f: is " + what + ", which python -m ballast reads; write that in place of ballast, with --field NAME for a column\n");
  }
}

TEST_CASE("rows of different lengths are named in a sentence", "[cli]") {
  scratch const in;
  in.file("f", npy("|O", "(2,)", {}));
  check_refused(in.ballast("stats f"),
                "f: holds objects, such as rows of token ids, which python -m ballast reads; write that in place of ballast\n");
}

TEST_CASE("what stands in for a file is read under its name", "[cli]") {
  scratch const in;
  in.file("a.parquet", "PAR1");
  in.file("a=b.jsonl", "{\"n\": 5, \"m\": [1, 2]}");
  in.file("t.npy", npy("<i8", "(3,)", {4, 0, 6}));
  in.file("u.npy", npy("<i8", "(2, 2)", {4, 1, 6, 0}));
  check_refused(in.ballast("stats a.parquet a=b.jsonl --field n --stand-in a.parquet=t.npy"), "a.parquet: entry 2: 0 is not a length");
  auto const one = stats(in, "a.parquet a=b.jsonl --field n --zero-length skip --stand-in a.parquet=t.npy");
  CHECK(one["tokens"] == 15);
  CHECK(one["sources"][0] == nlohmann::json{{"named", "a.parquet"}, {"files", {"a.parquet"}}, {"rows", {2}}, {"first", 0}, {"samples", 2}});
  CHECK(stats(in, "a.parquet a=b.jsonl --field n,m --stand-in a.parquet=u.npy")["measures"][1]["sum"] == 3);
  CHECK(stats(in, "a=b.jsonl --columns n --stand-in a=b.jsonl=t.npy --zero-length skip")["tokens"] == 10);
  check_refused(in.ballast("stats a.parquet --stand-in a.parquet"), "--stand-in a.parquet: expected FILE=LENGTHS, as in train.parquet=");
  check_refused(in.ballast("stats a.parquet --stand-in b=t.npy --stand-in a.parquet=t.npy --zero-length skip"),
                "--stand-in b=t.npy: b is not among the files\n");
  check_refused(in.ballast("stats a.parquet --stand-in a.parquet=missing"), "missing: cannot be read: ");
}

TEST_CASE("a pattern names the files that match it, sorted", "[cli]") {
  scratch const in;
  in.file("d-10.jsonl", "{\"n\": 10}\n");
  in.file("d-2.jsonl", "{\"n\": 2}\n{\"n\": 3}\n");
  in.file("d-1.jsonl", "{\"n\": 1}\n");
  in.file("[x].txt", "7\n");
  auto const all = stats(in, "'d-*.jsonl' --field n");
  CHECK(all["tokens"] == 16);
  CHECK(all["sources"] == nlohmann::json::array({{{"named", "d-*.jsonl"},
                                                  {"files", {"d-1.jsonl", "d-10.jsonl", "d-2.jsonl"}},
                                                  {"rows", {1, 1, 2}},
                                                  {"first", 0},
                                                  {"samples", 4}}}));
  CHECK(stats(in, "d-1.jsonl d-10.jsonl d-2.jsonl --field n")["tokens"] == 16);
  CHECK(stats(in, "'d-?.jsonl' --field n")["tokens"] == 6);
  CHECK(stats(in, "'[x].txt'")["tokens"] == 7);  // a file of this name
  CHECK(stats(in, "'d-[1].jsonl' --field n").contains("sources") == false);
  check_refused(in.ballast("stats 'e-*.jsonl'"), "e-*.jsonl: no file has this name or matches this pattern\n");
  in.file("d-3.jsonl", "");
  check_refused(in.ballast("stats 'd-*.jsonl' --field n"), "d-3.jsonl: there are no lengths in it\n");
}

TEST_CASE("an epoch is shared out by weights, each row as often as another or once more", "[cli][property]") {
  ballast::splitmix64 draw(7);
  for (auto round = 0; round < 300; ++round) {
    auto const count = 1 + draw() % 5;
    std::vector<source> sources;
    std::vector<std::uint64_t> weights, rows;
    for (std::uint64_t s = 0; s < count; ++s) {
      rows.push_back(1 + draw() % 40);
      sources.push_back({.named = {}, .files = {}, .rows = {rows.back()}});
      weights.push_back(1 + draw() % (round % 2 == 0 ? 9 : 1'000'000'000));
    }
    CAPTURE(round, rows, weights);
    auto const samples = std::accumulate(rows.begin(), rows.end(), std::uint64_t{0});
    auto const all = static_cast<double>(std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}));
    auto again = sources;
    auto const taken = ballast_cli::share_out(sources, weights, 3);
    REQUIRE(taken.size() == samples);
    CHECK(ballast_cli::share_out(again, weights, 3) == taken);
    std::vector<std::uint64_t> times(static_cast<std::size_t>(samples));
    for (auto const row : taken) ++times.at(row);
    std::uint64_t first = 0, row = 0;
    for (std::size_t s = 0; s < sources.size(); ++s) {
      auto const exact = static_cast<double>(samples) * static_cast<double>(weights[s]) / all;
      CHECK(static_cast<double>(sources[s].samples) > exact - 1);
      CHECK(static_cast<double>(sources[s].samples) < exact + 1);
      CHECK(sources[s].samples == sources[s].passes * rows[s] + sources[s].again.size());
      CHECK(std::ranges::is_sorted(sources[s].again));
      for (std::uint64_t i = 0; i < sources[s].samples; ++i) {  // as docs/formats.md says
        auto const in_passes = sources[s].passes * rows[s];
        REQUIRE(taken[first + i] == row + (i < in_passes ? i % rows[s] : sources[s].again[i - in_passes]));
      }
      auto const [least, most] =
          std::minmax_element(times.begin() + static_cast<std::ptrdiff_t>(row), times.begin() + static_cast<std::ptrdiff_t>(row + rows[s]));
      CHECK(*most - *least <= 1);
      first += sources[s].samples;
      row += rows[s];
    }
  }
  std::vector<source> golden{{.named = {}, .files = {}, .rows = {10}}, {.named = {}, .files = {}, .rows = {4}}};
  (void)ballast_cli::share_out(golden, {3, 7}, 0);
  CHECK(golden[0].samples == 4);
  CHECK(golden[0].again == std::vector<std::uint64_t>{1, 4, 5, 9});
  CHECK(golden[1].passes == 2);
}

TEST_CASE("a plan of weighted files says which row each sample is, and is checked with the same weights", "[cli]") {
  scratch const in;
  std::string a, b;
  for (auto i = 0; i < 40; ++i) a += "{\"n\": " + std::to_string(100 + i) + "}\n";
  for (auto i = 0; i < 10; ++i) b += "{\"n\": " + std::to_string(300 + i) + "}\n";
  in.file("a-0.jsonl", a.substr(0, a.size() / 2));
  in.file("a-1.jsonl", a.substr(a.size() / 2));
  in.file("b.jsonl", b);
  std::string const data = " 'a-*.jsonl' b.jsonl --field n --weights 0.5,0.5 --weights-seed 4 ";
  for (std::string const command : {"pack", "plan --ranks 2"}) {
    auto const o = in.ballast(command + data + "--capacity 1000 --out out");
    CAPTURE(o.err);
    REQUIRE(o.code == 0);
    auto const plan = nlohmann::json::parse(read_whole(in / "out/plan.json"));
    auto const& sources = plan["sources"];
    CHECK(plan["files"] == nlohmann::json{"a-*.jsonl", "b.jsonl"});
    CHECK(sources[0]["files"] == nlohmann::json{"a-0.jsonl", "a-1.jsonl"});
    CHECK(sources[0]["rows"] == nlohmann::json{20, 20});
    CHECK(sources[0]["samples"] == 25);
    CHECK(sources[0]["passes"] == 0);
    CHECK(sources[0]["again"].size() == 25);
    CHECK(sources[1]["first"] == 25);
    CHECK(sources[1]["samples"] == 25);
    CHECK(sources[1]["passes"] == 2);
    CHECK(sources[1]["again"].size() == 5);
    std::int64_t tokens = 0;
    for (auto const& row : sources[0]["again"]) tokens += 100 + row.get<std::int64_t>();
    for (auto const& row : sources[1]["again"]) tokens += 300 + row.get<std::int64_t>();
    CHECK(plan["tokens"] == tokens + 2 * (300 * 10 + 45));
    auto const checked = in.ballast("check out" + data + "--capacity 1000 --json");
    CAPTURE(checked.err);
    REQUIRE(checked.code == 0);
    CHECK(nlohmann::json::parse(checked.out)["tokens"] == plan["tokens"]);
  }
  auto const seeds = stats(in, data)["sources"] == stats(in, "'a-*.jsonl' b.jsonl --field n --weights 50,50 --weights-seed 4")["sources"];
  CHECK(seeds);
  CHECK(stats(in, data)["sources"] != stats(in, "'a-*.jsonl' b.jsonl --field n --weights 1,1")["sources"]);
  in.file("c.jsonl", "{\"n\": 0}\n{\"n\": 500}\n");
  check_refused(
      in.ballast("pack b.jsonl c.jsonl --field n --zero-length skip --weights 1,1 --capacity 400 2>&1 >/dev/null | tail -1 >&2; exit 2"),
      "c.jsonl:2: 500 exceeds the capacity 400");
  struct bad {
    std::string weights, sentence;
  };
  bad const cases[] = {
      {"1", "--weights gives 1 weight for 2 FILEs; each needs one, in their order, and a pattern in quotes is one FILE\n"},
      {"1,2,3", "--weights gives 3 weights for 2 FILEs"},
      {"1,0", "--weights 1,0: 0 is no weight; weights are above 0 and at most 1000, with up to 6 decimals, as in 7,3 or 0.7,0.3\n"},
      {"1,", "--weights 1,: an empty field is no weight"},
      {"1,-1", "--weights 1,-1: -1 is no weight"},
      {"1,1001", "--weights 1,1001: 1001 is no weight"},
      {"1,0.1234567", "--weights 1,0.1234567: 0.1234567 is no weight"},
      {"1,1e3", "--weights 1,1e3: 1e3 is no weight"},
      {"1,nan", "--weights 1,nan: nan is no weight"},
      {"1,.", "--weights 1,.: . is no weight"},
      {"1,1 --histogram", "--weights draws rows, and those of a --histogram are many samples; leave one of them out\n"},
  };
  for (auto const& [weights, sentence] : cases) check_refused(in.ballast("stats b.jsonl c.jsonl --weights " + weights), sentence);
  check_refused(in.ballast("stats b.jsonl --field n --weights-seed 1"), "--weights-seed requires --weights");
}

}  // namespace test_cli_sources
