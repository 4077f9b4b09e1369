// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/presets.hpp>
#include <ballast/plan/export/deepspeed.hpp>
#include <ballast/plan/export/flags.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"

// Every flag and key that an export writes is in the list of the framework's version, tests/support/flags_*.txt.

namespace test_house_framework_flags {
namespace {

using namespace ballast;

std::set<std::string> list_of(std::string const& framework) {
  std::ifstream in(BALLAST_SOURCES "/tests/support/flags_" + framework + ".txt");
  std::set<std::string> names;
  for (std::string line; std::getline(in, line);)
    if (!line.starts_with("#")) names.insert(line);
  return names;
}

/// Settings that together reach every branch of the exports.
std::vector<training_setting> settings() {
  std::vector<training_setting> out;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    auto draw = [state = i * 0x9e3779b97f4a7c15U + 1](std::uint64_t n) mutable {
      state = state * 6364136223846793005U + 1442695040888963407U;
      return static_cast<std::int64_t>((state >> 33) % n);
    };
    training_setting by;
    auto const tensor = std::int64_t{1} << draw(3), context = std::int64_t{1} << draw(2);
    by.model.spread = {.tensor = tensor, .context = context, .data = context << draw(4), .sequence_parallel = tensor > 1};
    by.model.spread.zero = static_cast<int>(draw(4));
    by.model.method = static_cast<context_method>(draw(2));
    by.model.expert_capacity = draw(2) * 1250;
    if (i % 2 == 0) by.model.framework = framework_named("eager");
    by.model.optimizer = optimizers[static_cast<std::size_t>(draw(optimizers.size()))];
    by.model.moved = static_cast<offload>(draw(4));
    by.model.loss = {.how = static_cast<head_loss::kind>(draw(3)), .chunks = 1 + draw(8)};
    by.model.attention = static_cast<attention_kernel>(draw(2));
    by.model.fp8_experts = draw(2) == 1;
    by.model.language.what = static_cast<trained>(draw(3));
    constexpr std::string_view schedules[] = {"gpipe", "1f1b", "interleaved", "zb1p", "zb2p", "zbv"};
    by.pipeline = {.stages = std::uint64_t{1} << draw(3), .schedule = schedule_named(schedules[draw(6)])};
    by.recompute = {.what = static_cast<recompute_setting::kind>(draw(6)), .layers = 1 + draw(4)};
    if (by.recompute.what == recompute_setting::kind::modules) by.recompute.modules = module_set_named("mlp,layernorm");
    by.micro_batches = 1 + draw(32);
    out.push_back(by);
  }
  return out;
}

std::set<std::string> flags_in(exported_setting const& e) {
  std::set<std::string> out;
  for (auto word : e.words)
    if (word.starts_with("--")) {
      std::replace(word.begin(), word.end(), '-', '_');
      out.insert(word.substr(2));
    }
  return out;
}

/// Keys of a JSON text as exports write it, with those of the objects around them.
std::set<std::string> keys_in_json(std::string const& text) {
  std::set<std::string> out;
  std::vector<std::string> path;
  std::string last;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{') path.push_back(last);
    if (text[i] == '}') path.pop_back();
    if (text[i] != '"') continue;
    auto const end = text.find('"', i + 1);
    last = text.substr(i + 1, end - i - 1);
    i = end;
    if (text[i + 1] != ':') continue;
    if (text[i + 3] == '{') continue;
    std::string name;
    for (std::size_t k = 1; k < path.size(); ++k) name += path[k] + ".";
    out.insert(name + last);
  }
  return out;
}

void check_members(std::set<std::string> const& written, std::set<std::string> const& known) {
  for (auto const& name : written) {
    CAPTURE(name);
    CHECK(known.contains(name));
  }
}

}  // namespace

TEST_CASE("every flag that an export writes is one of the framework's version", "[house]") {
  auto const megatron = list_of("megatron"), deepspeed = list_of("deepspeed");
  auto swift = list_of("swift");
  REQUIRE((megatron.size() > 100 && swift.size() > 10 && deepspeed.size() > 20));
  swift.insert(megatron.begin(), megatron.end());
  std::set<std::string> written[3];
  for (auto const* name : {"llama-3.1-8b", "qwen3-30b-a3b"})
    for (auto by : settings()) {
      auto const& model = transformer_preset(name);
      if (model.experts > 0 && by.model.spread.data >= 4) by.model.expert = 4;
      for (auto const& flag : flags_in(megatron_flags(model, by))) written[0].insert(flag);
      for (auto const& flag : flags_in(swift_flags(model, by))) written[1].insert(flag);
      for (auto const& key : keys_in_json(deepspeed_json(model, by).text)) written[2].insert(key);
    }
  check_members(written[0], megatron);
  check_members(written[1], swift);
  check_members(written[2], deepspeed);
  CHECK(written[0].size() == 32);
  CHECK(written[1].size() == 32);
  CHECK(written[2].size() == 14);
}

}  // namespace test_house_framework_flags
