// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"
#include "refused.hpp"

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/rounds.hpp"

#include <ballast/batching/coarse_cost.hpp>
#include <ballast/core/random.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/cost/scaled.hpp>
#include <ballast/cost/table.hpp>
#include <ballast/footprint/sample_time.hpp>
#include <ballast/plan/balance_report.hpp>
#include <ballast/plan/compare.hpp>
#include <ballast/plan/plan_data.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace test_cli_plan {

namespace {

using namespace ballast_test;

/// The number behind the n-th `"key":` of a JSON object (0: of the plan, 1: of naive, 2: of usual).
double number(std::string const& json, std::string const& key, int n = 0) {
  auto at = json.find("\"" + key + "\":");
  for (; n > 0 && at != std::string::npos; --n) at = json.find("\"" + key + "\":", at + 1);
  return at == std::string::npos ? std::nan("") : std::atof(json.c_str() + at + key.size() + 3);
}

bool close(double a, double b) { return std::fabs(a - b) <= 1e-12 * (1 + std::fabs(b)); }

struct plan_of_data {
  ballast::data_plan<> made;
  ballast::plan_comparison compared;
  double bound;
};
template <class Cost>
plan_of_data plan_and_compare(std::vector<std::int64_t> const& lengths, ballast::data_plan_options const& o, Cost const& cost, double ms) {
  auto made = ballast::plan_data(lengths, o, cost);
  auto compared = compare_with_usual(made, o, ms);
  auto const bound = report_balance(made.steps, made.samples, o.steps).slowest_over_mean;
  return {std::move(made), std::move(compared), bound};
}
plan_of_data plan_for(std::vector<std::int64_t> const& lengths, ballast::data_plan_options const& o, ballast::transformer const& model,
                      ballast::cluster const& on = {}) {
  auto const cost = ballast::sample_cost(model);
  return plan_and_compare(lengths, o, cost, ms_per_unit(cost, on));
}

/// The cost that the command line takes where no share of the peak is given.
ballast::coarse_cost time_by_kernels(std::vector<std::int64_t> const& lengths, ballast::batching_options const& o,
                                     ballast::transformer const& model, std::string const& device = "h100") {
  auto const& on = ballast::device_named(device);
  return ballast::coarse_cost_of(ballast::sample_time(model, on, {.rates = ballast::kernels_for(on)}, {}, {.capacity = o.capacity}),
                                 lengths, o);
}
plan_of_data plan_by_kernels(std::vector<std::int64_t> const& lengths, ballast::data_plan_options o, ballast::transformer const& model,
                             std::string const& device = "h100") {
  auto const cost = time_by_kernels(lengths, o.steps, model, device);
  o.steps.cost_per_micro_batch = cost.per_micro_batch();
  return plan_and_compare(lengths, o, cost, cost.ms_per_unit());
}

/// With stages, times and what follows from them are simulated.
void check_figures(std::string const& json, plan_of_data const& plan, bool simulated = false) {
  for (auto const& [n, f] : {std::pair{0, &plan.compared.planned}, {1, &plan.compared.naive}, {2, &plan.compared.usual}}) {
    CAPTURE(n, json);
    CHECK(close(number(json, "packs", n), static_cast<double>(f->packs)));
    CHECK(close(number(json, "fill", n), f->fill));
    CHECK(close(number(json, "steps", n), static_cast<double>(f->steps)));
    CHECK(close(number(json, "dbr", n), f->dbr));
    CHECK(close(number(json, "abr", n), f->abr));
    if (simulated) continue;
    CHECK(close(number(json, "idle", n), f->idle));
    CHECK(close(number(json, "slowest_over_mean", n), f->slowest_over_mean));
    CHECK(close(number(json, "single_sample_bound", n), f->single_sample_bound));
    CHECK(close(number(json, "modelled_step_ms", n), f->modelled_step_ms));
  }
  if (!simulated) CHECK(close(number(json, "any_plan_bound"), plan.bound));
  CHECK(close(number(json, "lower_bound"), static_cast<double>(plan.made.packs.lower_bound)));
}

/// What a one-dimensional .npy file holds.
template <class Integer>
std::vector<Integer> entries_of(std::string const& bytes) {
  auto const data = 10U + static_cast<unsigned char>(bytes.at(8)) + 256U * static_cast<unsigned char>(bytes.at(9));
  std::vector<Integer> out((bytes.size() - data) / sizeof(Integer));
  if (!out.empty()) std::memcpy(out.data(), bytes.data() + data, out.size() * sizeof(Integer));
  return out;
}

std::string const h100_rows =  // see tests/cost/calibrate.cpp
    "length,ms\n64,0.028433\n128,0.030415\n256,0.036643\n512,0.061332\n1024,0.132740\n2048,0.355045\n4096,1.055083\n8192,3.706723\n"
    "16384,13.503299\n32768,51.893895\n65536,206.286644\n";

}  // namespace

