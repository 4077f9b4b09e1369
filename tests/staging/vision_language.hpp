// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/presets.hpp>
#include <ballast/cost/schedule.hpp>
#include <ballast/staging/layer.hpp>
#include <ballast/staging/options.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ballast_test {

/// InternVL-Chat-1.5 in 97 layers under 1F1B with 16 micro-batches: microseconds at 400 TFLOP/s, memory in units of 32 MiB.
struct vision_language_case {
  std::int64_t tiles, text, tensor, stages, gigabytes;  // the request
  std::int64_t joint, sequential;                       // bottleneck of the joint plan and of the plan in sequence; 0: none

  [[nodiscard]] ballast::layer_chain chain() const {
    constexpr std::int64_t unit = std::int64_t{1} << 25, per_microsecond = 400'000'000;
    auto const& m = ballast::vision_language_preset("internvl-chat-1.5");
    auto const tokens = tiles * m.projector.tokens + text, patches = tiles * m.vision.tokens();
    auto const time = [&](std::int64_t flops) { return flops / tensor / per_microsecond; };
    auto const units = [&](std::int64_t bytes) { return (bytes / tensor + unit - 1) / unit; };
    std::vector<ballast::stage_layer> out;
    auto const fixed = [&](std::int64_t flops, std::int64_t parameters, std::int64_t bytes) {
      out.push_back({.time = 3 * time(flops), .state = units(18 * parameters), .options = {{.memory = units(bytes)}}});
    };
    auto const layers = [&](ballast::transformer const& t, std::int64_t flops, std::int64_t n) {
      auto const matrices = t.gated ? 3 : 2;
      ballast::stage_layer const one{
          .time = 3 * time(flops),
          .state = units(18 * ballast::layer_parameters(t, 0)),
          .options = {{.memory = units((14 * t.hidden + 2 * matrices * t.ffn) * n)},
                      {.memory = units(14 * t.hidden * n), .time = time(2 * (matrices - 1) * t.hidden * t.ffn * n)},
                      {.memory = units(2 * t.hidden * n), .time = time(flops)}}};
      out.insert(out.end(), static_cast<std::size_t>(t.layers), one);
    };
    auto const& language = m.language;
    auto const vision = ballast::layer_flops(m.vision.body, 0)(m.vision.tokens()), h = m.vision.body.hidden;
    fixed(tiles * (ballast::tile_flops(m.vision) - m.vision.body.layers * vision), 3 * 14 * 14 * h, 2 * h * patches);
    layers(m.vision.body, tiles * vision, patches);
    fixed(tiles * ballast::tile_flops(m.projector), ballast::parameters(m.projector), 2 * m.projector.input * tiles * m.projector.tokens);
    fixed(0, language.vocabulary * language.hidden, 2 * language.hidden * tokens);
    layers(language, ballast::layer_flops(language, 0)(tokens), tokens);
    fixed(ballast::head_flops_per_token(language) * tokens, language.vocabulary * language.hidden,
          (2 * language.hidden + 4 * language.vocabulary) * tokens);
    return ballast::fold_layers(out);
  }
  [[nodiscard]] std::vector<std::int64_t> capacity() const {
    return std::vector<std::int64_t>(static_cast<std::size_t>(stages), gigabytes * 32);
  }
  [[nodiscard]] std::vector<std::uint64_t> in_flight() const {
    return ballast::held_by_stage(ballast::one_f_one_b_schedule{}, static_cast<std::uint64_t>(stages), 16);
  }
};

/// Ten cases that are tight in memory.
inline std::vector<vision_language_case> tight_cases() {
  return {{7, 512, 1, 8, 76, 200882, 0},        {12, 512, 1, 8, 76, 354414, 0},       {12, 2048, 1, 12, 72, 257529, 257529},
          {24, 2048, 2, 8, 60, 332559, 348628}, {24, 4096, 2, 8, 56, 401426, 423190}, {36, 4096, 2, 8, 76, 551699, 603863},
          {7, 512, 1, 16, 48, 97722, 100059},   {4, 4096, 1, 8, 76, 289902, 337884},  {1, 8192, 1, 8, 72, 536418, 0},
          {24, 512, 2, 4, 72, 756646, 0}};
}

}  // namespace ballast_test
