// SPDX-License-Identifier: Apache-2.0
#include "readers/data_set.hpp"

#include "report/output.hpp"
#include "report/packing.hpp"

#include <ballast/core/math.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace ballast_cli {

ballast::histogram to_histogram(table const& input) {
  auto const& v = input.values();
  if (input.measures() == 1) return ballast::fold(v);
  std::vector<std::pair<std::int64_t, std::uint64_t>> rows;
  for (std::size_t i = 0; i < v.size(); i += 2)
    if (v[i + 1] != 0) rows.emplace_back(v[i], static_cast<std::uint64_t>(v[i + 1]));
  std::sort(rows.begin(), rows.end());
  ballast::histogram h;
  for (auto const& [length, count] : rows)
    if (!h.lengths.empty() && h.lengths.back() == length) {
      h.counts.back() += count;
    } else {
      h.lengths.push_back(length);
      h.counts.push_back(count);
    }
  return h;
}

void require_one_measure(table const& input, std::string_view command) {
  if (input.measures() != 1 && !input.histogram())
    throw bad_input(std::string(command) + " takes one length a sample, not " + std::to_string(input.measures()) +
                    " measures; --columns 1+2 adds two columns into one");
}

measure_columns::measure_columns(table const& input) : columns_(input.histogram() ? 1 : input.measures()), skipped_(input.skipped()) {
  auto const& v = input.values();
  if (input.histogram()) {
    (void)to_lengths(input, columns_[0]);
    return;
  }
  for (std::size_t m = 0; m < columns_.size(); ++m) {
    columns_[m].reserve(input.rows());
    for (auto i = m; i < v.size(); i += columns_.size()) columns_[m].push_back(v[i]);
  }
}

ballast::sample_measures measure_columns::view() const {
  return ballast::sample_measures(std::vector<std::span<std::int64_t const>>(columns_.begin(), columns_.end()));
}

std::span<std::int64_t const> to_lengths(table const& input, std::vector<std::int64_t>& expanded) {
  auto const& v = input.values();
  if (input.measures() == 1) return v;
  for (std::size_t i = 0; i < v.size(); i += 2) expanded.insert(expanded.end(), static_cast<std::size_t>(v[i + 1]), v[i]);
  return expanded;
}

void refuse_oversize(table const& input, std::span<std::int64_t const> capacity, ballast::packing_options const& o,
                     std::string_view others) {
  if (o.oversize != ballast::oversize::reject) return;
  auto const& v = input.values();
  auto const one = input.histogram() || input.measures() == 1;
  std::string_view const other = one ? "set-aside, truncate, split or alone" : "set-aside or alone";
  for (std::size_t i = 0; i < v.size(); i += input.measures())
    for (std::size_t m = 0; m < (one ? 1 : input.measures()); ++m)
      if (v[i + m] > capacity[m] - capacity[m] % o.sample_multiple)
        throw bad_input(input.where(i / input.measures()) + ": " + std::to_string(v[i + m]) + " exceeds the capacity " +
                        std::to_string(capacity[m]) +
                        (o.sample_multiple > 1 ? " when rounded up to a multiple of " + std::to_string(o.sample_multiple) + ", which is " +
                                                     std::to_string(ballast::round_up(static_cast<std::uint64_t>(v[i + m]),
                                                                                      static_cast<std::uint64_t>(o.sample_multiple)))
                                               : "") +
                        "; --oversize " + std::string(others.empty() ? other : others) + " says what to do with it");
}

sample_lengths::sample_lengths(input_arguments const& input, std::string_view command, std::int64_t longest, ballast::oversize policy,
                               std::int64_t multiple)
    : rows_(read_lengths(input)) {
  require_one_measure(rows_, command);
  refuse_oversize(rows_, std::array{longest}, {.sample_multiple = multiple, .oversize = policy}, "set-aside, truncate or split");
  counts_ = to_histogram(rows_);
  require_few_samples(counts_.samples());
  lengths_ = to_lengths(rows_, expanded_);
}

std::vector<std::int64_t> rounded_up(std::span<std::int64_t const> lengths, std::int64_t multiple) {
  std::vector<std::int64_t> out(lengths.begin(), lengths.end());
  for (auto& length : out) {
    if (length > largest_length - (multiple - 1))
      throw bad_input("--multiple " + std::to_string(multiple) + ": a sample of " + std::to_string(length) +
                      " tokens, rounded up, must be below 2^63");
    length = ballast::round_up(length, multiple);
  }
  return out;
}

void require_few_samples(std::uint64_t samples) {
  if (samples >= std::uint64_t{1} << 31)
    throw bad_input("there are " + counted(samples, "sample") + "; a plan numbers up to 2^31-1, so plan shards of them");
}

std::uint64_t count_next_fit(table const& rows, ballast::packing_options const& o) {
  auto const& v = rows.values();
  auto const largest = longest_that_fits(o);
  auto const most = o.max_samples != 0 ? o.max_samples : (std::numeric_limits<std::uint64_t>::max)();
  std::uint64_t packs = 0, items = 0, slots = 0, alone = 0;
  std::int64_t room = 0;
  auto const add = [&](std::int64_t length, std::uint64_t count) {
    items += count;
    auto const weight = length + (o.sample_multiple - length % o.sample_multiple) % o.sample_multiple;
    auto const take = [&](std::uint64_t samples) {
      room -= static_cast<std::int64_t>(samples) * weight;
      slots -= samples;
      count -= samples;
    };
    take((std::min)({count, slots, static_cast<std::uint64_t>(room / weight)}));
    if (count == 0) return;
    auto const per_pack = (std::min)(most, static_cast<std::uint64_t>(o.capacity / weight));
    packs += (count - 1) / per_pack + 1;
    room = o.capacity;
    slots = most;
    take((count - 1) % per_pack + 1);  // the samples in the last of them
  };
  for (std::size_t i = 0; i < v.size(); i += 2) {
    auto const count = static_cast<std::uint64_t>(v[i + 1]);
    if (v[i] <= largest || o.oversize == ballast::oversize::truncate || o.oversize == ballast::oversize::split)
      add((std::min)(v[i], largest), count);
    else if (o.oversize == ballast::oversize::alone)
      alone += count;
  }
  if (o.oversize == ballast::oversize::split)  // later pieces come after all samples
    for (std::size_t i = 0; i < v.size(); i += 2)
      for (auto left = v[i] > largest ? v[i + 1] : 0; left > 0; --left) {
        auto const pieces = (v[i] - 1) / largest;
        add(largest, static_cast<std::uint64_t>(pieces - 1));
        add(v[i] - pieces * largest, 1);
      }
  return raised_to_multiple(packs + alone, o.pack_count_multiple, items + alone);
}

}  // namespace ballast_cli