TEST_CASE("plan prints the hash of the library, which tells ranks and micro-batches apart", "[cli]") {
  scratch const in;
  auto const lengths = std::vector<std::int64_t>(8, 8192);
  auto const& model = ballast::transformer_preset("llama-3.1-8b");
  in.file("f", as_text(lengths));
  auto const hash_of = [&](std::string const& options) {
    return nlohmann::json::parse(in.ballast("plan f --capacity 8192 --json " + options).out)["hash"].get<std::string>();
  };
  std::vector<std::string> hashes;
  for (auto const& [ranks, micro_batches] : {std::pair{4U, 1U}, {8U, 1U}, {1U, 4U}, {2U, 4U}}) {
    auto const options = "--ranks " + std::to_string(ranks) + " --micro-batches " + std::to_string(micro_batches);
    CAPTURE(options);
    hashes.push_back(hash_of(options));
    ballast::data_plan_options const o{.steps = {.capacity = 8192, .ranks = ranks, .micro_batches = micro_batches}};
    CHECK(std::stoull(hashes.back(), nullptr, 16) == hash(plan_by_kernels(lengths, o, model).made.steps));
    CHECK(hash_of("--model llama-3.1-8b " + options) == hashes.back());
  }
  std::ranges::sort(hashes);
  CHECK(std::ranges::adjacent_find(hashes) == hashes.end());

  ballast::splitmix64 draw(7);
  std::vector<std::int64_t> mixed;  // 1001 samples, of whose last step some are dropped
  for (auto i = 0; i < 1001; ++i) mixed.push_back(static_cast<std::int64_t>(draw() % 4000) + 1);
  in.file("f", as_text(mixed));
  ballast::data_plan_options const o{.steps = {.capacity = 8192, .ranks = 4, .left_over = ballast::left_over::drop}};
  auto const plan = plan_by_kernels(mixed, o, model).made.steps;
  CHECK_FALSE(plan.dropped.empty());
  CHECK(std::stoull(hash_of("--ranks 4 --left-over drop"), nullptr, 16) == hash(plan));
}

TEST_CASE("plan prints the object that the manual lists", "[cli]") {
  scratch const in;
  in.file("f", "10\n30\n10\n");
  auto const o = in.ballast("plan f --capacity 20 --ranks 3 --oversize set-aside --json");
  std::string const first =
      "{\"samples\":3,\"tokens\":20,\"capacity\":20,\"strategy\":\"plan\",\"packs\":2,\"lower_bound\":1,\"gap\":1.0,\"optimal\":false,"
      "\"fill\":0.5,\"hash\":\"";
  CHECK(o.out.substr(0, first.size()) == first);
  auto const rest = figures(o.out).substr(figures(o.out).find("\"set_aside\""));
  std::string keys;
  for (std::size_t at = rest.find('"'); at != std::string::npos; at = rest.find('"', at + 1)) {
    auto const end = rest.find('"', at + 1);
    keys += rest.substr(at + 1, end - at - 1) + " ";
    at = end;
  }
  std::string const each = "steps dbr abr idle slowest_over_mean single_sample_bound modelled_step_ms ";
  CHECK(keys == "set_aside ranks micro_batches " + each + "any_plan_bound naive packs fill " + each + "usual packs fill " + each);
  CHECK(o.out.find("\"set_aside\":[1],\"ranks\":3,\"micro_batches\":1,\"steps\":1,") != std::string::npos);
  CHECK(close(number(o.out, "idle"), 1.0 / 3));
  CHECK(o.out.find("},\"seconds\":{\"read\":") != std::string::npos);
}

TEST_CASE("plan prints the library's figures and writes its steps", "[cli]") {
  scratch const in;
  ballast::splitmix64 draw(8);
  auto const lengths = random_lengths(700, 520, draw);
  in.file("f", as_text(lengths));
  auto const planned =
      plan_for(lengths, {.steps = {.capacity = 512, .ranks = 4, .micro_batches = 3, .seed = 6}, .oversize = ballast::oversize::split},
               ballast::transformer_preset("gpt2-xl"), {.device = ballast::device_named("b200"), .mfu = 0.25});
  std::string const arguments =
      "plan f --capacity 512 --ranks 4 --micro-batches 3 --seed 6 --oversize split --model gpt2-xl --device b200 --mfu 0.25";
  auto const o = in.ballast(arguments + " --json --out d");
  CHECK(o.code == 0);
  check_figures(o.out, planned);
  auto const& plan = planned.made;
  CHECK(number(read_whole(in / "d/plan.json"), "seed") == 6);
  CHECK(read_whole(in / "d/plan.json").find("\"device\": \"b200 at 25 % of its dense bfloat16 peak\"") != std::string::npos);

  auto const steps = read_whole(in / "d/steps.npy");
  auto const data = 10U + static_cast<unsigned char>(steps.at(8)) + 256U * static_cast<unsigned char>(steps.at(9));
  CHECK(steps.substr(10, data - 10)
            .find("{'descr': '<i4', 'fortran_order': False, 'shape': (" + std::to_string(plan.steps.steps()) + ", 4, 3), }") == 0);
  std::vector<std::int32_t> table((steps.size() - data) / 4);
  std::memcpy(table.data(), steps.data() + data, table.size() * 4);
  CHECK(table == std::vector<std::int32_t>(plan.steps.table.begin(), plan.steps.table.end()));  // `none` becomes -1
  auto const members = read_whole(in / "d/members.npy");
  CHECK(std::memcmp(members.data() + members.size() - 4 * plan.steps.packs.members.size(), plan.steps.packs.members.data(),
                    4 * plan.steps.packs.members.size()) == 0);
  CHECK(in.ballast("check d f --capacity 512 --oversize split").code == 0);

  auto const page = read_whole(in / "d/report.html");
  CHECK(page.find("ballast " + arguments) != std::string::npos);
  CHECK(page.find("gpt2-xl") != std::string::npos);
  CHECK(in.ballast(arguments + " --out e").code == 0);
  CHECK(in.shell("cmp d/steps.npy e/steps.npy && cmp d/plan.json e/plan.json").code == 0);
  CHECK(in.ballast(arguments + " --json --seed 7").code == 2);  // given twice
  CHECK(in.ballast("pack f --capacity 512 --oversize split --out d").code == 0);
  CHECK(in.shell("test -e d/steps.npy || grep -q gpt2-xl d/report.html").code == 1);  // of the plan that was there before

  auto const words = in.ballast(arguments).out;
  CHECK(words.find("700 samples") != std::string::npos);
  CHECK(words.find("\nplanned ") > words.find("\nusual "));
  CHECK(words.find("\nusual ") > words.find("\nnaive "));
  CHECK(words.find("In this plan the slowest ranks take ") != std::string::npos);
}

