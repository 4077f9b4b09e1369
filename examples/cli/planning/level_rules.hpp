// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/cost/level_time.hpp>
#include <ballast/curriculum/options.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

// By which rules levels are chosen and their steps ordered, in words.

namespace ballast_cli {

/// More levels take less time with full packs and balanced ranks, but leave more packs that are not full and more steps that communicate.
inline constexpr std::size_t usual_levels = 3;

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

struct level_choice {
  std::vector<ballast::timed_level> levels;
  level_rule rule = level_rule::exact;
  std::size_t candidates = 0;                ///< settings that they were chosen from; 0: they were given
  std::size_t most_levels = 0;               ///< that were allowed; 0: any number
  std::optional<ballast::certificate> time;  ///< device-nanoseconds of full packs and balanced ranks, and the least of any choice
};

}  // namespace ballast_cli
