// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"
#include "refused.hpp"
#include "report/svg.hpp"
#include "report/words.hpp"
#include "time_json.hpp"

#include "support/catch.hpp"
#include "support/lengths.hpp"

#include <ballast/core/random.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/plan/compare.hpp>
#include <ballast/plan/plan_training.hpp>
#include <ballast/plan/time_of.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace test_cli_training_plan {

namespace {

using namespace ballast_test;
using ballast_cli::duration;
using ballast_cli::formatted;
using nlohmann::json;

json answer(scratch::outcome const& o) {
  CAPTURE(o.out, o.err);
  REQUIRE(o.code == 0);
  return json::parse(o.out);
}
bool close(double a, double b) { return std::fabs(a - b) <= 1e-9 * (1 + std::fabs(b)); }

std::string const four =
    "name,forward,backward,parameter_bytes,activation_bytes,checkpoint_bytes,boundary_bytes\n"
    "embedding,0.5,0.5,10,4,1,8\n"
    "a,1,2.5,10,40,4,8\n"
    "b,1,2.5,10,40,4,8\n"
    "head,0.5,1,10,8,8,0\n";

}  // namespace

TEST_CASE("plan --stages prints the library's training plan", "[cli]") {
  scratch const in;
  ballast::splitmix64 draw(9);
  auto const lengths = random_lengths(400, 512, draw);
  in.file("f", as_text(lengths));
  auto const model = ballast::transformer_preset("gpt2-xl");
  ballast::cluster const on{.device = ballast::device_named("b200"), .mfu = 0.25};
  ballast::data_plan_options options{.steps = {.capacity = 512, .ranks = 2, .micro_batches = 5}};
  for (auto const& [stages, schedule] : {std::pair{3, "1f1b"}, {1, "gpipe"}, {4, "zb1p"}}) {
    CAPTURE(stages, schedule);
    options.steps.stages = static_cast<std::uint64_t>(stages);
    options.steps.synchronisation = stages == 1 ? ballast::synchronisation::per_step : ballast::synchronisation::pipeline;
    auto const cost = ballast::sample_cost(model);
    auto const data = ballast::plan_data(lengths, options, cost);
    std::int64_t const memory = stages == 1 ? std::int64_t{20} << 30 : std::int64_t{8} << 30;
    ballast::model_setting const by{.spread = {.tensor = 5, .data = 2, .sequence_parallel = true, .zero = 2}};
    auto const others = usual_batchings_of(data, options);
    auto const runs = compare_training(data, others, ballast::layers_of(model, by),
                                       {.stages = options.steps.stages, .memory = memory, .schedule = ballast::schedule_named(schedule)},
                                       ballast::rates_of(on, 10));
    auto const& run = runs.planned;
    REQUIRE(run.status == ballast::status::feasible);
    auto const o =
        answer(in.ballast(std::string("plan f --json --capacity 512 --ranks 2 --micro-batches 5 --model gpt2-xl --device b200 ") +
                          "--mfu 0.25 --tp 5 --zero 2 --stages " + std::to_string(stages) + " --schedule " + schedule + " --memory " +
                          std::to_string(memory >> 30) + "Gi"));
    auto const& m = o["model_plan"];
    auto const check_simulated = [&](json const& shown, ballast::training_plan const& of) {  // the headline is the simulation
      REQUIRE(of.status == ballast::status::feasible);
      CHECK(shown["status"] == "feasible");
      CHECK(shown["steps"] == of.steps.size());
      CHECK(close(shown["modelled_step_ms"], of.step_ms()));
      CHECK(close(shown["modelled_run_ms"], static_cast<double>(of.time.value) / 1e6));
      CHECK(close(shown["bubble"], of.shares.share(of.shares.bubble)));
      CHECK(close(shown["waiting"], of.shares.share(of.shares.waiting)));
      CHECK(close(shown["exchange"], of.shares.share(of.shares.exchange)));
      CHECK(close(shown["optimizer"], of.shares.share(of.shares.optimizer)));
      CHECK(!shown.contains("idle"));
    };
    check_simulated(o, run);
    check_simulated(o["naive"], runs.naive);
    check_simulated(o["usual"], runs.usual);
    CHECK(m["status"] == "feasible");
    CHECK(m["boundaries"] == json(run.stages.partition.boundaries));
    CHECK(m["deepspeed"] == m["boundaries"]);
    CHECK(m["schedule"] == schedule);
    CHECK(close(m["modelled_step_ms"], run.step_ms()));
    CHECK(close(m["modelled_run_ms"], static_cast<double>(run.time.value) / 1e6));
    CHECK(close(m["run_lower_bound_ms"], static_cast<double>(run.time.lower_bound) / 1e6));
    CHECK(close(m["bubble"], run.shares.share(run.shares.bubble)));
    CHECK(m["bubble"] == m["limits"]["bubble"]);
    double all = 0;
    for (auto const* part : {"work", "recompute", "exchange", "optimizer", "bubble", "waiting"}) all += m["limits"][part].get<double>();
    CHECK(close(all, 1));
    CHECK(m["limits"]["largest_loss"] == std::string(to_string(run.shares.largest_loss())));
    REQUIRE(m["memory"].size() == options.steps.stages);
    for (std::size_t s = 0; s < m["memory"].size(); ++s)
      CHECK(m["memory"][s] == json{{"stage", s},
                                   {"bytes", run.memory[s].bytes()},
                                   {"state", run.memory[s].state},
                                   {"activations", run.memory[s].activations},
                                   {"budget", memory}});
    ballast::training_setting timed{
        .model = by,
        .pipeline = {.stages = options.steps.stages, .schedule = ballast::schedule_named(schedule)},
        .boundaries = run.stages.partition.boundaries,
        .sequence = 512,
        .micro_batches = static_cast<std::int64_t>((data.steps.packs.size() + 2 * run.steps.size() - 1) / (2 * run.steps.size()))};
    std::vector<ballast::layer_option> taken;
    for (auto const& layer : ballast::layers_of(model, by)) taken.push_back(layer.options[run.stages.option[taken.size()]]);
    auto const& b200 = ballast::device_named("b200");
    CHECK(m["time"]["stages_ms"] ==
          stages_ms(ballast::time_of(model, timed, b200, {.rates = ballast::kernels_for(b200)}, run.mean, taken)));
    auto const changed = std::count_if(run.stages.option.begin(), run.stages.option.end(), [](auto k) { return k != 0; });
    CHECK(m["recompute"].size() + m["recompute_selective"].size() == static_cast<std::size_t>(changed));
    std::vector<std::string> const flags = m["megatron_flags"];
    std::vector<std::string> const first{"--tensor-model-parallel-size",     "5",
                                         "--pipeline-model-parallel-size",   std::to_string(stages),
                                         "--pipeline-model-parallel-layout", m["megatron"]};
    REQUIRE(flags.size() >= first.size());
    CHECK(std::equal(first.begin(), first.end(), flags.begin()));
  }
  auto const plain = answer(in.ballast("plan f --json --capacity 512 --ranks 2 --model gpt2-xl"));
  CHECK(!plain.contains("model_plan"));
  CHECK(plain.contains("idle"));
}

