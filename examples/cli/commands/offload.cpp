// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"
#include "commands/model_options.hpp"
#include "commands/options.hpp"
#include "errors.hpp"
#include "planning/offload_plan.hpp"
#include "report/json.hpp"
#include "report/output.hpp"
#include "report/words.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ballast_cli {

namespace {

struct offload_arguments {
  offload_request asked;
  bool json = false;
};

struct recomputation_name {
  ballast::recomputation what;
  std::string_view word;
};
constexpr recomputation_name recomputations[] = {
    {ballast::recomputation::none, "none"}, {ballast::recomputation::selective, "selective"}, {ballast::recomputation::full, "full"}};

/// Bytes a second: a whole number, perhaps with a decimal K, M, G or T, with or without B/s behind it. Throws bad_input.
[[nodiscard]] std::int64_t bytes_per_second(std::string const& option, std::string const& text) {
  auto number = std::string_view(text);
  for (auto const* const unit : {"/s", "B"})
    if (number.ends_with(unit)) number.remove_suffix(std::string_view(unit).size());
  std::int64_t times = 1;
  for (auto const& [letter, value] : {std::pair{'K', std::int64_t{1'000}}, std::pair{'M', std::int64_t{1'000'000}},
                                      std::pair{'G', std::int64_t{1'000'000'000}}, std::pair{'T', std::int64_t{1'000'000'000'000}}})
    if (number.ends_with(letter)) times = value;
  if (times > 1) number.remove_suffix(1);
  std::int64_t whole_part = 0;
  auto const [stop, error] = std::from_chars(number.data(), number.data() + number.size(), whole_part);
  if (error != std::errc{} || stop != number.data() + number.size() || whole_part > (std::int64_t{1} << 50) / times ||
      whole_part * times < 1'000'000)
    throw bad_input(option + " " + printable(text) + ": expected bytes a second from 1MB/s to 1000TB/s, as in 25GB/s");
  return whole_part * times;
}

/// The layers of each choice, in the order of the choices; equal names that follow each other as "layer 3 ... layer 9".
[[nodiscard]] std::string spans_of(model_offload const& of, ballast::hosted what) {
  constexpr std::size_t most = 6;
  std::string text;
  std::size_t spans = 0;
  auto const n = of.plan.placement.size();
  for (std::size_t i = 0; i < n; ++i) {
    if (of.plan.placement[i] != what || (i > 0 && of.plan.placement[i - 1] == what)) continue;
    auto end = i;
    while (end + 1 < n && of.plan.placement[end + 1] == what) ++end;
    if (++spans > most) return text + ", ... (--json lists all)";
    text += (text.empty() ? "" : ", ") + of.model.names[i] + (end > i ? " ... " + of.model.names[end] : "");
  }
  return text;
}

[[nodiscard]] std::string offload_in_words(offload_request const& asked, model_offload const& of) {
  auto const& plan = of.plan;
  auto const ms = [](std::int64_t ns) { return duration(static_cast<double>(ns) * 1e-6); };
  auto const above_planned = [&](std::int64_t ns) {
    return formatted("%+.2f %%", 100 * static_cast<double>(ns - plan.time.value) / static_cast<double>(plan.time.value));
  };
  std::int64_t states = 0;
  for (auto const& l : of.model.layers) states += l.states.total();
  auto text = name_of_language_part(asked.on.model) + " on " + device_in_words(asked.on) + ", " +
              counted(static_cast<std::uint64_t>(asked.batch), "sequence") + " of " +
              counted(static_cast<std::uint64_t>(asked.length), "token") + ": " + counted(of.model.layers.size(), "layer") + " with " +
              many_bytes(states) + " of states on a device.\nOf " + many_bytes(of.memory) + " of the device, activations take " +
              many_bytes(of.model.activations + of.model.working) + ".\n\n";
  text += formatted("%-36s  %6s  %s\n", "in host memory", "layers", "which");
  for (std::size_t c = 0; c < ballast::hosted_choices; ++c) {
    auto const what = static_cast<ballast::hosted>(c);
    auto const n = std::count(plan.placement.begin(), plan.placement.end(), what);
    if (n == 0) continue;
    text +=
        formatted("%-36s  %6lld  ", std::string(ballast::to_string(what)).c_str(), static_cast<long long>(n)) + spans_of(of, what) + "\n";
  }
  text += "\n" + formatted("%-20s  %9s  %10s  %22s  %22s\n", "on the host", "step", "to planned", "device", "host");
  for (auto const& other : of.others)
    text +=
        formatted("%-20s  %9s  %10s  %22s  %22s\n", other.name.c_str(), other.ns ? ms(*other.ns).c_str() : "too large",
                  other.ns ? above_planned(*other.ns).c_str() : "-",
                  many_bytes(of.memory - of.options.device_memory + other.memory.device).c_str(), many_bytes(other.memory.host).c_str());
  text += "\nThe planned step takes " + ms(plan.time.value) + "; " +
          (plan.time.optimal() ? std::string("no choice takes less")
                               : "no choice takes less than " + ms(plan.time.lower_bound) + ": at most " + percent_up(plan.time.gap()) +
                                     " above the best possible") +
          ".\nOn a device that held everything, it would take " + ms(of.compute_ns) + ".\n";
  return text;
}

[[nodiscard]] nlohmann::ordered_json offload_json(model_offload const& of) {
  auto const& plan = of.plan;
  auto const beside = of.memory - of.options.device_memory;
  nlohmann::ordered_json json{{"status", "feasible"},
                              {"step_ns", plan.time.value},
                              {"lower_bound_ns", plan.time.lower_bound},
                              {"gap", plan.time.gap()},
                              {"optimal", plan.time.optimal()},
                              {"without_offload_ns", of.compute_ns},
                              {"device_bytes", beside + plan.memory.device},
                              {"activation_bytes", beside},
                              {"buffer_bytes", plan.memory.buffers},
                              {"host_bytes", plan.memory.host}};
  auto& layers = json["layers"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < plan.placement.size(); ++i) {
    auto const what = plan.placement[i];
    nlohmann::ordered_json host = nlohmann::ordered_json::array();
    if (hosts_parameters(what)) host.push_back("parameters");
    if (hosts_gradients(what)) host.push_back("gradients");
    if (hosts_optimizer(what)) host.push_back("optimizer");
    layers.push_back({{"layer", of.model.names[i]}, {"host", std::move(host)}});
  }
  auto& others = json["others"] = nlohmann::ordered_json::array();
  for (auto const& other : of.others)
    others.push_back({{"host", other.name},
                      {"step_ns", other.ns ? nlohmann::ordered_json(*other.ns) : nlohmann::ordered_json()},
                      {"device_bytes", beside + other.memory.device},
                      {"host_bytes", other.memory.host}});
  return json;
}

}  // namespace

void add_offload_plan(CLI::App& app) {
  auto const arguments = std::make_shared<offload_arguments>();
  auto& asked = arguments->asked;
  auto& command = *app.add_subcommand("offload", "choose which states of a model's layers are in host memory");
  add_model(command, asked.on.model, "a preset or a model's config.json")->required();
  add_value(command, "--length", asked.length, positive, "tokens of a sequence")->required();
  add_value(command, "--batch", asked.batch, positive, "sequences of the micro-batch; 1 by default");
  add_device(command, asked.on.device);
  add_value(command, "--mfu", asked.on.mfu, share,
            "share of the device's peak that all work reaches; without it, kernels are timed one by one");
  add_value(command, "--memory", asked.memory, bytes, "bytes of a device, Ki, Mi or Gi allowed; nine tenths of --device's by default");
  add_value(command, "--host-memory", asked.options.host_memory, bytes, "bytes of the host for each device, Ki, Mi, Gi or Ti allowed")
      ->required();
  add_value(command, "--link", asked.options.rates.up, bytes_per_second, "bytes a second from the host to the device; 25GB/s by default");
  add_value(command, "--link-down", asked.down, bytes_per_second, "bytes a second from the device to the host; as --link by default");
  add_value(command, "--host-update", asked.options.rates.update, bytes_per_second,
            "bytes of optimizer states that the host updates a second for each device; 20GB/s by default");
  add_value(command, "--buffers", asked.options.buffers, small_positive, "buffers on the device for layers that are loaded; 2 by default");
  add_value(command, "--ranks", asked.ranks, small_positive, "data-parallel ranks; 1 by default");
  add_value(command, "--tp", asked.setting.spread.tensor, small_positive,
            "tensor-parallel devices, with sequence parallelism; 1 by default");
  add_value(command, "--zero", asked.setting.spread.zero, zero_stage, "ZeRO stage over the ranks, 0 (default) to 3");
  add_value(
      command, "--optimizer", asked.setting.optimizer,
      [](auto const& option, auto const& text) { return named(option, text, std::span(ballast::optimizers)); },
      "adam (default), adam-bf16-gradients, adam-8bit, adafactor, sgd, sgd-momentum, galore, adam-fp32, adam-bf16 or muon");
  add_value(command, "--head-loss", asked.setting.loss, head_loss, head_loss_help);
  add_value(
      command, "--recompute", asked.recomputed,
      [](auto const& option, auto const& text) { return named(option, text, std::span(recomputations)).what; },
      "what layers compute again: none (default), selective or full");
  add_value(command, "--work", asked.options.work, positive, "layers that the search may simulate; 2000000 by default");
  command.add_flag("--json", arguments->json, json_help);
  command.callback([arguments] {
    auto const of = plan_model_offload(arguments->asked);
    arguments->json ? print_json(offload_json(of)) : write_standard_output(offload_in_words(arguments->asked, of));
  });
}

}  // namespace ballast_cli
