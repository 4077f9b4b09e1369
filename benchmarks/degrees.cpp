// SPDX-License-Identifier: Apache-2.0
// Prints the tables of docs/plan.md about searches over degrees: settings that people publish beside what the search finds for the same
// GPUs, batch and memory, and the time of a search for 1,024 GPUs. Ends with status 1 if a search is behind a published setting.
#include "../tests/support/published_settings.hpp"

#include <ballast/cost/presets.hpp>

#include <cstdint>
#include <cstdio>
#include <string>

namespace {

std::string words(ballast::training_setting const& s) {
  auto const& by = s.model;
  auto text = "TP " + std::to_string(by.spread.tensor) + " PP " + std::to_string(s.pipeline.stages);
  if (s.chunks() > 1) text += " VPP " + std::to_string(s.chunks());
  if (by.spread.context > 1) text += " CP " + std::to_string(by.spread.context);
  if (by.expert > 1) text += " EP " + std::to_string(by.expert);
  return text + " DP " + std::to_string(s.ranks()) + " ZeRO " + std::to_string(by.spread.zero) + ", " + std::to_string(s.micro_batches) +
         " x " + std::to_string(s.micro_batch);
}
double seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

}  // namespace

int main() {
  using namespace ballast;
  bool behind = false;
  std::printf(
      "Modelled seconds of a step, H100 by its kernels, 16 bits, fused loss, no exchange of gradients hidden.\n%-20s %-16s %5s  %-44s %8s  "
      "%-44s %8s %6s "
      "%7s\n",
      "source", "model", "GPUs", "published", "step", "found", "step", "ratio", "search");
  for (auto const& p : ballast_test::published_settings) {
    auto const found = ballast_test::search_beside(p);
    auto const fits = !found.published.ranked.empty();
    auto const best = found.best.ranked.empty() ? std::string("none fits") : words(found.best.ranked.front().setting);
    auto const ratio = fits ? seconds(found.published.step.value) / seconds(found.best.step.value) : 0.0;
    behind = behind || (fits && found.best.step.value > found.published.step.value);
    std::printf("%-20s %-16s %5lld  ", p.source.data(), p.model.data(), static_cast<long long>(p.gpus));
    if (fits)
      std::printf("%-44s %8.3f", words(found.published.ranked.front().setting).c_str(), seconds(found.published.step.value));
    else
      std::printf("%-44s %8s", found.published.settings == 0 ? "outside the space" : "does not fit", "-");
    std::printf("  %-44s %8.3f %6.3f %4.0f ms\n", best.c_str(), seconds(found.best.step.value), ratio, found.ms);
  }
  std::printf(
      "\n1,024 GPUs, 76 GB, 1,024 packs of 8,192 tokens, the best ten; by kernels, and at 40 %% of the peak\n%-18s %9s %9s %6s %8s %8s "
      "%8s\n",
      "model", "settings", "excluded", "unfit", "planned", "kernels", "share");
  for (auto const* const name : {"llama-3.1-8b", "llama-3.1-70b", "llama-3.1-405b", "mixtral-8x7b", "qwen3-235b-a22b", "deepseek-v3"}) {
    batch_shape const mean{.tokens = 8192, .squares = 8192 * 4096}, full{.tokens = 8192, .squares = 8192 * 8192};
    search_options const o{.gpus = 1024, .memory = 76'000'000'000, .sequence = 8192, .global_batch = 1024};
    model_setting const by{.optimizer = optimizer_named("adam"), .loss = {.how = head_loss::kind::fused}};
    double ms[2];
    auto const search = [&](cluster const& on, double& took) {
      auto const begin = std::clock();
      auto out = search_degrees(transformer_preset(name), pack_sizes{mean, full}, o, on, by);
      took = static_cast<double>(std::clock() - begin) * 1000 / CLOCKS_PER_SEC;
      return out;
    };
    auto const found = search({}, ms[0]);
    (void)search({.mfu = 0.4}, ms[1]);
    std::printf("%-18s %9llu %9llu %6llu %8llu %5.0f ms %5.0f ms\n", name, static_cast<unsigned long long>(found.settings),
                static_cast<unsigned long long>(found.excluded), static_cast<unsigned long long>(found.unfit),
                static_cast<unsigned long long>(found.planned), ms[0], ms[1]);
  }
  return behind ? 1 : 0;
}