TEST_CASE("plan --stages --layers: measured layers scale by tokens, and full micro-batches take what they were measured at", "[cli]") {
  scratch const in;
  in.file("layers.csv", four);  // a micro-batch takes 9.5 ms, two stages 4.5 and 5
  std::string lengths;
  for (int i = 0; i < 8; ++i) lengths += "10\n";
  in.file("f", lengths);
  auto const of = [&](std::string const& more) {
    return answer(in.ballast("plan f --json --capacity 10 --ranks 1 --micro-batches 4 --layers layers.csv --device b200 " + more));
  };
  auto const one = of("--stages 1");
  CHECK(close(one["model_plan"]["modelled_run_ms"], 8 * 9.5));
  CHECK(one["model_plan"]["bubble"] == 0.0);
  CHECK(one["model_plan"]["limits"]["largest_loss"] == "none");
  CHECK(one["model_plan"]["memory"][0]["bytes"] == 40 + 92);
  CHECK(close(one["modelled_step_ms"].get<double>() * one["steps"].get<double>(), 8 * 9.5));
  auto const two = of("--stages 2 --memory 70");  // as partition: a is recomputed, 5.5 and 5 ms
  auto const& m = two["model_plan"];
  auto const cut = answer(in.ballast("partition layers.csv --stages 2 --micro-batches 4 --memory 70 --json"));
  CHECK(m["boundaries"] == cut["boundaries"]);
  CHECK(m["recompute"] == cut["recompute"]);
  CHECK(m["bottleneck_ms"] == cut["bottleneck"]);
  CHECK(m["megatron"] == cut["megatron"]);
  CHECK(m["memory"][1]["bytes"] == 68);
  CHECK(m["limits"]["recompute"].get<double>() > 0);
  auto const half = [&] {
    in.file("f", "5\n5\n5\n5\n");
    return of("--stages 1 --memory 1Ki");
  }();
  CHECK(close(half["model_plan"]["modelled_run_ms"], 2 * 9.5));  // by tokens: 20 of them

  in.file("f", lengths);
  in.file("layers.csv",
          "name,forward,backward,forward_per_batch,backward_per_batch,parameter_bytes,activation_bytes,checkpoint_bytes,boundary_bytes\n"
          "embedding,0.5,0.5,0.25,0.25,10,4,1,8\n"
          "a,1,2.5,0.5,1,10,40,4,8\n"
          "b,1,2.5,0.5,1,10,40,4,8\n"
          "head,0.5,1,0.25,0.5,10,8,8,0\n");  // any micro-batch takes 4.25 of the 9.5 ms
  auto const parts = of("--stages 2 --memory 70");
  for (auto const* key : {"boundaries", "recompute", "bottleneck_ms", "modelled_run_ms", "memory"})
    CHECK(parts["model_plan"][key] == two["model_plan"][key]);  // all micro-batches are full
  CHECK(close(of("--stages 1")["modelled_step_ms"].get<double>() * one["steps"].get<double>(), 8 * 9.5));
  in.file("f", "3\n");
  CHECK(close(of("--stages 1")["model_plan"]["modelled_run_ms"], 4.25 + 0.3 * 5.25));
  CHECK(close(of("--stages 1")["modelled_step_ms"], 4.25 + 0.3 * 5.25));
}

