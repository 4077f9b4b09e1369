// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"
#include "report/page.hpp"
#include "report/page_parts.hpp"
#include "report/svg.hpp"
#include "report/words.hpp"
#include "time_json.hpp"

#include <ballast/core/groups.hpp>

#include "support/catch.hpp"

#include <nlohmann/json.hpp>

#include <cctype>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace test_cli_report_page {

namespace {

using namespace ballast_cli;
using ballast_test::read_whole;
using ballast_test::scratch;
using nlohmann::json;
namespace fs = std::filesystem;

/// Three plans of steps whose loads fall by one millisecond from rank to rank.
report_data some_plan(std::uint64_t steps, std::uint64_t ranks) {
  report_data d{.title = "lengths.txt",
                .samples = 12,
                .tokens = 1200,
                .capacity = 512,
                .ranks = ranks,
                .model = "llama-3.1-8b",
                .device = "h100",
                .bin_edges = {1, 64, 128, 512},
                .bin_samples = {2, 6, 4},
                .bin_tokens = {80, 520, 600},
                .plans = {},
                .single_sample_bound = 1.01,
                .pack_bound = 3,
                .pack_bound_by = "volume",
                .limits = {"Sample 7 is long."},
                .command = "ballast plan lengths.txt"};
  for (auto const* name : {"naive", "usual", "planned"}) {
    report_plan plan{.name = name,
                     .how = "somehow",
                     .packs = 4,
                     .steps = steps,
                     .fill = 0.9,
                     .idle = 0.25,
                     .slowest_over_mean = 1.3,
                     .dbr = 0.1,
                     .abr = 0.2,
                     .modelled_step_ms = 1500,
                     .modelled_hours = 2.5,
                     .loads = {}};
    for (std::uint64_t i = 0; i < steps * ranks; ++i) plan.loads.push_back(static_cast<double>(100 - i % ranks));
    d.plans.push_back(plan);
  }
  return d;
}

std::size_t count(std::string const& page, std::string const& what) {
  std::size_t n = 0;
  for (auto at = page.find(what); at != page.npos; at = page.find(what, at + 1)) ++n;
  return n;
}

/// "well formed", or what is wrong: every tag is closed in its turn, attributes are quoted, no id occurs twice, every id that is
/// referred to is there, no text is left unescaped and no number is not finite.
std::string verdict(std::string const& page) {
  std::vector<std::string> open;
  std::set<std::string> ids;
  std::vector<std::string> wanted;
  std::string words;
  std::size_t at = 0;
  if (!page.starts_with("<!DOCTYPE html>\n")) return "no doctype";
  for (at = 16; at < page.size();) {
    if (page[at] != '<') {
      if (page[at] == '>') {
        if (open.empty() || open.back() != "style") return "a bare > at " + page.substr(at, 20);
      } else if (page[at] == '&') {
        auto const entity = page.substr(at, page.find(';', at) - at);
        if (entity != "&amp" && entity != "&lt" && entity != "&gt" && entity != "&quot") return "a bare & at " + page.substr(at, 20);
      }
      words += page[at++];
      continue;
    }
    words += ' ';
    auto const end = page.find('>', at);
    if (end == page.npos) return "an open tag";
    auto tag = page.substr(at + 1, end - at - 1);
    at = end + 1;
    if (tag.find('<') != tag.npos || count(tag, "\"") % 2 != 0) return "a broken tag: " + tag;
    auto const name = tag.substr(0, tag.find(' '));
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return "closed out of turn: " + tag;
      open.pop_back();
      continue;
    }
    for (auto quote = tag.find('"'); quote != tag.npos; quote = tag.find('"', tag.find('"', quote + 1) + 1)) {
      auto const value = tag.substr(quote + 1, tag.find('"', quote + 1) - quote - 1);
      words += " " + value;
      if (tag.substr(0, quote).ends_with(" id=") && !ids.insert(value).second) return "twice the id " + value;
      if (!tag.substr(0, quote).ends_with("labelledby=")) continue;
      wanted.push_back(value.substr(0, value.find(' ')));
      wanted.push_back(value.substr(value.find(' ') + 1));
    }
    if (!tag.ends_with('/')) open.push_back(name);
  }
  if (!open.empty()) return "never closed: " + open.back();
  for (auto const& id : wanted)
    if (!ids.contains(id)) return "no element has the id " + id;
  std::string word;
  for (auto const c : words + " ") {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      word += c;
      continue;
    }
    if (word == "nan" || word == "inf") return "a number is not finite";
    word.clear();
  }
  return "well formed";
}

}  // namespace

