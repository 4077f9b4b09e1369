// SPDX-License-Identifier: Apache-2.0
#include "arrays.hpp"
#include "program.hpp"

#include "support/catch.hpp"
#include "support/lengths.hpp"

#include <ballast/core/hash.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/packing/best_fit.hpp>
#include <ballast/packing/first_fit.hpp>
#include <ballast/packing/first_fit_decreasing.hpp>
#include <ballast/packing/next_fit.hpp>
#include <ballast/packing/pack.hpp>
#include <ballast/packing/shuffled.hpp>
#include <ballast/packing/worst_fit.hpp>

#include <cstdio>
#include <regex>
#include <utility>

namespace test_cli_commands {

namespace {

using namespace ballast_test;

std::string const histogram_only = "\"hash\":null";
std::string without_hash(std::string const& json) {
  auto const at = json.find("\"hash\":");
  return figures(json).erase(at, json.find(",\"set_aside\"") - at);
}

}  // namespace

TEST_CASE("pack prints the object that the manual lists", "[cli]") {
  scratch const in;
  in.file("f", "6\n3\n7\n2\n12\n4\n");
  auto const o = in.ballast("pack f --capacity 10 --oversize set-aside --json");
  ballast::fnv1a h;
  for (auto v : {0, 2, 4, 5, 2, 1, 0, 5, 3}) h.append(static_cast<std::uint64_t>(v));
  char hash[17];
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(h.value()));
  CHECK(figures(o.out) ==
        "{\"samples\":6,\"tokens\":22,\"capacity\":10,\"strategy\":\"auto\",\"packs\":3,\"lower_bound\":3,\"gap\":0.0,\"optimal\":true,"
        "\"fill\":0.7333333333333333,\"hash\":\"" +
            std::string(hash) + "\",\"set_aside\":[4],\"naive\":{\"packs\":3,\"fill\":0.7333333333333333}");
  CHECK(o.out.find(",\"seconds\":{\"read\":") != std::string::npos);
  CHECK(o.out.find(",\"plan\":") < o.out.find(",\"write\":"));
  CHECK(o.out.substr(o.out.size() - 3) == "}}\n");
  auto const words = in.ballast("pack f --capacity 10 --oversize set-aside").out;
  CHECK(words.find("5 samples, 22 tokens in 3 packs of 10; packs are 73.33 % full") != std::string::npos);
  CHECK(words.find("this one is optimal") != std::string::npos);
  CHECK(words.find("1 sample longer than the capacity set aside") != std::string::npos);
}

TEST_CASE("pack runs the library's packer of that name and writes its packs", "[cli]") {
  scratch const in;
  ballast::splitmix64 draw(7);
  auto const lengths = random_lengths(500, 300, draw);
  in.file("f", as_text(lengths));
  ballast::packing_options const o{.capacity = 700, .max_samples = 9, .sample_multiple = 4, .seed = 3};
  std::pair<std::string, ballast::packing<>> const plans[] = {
      {"next-fit", ballast::next_fit(lengths, o)},
      {"first-fit", ballast::first_fit(lengths, o)},
      {"ffd", ballast::first_fit_decreasing(lengths, o)},
      {"bfd", ballast::best_fit_decreasing(lengths, o)},
      {"worst-fit", ballast::worst_fit(lengths, o)},
      {"ffs", ballast::first_fit_shuffled(lengths, o)},
      {"bfs", ballast::best_fit_shuffled(lengths, o)},
      {"online", ballast::best_fit(lengths, o)},
      {"auto", ballast::pack(lengths, o, ballast::search_limits{})},
      {"near-optimal", ballast::near_optimal(lengths, o)},
  };
  for (auto const& [name, plan] : plans) {
    CAPTURE(name);
    auto const limits = std::string(" --capacity 700 --max-items 9 --multiple 4 ");
    auto const r = in.ballast("pack f --json --out d/e" + limits + "--seed 3 --strategy " + name);
    CHECK(r.code == 0);
    CHECK(read_npy<std::uint64_t>(in / "d/e/offsets.npy", "<u8") == plan.packs.offsets);
    CHECK(read_npy<std::uint32_t>(in / "d/e/members.npy", "<u4") == plan.packs.members);
    char hash[32];
    std::snprintf(hash, sizeof hash, "\"%016llx\"", static_cast<unsigned long long>(ballast::hash(plan.packs)));
    auto const json = read_whole(in / "d/e/plan.json");
    CHECK(json.find("\"schema\": 2,") != std::string::npos);
    CHECK(json.find(hash) != std::string::npos);
    CHECK(r.out.find(hash) != std::string::npos);
    CHECK(r.out.find("\"naive\":{\"packs\":" + std::to_string(plans[0].second.packs.size())) != std::string::npos);
    CHECK(in.ballast("check d/e f" + limits).code == 0);
    std::filesystem::remove_all(in / "d");
  }
}