TEST_CASE("plan leaves places without a pack at -1, and a run of nothing is a plan too", "[cli]") {
  scratch const in;
  in.file("f", "5\n");
  CHECK(in.ballast("plan f --capacity 8 --ranks 2 --out d").code == 0);
  auto const steps = read_whole(in / "d/steps.npy");
  CHECK(steps.substr(steps.size() - 8) == std::string("\0\0\0\0\xff\xff\xff\xff", 8));
  auto const none = in.ballast("plan f --capacity 4 --ranks 2 --oversize set-aside --json --out d");
  CHECK(none.code == 0);
  CHECK(number(none.out, "steps") == 0);
}

TEST_CASE("plan takes models, histograms and measured times", "[cli]") {
  scratch const in;
  std::vector<std::int64_t> lengths;
  for (int i = 0; i < 90; ++i) lengths.push_back(i < 60 ? 300 : 6000);
  in.file("f", as_text(lengths));
  in.file("h", "length,count\n300,60\n6000,30\n");
  in.file("times.csv", h100_rows);
  ballast::data_plan_options const o{.steps = {.capacity = 8192, .ranks = 4}};
  std::string const shape = " --capacity 8192 --ranks 4 --json";

  auto const& model = ballast::transformer_preset("llama-3.1-8b");
  check_figures(in.ballast("plan f" + shape).out, plan_by_kernels(lengths, o, model));
  check_figures(in.ballast("plan f --mfu 0.4" + shape).out, plan_for(lengths, o, model, {.mfu = 0.4}));
  CHECK(figures(in.ballast("plan h --histogram" + shape).out) == figures(in.ballast("plan f" + shape).out));
  in.file("config.json",
          "{\"model_type\": \"llama\", \"hidden_size\": 4096, \"intermediate_size\": 14336, \"num_attention_heads\": 32, "
          "\"num_key_value_heads\": 8, \"num_hidden_layers\": 32, \"vocab_size\": 128256}");
  CHECK(figures(in.ballast("plan f --model config.json" + shape).out) == figures(in.ballast("plan f" + shape).out));

  auto const fit = in.ballast("calibrate times.csv --json");
  in.file("cost.json", fit.out);
  auto const fitted = [&](std::int64_t l) {
    auto const x = static_cast<double>(l);
    return number(fit.out, "constant") + number(fit.out, "linear") * x + number(fit.out, "quadratic") * x * x;
  };
  check_figures(in.ballast("plan f --cost cost.json" + shape).out, plan_and_compare(lengths, o, ballast::scaled(fitted, 1e6), 1e-6));
  // 300 stands between 256 and 512, 6000 between 4096 and 8192
  ballast::cost_table const table({256, 512, 4096, 8192}, {36643, 61332, 1055083, 3706723});
  check_figures(in.ballast("plan f --cost times.csv" + shape).out, plan_and_compare(lengths, o, table, 1e-6));
}