TEST_CASE("report_page: any data make a well-formed page that stands alone") {
  auto const steps = GENERATE(0, 1, 2, 57, 300);
  auto const ranks = GENERATE(1, 3);
  auto data = some_plan(static_cast<std::uint64_t>(steps), static_cast<std::uint64_t>(ranks));
  auto const change = GENERATE(range(0, 8));
  CAPTURE(steps, ranks, change);
  auto const infinity = std::numeric_limits<double>::infinity(), no_number = std::numeric_limits<double>::quiet_NaN();
  if (change == 1) data = {};
  if (change == 2) data.plans.clear();
  if (change == 3) data.plans.resize(1);
  if (change == 4) data.ranks = 0;
  if (change == 5)
    for (auto& r : data.plans) std::fill(r.loads.begin(), r.loads.end(), 0.0);
  if (change == 6) {
    for (auto& r : data.plans) {
      r = {.name = "odd",
           .how = "",
           .fill = no_number,
           .idle = infinity,
           .slowest_over_mean = infinity,
           .dbr = no_number,
           .abr = no_number,
           .modelled_step_ms = infinity,
           .modelled_hours = no_number,
           .loads = std::move(r.loads)};
      for (std::size_t i = 0; i < r.loads.size(); ++i) r.loads[i] = i % 3 == 0 ? infinity : i % 3 == 1 ? no_number : 1e308;
    }
    data.single_sample_bound = no_number;
  }
  if (change == 7) data.bin_edges = {0, 0, (std::numeric_limits<std::uint64_t>::max)()}, data.bin_tokens = {0, data.bin_edges[2]};
  auto const page = render_report(data);
  CHECK(verdict(page) == "well formed");
  CHECK(page == render_report(data));
  CHECK(count(page, "<script") == 0);
  CHECK(count(page, "src=") + count(page, "href=") + count(page, "url(") + count(page, "@import") + count(page, "<link") == 0);
  CHECK(count(page, "://") == count(page, "xmlns=\"http://www.w3.org/2000/svg\""));
}

TEST_CASE("report_page: places are filled once, and parts without a value are left out") {
  CHECK(filled("{{! a note }}\n{{a}}-{{a}}{{b}}\n", {{"a", "x"}, {"b", ""}}) == "x-x\n");
  CHECK(filled("{{a}}", {{"a", "{{a}} {{#b}}"}}) == "{{a}} {{#b}}");
  CHECK(filled("1\n{{#a}}\n2\n{{/a}}\n3\n", {{"a", "x"}}) == "1\n2\n3\n");
  CHECK(filled("1\n{{#a}}\n2{{c}}\n{{/a}}\n3\n", {}) == "1\n3\n");
  CHECK(filled("1 {{#a}}{{#b}}2{{/b}}{{/a}} 3", {{"a", "x"}}) == "1  3");
  CHECK_THROWS(filled("{{a}}", {}));
  CHECK(render_report(some_plan(1, 1)).find("{{") == std::string::npos);
}

TEST_CASE("report_page: text that looks like markup is text") {
  auto data = some_plan(2, 2);
  std::string const nasty = "</title><script>alert('1')</script> \"&amp;\" \x01\x1b[0m";
  auto const shown = "&lt;/title&gt;&lt;script&gt;alert('1')&lt;/script&gt; &quot;&amp;amp;&quot;   [0m";
  data.title = data.model = data.device = data.pack_bound_by = data.command = nasty;
  data.limits = {nasty};
  for (auto& r : data.plans) r.name = r.how = nasty;
  auto const page = render_report(data);
  CHECK(verdict(page) == "well formed");
  CHECK(count(page, "<script") == 0);
  CHECK(count(page, "<title>" + std::string(shown) + ": an epoch on ") == 1);
  CHECK(count(page, "<code>" + std::string(shown)) == 1);
  CHECK(count(page, "<li>" + std::string(shown)) == 1);
}

