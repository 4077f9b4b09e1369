// SPDX-License-Identifier: Apache-2.0
#include "planned_lengths.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "words.hpp"

namespace ballast_python {

using ballast::require;

namespace {

inline constexpr word<bool> zero_words[] = {{"error", false}, {"skip", true}};

}  // namespace

std::shared_ptr<planned_lengths const> planned_lengths::of(array_like const& lengths, std::string const& zero_length) {
  return {new planned_lengths(lengths, zero_length), [](planned_lengths const* made) {
            nb::gil_scoped_acquire const held;
            delete made;
          }};
}

planned_lengths::planned_lengths(array_like const& lengths, std::string const& zero_length) : integers(lengths, "lengths"), given_(*this) {
  auto const skip = value_named(zero_words, zero_length, "zero_length");
  auto const n = given_.size();
  std::vector<std::uint32_t> zero;
  given_.visit([&](auto const& all) {
    for (auto at = std::find(all.begin(), all.end(), 0); at != all.end(); at = std::find(at + 1, all.end(), 0))
      zero.push_back(static_cast<std::uint32_t>(at - all.begin()));
  });
  numbers_ = {n, std::move(zero)};
  if (numbers_.skipped.empty()) return;
  require(skip, [&] {
    return "lengths[" + std::to_string(numbers_.skipped.front()) + "] = 0 has no tokens to train on (" +
           std::to_string(numbers_.skipped.size()) + (numbers_.skipped.size() == 1 ? " such sample" : " such samples") +
           "): zero_length=\"skip\" leaves such samples out, and names them";
  });
  tokens_.reserve(numbers_.kept.size());
  for (auto const i : numbers_.kept) {
    require(given_[i] > 0, [&] { return "lengths[" + std::to_string(i) + "] = " + std::to_string(given_[i]) + " must be positive"; });
    tokens_.push_back(given_[i]);
  }
  static_cast<integer_view&>(*this) = {tokens_.data(), tokens_.size(), kind::i64};
}

std::vector<std::uint64_t> planned_lengths::keys(optional_array const& argument, char const* name) const {
  auto all = keys_of(argument, name);
  require(all.empty() || numbers_.skipped.empty() || all.size() == numbers_.given, [&] {
    return std::string(name) + " has " + std::to_string(all.size()) + " entries for " + std::to_string(numbers_.given) + " lengths";
  });
  return all.empty() ? all : numbers_.of_planned(std::move(all));
}

any_cost planned_lengths::cost(cost_argument const& cost, optional_array const& costs, std::int64_t capacity) const {
  auto out = cost_of(cost, costs, given_, capacity);
  if (auto* const each = std::get_if<sample_costs>(&out.model); each != nullptr && !numbers_.skipped.empty())
    each->of = std::make_shared<std::vector<std::int64_t> const>(numbers_.of_planned(*each->of));
  return out;
}

std::string planned_lengths::with_given_numbers(std::string const& sentence) const {
  static constexpr std::string_view name = "lengths[";
  auto const at = sentence.find(name);
  std::uint32_t number = 0;
  auto const* const end = sentence.data() + sentence.size();
  auto const* const digits = at == std::string::npos ? end : sentence.data() + at + name.size();
  auto const read = std::from_chars(digits, end, number);
  if (read.ec != std::errc() || number >= size()) return sentence;
  return std::string(sentence.data(), digits) + std::to_string(numbers_(number)) + read.ptr;
}

void require_within(integer_view const& lengths, std::int64_t capacity, char const* planner) {
  for (std::size_t i = 0; i < lengths.size(); ++i)
    require(lengths[i] <= capacity || capacity < 1, [&] {
      return "lengths[" + std::to_string(i) + "] = " + std::to_string(lengths[i]) + " exceeds capacity " + std::to_string(capacity) + ": " +
             planner + " takes no longer samples; ballast.TrainingRun and ballast.pack have a policy for them, oversize=";
    });
}

}  // namespace ballast_python
