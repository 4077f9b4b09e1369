// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include "support/catch.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace test_cli_padded {

using namespace ballast_test;

namespace {

std::string lengths() {
  std::string text;
  for (int i = 0; i < 900; ++i) text += std::to_string(1 + 2000 * 20 / (20 + i * 7919 % 400)) + "\n";
  return text;
}

/// The entries of a little-endian array that the program wrote.
template <class Integer>
std::vector<Integer> entries(std::string const& file) {
  std::vector<Integer> out((file.size() - 128) / sizeof(Integer));
  std::memcpy(out.data(), file.data() + 128, out.size() * sizeof(Integer));
  return out;
}

}  // namespace

TEST_CASE("pack --padded: the fewest batches whose rows times the longest fit, and check knows the rule", "[cli]") {
  scratch const in;
  in.file("f", lengths());
  auto const o = in.ballast("pack f --capacity 4096 --padded --multiple 8 --out p --json --ranks 4");
  REQUIRE(o.code == 0);
  auto const json = nlohmann::json::parse(o.out);
  CHECK(json["strategy"] == "padded");
  CHECK(json["optimal"] == true);
  CHECK(json["naive"]["packs"] > json["packs"]);
  CHECK(json["padding"] > 0);
  CHECK(nlohmann::json::parse(read_whole(in / "p/plan.json"))["options"]["padded"] == true);
  auto const valid = in.ballast("check p f --capacity 4096 --json");  // the folder says that rows are padded
  REQUIRE(valid.code == 0);
  CHECK(nlohmann::json::parse(valid.out)["fewest_padded"]["packs"] == json["packs"]);
  CHECK(in.ballast("check p f --capacity 4000").err.find("p: not a valid packing: pack ") == 0);
  CHECK(in.ballast("pack f --capacity 4096 --out dense").code == 0);
  CHECK(in.ballast("check dense f --capacity 4096").code == 0);
  CHECK(in.ballast("check dense f --capacity 4096 --padded").code == 2);
  auto const words = in.ballast("pack f --capacity 4096 --padded").out;
  CHECK(words.find("Padded batches: 900 samples, ") == 0);
  CHECK(words.find("(proof: longest-rows bound): this one is optimal.\nRows are padded to the longest of their batch: ") !=
        std::string::npos);
}

TEST_CASE("plan --padded: the fewest batches in balanced steps, beside what trainers do", "[cli]") {
  scratch const in;
  in.file("f", lengths());
  for (std::string const more : {"", " --left-over shorten --multiple 16", " --max-items 3 --micro-batches 2"}) {
    CAPTURE(more);
    auto const o = in.ballast("plan f --capacity 4096 --ranks 4 --padded --out p --json" + more);
    CAPTURE(o.err);
    REQUIRE(o.code == 0);
    auto const json = nlohmann::json::parse(o.out);
    CHECK(json["samples"] == 900);
    CHECK(json["packs"] >= json["lower_bound"]);
    CHECK(json["packs"] < json["naive"]["packs"]);
    CHECK(json["idle"] < json["usual"]["idle"]);
    CHECK(json["padding"] > 0);
    auto const tokens = json["tokens"].get<double>(), packs = json["packs"].get<double>();
    CHECK(std::fabs(json["fill"].get<double>() - tokens / packs / 4096) < 1e-9);
    CHECK(in.ballast("check p f --capacity 4096").code == 0);
    auto const again = in.ballast("plan f --capacity 4096 --ranks 4 --padded --json" + more);
    CHECK(nlohmann::json::parse(again.out)["hash"] == json["hash"]);
  }
  auto const aside = nlohmann::json::parse(in.ballast("plan f --capacity 1500 --ranks 2 --padded --oversize set-aside --out q --json").out);
  CHECK(!aside["set_aside"].empty());
  CHECK(in.ballast("check q f --capacity 1500 --oversize set-aside").code == 0);
  auto const words = in.ballast("plan f --capacity 4096 --ranks 4 --padded").out;
  CHECK(words.find("usual: samples of similar length, dealt at random. planned: the same batches, dealt to ranks by cost.") !=
        std::string::npos);
  CHECK(words.find("Rows are padded to the longest of their micro-batch, by ") != std::string::npos);
}