TEST_CASE("report_page: what it says and draws are the figures") {
  auto const page = render_report(some_plan(3, 2));  // loads 100, 99
  CHECK(count(page, "<td>99.5\u00a0ms</td>") == 9);
  CHECK(count(page, "step 2: fastest 99.0\u00a0ms, mean 99.5\u00a0ms, slowest 100\u00a0ms") == 6);
  CHECK(count(page, "Ranks spend 25.00\u00a0% of their time waiting for the slowest (naive 25.00\u00a0%, usual 25.00\u00a0%).") == 1);
  CHECK(count(page, "takes 2.50\u00a0h instead of 2.50\u00a0h: it is 1.000 times as fast as usual.") == 1);
  CHECK(count(page, "<dd class=\"figure\">1.50\u00a0s</dd>") == 1);
  CHECK(count(page, "<td>1.005</td>") == 3 * 7);  // every quantile of every plan
  CHECK(count(page, "Samples of 128 tokens and more are 33.33\u00a0% of all and hold 50.00\u00a0% of the tokens.") == 1);
  CHECK(count(page, "Packs: 4. No plan has fewer than 3 (proof: volume bound).") == 1);
  CHECK(count(page, "1 to 63: 2 samples") == 1);

  auto broken = some_plan(1, 2);
  broken.plans[2].loads[0] = std::numeric_limits<double>::infinity();  // counts as nothing
  CHECK(count(render_report(broken), "step 0: fastest 0.00\u00a0ms, mean 49.5\u00a0ms, slowest 99.0\u00a0ms") == 2);

  chart drawing("c", "", "", 10, 0, 50);  // 308 x 172 pixels from (44, 30)
  drawing.bar(5, 10, 10, 20, "a");
  drawing.bar(0, 20, -10, std::numeric_limits<double>::infinity(), "b");
  CHECK(count(drawing.str(), "<rect class=\"a\" x=\"198\" y=\"133.2\" width=\"154\" height=\"34.4\"/>") == 1);
  CHECK(count(drawing.str(), "<rect class=\"b\" x=\"44\" y=\"202\" width=\"308\" height=\"0\"/>") == 1);
}

