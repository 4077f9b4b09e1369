// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"
#include "refused.hpp"

#include "support/catch.hpp"

#include <ballast/core/random.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace test_cli_level_plan {

namespace {

using namespace ballast_test;
using nlohmann::json;

std::vector<std::int64_t> long_context(std::size_t n) {
  ballast::splitmix64 draw(22);
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < n; ++i) {
    auto const is_long = ballast::uniform_below(40, draw) == 0;
    out.push_back(1 + static_cast<std::int64_t>(ballast::uniform_below(is_long ? 32768 : 3000, draw)));
  }
  return out;
}

/// Shape and numbers of a .npy file of 32-bit or 64-bit integers.
std::pair<std::string, std::vector<std::int64_t>> array(std::string const& bytes) {
  auto const begin = 10U + static_cast<unsigned char>(bytes.at(8)) + 256U * static_cast<unsigned char>(bytes.at(9));
  auto const header = bytes.substr(10, begin - 10);
  auto const at = header.find("'shape': (") + 10;
  std::vector<std::int64_t> values;
  auto const size = header.find("4'") != std::string::npos ? 4U : 8U;
  for (auto from = static_cast<std::size_t>(begin); from < bytes.size(); from += size) {
    std::int32_t narrow = 0;
    std::int64_t wide = 0;
    std::memcpy(size == 4 ? static_cast<void*>(&narrow) : &wide, bytes.data() + from, size);
    values.push_back(size == 4 ? narrow : wide);
  }
  return {header.substr(at, header.find(')') - at), values};
}

}  // namespace

TEST_CASE("plan --levels writes steps that a trainer can follow", "[cli]") {
  scratch const in;
  auto const lengths = long_context(6000);
  in.file("f", as_text(lengths));
  auto const o = in.ballast("plan f --levels auto --capacity 32768 --gpus 16 --micro-batches 2 --seed 5 --json --out d");
  CAPTURE(o.err);
  REQUIRE(o.code == 0);
  auto const got = json::parse(o.out);
  auto const [shape, table] = array(read_whole(in / "d/steps.npy"));
  auto const [levels_shape, level] = array(read_whole(in / "d/levels.npy"));
  auto const offsets = array(read_whole(in / "d/offsets.npy")).second, members = array(read_whole(in / "d/members.npy")).second;
  auto const steps = got["steps"].get<std::size_t>(), each = got["micro_batches"].get<std::size_t>();
  CHECK(shape == std::to_string(steps) + ", 16, " + std::to_string(each));
  CHECK(levels_shape == std::to_string(steps) + ",");
  REQUIRE(level.size() == steps);

  std::vector<int> seen(lengths.size(), 0);
  std::vector<std::size_t> of_level(got["levels"].size(), 0);
  for (std::size_t s = 0; s < steps; ++s) {
    auto const& at = got["levels"][static_cast<std::size_t>(level[s])];
    ++of_level[static_cast<std::size_t>(level[s])];
    auto const sp = at["sp"].get<std::size_t>();
    for (std::size_t g = 0; g < 16; ++g)
      for (std::size_t m = 0; m < each; ++m) {
        auto const pack = table[(s * 16 + g) * each + m];
        REQUIRE(pack == table[(s * 16 + g / sp * sp) * each + m]);  // GPUs of a pack stand side by side
        if (pack < 0 || g % sp != 0) continue;
        std::int64_t tokens = 0;
        for (auto k = offsets[static_cast<std::size_t>(pack)]; k < offsets[static_cast<std::size_t>(pack) + 1]; ++k) {
          auto const sample = static_cast<std::size_t>(members[static_cast<std::size_t>(k)]);
          ++seen[sample];
          tokens += lengths[sample];
        }
        CHECK(tokens <= at["length"].get<std::int64_t>());
      }
  }
  CHECK(std::count(seen.begin(), seen.end(), 1) == static_cast<std::ptrdiff_t>(seen.size()));
  for (std::size_t l = 0; l < of_level.size(); ++l) CHECK(of_level[l] == got["levels"][l]["steps"].get<std::size_t>());
  std::uint64_t switches = 0;
  for (std::size_t s = 1; s < steps; ++s) switches += level[s] != level[s - 1] ? 1U : 0U;
  CHECK(got["curriculum"] == json({{"order", "hbp"}, {"warm_up", of_level[0] / 2}, {"steps", steps}, {"switches", switches}}));
  CHECK(std::count(level.begin(), level.begin() + static_cast<std::ptrdiff_t>(of_level[0] / 2), 0) ==
        static_cast<std::ptrdiff_t>(of_level[0] / 2));

  auto const written = json::parse(read_whole(in / "d/plan.json"));
  CHECK(written["levels"] == got["levels"]);
  CHECK(written["curriculum"] == got["curriculum"]);
  CHECK(written["options"]["levels"] == "auto");
  CHECK(written["options"]["seed"] == 5);
  CHECK(in.ballast("check d f --capacity 32768").code == 0);
  auto const page = read_whole(in / "d/report.html");
  CHECK(page.find("<h2>Levels</h2>") != std::string::npos);
  CHECK(page.find("<svg id=\"order\"") != std::string::npos);

  auto const words = in.ballast("plan f --levels auto --capacity 32768 --gpus 16 --micro-batches 2 --seed 5 --out e").out;
  CHECK(words.find("Order hbp: " + std::to_string(steps) + " steps, of which the first ") != std::string::npos);
  CHECK(in.shell("cmp d/steps.npy e/steps.npy && cmp d/levels.npy e/levels.npy && cmp d/plan.json e/plan.json").code == 0);
  CHECK(in.ballast("plan f --capacity 32768 --ranks 2 --out d").code == 0);
  CHECK_FALSE(std::filesystem::exists(in / "d/levels.npy"));  // of the plan that was there before
}