TEST_CASE("plan --stages: a baseline that is faster, or does not fit, is not passed over in silence") {
  scratch const in;
  in.file("layers.csv", four);
  in.file("few", "10\n2\n5\n2\n");
  auto const few = std::string("plan few --capacity 10 --ranks 2 --micro-batches 3 --layers layers.csv --stages 2 --memory 80");
  auto const times = answer(in.ballast(few + " --json"));
  CHECK(std::fabs(times["usual"]["modelled_run_ms"].get<double>() - 9.5) < 1e-5);
  CHECK(std::fabs(times["modelled_run_ms"].get<double>() - 11.3) < 1e-5);
  auto const faster = in.ballast(few);
  CAPTURE(faster.out, faster.err);
  CHECK(faster.out.find("The usual plan takes 15.93 % less time than this plan, by simulation.\n") != std::string::npos);
  in.file("uneven", "90\n10\n50\n");  // full packs of 90 + 10 tokens need 5700 bytes
  in.file("bytes.csv",
          "name,forward,backward,parameter_bytes,activation_bytes,checkpoint_bytes,boundary_bytes\n"
          "a,1,2.5,2000,4000,900,0\n"
          "b,1,2.5,2000,4000,800,0\n");
  auto const plan = std::string("plan uneven --capacity 100 --ranks 2 --layers bytes.csv --stages 1 --memory 5600");
  auto const tight = in.ballast(plan + " --out d");
  CAPTURE(tight.out, tight.err);
  CHECK(tight.out.find("naive             2         1   75.00 %  does not fit in memory\n") != std::string::npos);
  CHECK(tight.out.find("The naive plan does not fit in memory: with all that can be recomputed, stage 0 needs 100 bytes more.\n") !=
        std::string::npos);
  auto const o = answer(in.ballast(plan + " --json"));
  CHECK(o["usual"]["status"] == "infeasible");
  CHECK(!o["usual"].contains("modelled_step_ms"));
  CHECK(o["status"] == "feasible");
  CHECK(o["modelled_run_ms"].get<double>() > 0);
  CHECK(read_whole(in / "d/report.html").find("the usual plan does not fit in memory") != std::string::npos);
}