TEST_CASE("plan --padded: stages and degrees are planned for the padded rows", "[cli]") {
  scratch const in;
  in.file("f", lengths());
  auto const model = std::string(" --model qwen2.5-0.5b --json");
  auto const run = [&](std::string const& arguments) {
    auto const o = in.ballast(arguments + model);
    CAPTURE(arguments, o.err);
    REQUIRE(o.code == 0);
    return nlohmann::json::parse(o.out);
  };
  auto const staged = run("plan f --capacity 4096 --ranks 4 --micro-batches 4 --padded --stages 2 --out p");
  CHECK(in.ballast("check p f --capacity 4096").code == 0);
  CHECK(staged["packs"] < staged["naive"]["packs"]);
  CHECK(staged["modelled_step_ms"] > 0);
  // padding is computed: batches of which no row is padded take less, and hold the same rows
  std::string equal;
  for (int i = 0; i < 96; ++i) equal += "512\n";
  in.file("equal", equal);
  std::string rising;
  for (int i = 0; i < 96; ++i) rising += i % 8 == 0 ? "512\n" : "8\n";
  in.file("rising", rising);
  auto const shape = std::string(" --capacity 4096 --ranks 2 --micro-batches 2 --stages 2 --padded");
  auto const even = run("plan equal" + shape);
  CHECK(even["padding"] == 0);
  CHECK(even["packs"] == 12);
  for (auto const* const which : {"naive", "usual"}) CHECK(even[which]["modelled_step_ms"] == even["modelled_step_ms"]);
  // batches that mix lengths, as the naive ones do, cost their padding: eight rows of 512 tokens each
  auto const mixed = run("plan rising" + shape);
  CHECK(mixed["naive"]["packs"] == 12);
  auto const as_even = mixed["naive"]["modelled_run_ms"].get<double>() / even["naive"]["modelled_run_ms"].get<double>();
  CHECK((as_even > 0.9 && as_even < 1.1));  // kernels are timed for the mean batch of the plan
  CHECK(mixed["modelled_run_ms"] < 0.5 * mixed["naive"]["modelled_run_ms"].get<double>());

  auto const searched = run("plan f --capacity 4096 --gpus 4 --global-batch 16 --padded");
  for (auto const& r : searched["ranked"]) CHECK(r["packs_per_micro_batch"] == 1);
  CHECK(searched["capacity"] == 4096);
  CHECK(searched["padding"] > 0);
  auto const words = in.ballast("plan f --capacity 4096 --gpus 4 --global-batch 16 --padded --model qwen2.5-0.5b").out;
  CHECK(words.find(" a step. The best, in such steps:\n") != std::string::npos);
  auto const tried = run("plan f --capacity 4096 --gpus auto:1..4 --global-batch 16 --padded --within 2h")["gpus_tried"];
  CHECK(tried.size() == 3);
}