TEST_CASE("plan --levels reads what levels printed, and other levels", "[cli]") {
  scratch const in;
  in.file("f", as_text(long_context(3000)));
  auto const from = [&](std::string const& levels) { return json::parse(in.ballast("plan f --gpus 16 --json --levels " + levels).out); };
  for (auto const& [rule, word] : {std::pair<std::string, std::string>{"exact", "auto"}, {"hbp", "hbp"}}) {
    CAPTURE(rule);
    in.file("l.json", in.ballast("levels f --max-length 32768 --gpus 16 --json --rule " + rule).out);
    auto const read = from("l.json"), made = from(word + " --capacity 32768");
    CHECK(read["hash"] == made["hash"]);
    CHECK(read["levels"] == made["levels"]);
    CHECK(read["modelled_speedup"] == made["modelled_speedup"]);
    CHECK(read["rule"] == (rule == "hbp" ? "hbp" : "given"));
    CHECK(read["capacity"] == read["levels"].back()["length"]);
    in.file("array.json", json::parse(read_whole(in / "l.json"))["levels"].dump());
    if (rule == "exact") CHECK(from("array.json")["hash"] == read["hash"]);
  }
  in.file("mine.json",
          "[{\"length\": 4000, \"sp\": 1, \"recomputed_layers\": 0}, {\"length\": 33000, \"sp\": 4, \"recomputed_layers\": 32}]");
  auto const mine = from("mine.json");
  CHECK(mine["levels"].size() == 2);
  CHECK(mine["levels"][1]["ranks"] == 4);
  CHECK_FALSE(mine.contains("at_volume"));
}

TEST_CASE("plan --curriculum orders the same steps in other ways", "[cli]") {
  scratch const in;
  in.file("f", as_text(long_context(4000)));
  std::vector<std::vector<std::int64_t>> orders;
  for (std::string const order : {"hbp", "interleaved", "random", "ascending", "ascending-buckets", "shuffled-buckets"}) {
    CAPTURE(order);
    auto const o = in.ballast("plan f --levels hbp --capacity 32768 --gpus 16 --out d --json --curriculum " + order);
    REQUIRE(o.code == 0);
    auto const got = json::parse(o.out)["curriculum"];
    CHECK(got["order"] == order);
    CHECK((got["warm_up"] > 0) == (order == "hbp"));
    orders.push_back(array(read_whole(in / "d/levels.npy")).second);
    CHECK(std::is_sorted(orders.back().begin(), orders.back().end()) == (order.substr(0, 9) == "ascending" && order.size() == 9));
    auto same = orders.back(), first = orders.front();
    std::sort(same.begin(), same.end());
    std::sort(first.begin(), first.end());
    CHECK(same == first);
  }
  CHECK(orders[0] != orders[1]);
  CHECK(orders[1] != orders[2]);
  auto const words = in.ballast("plan f --levels hbp --capacity 32768 --gpus 16 --curriculum ascending").out;
  CHECK(words.find(" steps; the level changes ") != std::string::npos);
}

TEST_CASE("plan --levels obeys policies for samples over the longest level", "[cli]") {
  scratch const in;
  in.file("f", "100\n9000\n9000\n300\n");
  auto const planned = [&](std::string const& policy) {
    return json::parse(in.ballast("plan f --levels auto --capacity 4096 --gpus 2 --json --out d --oversize " + policy).out);
  };
  CHECK(planned("truncate")["tokens"] == 100 + 300 + 2 * 4096);
  auto const aside = planned("set-aside");
  CHECK(aside["set_aside"] == json({1, 2}));
  CHECK(aside["tokens"] == 400);
  CHECK(planned("split")["tokens"] == 18400);
  CHECK(json::parse(read_whole(in / "d/plan.json"))["pieces"].size() == 4);
  CHECK(in.ballast("check d f --capacity 4096 --oversize split").code == 0);
}