TEST_CASE("plan --stages: the parts of a step's time add up, and are the same in JSON, folder and page", "[cli]") {
  scratch const in;
  in.file("f", as_text(std::vector<std::int64_t>(16, 512)));
  auto const plan = [&](std::string const& more) {
    auto const m =
        answer(in.ballast("plan f --json --capacity 512 --ranks 2 --micro-batches 4 --stages 2 --memory 2000Gi --out d " + more));
    auto const& of = m["model_plan"];
    auto const written = json::parse(read_whole(in / "d/plan.json"))["model_plan"];
    CHECK((written["time"] == of["time"] && written["notes"] == of["notes"]));
    CHECK(in.ballast("check d f --capacity 512").code == 0);
    return of;
  };
  auto const m = plan("--model qwen3-30b-a3b --ep 2 --framework megatron --zero 1");
  auto const& time = m["time"];
  CHECK(m["notes"].empty());
  CHECK(time["parts_ms"] == time["stages_ms"][time["stage"].get<std::size_t>()]);
  REQUIRE(time["stages_ms"].size() == 2);
  auto const page = read_whole(in / "d/report.html");
  auto const step = formatted("%.2f", time["step_ms"].get<double>());
  for (std::size_t s = 0; s < 2; ++s) {
    double sum = 0;
    auto row = "<th scope=\"row\">" + std::to_string(s) + "</th>";
    for (auto const& [name, field] : time_parts_by_name) {
      auto const part = time["stages_ms"][s][name].get<double>();
      sum += part;
      if (part != 0 || time["stages_ms"][1 - s][name] != 0.0) row += "<td>" + formatted("%.2f", part) + "</td>";
    }
    CHECK(close(sum, time["step_ms"]));
    row += "<td>" + step + "</td></tr>";
    CAPTURE(row);
    CHECK(page.find(row) != std::string::npos);
    CHECK(page.find("stage " + std::to_string(s) + ": attention, " +
                    formatted("%.2f\u00a0ms", time["stages_ms"][s]["attention"].get<double>())) != std::string::npos);
  }
  auto const at_rates = ", modelled from kernels at the rates h100-te-bf16.";
  CHECK(page.find("A step of mean micro-batches takes " + duration(time["step_ms"].get<double>()) + at_rates + " With") !=
        std::string::npos);
  CHECK(page.find("With experts, a release of the framework alone changes this by up to 30 %.") != std::string::npos);
  CHECK(page.find(">products of experts</text>") != std::string::npos);
  CHECK(page.find(">recomputation</text>") == std::string::npos);  // there is none

  auto const gpt2 = std::string("--model gpt2-xl ");
  (void)plan(gpt2 + "--framework megatron --mfu 0.5");
  CHECK(read_whole(in / "d/report.html")
            .find(std::string(at_rates) + " All other times of this page are those of h100 at 50 % of its dense bfloat16 peak.") !=
        std::string::npos);
  CHECK(plan(gpt2 + "--tflops 2000 --memory-bandwidth 8TB --bandwidth 1800GB")["time"]["nearest"] == "b200");
  for (auto const& [more, rates, nearest] : {std::tuple{"--framework megatron", "h100-te-bf16", json()},
                                             {"--framework compiled", "h100-compile-bf16", json()},
                                             {"--framework eager --device v100", "v100-eager-bf16", json("a100")},
                                             {"--framework hbp", "h100-eager-bf16", json()}}) {
    CAPTURE(more);
    auto const of = plan(gpt2 + more)["time"];
    CHECK((of["rates"] == rates && of["nearest"] == nearest));
  }
  auto const attention = [&](std::string const& framework) {
    return plan(gpt2 + "--framework " + framework)["time"]["parts_ms"]["attention"].get<double>();
  };
  CHECK(attention("compiled") > attention("megatron"));  // FlashAttention 2, not cuDNN
  CHECK(plan(gpt2 + "--overlap 80")["time"]["parts_ms"]["end"] < plan(gpt2)["time"]["parts_ms"]["end"]);
  CHECK(plan(gpt2 + "--tp 5 --overlap tensor=80")["time"]["parts_ms"]["exchange"] < plan(gpt2 + "--tp 5")["time"]["parts_ms"]["exchange"]);

  in.file("layers.csv", four);
  in.file("images", "tiles,tokens\n1,300\n2,400\n1,200\n3,512\n");
  auto const images = std::string(
      "plan images --columns 1,2 --capacity 4,512 --ranks 1 --micro-batches 2 --stages 2 --memory 2000Gi --model qwen2.5-vl-7b --out d");
  auto const text = [](std::string const& more) { return "plan f --capacity 512 --ranks 2 --micro-batches 4 --stages 2 --out d " + more; };
  for (auto const& [command, why] :
       {std::pair{text("--memory 2000Gi --layers layers.csv"), "measured layers do not say what their kernels take"},
        {text("--memory 2000Gi --model gpt2-xl --train lora:8"), "adapters and frozen weights are not modelled"},
        {text("--memory 2000Gi --model gpt2-xl --offload optimizer"), "the way of states from and to host memory is not modelled"},
        {images, "the tower and the projector of a model that reads images are not modelled"}}) {
    CAPTURE(command);
    auto const of = answer(in.ballast(command + " --json"))["model_plan"];
    auto const sentence = std::string("where the time of a step goes is not told: ") + why;
    CHECK(of["time"].is_null());
    CHECK(of["notes"] == json{sentence});
    auto const shown = read_whole(in / "d/report.html");
    CHECK(shown.find("<p>Note: " + ballast_cli::escaped(sentence) + ".</p>") != std::string::npos);
    CHECK(shown.find("step-time") == std::string::npos);
  }
}