TEST_CASE("pack searches as long as --work says", "[cli]") {
  scratch const in;
  std::vector<std::int64_t> lengths;  // a fifth to half of the capacity, so that best fit is far from the best
  for (int i = 0; i < 300; ++i) lengths.push_back(820 + i * 7919 % 1228);
  in.file("f", as_text(lengths));
  auto const packs = [](auto const& plan) { return "\"packs\":" + std::to_string(plan.count.value) + ','; };
  auto const none = ballast::near_optimal(lengths, {.capacity = 4096}, {.work = 1});
  auto const some = ballast::near_optimal(lengths, {.capacity = 4096}, {.work = 50'000'000});
  REQUIRE(some.count.value < none.count.value);
  auto const asked = std::string("pack f --json --capacity 4096 --strategy near-optimal --work ");
  CHECK(in.ballast(asked + "1").out.find(packs(none)) != std::string::npos);
  CHECK(in.ballast(asked + "50M").out.find(packs(some)) != std::string::npos);
}

TEST_CASE("each over-size policy is planned, written and accepted by check", "[cli]") {
  scratch const in;
  in.file("f", "6\n25\n3\n11\n");
  struct expected {
    std::string policy, figures;
  };
  expected const policies[] = {
      {"set-aside", "\"tokens\":9,\"capacity\":10,\"strategy\":\"given\",\"packs\":1,"},
      {"truncate", "\"tokens\":29,\"capacity\":10,\"strategy\":\"given\",\"packs\":3,"},
      {"split", "\"tokens\":45,\"capacity\":10,\"strategy\":\"given\",\"packs\":5,"},
      {"alone", "\"tokens\":45,\"capacity\":10,\"strategy\":\"given\",\"packs\":3,"},
  };
  for (auto const& p : policies) {
    CAPTURE(p.policy);
    REQUIRE(in.ballast("pack f --capacity 10 --out d --oversize " + p.policy).code == 0);
    auto const checked = in.ballast("check d f --capacity 10 --json --oversize " + p.policy);
    CHECK(checked.code == 0);
    CHECK(checked.out.find(p.figures) != std::string::npos);
    CHECK((read_whole(in / "d/plan.json").find("\"length\": 5") != std::string::npos) == (p.policy == "split"));
    CHECK(in.ballast("check d f --capacity 10").code == 2);  // without the policy it is no packing
  }
}

TEST_CASE("a histogram is planned without being expanded, with the figures of its samples", "[cli]") {
  scratch const in;
  ballast::splitmix64 draw(11);
  for (int round = 0; round < 25; ++round) {
    std::string rows, lines;
    for (auto left = between(1, 12, draw); left > 0; --left) {
      auto const length = between(1, 130, draw);
      auto const count = draw() % 3 == 0 ? draw() % 40 : draw() % 4;
      rows += std::to_string(length) + "," + std::to_string(count) + "\n";
      for (auto i = count; i > 0; --i) lines += std::to_string(length) + "\n";
    }
    rows += "100,1\n";
    lines += "100\n";
    in.file("h", rows);
    in.file("f", lines);
    std::string const policies[] = {"set-aside", "truncate", "split", "alone"};
    auto const options = " --json --capacity 100 --oversize " + policies[draw() % 4] + (draw() % 2 == 0 ? " --max-items 3" : "") +
                         (draw() % 2 == 0 ? " --multiple 7" : "") + (draw() % 3 == 0 ? " --pack-count-multiple 4" : "");
    CAPTURE(rows, options);
    std::string const ways[] = {"", " --strategy bfd", " --strategy near-optimal"};
    auto const way = ways[static_cast<std::size_t>(round) % std::size(ways)];
    auto const counted = in.ballast("pack h --histogram" + options + way);
    auto const listed = in.ballast("pack f" + options + way);
    CHECK(counted.code == listed.code);
    if (listed.code != 0) continue;
    CHECK(counted.out.find(histogram_only) != std::string::npos);
    CHECK(without_hash(counted.out) == without_hash(listed.out));
    CHECK(figures(in.ballast("pack h --histogram --out d" + options + way).out) == figures(listed.out));
  }
  in.file("h", "1000,600000000\n3000,300000000\n9000,100000000\n");
  auto const billion = in.shell("ulimit -t 2; \"$B\" pack h --histogram --capacity 10000 --json");
  CHECK(billion.out.find("{\"samples\":1000000000,\"tokens\":2400000000000,") == 0);
}