TEST_CASE("plan --levels refuses what it cannot use, in one sentence", "[cli]") {
  scratch const in;
  in.file("f", "5\n5000\n");
  std::string const level = "{\"length\": 8192, \"sp\": 1, \"recomputed_layers\": 0}";
  struct bad {
    std::string arguments, sentence, levels = {};
  };
  std::string const unlike = "l: these are not levels as ballast levels --json prints them: ";
  bad const cases[] = {
      {"--levels auto --gpus 8", "--capacity is required"},
      {"--levels auto --capacity 8192", "--gpus is required"},
      {"--levels auto --capacity 8192 --gpus 8 --ranks 8", "--ranks excludes --levels"},
      {"--levels auto --capacity 8192 --gpus 8 --cost f", "--cost excludes --levels"},
      {"--capacity 8192 --ranks 8 --gpus 8", "--ranks excludes --gpus"},
      {"--capacity 8192 --ranks 8 --curriculum hbp", "--curriculum requires --levels"},
      {"--levels auto --capacity 8192 --gpus 8 --curriculum sideways",
       "--curriculum sideways: expected one of hbp, interleaved, random, ascending, ascending-buckets, shuffled-buckets"},
      {"--levels auto --capacity 8192 --gpus 8 --micro-batches 1048576", "micro_batches = 1048576 must be in 1 ... 2^20 - 1"},
      {"--levels auto --capacity 4096 --gpus 8", "f:2: 5000 exceeds the capacity 4096; --oversize set-aside, truncate or split says"},
      {"--levels nowhere --gpus 8", "nowhere: cannot be read: No such file"},
      {"--levels l --gpus 8 --capacity 8192", "--capacity is for --levels auto or hbp; levels from a file say what they hold",
       "[" + level + "]"},
      {"--levels l --gpus 8", unlike + "there is no array of them", ""},
      {"--levels l --gpus 8", unlike + "there is no array of them", "{\"level\": []}"},
      {"--levels l --gpus 8", unlike + "there is no array of them", "[]"},
      {"--levels l --gpus 8", unlike + "levels[0] is not an object", "[8192]"},
      {"--levels l --gpus 8", unlike + "levels[0].sp is missing or not a whole number from 1 to 8", "[{\"length\": 8192}]"},
      {"--levels l --gpus 8", unlike + "levels[0].length is missing or not a whole number from 1 to 2147483647", "[{\"length\": 1.5}]"},
      {"--levels l --gpus 8", unlike + "levels[1].length = 8192 must be above its predecessor's", "[" + level + "," + level + "]"},
      {"--levels l --gpus 8", "l: levels[0].sp = 3 does not divide --gpus 8", "[{\"length\": 8192, \"sp\": 3, \"recomputed_layers\": 0}]"},
      {"--levels l --gpus 8", unlike + "levels[0].recomputed_layers is missing or not a whole number from 0 to 32",
       "[{\"length\": 8192, \"sp\": 1, \"recomputed_layers\": 33}]"},
      {"--levels l --gpus 8", unlike + "levels[0].picoseconds is not an object",
       "[{\"length\": 8192, \"sp\": 1, \"recomputed_layers\": 0, \"picoseconds\": 7}]"},
      {"--levels l --gpus 8", unlike + "levels[0].picoseconds.token is missing or not a whole number from 0 to ",
       "[{\"length\": 8192, \"sp\": 1, \"recomputed_layers\": 0, \"picoseconds\": {\"pack\": 1}}]"},
      {"--levels l --gpus 8", "f:2: 5000 exceeds the capacity 1000", "[{\"length\": 1000, \"sp\": 1, \"recomputed_layers\": 0}]"},
  };
  for (auto const& c : cases) {
    in.file("l", c.levels);
    CAPTURE(c.arguments, c.levels);
    check_refused(in.ballast("plan f " + c.arguments), c.sentence);
  }
}

TEST_CASE("levels: the framework and the loss decide what is recomputed", "[cli]") {
  scratch const in;
  REQUIRE(in.ballast("generate --like long-context-sft --samples 5000 --seed 1 --out f").code == 0);
  auto const recomputed = [&](std::string const& options) {
    auto const o = in.ballast("levels f --max-length 131072 --oversize truncate --gpus 32 --json " + options);
    REQUIRE(o.code == 0);
    auto const parsed = json::parse(o.out);
    std::int64_t most = 0;
    for (auto const& level : parsed["levels"]) most = std::max(most, level["recomputed_layers"].get<std::int64_t>());
    return most;
  };
  CHECK(recomputed("") == recomputed("--framework hbp --head-loss plain"));
  CHECK(recomputed("--framework fused --head-loss fused") < recomputed("--framework hbp"));
  CHECK(in.ballast("levels f --max-length 32768 --gpus 16 --framework jax").err ==
        "--framework jax: expected one of fused, megatron, eager, compiled, chunkflow, hbp\n");
}

}  // namespace test_cli_level_plan