TEST_CASE("plan --stages: in words, in the folder and in the report", "[cli]") {
  scratch const in;
  in.file("layers.csv", four);
  in.file("f", "10\n10\n10\n10\n10\n10\n10\n10\n");
  auto const o =
      in.ballast("plan f --capacity 10 --ranks 2 --micro-batches 2 --layers layers.csv --stages 2 --memory 70 --schedule 1f1b --out d");
  CAPTURE(o.out, o.err);
  CHECK(o.code == 0);
  for (auto const* part :
       {"8 samples, 80 tokens in places of 10, 2 on each of 2 ranks; layers of layers.csv on h100.\n",
        "4 layers in 2 stages under 1f1b, 70 bytes a device; the slowest stage takes 5.50 ms for a mean micro-batch, and no plan takes "
        "less.\n",
        "    0  embedding ... a       2       5.50 ms  ", "Recomputed: 1 layer: a\n", "By its timelines a step takes ",
        "Of the device-time ", "Megatron-LM (nearest setting: ",
        "--pipeline-model-parallel-layout \"Et|tL\" --recompute-granularity full --recompute-method block --recompute-num-layers 1\n"}) {
    CAPTURE(part);
    CHECK(o.out.find(part) != std::string::npos);
  }
  CHECK(json::parse(read_whole(in / "d/plan.json"))["model_plan"]["megatron"] == "Et|tL");
  auto const page = read_whole(in / "d/report.html");
  CHECK(o.out.find("a step          all    bubble   waiting  exchange\n") != std::string::npos);
  for (auto const* part :
       {"waiting inside pipelines", "waiting for the slowest rank", ">Stages wait ", "Simulated, an epoch takes ", "<svg id=\"timeline\"",
        "<h2>Stages</h2>", "<svg id=\"device-time\"", "<svg id=\"memory\"", "recomputed forward"})
    CHECK(page.find(part) != std::string::npos);
  CHECK(in.ballast("plan f --capacity 10 --ranks 2 --micro-batches 2 --out e").code == 0);
  CHECK(read_whole(in / "e/report.html").find("Timeline of") == std::string::npos);
  CHECK(read_whole(in / "e/plan.json").find("model_plan") == std::string::npos);
}