TEST_CASE("plan prices steps and micro-batches, keeps a floor for fill, and says what it trades", "[cli]") {
  scratch const in;
  ballast::splitmix64 draw(18);
  auto const lengths = random_lengths(900, 512, draw);
  in.file("f", as_text(lengths));
  auto const model = ballast::transformer_preset("gpt2-xl");
  auto const cost = ballast::sample_cost(model);
  ballast::cluster const on{.device = ballast::device_named("h100"), .mfu = 0.4};
  for (std::uint64_t const asked : {0U, 1U, 3U}) {  // 0: the data alone
    auto const stages = (std::max)(asked, std::uint64_t{1});
    ballast::data_plan_options o{.steps = {.capacity = 512, .ranks = 4, .micro_batches = 3, .stages = stages}};
    if (stages != 1) o.steps.synchronisation = ballast::synchronisation::pipeline;
    auto const ms = ballast::ms_per_unit(cost, on);
    auto const free = plan_and_compare(lengths, o, cost, ms);
    o.steps.cost_per_step = std::llround(40.5 * static_cast<double>(stages) / ms);
    o.steps.cost_per_micro_batch = std::llround(2.25 * static_cast<double>(stages) / ms);
    o.steps.least_fill = 901;
    auto const plan = plan_and_compare(lengths, o, cost, ms);
    auto const shape = std::string(" --capacity 512 --ranks 4 --micro-batches 3 --model gpt2-xl --mfu 0.4") +
                       (asked == 0 ? "" : " --memory 1000Gi --stages " + std::to_string(stages));
    std::string const prices = " --step-overhead-ms 40.5 --micro-batch-overhead-ms 2.25 --least-fill 0.9003 --out d";
    auto const got = in.ballast("plan f --json" + shape + prices);
    CAPTURE(asked, got.err);
    check_figures(got.out, plan, asked != 0);
    check_figures(in.ballast("plan f --json --step-overhead-ms 0 --micro-batch-overhead-ms 0 --least-fill 0" + shape).out, free,
                  asked != 0);
    if (asked == 0) CHECK(number(got.out, "modelled_step_ms") > 40.5 + 2.25);
    auto const json = read_whole(in / "d/plan.json");
    CHECK(number(json, "step_overhead_ms") == 40.5);
    CHECK(number(json, "micro_batch_overhead_ms") == 2.25);
    CHECK(number(json, "least_fill") == 0.901);
    auto const words = in.ballast("plan f" + shape + prices).out;
    CHECK(words.find(asked == 0 ? "Times are modelled, with 40.50 ms for every step and 2.25 ms for every micro-batch.\n"
                                : "; the choice of packs, but not these times, counts 40.50 ms for every step and 2.25 ms for every "
                                  "micro-batch.\n") != std::string::npos);
    if (asked != 0) continue;
    auto const trades =
        plan.compared.planned.fill < plan.compared.usual.fill - 0.01 && plan.compared.planned.idle < plan.compared.usual.idle;
    CHECK((words.find("The plan trades fill for balance: ") != std::string::npos) == trades);
    CHECK((read_whole(in / "d/report.html").find("The plan trades fill for balance: ") != std::string::npos) == trades);
  }
  in.file("two", "10\n10\n");
  CHECK(in.ballast("plan two --capacity 10 --ranks 3")
            .out.find("The last step has fewer samples than ranks, and 1 rank without a micro-batch, ") != std::string::npos);
  CHECK(in.ballast("plan two --capacity 10 --ranks 2").out.find("fewer samples than ranks") == std::string::npos);
  CHECK(in.ballast("plan f --capacity 512 --ranks 4 --micro-batches 3 --least-fill 1")
            .out.find("No plan was found that fills 100.00 % of its places") != std::string::npos);
}

TEST_CASE("plan buys randomness with time, and says what came of it", "[cli]") {
  scratch const in;
  ballast::splitmix64 draw(29);
  auto const lengths = random_lengths(6000, 4096, draw);
  in.file("f", as_text(lengths));
  std::string const shape = "plan f --capacity 4096 --ranks 4 --model gpt2-xl --mfu 0.4 --out d";
  double before = 0;
  for (auto const& [asked, thousandths] : {std::pair{"0", 0U}, {"2%", 20U}, {"100%", 1000U}}) {
    auto const got = in.ballast(shape + " --time-for-randomness " + asked);
    CAPTURE(asked, got.out, got.err);
    REQUIRE(got.code == 0);
    CHECK(got.out.find("Random draws have a design effect of 1; these steps have ") != std::string::npos);
    auto const json = read_whole(in / "d/plan.json");
    CHECK(number(json, "time_for_randomness") == 1e-3 * thousandths);
    auto const ms = number(json, "modelled_step_ms") * number(json, "steps");
    if (thousandths == 20) CHECK(ms <= 1.0201 * before);
    if (thousandths == 1000) CHECK(ms >= before);
    if (thousandths == 0) before = ms;
  }
  CHECK(in.ballast(shape).code == 0);
  CHECK(read_whole(in / "d/plan.json").find("time_for_randomness") == std::string::npos);
  CHECK(in.ballast(shape + " --micro-batches 2 --stages 2 --memory 1000Gi --time-for-randomness 0")
            .out.find("--time-for-randomness chose nothing: ranks are pipelines") != std::string::npos);
}

TEST_CASE("plan weighs samples by kernels unless a share of the peak is given", "[cli]") {
  scratch const in;
  ballast::splitmix64 draw(19);
  auto const lengths = random_lengths(600, 4096, draw);
  in.file("f", as_text(lengths));
  std::string const shape = "plan f --capacity 4096 --ranks 4 --micro-batches 3";
  ballast::data_plan_options const o{.steps = {.capacity = 4096, .ranks = 4, .micro_batches = 3}};
  for (auto const* const device : {"h100", "v100"}) {
    CAPTURE(device);
    auto const& model = ballast::transformer_preset("qwen2.5-7b");
    auto const plan = plan_by_kernels(lengths, o, model, device);
    auto const arguments = shape + " --model qwen2.5-7b --device " + device;
    auto const got = in.ballast(arguments + " --json --out d");
    check_figures(got.out, plan);
    auto const cost = time_by_kernels(lengths, o.steps, model, device);
    CHECK(std::stoull(nlohmann::json::parse(got.out)["hash"].get<std::string>(), nullptr, 16) == hash(plan.made.steps));
    auto const options = nlohmann::json::parse(read_whole(in / "d/plan.json"))["options"];
    CHECK(close(options["micro_batch_overhead_ms"], static_cast<double>(cost.per_micro_batch()) / 1e9));
    auto const own = std::string(device) == "h100" ? "" : ", which are taken from a100";
    CHECK(options["device"] == std::string(device) + " at the rates of its kernels" + own);
    auto const words = in.ballast(arguments).out;
    CHECK(words.find("; qwen2.5-7b on " + std::string(device) + " at the rates of its kernels" + own + ".\n") != std::string::npos);
    CHECK(words.find("Times are modelled, with ") != std::string::npos);
    CHECK(words.find(" for every micro-batch.\n") != std::string::npos);
  }
  auto const share = in.ballast(shape + " --mfu 0.4").out;
  CHECK(share.find("; llama-3.1-8b on h100 at 40 % of its dense bfloat16 peak.\n") != std::string::npos);
  CHECK(share.find("Times are modelled.\n") != std::string::npos);
}