TEST_CASE("--static: the arrays of all packs have one size, no token is lost, and fillers are empty", "[cli]") {
  scratch const in;
  in.file("f", lengths());
  for (std::string const command :
       {"pack f --capacity 4096 --static", "pack f --capacity 4096 --static --max-items 20 --multiple 4",
        "plan f --capacity 4096 --ranks 4 --static --multiple 4", "plan f --capacity 1000 --ranks 2 --oversize split --static"}) {
    CAPTURE(command);
    auto const o = in.ballast(command + " --out p --json");
    CAPTURE(o.err);
    REQUIRE(o.code == 0);
    auto const json = nlohmann::json::parse(o.out);
    auto const sequences = json["static"]["sequences"].get<std::size_t>(), packs = json["packs"].get<std::size_t>();
    auto const tokens = json["static"]["tokens"].get<std::int32_t>(), longest = json["static"]["max_seqlen"].get<std::int32_t>();
    if (command.find("--max-items 20") != std::string::npos) CHECK(sequences == 21);
    CHECK(tokens == json["capacity"]);
    auto const cu = entries<std::int32_t>(read_whole(in / "p/cu_seqlens.npy")),
               padded = entries<std::int32_t>(read_whole(in / "p/cu_seqlens_padded.npy"));
    auto const offsets = entries<std::uint64_t>(read_whole(in / "p/offsets.npy"));
    REQUIRE(cu.size() == packs * (sequences + 1));
    REQUIRE(padded.size() == cu.size());
    std::int64_t all = 0;
    for (std::size_t p = 0; p < packs; ++p) {
      auto const *const of = cu.data() + p * (sequences + 1), *const at = padded.data() + p * (sequences + 1);
      auto const members = static_cast<std::size_t>(offsets[p + 1] - offsets[p]);
      CHECK(members < sequences);
      CHECK(at[sequences] == tokens);
      for (std::size_t k = 0; k < sequences; ++k) {
        CHECK((of[k + 1] > of[k]) == (k < members));
        CHECK(at[k + 1] - at[k] >= of[k + 1] - of[k]);
        CHECK(at[k + 1] - at[k] <= longest);
      }
      all += of[sequences];
    }
    CHECK(all == json["tokens"]);
    CHECK(json["static"]["padding"] == static_cast<std::int64_t>(packs) * tokens - all);
    CHECK(in.ballast("check p f --capacity " + std::to_string(json["capacity"].get<int>()) +
                     (command.find("split") != std::string::npos ? " --oversize split" : ""))
              .code == 0);
  }
  CHECK(in.shell("rm p/cu_seqlens.npy; \"$B\" check p f --capacity 1000").err.find("is not a complete plan: cu_seqlens.npy is missing") !=
        std::string::npos);
  CHECK(in.ballast("pack f --capacity 4096 --out q").code == 0);
  CHECK(in.shell("cp p/cu_seqlens_padded.npy q; \"$B\" check q f --capacity 4096").err.find("does not know of cu_seqlens_padded.npy") !=
        std::string::npos);
  CHECK(in.ballast("pack f --capacity 4096 --static").out.find("Static shapes: each pack is a row of 4,096 tokens, with cu_seqlens of ") !=
        std::string::npos);
}

TEST_CASE("what padded rows and static shapes do not take is refused in one sentence", "[cli]") {
  scratch const in;
  in.file("f", "700 2\n30 1\n");
  std::pair<std::string, std::string> const refused[] = {
      {"pack f --columns 1 --capacity 900 --padded --strategy bfd", "--padded: has a strategy of its own"},
      {"pack f --columns 2,1 --capacity 9,900 --padded", "--padded: is for one measure"},
      {"pack f --columns 1 --capacity 900 --padded --static", "--padded: has rows and no cu_seqlens"},
      {"pack f --columns 1 --capacity 900 --padded --pack-count-multiple 2", "--pack-count-multiple: not with --padded"},
      {"pack f --columns 1 --capacity 90 --padded --oversize split", "--oversize split: with --padded, a longer row can be rejected"},
      {"pack f --columns 1 --capacity 90 --padded", "f:1: 700 exceeds the capacity 90"},
      {"pack f --columns 2,1 --capacity 9,900 --static", "--static: is for one measure"},
      {"pack f --columns 1 --capacity 90 --static --oversize alone", "--oversize alone: with --static, no row is longer"},
      {"pack f --columns 1 --capacity 4Gi --static", "--static: cu_seqlens are integers of 32 bits"},
      {"check f f --columns 1 --capacity 900 --padded --oversize alone", "--oversize alone: with --padded, a longer row"},
      {"plan f --columns 2,1 --capacity 9,900 --ranks 1 --padded", "--padded: is for one measure"},
      {"plan f --columns 2,1 --capacity 9,900 --ranks 1 --static", "--static: is for one measure"},
      {"plan f --columns 1 --capacity 900 --ranks 1 --padded --left-over drop",
       "--left-over: with --padded, a last step can be split or sh"},
      {"plan f --columns 1 --capacity 900 --ranks 1 --padded --least-fill 0.9", "--least-fill: not with --padded"},
      {"plan f --columns 1 --capacity 900 --ranks 1 --padded --time-for-randomness 2%", "--time-for-randomness: not with --padded"},
      {"plan f --columns 1 --capacity 90 --ranks 1 --padded --oversize split", "--oversize split: with --padded"},
      {"plan f --columns 1 --capacity 900 --gpus 1 --padded --levels auto", "--levels excludes --padded"},
  };
  for (auto const& [arguments, sentence] : refused) {
    auto const o = in.ballast(arguments);
    CAPTURE(arguments, o.err);
    CHECK(o.code == 2);
    CHECK(o.err.find(sentence) == 0);
    CHECK(std::count(o.err.begin(), o.err.end(), '\n') == 1);
  }
}

}  // namespace test_cli_padded