TEST_CASE("plan --stages: schedules with several chunks", "[cli]") {
  scratch const in;
  std::string eight = "name,forward,backward,parameter_bytes,activation_bytes,checkpoint_bytes,boundary_bytes\n";
  for (int i = 0; i < 8; ++i) eight += "layer " + std::to_string(i) + ",1,2,10,40,4,0\n";
  in.file("layers.csv", eight);
  in.file("f", "10\n10\n10\n10\n");
  auto const command = std::string("plan f --capacity 10 --ranks 1 --micro-batches 4 --layers layers.csv --stages 2 --schedule ");
  for (std::string const schedule : {"interleaved", "interleaved:4", "zbv"}) {
    CAPTURE(schedule);
    auto const chunks = schedule == "interleaved:4" ? 4U : 2U;
    auto const m = answer(in.ballast(command + schedule + " --json"))["model_plan"];
    CHECK(m["boundaries"].size() == 2 * chunks + 1);
    CHECK(m["stage_of"].size() == 2 * chunks);
    CHECK(m["stage_of"][2] == (schedule == "zbv" ? 1 : 0));
    CHECK((m["megatron"] == "") == (schedule == "zbv"));  // Megatron-LM has no such placement
    CHECK(m["deepspeed"].is_null());
    CHECK(m["memory"].size() == 2);
    CHECK(m["modelled_run_ms"].get<double>() < answer(in.ballast(command + "1f1b --json"))["model_plan"]["modelled_run_ms"].get<double>());
  }
  auto const text = in.ballast(command + "interleaved --out d");
  CAPTURE(text.out, text.err);
  CHECK(text.code == 0);
  CHECK(text.out.find("layer 0 ... layer 1, layer 4 ... layer 5") != std::string::npos);
  CHECK(text.out.find("--pipeline-model-parallel-size 2") != std::string::npos);
  check_refused(in.ballast(command + "zbv --memory 60"), "f: no cut into 2 stages of 2 chunks", 3);
  check_refused(in.ballast(command + "interleaved:5"), "f: 8 layers cannot fill 2 stages of 5 chunks", 3);
}