TEST_CASE("the number of packs is raised to a multiple, for the plan and for what it is compared with", "[cli]") {
  scratch const in;
  in.file("f", "5\n5\n5\n5\n5\n5\n5\n5\n5\n");
  auto const o = in.ballast("pack f --capacity 10 --pack-count-multiple 4 --json --out d").out;
  CHECK(o.find("\"packs\":8,\"lower_bound\":8,\"gap\":0.0,\"optimal\":true") != std::string::npos);
  CHECK(o.find("\"naive\":{\"packs\":8,") != std::string::npos);
  CHECK(read_npy<std::uint64_t>(in / "d/offsets.npy", "<u8").size() == 9);
}

TEST_CASE("check scores a valid packing and names what is wrong with another", "[cli]") {
  scratch const in;
  in.file("f", "6\n3\n7\n2\n4\n");
  for (std::string const lists :
       {"2 1\n0 4\n3\n", "2,1\n\n0, 4\r\n3", "[2, 1]\n[0, 4]\n[3]\n", "[[2, 1], [0, 4], [3]]", " [\n [2,1],\n [0,\n4],\n [3]\n]\n"}) {
    in.file("p", lists);
    auto const o = in.ballast("check p f --capacity 10 --json");
    CHECK(o.out.find("{\"samples\":5,\"tokens\":22,\"capacity\":10,\"strategy\":\"given\",\"packs\":3,\"lower_bound\":3,") == 0);
    CHECK(o.out.find("\"best_fit_decreasing\":{\"packs\":3,") != std::string::npos);
    CHECK(in.shell("gzip -c p | \"$B\" check - f --capacity 10").out.find("Valid: ") == 0);
  }
  in.file("o", npy("<i4", "(4,)", {0, 2, 4, 5}));
  in.file("m", npy("<i8", "(5,)", {2, 1, 0, 4, 3}));
  CHECK(in.ballast("check o m f --capacity 10").out.find("Valid: ") == 0);

  std::pair<std::string, std::string> const wrong[] = {
      {"2 1\n0 4 3\n", "p: not a valid packing: pack 1 holds 12, more than its capacity 10\n"},
      {"2 1\n0 4\n", "p: not a valid packing: sample 3 is in no pack\n"},
      {"2 1\n0 4\n3\n4\n", "p: not a valid packing: sample 4 occurs twice, the second time in pack 3\n"},
      {"2 1\n0 4\n3 5\n", "p: not a valid packing: members[5] = 5 must be below 5\n"},
      {"2 1\n[]\n0 4\n3\n", "p: not a valid packing: pack 1 is empty\n"},
      {"[[2, 1], [], [0, 4], [3]]", "p: not a valid packing: pack 1 is empty\n"},
      {"[[2, 1], [0, 4", "p: the list of packs does not end; is the file cut off?\n"},
      {"[[2, 1], [0, 4, \"3\"]]", "p: list 2: \"3\" is not an index: indices are whole numbers from 0\n"},
      {"2 1\n0 four\n3\n", "p:2: four is not an index: indices are whole numbers from 0\n"},
      {"2 1\n0 -4\n3\n", "p:2: -4 is not an index: indices are whole numbers from 0\n"},
  };
  for (auto const& [lists, sentence] : wrong) {
    in.file("p", lists);
    auto const o = in.ballast("check p f --capacity 10");
    CHECK(o.code == 2);
    CHECK(o.out.empty());
    CHECK(o.err == sentence);
  }
  in.file("m", npy("<i8", "(5,)", {2, 1, 0, -4, 3}));
  CHECK(in.ballast("check o m f --capacity 10").err == "m: entry 4: -4 is not an index: indices are whole numbers from 0\n");
  CHECK(in.ballast("check o m --capacity 10").err.find("check takes OFFSETS MEMBERS FILE") == 0);
  CHECK(in.ballast("check p --capacity 10").err.find("check takes the packing, then the lengths") == 0);
  CHECK(in.ballast("check o f f --capacity 10").err == "f: is not a .npy file\n");
}