TEST_CASE("report_page: many steps make no longer a page") {
  auto const page = render_report(some_plan(100'000, 2));
  CHECK(verdict(page) == "well formed");
  CHECK(page.size() < 128 * 1024);
}

TEST_CASE("report_page: a plan in levels shows them, and the order of its steps") {
  auto data = some_plan(300, 8);
  auto const plain = render_report(data);
  CHECK(count(plain, "<h2>Levels</h2>") + count(plain, "id=\"order\"") == 0);
  data.levels = {{.length = 4096, .sp = 1, .ranks = 8, .micro_batches = 2, .packs = 240, .steps = 200, .fill = 0.5, .share = 0.75},
                 {.length = 8192, .sp = 1, .ranks = 8},
                 {.length = 65536, .sp = 8, .recomputed_layers = 7, .packs = 100, .steps = 100, .fill = 1, .share = 0.25}};
  data.curriculum = "hbp";
  data.warm_up = 100;
  data.switches = 199;
  for (std::uint32_t s = 0; s < 300; ++s) data.order.push_back(s < 100 || s % 2 == 0 ? 0 : 2);
  auto const page = render_report(data);
  CHECK(verdict(page) == "well formed");
  CHECK(count(page, "3 levels on 8 GPUs. Times are modelled") == 1);
  CHECK(count(page, "<tr><th scope=\"row\">65,536</th><td>8</td><td>7</td><td>25.00\u00a0%</td><td>100</td><td>100.00\u00a0%</td>") == 1);
  CHECK(count(page, "Order hbp: the level changes 199 times. The first 100 steps are a warm-up on the shortest level.") == 1);
  CHECK(count(page, "<rect class=\"solid c3 t1\"") == 80 + 1);  // a stretch each, and the share of the tokens
  CHECK(count(page, "<rect class=\"solid c3 t5\"") == 0 + 1);   // the level without steps
  CHECK(count(page, "<rect class=\"solid c4 t5\"") == 53 + 1);
  CHECK(count(page, "steps 3 to 6: 4 of 4,096 tokens on 1 GPU") == 1);
  CHECK(count(page, "steps 296 to 299: 2 of 65,536 tokens on 8 GPUs") == 1);
  CHECK(count(page, "No plan has fewer") == 0);  // packs of several lengths have no such bound
  data.order.clear();
  CHECK(verdict(render_report(data)) == "well formed");
}

TEST_CASE("report_page: a plan with stages shows them, their memory and the timeline of a step") {
  auto data = some_plan(3, 2);
  auto const plain = render_report(data);
  CHECK(count(plain, "timeline") + count(plain, "<h2>Stages</h2>") == 0);
  report_model model{
      .schedule = "1f1b",
      .stages = {{.layers = "a ... b", .number = 2, .recomputed = 1, .ms = 3, .busy_ms = 8, .memory = 3UL << 30, .budget = 4UL << 30},
                 {.layers = "c", .number = 1, .ms = 4, .busy_ms = 10, .memory = 20, .budget = 40}},
      .work = 0.5,
      .recompute = 0.125,
      .bubble = 0.25,
      .waiting = 0.125,
      .step = 7,
      .rank = 1,
      .micro_batches = 2,
      .step_ms = 20,
      .step_waits = 0.55,
      .tasks = {{0, 0, 2, report_task::forward},
                {0, 10, 11, report_task::recompute},
                {0, 11, 20, report_task::backward},
                {1, 2, 12, report_task::forward}},
      .notes = {"The bubble costs most."},
      .megatron = "--pipeline-model-parallel-size 2"};
  data.model_side = model;
  auto const page = render_report(data);
  CHECK(verdict(page) == "well formed");
  CHECK(count(page, "Timeline of step 7, rank 1") == 1);
  CHECK(count(page, "<td>a ... b</td><td>2</td><td>1</td><td>3.00\u00a0ms</td><td>3.00</td><td>4.00</td>") == 1);
  CHECK(count(page, "2 micro-batches through 2 stages under 1f1b: 20.0\u00a0ms, of which stages wait 55.00\u00a0%.") == 1);
  CHECK(count(page, "<path class=\"pale c2\" d=\"M60 30h") == 1);  // 652 pixels from 60 are 20 ms
  CHECK(count(page, "<path class=\"solid c2\" d=\"M418.6 37h292.9v17H418.6z\"") == 1);
  CHECK(count(page, "<path class=\"hollow c1\" d=\"M386 37h32.1v16H386z\"") == 1);
  CHECK(count(page, "<path class=\"pale c2\" d=\"M125.2 62h325.5v13H125.2z\"") == 1);
  CHECK(count(page, "backward, weights") == 0);  // no such tasks
  CHECK(count(page, "<title>stage 1: forward, 1</title>") == 1);
  CHECK(count(page, "stage 0 75.00\u00a0%; stage 1 50.00\u00a0%; ") == 1);
  CHECK(count(page, "waiting inside a pipeline 25.00\u00a0%; ") == 1);
  CHECK(count(page, "<code>--pipeline-model-parallel-size 2</code>") == 1);
  for (auto const* part : {"exchange", "optimiser"}) CHECK(count(page, std::string(part) + " 0.00\u00a0%; ") == 1);

  CHECK(count(page, "step-time") == 0);
  data.model_side->splits = {{.id = "step-time", .heading = "Parts", .unit = "ms", .caption = "They add up.", .parts = {}}};
  CHECK(render_report(data) == page);  // without parts it is not shown
  auto& parts = data.model_side->splits[0].parts;
  parts = {{"matrix products of a layer", "solid c2", {5, 2}},
           {"operators that move bytes", "pale c2", {0, 1}},
           {"waiting for other devices", "hollow c1", {5, 7}},
           {"end", "solid c0", {0, 0}}};
  auto const split = render_report(data);
  CHECK(verdict(split) == "well formed");
  CHECK(count(split, "<svg id=\"step-time\"") == 1);
  CHECK(count(split, "<path class=\"solid c2\" d=\"M60 2h17.5v16H60z\"/>") == 1);
  CHECK(count(split, "<path class=\"hollow c1\" d=\"M479.5 2h17.5v16H479.5z\"/>") == 1);
  CHECK(count(split, "<path class=\"solid c0\" d=\"M60 28h17.5v16H60z\"/>") == 1);  // no room in the first line of the legend
  CHECK(count(split, "<path class=\"solid c2\" d=\"M60 58h325.5v16H60z\"><title>stage 0: matrix products of a layer, 5.00\u00a0ms<") == 1);
  CHECK(count(split, "<path class=\"hollow c1\" d=\"M386 58h325.5v16H386z\"><title>stage 0: waiting for other devices, 5.00\u00a0ms<") ==
        1);
  CHECK(count(split, "<path class=\"pale c2\" d=\"M190.4 90h64.7v16H190.4z\"><title>stage 1: operators that move bytes, 1.00\u00a0ms<") ==
        1);
  CHECK(count(split, ">0</th><td>5.00</td><td>0.00</td><td>5.00</td><td>0.00</td><td>10.00</td>") == 1);
  CHECK(count(split, ">1</th><td>2.00</td><td>1.00</td><td>7.00</td><td>0.00</td><td>10.00</td>") == 1);
  CHECK(count(split, "<figcaption>They add up.</figcaption>") == 1);
  parts[0].name = data.model_side->splits[0].unit = "</svg><script>\"&\"";
  CHECK(verdict(render_report(data)) == "well formed");
  data.model_side->splits.clear();

  auto simulated = data;
  for (auto& r : simulated.plans) r.bubble = 0.125, r.exchange = 0.0625;
  auto const told = render_report(simulated);
  CHECK(verdict(told) == "well formed");
  CHECK(count(told,
              "Stages wait 12.50\u00a0% of the time inside their pipelines, and 25.00\u00a0% for the slowest rank (naive 12.50\u00a0%, "
              "usual 12.50\u00a0%; naive 25.00\u00a0%, usual 25.00\u00a0%). Simulated, an epoch takes 2.50\u00a0h instead of "
              "2.50\u00a0h: it is 1.000 times as fast as usual.") == 1);
  CHECK(count(told, "<dt>waiting for the slowest rank</dt>") == 1);
  CHECK(count(told, "<dt>waiting inside pipelines</dt>") == 1);
  CHECK(count(page, "<dt>waiting inside pipelines</dt>") == 0);
  CHECK(count(told, ">exchange</th><td>6.25\u00a0%</td><td>6.25\u00a0%</td><td>6.25\u00a0%</td>") == 1);
  CHECK(count(told, "times the mean. Without cutting samples") == 0);
  simulated.plans[1].fits = false;
  auto const tight = render_report(simulated);
  CHECK(verdict(tight) == "well formed");
  CHECK(count(tight, "Simulated, an epoch takes 2.50\u00a0h; the usual plan does not fit in memory.") == 1);
  CHECK(count(tight, "<dd>usual does not fit</dd>") == 4);

  auto const infinity = std::numeric_limits<double>::infinity();
  for (int change = 0; change < 5; ++change) {
    CAPTURE(change);
    auto odd = model;
    if (change == 0) odd = {};
    if (change == 1) odd.tasks.clear();
    if (change == 2) odd.tasks = {{0, 0, infinity, report_task::weight}, {7, -1, 3, report_task::backward}};
    if (change == 3) odd.stages[0].layers = odd.schedule = odd.megatron = "</svg><script>\"&\"";
    if (change == 4) odd.stages.assign(64, model.stages[0]), odd.step_ms = 64 * 2048;
    for (int i = 0; change == 4 && i < 64 * 2048; ++i)
      odd.tasks.push_back(
          {static_cast<std::uint32_t>(i % 64), i * 1.0, i + 0.5, i % 2 == 0 ? report_task::forward : report_task::backward});
    data.model_side = odd;
    auto const other = render_report(data);
    CHECK(verdict(other) == "well formed");
    CHECK(count(other, "<script") == 0);
    CHECK(other.size() < 256 * 1024);
    if (change == 4) CHECK(count(other, "The picture shows the first ") == 1);
  }
}

TEST_CASE("the page of packs shows some of them, evenly spaced, and says what was packed", "[cli]") {
  ballast::groups<> packs;
  std::vector<std::int64_t> tokens;
  for (std::uint32_t p = 0; p < 48; ++p) {
    std::vector<std::uint32_t> members;
    for (std::uint32_t i = 0; i < (p == 46 ? 500U : 3U); ++i) {
      members.push_back(static_cast<std::uint32_t>(tokens.size()));
      tokens.push_back(p == 46 ? 1 : 170);
    }
    packs.push_back(members);
  }
  auto data = some_plan(1, 1);
  data.plans.clear();
  data.lead = "All packs are <full>.";
  add_some_packs(data, packs, tokens);
  REQUIRE(data.some_packs.size() == 24);
  CHECK(data.some_packs[1].number == 2);
  CHECK(data.some_packs[1].tokens == std::vector<std::uint64_t>{170, 170, 170});
  CHECK(data.some_packs[23].samples == 500);
  CHECK(data.some_packs[23].tokens.size() == report_pack::most);
  CHECK(data.some_packs[23].tokens.back() == 500 - (report_pack::most - 1));
  auto const page = render_report(data);
  CHECK(verdict(page) == "well formed");
  CHECK(count(page, "<h1>lengths.txt: packs of 512 tokens</h1>") == 1);
  CHECK(count(page, "All packs are &lt;full&gt;.") == 1);
  CHECK(count(page, "24 packs, evenly spaced in the plan") == 1);
  CHECK(count(page, "After 159 samples, the last block is all others.") == 1);
  CHECK(count(page, ">46</th><td>500</td><td>500</td>") == 1);
  CHECK(count(page, "<h2>Waiting</h2>") == 0);
}

TEST_CASE("check-config writes a page of its setting, with the figures of its JSON", "[cli]") {
  scratch const in;
  in.file("run.sh",
          "torchrun pretrain_gpt.py --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --sequence-parallel --bf16 "
          "--use-distributed-optimizer --recompute-granularity full --recompute-method block --recompute-num-layers 3 --seq-length 8192 "
          "--micro-batch-size 1 --global-batch-size 64\n");
  auto const o = in.ballast("check-config run.sh --gpus 8 --model llama-3.1-8b --memory 60Gi --report r.html --json");
  CAPTURE(o.err);
  REQUIRE(o.code == 0);
  auto const is = json::parse(o.out);
  auto const page = read_whole(in / "r.html");
  CHECK(verdict(page) == "well formed");
  CHECK(count(page, "report of a setting</p>\n<h1>run.sh: a setting of Megatron-LM</h1>") == 1);
  CHECK(count(page, "<p class=\"lead\">It fits: stage 0 needs most, ") == 1);
  CHECK(count(page, "<code>ballast check-config run.sh --gpus 8 ") == 1);
  CHECK(count(page, "<h2>Lengths</h2>") + count(page, "<h2>Waiting</h2>") == 0);
  for (std::size_t s = 0; s < 2; ++s) {
    auto times = "<th scope=\"row\">" + std::to_string(s) + "</th>", bytes = times;
    for (auto const& [name, field] : ballast_test::time_parts_by_name)
      if (auto const part = is["time"]["stages_ms"][s][name].get<double>(); is["time"]["stages_ms"][1 - s][name] != 0.0 || part != 0)
        times += "<td>" + formatted("%.2f", part) + "</td>";
    CHECK(count(page, times + "<td>" + formatted("%.2f", is["time"]["step_ms"].get<double>()) + "</td></tr>") == 1);
    auto const& parts = is["memory"][s]["parts"];
    auto const gib = [](json const& of) { return "<td>" + formatted("%.2f", of.get<double>() / 0x1p30) + "</td>"; };
    for (auto const* const name : {"states", "workspace", "kept", "inputs"}) bytes += gib(parts[name]);
    for (auto const* const moment : {"head", "layer backward"})
      bytes += parts["moment"] == moment ? gib(parts["extra"][moment]) : "<td>0.00</td>";
    CHECK(count(page, bytes + gib(parts["peak"]) + "</tr>") == 1);
    CHECK(count(page, "<td>17</td><td>3</td>") == 2);  // layers of a stage, and those that are recomputed
  }
  in.file("lora.sh", "megatron sft --max_length 4096 --tuner_type lora\n");
  CHECK(in.ballast("check-config lora.sh --gpus 8 --model llama-3.1-8b --memory 1Gi --report l.html").code == 0);
  auto const other = read_whole(in / "l.html");
  CHECK(verdict(other) == "well formed");
  CHECK(count(other, "<p class=\"lead\">It does not fit: stage 0 needs ") == 1);
  CHECK(count(other, "<p>Note: where the time of a step goes is not told: adapters and frozen weights are not modelled.</p>") == 1);
  CHECK(count(other, "step-time") == 0);
}

TEST_CASE("pack writes its page beside the plan, and the folder is still one", "[cli]") {
  scratch const in;
  in.file("f", "300\n200\n500\n");
  CHECK(in.ballast("pack f --capacity 512 --out d").code == 0);
  auto const page = read_whole(in / "d/report.html");
  CHECK(verdict(page) == "well formed");
  CHECK(count(page, "ballast pack f --capacity 512 --out d") == 1);
  CHECK(in.ballast("check d f --capacity 512").code == 0);
  fs::remove(in / "d/report.html");  // as an older version wrote it
  CHECK(in.ballast("check d f --capacity 512").code == 0);
}

}  // namespace test_cli_report_page