TEST_CASE("plan --stages: what does not fit, and what makes no sense", "[cli]") {
  scratch const in;
  in.file("layers.csv", four);
  in.file("f", "10\n10\n10\n10\n");
  std::string const plan = "plan f --capacity 10 --ranks 1 --micro-batches 4 --layers layers.csv ";
  check_refused(
      in.ballast(plan + "--stages 2 --memory 31"),
      "f: no cut into 2 stages fits 31 bytes a device; at the least, all recomputed that can be, stage 1 needs 32 bytes, 1 more\n", 3);
  auto const least = in.ballast(plan + "--stages 2 --memory 1");
  CHECK((least.code == 3 && least.err.find("f: no cut into 2 stages fits 1 byte a device; ") == 0));
  // what is counted by tensor is fitted, so that another cut may fit
  check_refused(in.ballast("plan f --capacity 10 --ranks 1 --stages 2 --framework megatron --memory 10GB"),
                "f: no cut into 2 stages was found that fits 10,000,000,000 bytes a device; about the least, all recomputed that can be: "
                "stage ",
                3);
  CHECK(in.ballast(plan + "--stages 2 --memory 32").code == 0);
  check_refused(in.ballast(plan + "--stages 5"), "f: 4 layers cannot fill 5 stages, each of which takes at least one\n", 3);
  std::pair<std::string, std::string> const cases[] = {
      {"--stages 0", "--stages 0: expected a whole number from 1 to 2^31-1\n"},
      {"--memory 1Gi", "--memory requires --stages"},
      {"--stages 2 --memory 1G", "--memory 1G: expected a whole number of bytes"},
      {"--stages 2 --schedule interleaved:1", "chunks = 1: an interleaved schedule has at least 2\n"},
      {"--stages 2 --schedule interleaved:x", "--schedule x: expected a whole number"},
      {"--stages 2 --schedule pipedream", "no schedule \"pipedream\""},
      {"--stages 2 --tp 0", "--tp 0: expected a whole number from 1"},
      {"--stages 2 --tp 3", "--tp 3: must divide the 32 query heads of llama-3.1-8b"},
      {"--stages 2 --zero 4", "--zero 4: expected a ZeRO stage from 0 to 3\n"},
      {"--stages 2 --layers missing.csv", "missing.csv: cannot be read"},
      {"--stages 2 --layers layers.csv --tp 2", "--tp excludes --layers"},
      {"--stages 2 --layers layers.csv --model gpt2-xl", "--model excludes --layers"},
  };
  for (auto const& [more, sentence] : cases) check_refused(in.ballast("plan f --capacity 10 --ranks 1 " + more), sentence);
  check_refused(in.ballast("plan f --capacity 10 --levels auto --gpus 2 --stages 2"), "--levels excludes --stages");
}

TEST_CASE("simulate --memory: the timeline of the joint plan, with what it recomputes", "[cli]") {
  scratch const in;
  in.file("f", four);
  for (auto const* schedule : {"1f1b", "gpipe", "zb1p"})
    for (auto const* memory : {"60", "70", "200", "1Ki"}) {
      CAPTURE(schedule, memory);
      auto const options = std::string(" f --stages 2 --micro-batches 8 --json --schedule ") + schedule + " --memory " + memory;
      auto const cut = in.ballast("partition" + options);
      auto const o = in.ballast("simulate" + options);
      CHECK(o.code == cut.code);
      if (cut.code != 0) {
        CHECK(o.err == cut.err);
        continue;
      }
      auto const plan = json::parse(cut.out), t = json::parse(o.out);
      CHECK(t["boundaries"] == plan["boundaries"]);
      CHECK(t["recompute"] == plan["recompute"]);
      double busiest = 0;
      for (std::size_t s = 0; s < 2; ++s) {
        busiest = (std::max)(busiest, t["stages"][s]["busy"].get<double>());
        CHECK(t["stages"][s]["peak_memory"] <= plan["memory"][s]);
        if (schedule != std::string("zb1p")) CHECK(t["stages"][s]["peak_memory"] == plan["memory"][s]);
      }
      CHECK(close(busiest, 8 * plan["bottleneck"].get<double>()));
    }
  CHECK(in.ballast("simulate f --stages 2 --micro-batches 8 --memory 70").out.find("Recomputed: 1 layer: a\n") != std::string::npos);
  check_refused(in.ballast("simulate f --stages 2 --micro-batches 8 --memory 70 --boundaries 0,2,4"),
                "--memory decides the cut: give it or --boundaries");
  check_refused(in.ballast("simulate f --stages 2 --micro-batches 8 --memory 70 --schedule zbv"), "schedule zbv has 2 chunks a stage");
}

}  // namespace test_cli_training_plan
