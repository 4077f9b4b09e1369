// SPDX-License-Identifier: Apache-2.0
#include "readers/steps.hpp"

#include "errors.hpp"
#include "readers/npy.hpp"
#include "readers/packing.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <system_error>
#include <utility>
#include <vector>

namespace ballast_cli {

namespace {

using read_batching = ballast::batching<std::uint64_t>;
constexpr std::string_view step_blanks = " \t\r";

/// Reads lines of steps; a document of JSON would take many times the memory of the samples.
class step_lines {
 public:
  explicit step_lines(std::string const& name) : name_(name) {}

  void add(std::string_view text, std::size_t line) {
    text_ = text;
    line_ = line;
    at_ = 0;
    std::uint64_t ranks = 0;
    for (auto more = open(); more; more = next()) {
      ++ranks;
      taken_.push_back(0);
      for (auto of_rank = open(); of_rank; of_rank = next()) {
        ++taken_.back();
        for (auto of_pack = open(); of_pack; of_pack = next()) sample();
        out_.packs.offsets.push_back(out_.packs.members.size());
      }
    }
    skip();
    if (at_ != text_.size()) fail();
    if (ranks == 0) throw bad_input(place() + ": a step has at least one rank");
    if (steps_++ == 0) out_.ranks = ranks;
    if (ranks != out_.ranks)
      throw bad_input(place() + ": this step has " + std::to_string(ranks) + " ranks, and the first has " + std::to_string(out_.ranks) +
                      "; every step lists all ranks, [] for one without micro-batches");
  }

  [[nodiscard]] read_batching take() {
    if (steps_ == 0) throw bad_input(name_ + ": there are no steps in it");
    constexpr std::size_t most_empty = 64, always = std::size_t{1} << 20;
    auto const each = std::size_t{(std::max)(*std::max_element(taken_.begin(), taken_.end()), std::uint32_t{1})};
    if (each > (most_empty * out_.packs.size() + always) / taken_.size())
      throw bad_input(name_ + ": a rank has " + std::to_string(each) + " micro-batches in one step, and most have far fewer; " +
                      "give the ranks of all steps similar numbers");
    out_.micro_batches = each;
    out_.table.assign(taken_.size() * each, read_batching::none);
    std::uint64_t pack = 0;
    for (std::size_t turn = 0; turn < taken_.size(); ++turn)
      for (std::size_t m = 0; m < taken_[turn]; ++m) out_.table[turn * each + m] = pack++;
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::string place() const { return name_ + ":" + std::to_string(line_); }
  [[noreturn]] void fail() const {
    auto const rest = text_.substr((std::min)(at_, text_.size()));
    throw bad_input(place() + ": expected a step as in [[[0,1],[2]],[[3],[4]]], of each rank its micro-batches, of each its samples, " +
                    (rest.empty() ? "and the line ends too early" : "not " + printable(rest) + " at byte " + std::to_string(at_ + 1)));
  }
  void skip() { at_ = (std::min)(text_.find_first_not_of(step_blanks, at_), text_.size()); }
  [[nodiscard]] bool take_char(char c) {
    skip();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  /// Opens a list. Returns whether it has an entry.
  [[nodiscard]] bool open() {
    if (!take_char('[')) fail();
    return !take_char(']');
  }
  /// Goes on behind an entry. Returns whether there is another.
  [[nodiscard]] bool next() {
    if (take_char(',')) return true;
    if (!take_char(']')) fail();
    return false;
  }
  void sample() {
    skip();
    std::uint64_t index = 0;
    auto const [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), index);
    if (error != std::errc{}) fail();
    at_ = static_cast<std::size_t>(end - text_.data());
    out_.packs.members.push_back(index);
  }

  std::string const& name_;
  std::string_view text_;
  std::size_t line_ = 0, at_ = 0, steps_ = 0;
  std::vector<std::uint32_t> taken_;  // micro-batches of each rank in each step
  read_batching out_;
};

}  // namespace

bool is_step_list(std::string_view text) {
  std::size_t depth = 0;
  for (auto const c : text) {
    if (c == '[')
      ++depth;
    else if (c != '\n' && step_blanks.find(c) == std::string_view::npos)
      break;
    if (depth == 3) break;
  }
  return depth == 3;
}

read_batching read_steps(std::string_view text, std::string const& name) {
  step_lines out(name);
  for (std::size_t line = 1, at = 0; at < text.size(); ++line) {
    auto const stop = (std::min)(text.find('\n', at), text.size());
    auto const row = text.substr(at, stop - at);
    at = stop + 1;
    if (row.find_first_not_of(step_blanks) != std::string_view::npos) out.add(row, line);
  }
  return out.take();
}

read_batching read_steps(step_arrays const& arrays) {
  npy_view const table(arrays.steps, arrays.steps_name, 3);
  if (table.shape().size() != 3)
    throw bad_input(arrays.steps_name + ": the array has " + std::to_string(table.shape().size()) +
                    " dimensions; steps have three: steps, ranks and micro-batches");
  if (table.size() == 0) throw bad_input(arrays.steps_name + ": there are no steps in it");
  read_batching out;
  out.packs = {read_indices(arrays.offsets, arrays.offsets_name), read_indices(arrays.members, arrays.members_name)};
  out.ranks = table.shape()[1];
  out.micro_batches = table.shape()[2];
  out.table.resize(table.size());
  for (std::size_t i = 0; i < table.size(); ++i) {
    out.table[i] = table.is_negative(i) ? read_batching::none : table[i];
    if (table.is_negative(i) && table[i] != read_batching::none)
      throw bad_input(arrays.steps_name + ": " + place_in_words(out, i) + ": " + table.text(i) +
                      " is neither the number of a pack nor -1, which marks an empty place");
  }
  return out;
}

std::string place_in_words(read_batching const& steps, std::uint64_t place) {
  auto const each = steps.micro_batches, of_step = steps.ranks * each;
  return "step " + std::to_string(place / of_step) + ", rank " + std::to_string(place % of_step / each) + ", micro-batch " +
         std::to_string(place % each);
}

}  // namespace ballast_cli