TEST_CASE("check takes the capacities of a folder from its plan.json", "[cli]") {
  scratch const in;
  in.file("f", "6,1\n3,2\n7,1\n2,5\n4,3\n");
  for (std::string const limits : {"--columns 1 --capacity 10", "--columns 1,2 --capacity 10,6"}) {
    REQUIRE(in.ballast("pack f " + limits + " --out d").code == 0);
    auto const columns = limits.substr(0, limits.find(" --capacity"));
    auto const o = in.ballast("check d f " + columns);
    CHECK(o.code == 0);
    CHECK(o.out == in.ballast("check d f " + limits).out);
    CHECK(in.ballast("check d f --columns 1 --capacity 6").code == 2);  // what is said holds
  }
}

TEST_CASE("one of a thing is written in the singular", "[cli]") {
  scratch const in;
  in.file("f", "1\n");
  in.file("p", "0\n");
  in.file("s", "[[[0]]]\n");
  in.file("l", "name,forward,backward,activation_bytes\na,2,4,10\n");
  std::regex const plural("(^|[^0-9.,])1 (samples|packs|ranks|tokens|steps|stages|layers|micro-batches|batches|GPUs|chunks|sequences)\\b");
  for (std::string const command :
       {"pack f --capacity 1", "plan f --capacity 1 --ranks 1", "check p f --capacity 1", "check s f --capacity 1", "check p f --sets 1",
        "partition l --stages 1 --micro-batches 1 --memory 10", "simulate l --stages 1 --micro-batches 1",
        "simulate l --lengths f --chunk 1 --stages 1", "compare f --gpus 1 --capacity 1", "levels f --max-length 1 --gpus 1",
        "memory llama-3.1-8b --tokens 1", "stats f", "capacities l --columns 2,3"}) {
    auto const o = in.ballast(command);
    CAPTURE(command, o.out, o.err);
    CHECK(!std::regex_search(o.out + o.err, plural));
  }
}

TEST_CASE("generate draws what pack can read, the same for the same seed", "[cli]") {
  scratch const in;
  auto const list = in.ballast("generate --list").out;
  REQUIRE(list.find("vlm-sft: ") != std::string::npos);
  REQUIRE(in.ballast("generate --like vlm-sft --samples 300 --seed 5 --out v").code == 0);
  CHECK(in.ballast("generate --like vlm-sft --samples 300 --seed 5").out == read_whole(in / "v"));
  CHECK(in.ballast("generate --like vlm-sft --samples 300 --seed 6").out != read_whole(in / "v"));
  CHECK(in.ballast("stats v --columns 1 --json").out.find("{\"samples\":300,") == 0);
  CHECK(in.ballast("pack v --columns 1 --capacity 32768").code == 0);
}

TEST_CASE("every command with --device lists all devices, and marks the default") {
  scratch const in;
  std::string all;
  for (auto const& d : ballast::devices)
    all += (all.empty()                      ? ""
            : &d == &ballast::devices.back() ? " or "
                                             : ", ") +
           std::string(d.name) + (d.name == "h100" ? " (default)" : "");
  auto const squeezed = [](std::string const& text) {
    std::string out;
    for (auto const c : text)
      if (auto const blank = c == ' ' || c == '\n'; !blank || !out.ends_with(' ')) out += blank ? ' ' : c;
    return out;
  };
  for (auto const* const command : {"plan", "check-config", "memory", "levels", "compare", "schedule", "shard", "offload"}) {
    CAPTURE(command);
    CHECK(squeezed(in.ballast(std::string(command) + " --help").out).find(all) != std::string::npos);
  }
}

}  // namespace test_cli_commands
