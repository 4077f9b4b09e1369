// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/cost/scaled.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief `link_time`: the time to send a number of bytes over a link, from latencies and bandwidths or from a measured table, in integers.

namespace ballast::inline v0_2 {

/// @brief A latency and a bandwidth: sending b bytes takes `latency + 10^12 b / bandwidth` picoseconds.
struct link_line {
  std::int64_t latency = 0;    ///< picoseconds of a transfer of any size, in [0, 2^60]
  std::int64_t bandwidth = 1;  ///< bytes/s in one direction, in [1, 2^60]
  friend constexpr bool operator==(link_line const&, link_line const&) = default;
};

/// @brief One row of a measured table.
struct link_point {
  std::int64_t bytes = 0;  ///< size of the transfer, in [0, 2^60]
  std::int64_t time = 0;   ///< its picoseconds, in [0, 2^60]
  friend constexpr bool operator==(link_point const&, link_point const&) = default;
};

/// @brief Converts a line fitted in milliseconds, as `calibrate` returns its coefficients, to integers.
/// @param latency_ms   milliseconds of a transfer of any size
/// @param ms_per_byte  milliseconds of each byte
/// @return the line; latency and bandwidth are each rounded to nearest
/// @throws invalid_input if the latency is negative, or if latency or bandwidth is out of range
[[nodiscard]] inline link_line link_line_of(double latency_ms, double ms_per_byte) {
  constexpr auto most = 1152921504606846976.0;  // 2^60
  auto const latency = latency_ms * 1e9, bandwidth = 1000 / ms_per_byte;
  require(latency >= 0 && latency <= most, [&] { return "latency_ms = " + std::to_string(latency_ms) + " must be in [0, 2^60 / 10^9]"; });
  require(bandwidth >= 1 && bandwidth <= most,
          [&] { return "ms_per_byte = " + std::to_string(ms_per_byte) + " must give a bandwidth in [1, 2^60]"; });
  return {detail::nearest(latency), detail::nearest(bandwidth)};
}

/// @brief The time of a transfer, in picoseconds, as a function of its bytes.
///
/// It is one of three functions, each rounded up to a picosecond. It never decreases:
/// - from one line: its latency and bandwidth;
/// - from several lines: the least of their times. Libraries choose, by size, between protocols that start fast and protocols that send
///   fast; with a line for each protocol, the times have the two or three pieces that measurements show;
/// - from a table: the straight line between two rows. Up to the first row the time is that of the first row; beyond the last row the line
///   through the last two continues.
///
/// Without lines or rows, transfers take no time.
/// @par Complexity
/// O(lines), or O(log rows), a call.
class link_time {
 public:
  /// @brief A link on which transfers take no time.
  link_time() = default;
  /// @brief A link with one latency and one bandwidth. @param line latency and bandwidth @throws invalid_input naming what is out of range
  link_time(link_line const& line) : link_time(std::span(&line, 1)) {}
  /// @brief A link that uses the fastest of several protocols for each transfer.
  /// @param lines  a latency and a bandwidth for each protocol, at least one, in any order
  /// @throws invalid_input naming the first number that is out of range
  explicit link_time(std::span<link_line const> lines) : fastest_(true) {
    require(!lines.empty(), [] { return std::string("lines is empty"); });
    for (std::size_t i = 0; i < lines.size(); ++i) {
      within("lines", i, "latency", lines[i].latency, 0);
      within("lines", i, "bandwidth", lines[i].bandwidth, 1);
      pieces_.push_back(reduced({.start = lines[i].latency, .rise = 1'000'000'000'000, .width = lines[i].bandwidth}));
    }
  }
  /// @brief A link with measured times.
  /// @param points  rows, at least one, with strictly ascending bytes and times that never decrease (smooth a noisy table first)
  /// @throws invalid_input naming the first number that breaks a rule
  explicit link_time(std::span<link_point const> points) {
    require(!points.empty(), [] { return std::string("points is empty"); });
    for (std::size_t i = 0; i < points.size(); ++i) {
      auto const& [bytes, time] = points[i];
      within("points", i, "bytes", bytes, 0);
      within("points", i, "time", time, 0);
      if (i == 0) continue;
      require(points[i - 1].bytes < bytes, [&] { return entry_of("points", i, "bytes", bytes) + " must be above its predecessor"; });
      require(points[i - 1].time <= time, [&] { return entry_of("points", i, "time", time) + " must not be below its predecessor"; });
      pieces_.push_back(reduced({.from = points[i - 1].bytes,
                                 .start = points[i - 1].time,
                                 .rise = time - points[i - 1].time,
                                 .width = bytes - points[i - 1].bytes}));
    }
    if (points.size() == 1) pieces_.push_back({.from = points[0].bytes, .start = points[0].time});
  }

  /// @brief The time of a transfer in picoseconds, rounded up. @param bytes size of the transfer, with `fits(bytes)`
  [[nodiscard]] std::int64_t operator()(std::int64_t bytes) const noexcept { return at(bytes).value; }
  /// @brief Whether the bytes are not negative and their time is below 2^63 picoseconds. @param bytes size of the transfer
  [[nodiscard]] bool fits(std::int64_t bytes) const noexcept { return bytes >= 0 && at(bytes).fits(); }

 private:
  struct piece {  // start + rise (bytes - from) / width
    std::int64_t from = 0, start = 0, rise = 0, width = 1;
    [[nodiscard]] checked operator()(std::int64_t bytes) const noexcept {
      auto const over = static_cast<std::uint64_t>((std::max)(bytes - from, std::int64_t{0}));
      auto const factor = static_cast<std::uint64_t>(rise), by = static_cast<std::uint64_t>(width);
      if (multiply(factor, over).high >= by) return checked(checked::none);
      auto const risen = multiply_divide_up(factor, over, by);
      return checked(start) + checked(risen > static_cast<std::uint64_t>(checked::most) ? checked::none : static_cast<std::int64_t>(risen));
    }
  };

  /// The same line in smaller numbers: products that fit 64 bits are faster.
  [[nodiscard]] static piece reduced(piece p) noexcept {
    auto const by = std::gcd(p.rise, p.width);
    p.rise /= by;
    p.width /= by;
    return p;
  }
  [[nodiscard]] checked at(std::int64_t bytes) const noexcept {
    if (pieces_.empty()) return checked(0);
    if (!fastest_) {
      auto const after = std::upper_bound(pieces_.begin() + 1, pieces_.end(), bytes, [](auto b, piece const& p) { return b < p.from; });
      return (*(after - 1))(bytes);
    }
    auto least = checked(checked::none);
    for (auto const& p : pieces_)
      if (auto const time = p(bytes); time.fits() && (!least.fits() || time.value < least.value)) least = time;
    return least;
  }
  static std::string entry_of(char const* what, std::size_t i, char const* field, std::int64_t value) {
    return std::string(what) + "[" + std::to_string(i) + "]." + field + " = " + std::to_string(value);
  }
  static void within(char const* what, std::size_t i, char const* field, std::int64_t value, std::int64_t least) {
    require(value >= least && value <= std::int64_t{1} << 60,
            [&] { return entry_of(what, i, field, value) + " must be in [" + std::to_string(least) + ", 2^60]"; });
  }

  std::vector<piece> pieces_;
  bool fastest_ = false;  // pieces are lines, of which the fastest counts
};

static_assert(bounded_cost_model<link_time>);

}  // namespace ballast::inline v0_2
