// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "planning/sample_cost.hpp"

#include <ballast/curriculum/options.hpp>
#include <ballast/footprint/model_setting.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// What options say of levels and of the order of their steps.

namespace ballast_cli {

/// More levels take less time with full packs and balanced ranks, but leave more packs that are not full and more steps that communicate.
inline constexpr std::size_t usual_levels = 3;

/// What is trained on what, as options say it.
struct level_request {
  model_on_device on;
  std::uint32_t gpus = 1;
  std::string table;  ///< a measured profile; empty: times are modelled
  ballast::framework framework = ballast::framework_named("hbp");
  ballast::head_loss loss{};
};

enum class level_rule { exact, hbp, given };
struct level_rule_name {
  level_rule rule;
  std::string_view word;
};
inline constexpr level_rule_name level_rules[] = {{level_rule::exact, "exact"}, {level_rule::hbp, "hbp"}};  // what one can ask for

struct curriculum_name {
  std::string_view word;
  ballast::curriculum_order order;
  std::uint64_t warm_up;
};
inline constexpr curriculum_name curricula[] = {
    {"hbp", ballast::curriculum_order::interleaved, 500},
    {"interleaved", ballast::curriculum_order::interleaved, 0},
    {"random", ballast::curriculum_order::random, 0},
    {"ascending", ballast::curriculum_order::ascending, 0},
    {"ascending-buckets", ballast::curriculum_order::ascending_buckets, 0},
    {"shuffled-buckets", ballast::curriculum_order::shuffled_buckets, 0},
};

}  // namespace ballast_cli