TEST_CASE("plan counts in a larger unit where the picoseconds of all samples pass 2^61", "[cli]") {
  scratch const in;
  in.file("h", "length,count\n131072,40000\n700,1000\n");
  auto const o = in.ballast("plan h --histogram --capacity 131072 --ranks 8 --model llama-3.1-405b --json");
  CAPTURE(o.err);
  REQUIRE(o.code == 0);
  CHECK(number(o.out, "packs") == 40'008);  // a few of short samples
  CHECK(number(o.out, "modelled_step_ms") > 400'000);
}

TEST_CASE("calibrate fits the H100 rows", "[cli]") {
  scratch const in;
  in.file("times.csv", h100_rows);
  auto const o = in.ballast("calibrate times.csv --json");
  CHECK(o.out.find("{\"rows\":11,\"coefficients\":{\"constant\":0.02289") == 0);
  CHECK(std::fabs(number(o.out, "linear") - 5.353e-5) < 1e-8);
  CHECK(std::fabs(number(o.out, "quadratic") - 4.782e-8) < 1e-11);
  CHECK(std::fabs(number(o.out, "worst_error") - 0.084) < 0.0005);
  CHECK(std::fabs(number(o.out, "hold_out_worst_error") - 0.137) < 0.0005);
  auto const words = in.ballast("calibrate times.csv").out;
  CHECK(words.find("milliseconds = 0.022896 + 5.3535e-05 length + 4.7825e-08 length^2, fitted to 11 timings\n") == 0);
  CHECK(words.find("at worst 8.44 %, on average 3.20 %") != std::string::npos);
  CHECK(in.shell("head -4 times.csv | tr , ';' | \"$B\" calibrate -").out.find("not seen: unknown, too few timings") != std::string::npos);
}

TEST_CASE("calibrate fits micro-batches, the constant of each apart from its samples", "[cli]") {
  scratch const in;
  std::string rows = "lengths,ms\n";
  ballast::splitmix64 draw(3);
  for (int i = 0; i < 60; ++i) {
    auto ms = 6.0;
    for (auto samples = 1 + draw() % 12; samples > 0; --samples) {
      auto const length = 1 + draw() % 3000;
      auto const l = static_cast<double>(length);
      ms += 0.25 + 2e-3 * l + 1e-6 * l * l;
      rows += std::to_string(length) + (i % 2 == 0 ? " " : ",");
    }
    rows += std::to_string(ms) + "\n";
  }
  in.file("steps.csv", rows);
  auto const o = in.ballast("calibrate steps.csv --json");
  CHECK(o.out.find("{\"rows\":60,\"coefficients\":{\"constant\":0.2") == 0);
  CHECK(std::fabs(number(o.out, "micro_batch") - 6) < 1e-4);
  CHECK(std::fabs(number(o.out, "constant") - 0.25) < 1e-4);
  CHECK(std::fabs(number(o.out, "linear") - 2e-3) < 1e-7);
  CHECK(std::fabs(number(o.out, "quadratic") - 1e-6) < 1e-10);
  CHECK(number(o.out, "hold_out_worst_error") < 1e-4);
  auto const words = in.ballast("calibrate steps.csv").out;
  CHECK(words.find("milliseconds of a micro-batch = 6 + the sum over its samples of 0.25 + 0.002 length + 1e-06 length^2, fitted to 60 "
                   "micro-batches\n") == 0);
  // A plan under the fit counts the constant, as if the option had named it.
  in.file("fit.json", o.out);
  in.file("f", "2000\n1500\n900\n400\n");
  auto const priced = [&](char const* option) {
    (void)in.ballast(std::string("plan f --capacity 3000 --ranks 2 --cost fit.json --out p ") + option);
    return number(in.shell("cat p/plan.json").out, "micro_batch_overhead_ms");
  };
  CHECK(std::fabs(priced("") - 6) < 1e-4);
  CHECK(priced("--micro-batch-overhead-ms 2") == 2);
}

TEST_CASE("plan and calibrate refuse what they cannot use, in one sentence", "[cli]") {
  scratch const in;
  in.file("f", "5\n9\n");
  in.file("times.csv", h100_rows);
  auto const refused = [&](std::string const& arguments, std::string const& sentence) {
    auto const o = in.ballast(arguments);
    CAPTURE(arguments, o.out, o.err);
    CHECK(o.code == 2);
    CHECK(o.out.empty());
    CHECK(o.err.substr(0, sentence.size()) == sentence);
    CHECK(o.err.find('\n') == o.err.size() - 1);
  };
  refused("plan f --capacity 10", "--ranks is required");
  refused("plan f --capacity 10 --ranks 0", "--ranks 0: expected a whole number from 1");
  refused("plan f --capacity 10 --ranks 1048576", "ranks = 1048576 must be in 1 ... 2^20 - 1");
  refused("plan f --capacity 8 --ranks 2",
          "f:2: 9 exceeds the capacity 8; --oversize set-aside, truncate or split says what to do with it");
  refused("plan f --capacity 8 --ranks 2 --oversize alone", "--oversize alone: expected one of reject, set-aside, truncate, split");
  refused("plan f --capacity 10 --ranks 2 --model gpt-9",
          "--model gpt-9: there is no such file or preset; ballast models lists the presets");
  refused("plan f --capacity 10 --ranks 2 --model f", "f: not a JSON object");
  refused("plan f --capacity 10 --ranks 2 --device abacus",
          "--device abacus: expected one of v100, a100, h100, h200, b200, a100-40gb, h100-500w, h800, b300, gb200, gb300");
  refused("plan f --capacity 10 --ranks 2 --mfu much", "--mfu much: expected a number, as in 0.4");
  refused("plan f --capacity 10 --ranks 2 --mfu 1.5", "--mfu 1.5: may be a share above 1, which there is not, or a percentage");
  refused("plan f --capacity 10 --ranks 2 --mfu nan", "mfu = nan must be in (0, 1]");
  refused("plan f --capacity 10 --ranks 2 --cost times.csv --mfu 0.5", "--mfu excludes --cost");
  for (std::string const option : {"--step-overhead-ms", "--micro-batch-overhead-ms"}) {
    for (std::string const value : {"-1", "nan", "inf", "1000001", "1e300"})
      refused("plan f --capacity 10 --ranks 2 " + option + " " + value,
              option + " " + value + ": expected are milliseconds from 0 to 10^6");
    refused("plan f --capacity 10 --ranks 2 " + option + " 3ms", option + " 3ms: expected a number");
    refused("plan f --capacity 10 --ranks 2 " + option + " 1e-300", option + " 1e-300: is less than these costs tell apart, ");
    refused("plan f --capacity 10 --gpus 2 --levels auto " + option + " 3", "--levels excludes " + option);
  }
  refused("plan f --capacity 10 --ranks 2 --least-fill 1.01",
          "--least-fill 1.01: may be a share above 1, which there is not, or a percentage");
  refused("plan f --capacity 10 --ranks 2 --least-fill 101", "--least-fill 101: expected a share, as in 0.4, or a percentage, as in 40");
  for (std::string const value : {"-0.1", "nan"})
    refused("plan f --capacity 10 --ranks 2 --least-fill " + value, "--least-fill " + value + ": expected a share from 0 to 1, as in 0.97");
  refused("plan f --capacity 10 --gpus 2 --levels auto --least-fill 1", "--levels excludes --least-fill");
  refused("plan f --capacity 10 --ranks 2 --least-fill 1 --time-for-randomness 0", "--least-fill excludes --time-for-randomness");
  refused("plan f --capacity 10 --ranks 2 --time-for-randomness 0 --max-items 3", "--time-for-randomness: is for one measure, and not ");
  refused("plan f --capacity 10 --ranks 2 --time-for-randomness -1", "--time-for-randomness -1: expected a share from 0 to 1");
  struct bad_times {
    std::string bytes, of_plan, of_calibrate = {};
  };
  bad_times const cases[] = {
      {"", "t: there are no timings in it"},
      {"length,ms\n", "t: there are no timings in it"},
      {"1,2\n3\n", "t:2: two columns are expected, length and milliseconds; there are 1",
       "t:2: the lengths of a micro-batch and its milliseconds are expected; there is one column"},
      {"1 2 3\n", "t:1: two columns are expected, length and milliseconds; there are 3",
       "t: four coefficients take four timings at least; there are 1"},
      {"1 0 3\n", "t:1: two columns are expected, length and milliseconds; there are 3", "t:1: 0 is not a length"},
      {"1,2\n\n0,2\n", "t:3: 0 is not a length: lengths are whole numbers from 1 to 2^63-1"},
      {"1,-2\n", "t:1: -2 is not a time: times are milliseconds above 0"},
      {"1,inf\n", "t:1: inf is not a time"},
      {"1,2x\n", "t:1: 2x is not a time"},
      {"length,ms\nlength,ms\n", "t:2: length is not a length"},
      {"7,2\n7,3\n", "t:2: length 7 occurs a second time", "t: three coefficients take three timings at least; there are 2"},
      {"7,2\n6,3\n", "t:1: length 7 takes less time than a shorter one", "t: three coefficients take three timings at least; there are 2"},
      {"{\"coefficients\": {\"constant\": 1, \"linear\": -1}}",
       "t: this is not what ballast calibrate --json prints: coefficients.linear is missing or not a number of 0 or more",
       "t:1: {\"coefficients\": is not a length"},
      {"{", "t: this is not what ballast calibrate --json prints: coefficients.constant is missing", "t: there are no timings in it"},
  };
  for (auto const& c : cases) {
    in.file("t", c.bytes);
    refused("plan f --capacity 10 --ranks 2 --cost t", c.of_plan);
    refused("calibrate t", c.of_calibrate.empty() ? c.of_plan : c.of_calibrate);
  }
  refused("plan f --capacity 10 --ranks 2 --cost missing.csv", "missing.csv: ");
  auto const full = in.ballast("plan f --capacity 10 --ranks 2 --out f/d");
  CHECK(full.code == 1);
}

TEST_CASE("plan rounds samples up to a multiple, loses none, and exceeds no capacity", "[cli]") {
  scratch const in;
  ballast::splitmix64 draw(5);
  auto lengths = random_lengths(400, 500, draw);
  lengths.insert(lengths.begin() + 7, {990, 1000, 1500, 4000});
  in.file("f", as_text(lengths));
  auto const padded = [](std::int64_t length, std::int64_t multiple) { return (length + multiple - 1) / multiple * multiple; };
  std::string const shape = " --ranks 4 --micro-batches 2 --model gpt2-xl";
  auto const folder = [&] { return nlohmann::json::parse(read_whole(in / "d/plan.json")); };
  for (std::int64_t const multiple : {1, 16, 24})
    for (std::string const policy : {"set-aside", "truncate", "split"})
      for (std::string const rest : {"split", "drop", "repeat"}) {
        if (sanitized && (multiple != 24 || rest != "repeat")) continue;
        auto const limits = "f --capacity 1000 --oversize " + policy;
        auto const asked = "plan " + limits + shape + " --left-over " + rest;
        auto const o = in.ballast(asked + " --json --out d --multiple " + std::to_string(multiple));
        CAPTURE(multiple, policy, rest, o.err);
        REQUIRE(o.code == 0);
        auto const json = folder();
        CHECK(json["options"]["multiple"] == multiple);
        if (multiple == 1) CHECK(figures(in.ballast(asked + " --json").out) == figures(o.out));

        auto const most = 1000 / multiple * multiple;
        auto item = lengths;  // then pieces
        std::vector<std::int64_t> expected(item.size(), 1), cut = lengths;
        for (std::size_t i = 0; i < item.size(); ++i)
          if (item[i] > most) {
            expected[i] = policy == "set-aside" ? 0 : 1;
            item[i] = most;
          }
        for (auto const& piece : json["pieces"]) {
          item.push_back(piece["length"].get<std::int64_t>());
          expected.push_back(1);
          cut[piece["sample"].get<std::size_t>()] -= item.back();
        }
        for (std::size_t i = 0; i < lengths.size() && policy == "split"; ++i) CHECK(cut[i] == (std::min)(lengths[i], most));
        for (auto const& i : json.value("dropped", nlohmann::json::array())) expected[i.get<std::size_t>()] = 0;
        for (auto const& i : json.value("repeated", nlohmann::json::array())) ++expected[i.get<std::size_t>()];
        auto const offsets = entries_of<std::uint64_t>(read_whole(in / "d/offsets.npy"));
        auto const members = entries_of<std::uint32_t>(read_whole(in / "d/members.npy"));
        std::int64_t tokens = 0;
        for (std::size_t p = 0; p + 1 < offsets.size(); ++p) {
          std::int64_t held = 0;
          for (auto k = offsets[p]; k < offsets[p + 1]; ++k) {
            auto const i = members[static_cast<std::size_t>(k)];
            held += padded(item[i], multiple);
            tokens += item[i];
            --expected[i];
          }
          CHECK(held <= 1000);
        }
        CHECK(std::count(expected.begin(), expected.end(), 0) == static_cast<std::ptrdiff_t>(expected.size()));
        CHECK(json["tokens"] == tokens);
        CHECK(close(json["fill"].get<double>(),
                    static_cast<double>(tokens) / static_cast<double>(most) / static_cast<double>(offsets.size() - 1)));
        auto const checked = in.ballast("check d " + limits + " --json");
        CAPTURE(checked.err);
        CHECK(checked.code == 0);
        CHECK(nlohmann::json::parse(checked.out)["tokens"] == tokens);
        auto other = folder();
        other["options"]["multiple"] = 500;
        in.file("d/plan.json", other.dump());
        auto const overfull = in.ballast("check d " + limits);
        CHECK(overfull.code == 2);
        CHECK(overfull.err.find("d: not a valid p") == 0);
      }
  auto rounded = lengths;
  for (auto& length : rounded) length = padded(length, 16);
  in.file("rounded", as_text(rounded));
  auto const by_multiple = in.ballast("plan f --capacity 1000 --multiple 16 --oversize truncate --json" + shape).out;
  auto const by_lengths = in.ballast("plan rounded --capacity 992 --oversize truncate --json" + shape).out;
  for (auto const* const key :
       {"hash", "packs", "steps", "modelled_step_ms", "any_plan_bound", "set_aside"})  // costs are of the padded lengths
    CHECK(nlohmann::json::parse(by_multiple)[key] == nlohmann::json::parse(by_lengths)[key]);
  CHECK(in.ballast("plan f --capacity 1000 --multiple 16 --oversize truncate" + shape).out.find("rounded up to multiples of 16, by ") !=
        std::string::npos);

  check_refused(
      in.ballast("plan f --capacity 1000 --multiple 24" + shape),
      "f:8: 990 exceeds the capacity 1000 when rounded up to a multiple of 24, which is 1008; --oversize set-aside, truncate or split");
  check_refused(in.ballast("plan f --capacity 1000 --multiple 1001" + shape),
                "--multiple 1001: exceeds --capacity 1000, so no sample fits\n");
  check_refused(in.ballast("plan f --columns 1,1 --capacity 1000,1000 --multiple 2" + shape),
                "--multiple rounds lengths up, and is not for several measures\n");
  CHECK(in.ballast("plan f --capacity 1000 --multiple 2 --gpus 2 --levels auto").code == 2);
  check_refused(in.ballast("plan f --capacity 1000 --multiple 2 --device a100:1,v100:1"),
                "--multiple: not with several kinds of --device\n");
}

TEST_CASE("plan puts no more samples than allowed into a pack, and check finds the first pack that has more", "[cli]") {
  scratch const in;
  ballast::splitmix64 draw(7);
  auto lengths = random_lengths(300, 500, draw);
  in.file("f", as_text(lengths));
  lengths.insert(lengths.begin() + 7, {1000, 1500, 4000});
  in.file("long", as_text(lengths));
  std::string pairs;
  for (auto const length : lengths) pairs += std::to_string(length % 5) + "," + std::to_string(length) + "\n";
  in.file("pairs", pairs);
  auto const sizes = [&] {
    std::vector<std::size_t> out;
    auto const offsets = entries_of<std::uint64_t>(read_whole(in / "d/offsets.npy"));
    for (std::size_t p = 0; p + 1 < offsets.size(); ++p) out.push_back(static_cast<std::size_t>(offsets[p + 1] - offsets[p]));
    return out;
  };
  struct asked {
    std::string of, how;
  };
  std::string const shape = " --ranks 4 --micro-batches 2 --model gpt2-xl --left-over ";
  std::vector<asked> cases;
  for (std::string const rest : {"split", "shorten", "drop", "repeat"}) {
    for (std::string const policy : {"set-aside", "truncate", "split"})
      cases.push_back({"long --capacity 1000 --oversize " + policy, shape + rest});
    cases.push_back({"pairs --columns 1,2 --capacity 9,1000 --oversize set-aside", shape + rest});
    cases.push_back({"f --capacity 1000", " --ranks 2 --global-batch 8 --stages 2 --model gpt2-xl --left-over " + rest});
  }
  cases.push_back({"f --capacity 1000", " --gpus 4 --global-batch 16 --model gpt2-xl"});
  cases.push_back({"f --capacity 1000 --multiple 16", " --ranks 2 --model gpt2-xl"});
  for (auto const& [of, how] : cases)
    for (std::uint64_t const most : {2U, 4U}) {
      if (sanitized && (most == 2 || how.find("split") != std::string::npos)) continue;
      auto const plan = in.ballast("plan " + of + how + " --json --out d --max-items " + std::to_string(most));
      CAPTURE(of, how, most, plan.err);
      REQUIRE(plan.code == 0);
      auto const json = nlohmann::json::parse(plan.out);
      CHECK(json["max_items"] == most);
      auto held = sizes();
      CHECK(std::ranges::max(held) == most);  // which the limit binds
      CHECK(json["lower_bound"].get<std::size_t>() * most >=
            static_cast<std::size_t>(std::accumulate(held.begin(), held.end(), std::size_t{0})));
      CHECK(json["lower_bound"] <= json["packs"]);
      auto folder = nlohmann::json::parse(read_whole(in / "d/plan.json"));
      CHECK(folder["options"]["max_items"] == most);
      auto const limits = of.substr(0, of.find(" --multiple"));
      auto const checked = in.ballast("check d " + limits);
      CAPTURE(checked.err);
      CHECK(checked.code == 0);
      CHECK(checked.out.find(" or has more than " + std::to_string(most) + " samples.\n") != std::string::npos);
      folder["options"]["max_items"] = most - 1;
      in.file("d/plan.json", folder.dump());
      auto const first = std::ranges::find_if(held, [&](auto size) { return size > most - 1; }) - held.begin();
      auto const broken = in.ballast("check d " + limits);
      CHECK(broken.code == 2);
      CHECK(broken.err.find(": pack " + std::to_string(first) + " holds " + std::to_string(held[static_cast<std::size_t>(first)]) +
                            " samples, more than " + std::to_string(most - 1)) != std::string::npos);
    }
  auto const free = in.ballast("plan f --capacity 1000 --ranks 2 --json").out;
  auto const loose = in.ballast("plan f --capacity 1000 --ranks 2 --max-items 300 --json").out;
  CHECK(nlohmann::json::parse(free)["hash"] == nlohmann::json::parse(loose)["hash"]);
  CHECK(in.ballast("plan f --capacity 1000 --ranks 2 --max-items 2 --out d").out.find("\nNo pack has more than 2 samples; ") !=
        std::string::npos);
  CHECK(read_whole(in / "d/report.html").find("No pack has more than 2 samples; ") != std::string::npos);

  check_refused(in.ballast("plan f --capacity 1000 --ranks 2 --max-items 0"), "--max-items 0: expected a whole number from 1 to 2^63-1\n");
  CHECK(in.ballast("plan f --capacity 1000 --gpus 2 --levels auto --max-items 2").code == 2);
  check_refused(in.ballast("plan f --capacity 1000 --device a100:1,v100:1 --max-items 2"),
                "--max-items: not with several kinds of --device\n");
  auto folder = nlohmann::json::parse(read_whole(in / "d/plan.json"));
  folder["options"]["max_items"] = -1;
  in.file("d/plan.json", folder.dump());
  check_refused(in.ballast("check d f --capacity 1000"), "d/plan.json: max_items is missing or not a whole number from 0\n");
}

}  // namespace test_cli_plan
