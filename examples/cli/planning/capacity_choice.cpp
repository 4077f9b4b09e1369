// SPDX-License-Identifier: Apache-2.0
#include "planning/capacity_choice.hpp"

#include "errors.hpp"
#include "planning/model_setting.hpp"
#include "report/output.hpp"
#include "report/words.hpp"

#include <ballast/core/math.hpp>
#include <ballast/footprint/trainers.hpp>
#include <ballast/footprint/workspace.hpp>
#include <ballast/plan/longest_sequence.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <numeric>

namespace ballast_cli {

namespace {

constexpr std::int64_t usual_multiple = 64, largest_looked_at = std::int64_t{1} << 30;

[[nodiscard]] std::string number(std::int64_t value) { return grouped(static_cast<std::uint64_t>(value)); }

/// "stage 1 needs 5 bytes, 2 bytes more than a device has, at the moment head".
[[nodiscard]] std::string lacking(std::uint64_t stage, ballast::memory_parts const& parts, std::int64_t memory) {
  return "stage " + std::to_string(stage) + " needs " + many_bytes(parts.peak()) + ", " + many_bytes(parts.peak() - memory) +
         " more than a device has, at the moment " + std::string(to_string(parts.moment));
}
[[nodiscard]] std::string lacking(chosen_capacity const& of, std::int64_t tokens) {
  auto const stages = ballast::memory_of_pack(of.model, of.by, tokens, of.hopper);
  auto const& fullest = ballast::largest_of(stages);
  return lacking(static_cast<std::uint64_t>(&fullest - stages.data()), fullest, of.by.pipeline.memory);
}

}  // namespace

chosen_capacity choose_capacity(model_request const& asked, model_on_device const& on, ballast::batching_options const& shape,
                                std::int64_t multiple) {
  auto const& device = device_of(on.device);
  chosen_capacity out{.model = model_of(on.model), .by = {}, .hopper = is_hopper(device), .next = {}};
  auto& by = out.by;
  by.model = setting_for(asked.setting, shape.ranks, out.model, on.model);
  for (auto const& t : ballast::trainers)
    if (t.name == by.model.framework.name) by.model.kernels = kernels_of(t, out.model);
  by.recompute = asked.recompute;
  by.pipeline = {.stages = (std::max)(asked.stages, std::uint64_t{1}),
                 .memory = asked.memory.value_or(device.memory_bytes / 10 * 9),
                 .schedule = asked.schedule};
  by.micro_batches = static_cast<std::int64_t>((std::min)(shape.micro_batches, std::uint64_t{1} << 62));
  auto const& spread = by.model.spread;
  auto const halves = spread.context > 1 ? 2 * spread.context : 1;  // each device has two parts of a sample
  if (multiple > largest_looked_at)
    throw bad_input("--multiple " + std::to_string(multiple) + ": --capacity auto looks at up to 2^30 tokens");
  out.unit = std::lcm(std::lcm(usual_multiple, halves * spread.tensor), multiple);
  if (out.unit > largest_looked_at)
    throw bad_input("--capacity auto: a multiple of 64, of 2 times --cp times --tp and of --multiple is " + std::to_string(out.unit) +
                    " or more, and it looks at up to 2^30 tokens");
  auto const found = ballast::longest_sequence(out.model, by, {.unit = out.unit, .packed = true, .hopper = out.hopper});
  if (found.tokens == 0)
    throw no_plan("--capacity auto: not even " + counted(static_cast<std::uint64_t>(out.unit), "token") + " of " + printable(on.model) +
                  " fit " + many_bytes(by.pipeline.memory) + " a device: " + lacking(out, out.unit) +
                  "; more --stages, --tp or --zero, --recompute full or another --optimizer hold less");
  out.tokens = found.tokens;
  out.stage = found.stage;
  out.next = found.next;
  return out;
}

void count_longer(chosen_capacity& of, ballast::histogram const& samples, ballast::oversize policy, std::string const& title) {
  auto const first = std::upper_bound(samples.lengths.begin(), samples.lengths.end(), of.tokens);
  of.longer = std::accumulate(samples.counts.begin() + (first - samples.lengths.begin()), samples.counts.end(), std::uint64_t{0});
  if (of.longer == 0 || policy != ballast::oversize::reject) return;
  auto const longest = samples.lengths.back();
  auto const what = title + ": " + counted(of.longer, "sample") + (of.longer == 1 ? " is" : " are") + " longer than the " +
                    number(of.tokens) + " tokens that fit; ";
  auto const why = longest > largest_looked_at - of.unit ? "the longest has more than 2^30 tokens"
                                                         : "for the longest, of " + number(longest) + " tokens, " +
                                                               lacking(of, ballast::divide_up(longest, of.unit) * of.unit);
  throw no_plan(what + why + "; --oversize set-aside, truncate or split says what to do with them");
}

std::string in_words(chosen_capacity const& of, std::uint64_t samples) {
  auto text = "Capacity: " + number(of.tokens) + " tokens, the largest multiple of " + number(of.unit) + " that fits " +
              many_bytes(of.by.pipeline.memory) + " a device under " + std::string(of.by.model.framework.name) + ". ";
  text += of.next.peak() == 0 ? "More than 2^30 tokens are not looked at. "
                              : "With " + number(of.tokens + of.unit) + ", " + lacking(of.stage, of.next, of.by.pipeline.memory) + ". ";
  return text +
         (of.longer == 0 ? "No sample is" : grouped(of.longer) + " of " + counted(samples, "sample") + (of.longer == 1 ? " is" : " are")) +
         " longer.\n";
}

nlohmann::ordered_json to_json(chosen_capacity const& of) {
  auto const lacks = of.next.peak() > 0;
  nlohmann::ordered_json json{{"multiple_of", of.unit},
                              {"framework", of.by.model.framework.name},
                              {"memory_bytes", of.by.pipeline.memory},
                              {"longer_samples", of.longer},
                              {"next", nullptr}};
  if (lacks)
    json["next"] = {{"tokens", of.tokens + of.unit},
                    {"stage", of.stage},
                    {"moment", to_string(of.next.moment)},
                    {"bytes", of.next.peak()},
                    {"lacking_bytes", of.next.peak() - of.by.pipeline.memory}};
  return json;
}

}  // namespace ballast_cli
