// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json.hpp>

#include <ballast/core/certificate.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// The figures of a packing, as JSON and in plain words.

namespace ballast_cli {

/// How long ranks wait if packs are ordered for them, over full steps.
struct rank_figures {
  std::uint64_t ranks = 0;
  std::string model;                         ///< empty: packs were ordered by their tokens
  double distance = 0;                       ///< mean over steps of 1 - mean tokens / most tokens
  std::optional<double> modelled_idle = {};  ///< share of the time, under the model
};

/// What --static says of the rows.
struct static_report {
  nlohmann::ordered_json json;
  std::string words;
};

struct packing_report {
  std::uint64_t samples = 0;
  std::int64_t tokens = 0;  ///< tokens in packs; the same for every packer
  std::int64_t capacity = 0;
  std::string strategy;
  ballast::certificate packs;
  std::string bound;                  ///< what proves the lower bound
  std::optional<std::uint64_t> hash;  ///< none where the plan was made without listing its members
  std::vector<std::uint64_t> set_aside;
  std::uint64_t naive_packs = 0;  ///< of next fit in input order
  std::optional<rank_figures> in_ranks = {};
  std::uint64_t dropped = 0;                    ///< samples that a plan of steps leaves out of the epoch
  std::vector<std::uint64_t> zero_length = {};  ///< rows of the input that were left out because their length is 0
  std::optional<std::int64_t> padding = {};     ///< tokens that rows are padded by, where they are padded to the longest of a pack
  std::optional<static_report> fixed = {};      ///< where rows have one size

  /// Share of the capacity of `count` packs that holds tokens.
  [[nodiscard]] double fill(std::uint64_t count) const {
    return count == 0 ? 0.0 : static_cast<double>(tokens) / (static_cast<double>(capacity) * static_cast<double>(count));
  }
};

/// `packs` rounded up to a multiple, if `items` can fill that many packs; a packer gets there by giving samples a pack to themselves.
[[nodiscard]] constexpr std::uint64_t raised_to_multiple(std::uint64_t packs, std::uint64_t multiple, std::uint64_t items) {
  auto const raised = packs + (multiple - packs % multiple) % multiple;
  return raised <= items ? raised : packs;
}

/// A hash as 16 hexadecimal digits.
[[nodiscard]] std::string hash_digits(std::uint64_t hash);

[[nodiscard]] nlohmann::ordered_json to_json(packing_report const& report);

/// How many packs, against next fit, against the bound: sentences for people.
[[nodiscard]] std::string in_words(packing_report const& report, std::string const& title);

/// Seconds since the last call, or since it was made.
class stopwatch {
 public:
  double lap() {
    auto const now = std::chrono::steady_clock::now();
    auto const seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace ballast_cli
