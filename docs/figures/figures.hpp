// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

// The data of the figures, room by room: integers alone, so that every machine prints the same.

namespace figures {

using numbers = std::vector<std::int64_t>;

/// Writes one JSON object, a line for each name.
class writer {
 public:
  explicit writer(std::ostream& out) : out_(out) {}
  void operator()(std::string_view name, numbers const& values) {
    begin(name);
    put(values);
  }
  void operator()(std::string_view name, std::vector<numbers> const& rows) {
    begin(name);
    out_ << '[';
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i > 0) out_ << ", ";
      put(rows[i]);
    }
    out_ << ']';
  }
  void end() { out_ << "\n}\n"; }

 private:
  void begin(std::string_view name) {
    out_ << (first_ ? "{\n" : ",\n") << '"' << name << "\": ";
    first_ = false;
  }
  void put(numbers const& values) {
    out_ << '[';
    for (std::size_t i = 0; i < values.size(); ++i) out_ << (i > 0 ? ", " : "") << values[i];
    out_ << ']';
  }
  std::ostream& out_;
  bool first_ = true;
};

/// The rows that `ballast generate --like NAME --samples N --seed 1` writes.
[[nodiscard]] std::vector<numbers> rows_like(std::string_view name, std::uint64_t samples);
/// The same with the columns of each row added up.
[[nodiscard]] numbers lengths_like(std::string_view name, std::uint64_t samples);

/// `part` of `whole` in millionths.
[[nodiscard]] inline std::int64_t millionths(double part, double whole) { return static_cast<std::int64_t>(part / whole * 1e6 + 0.5); }

void packing(writer& show);
void near_optimal(writer& show);
void omnibal(writer& show);
void layout(writer& show);
void balance(writer& show);
void loss(writer& show);
void batching(writer& show);
void randomness(writer& show);
void sharding(writer& show);
void execution(writer& show);
void levels(writer& show);
void curriculum(writer& show);
void plan(writer& show);
void cost(writer& show);
void memory_model(writer& show);
void memory(writer& show);
void memory_layout(writer& show);
void partition(writer& show);
void recompute(writer& show);
void staging(writer& show);
void pipeline(writer& show);

}  // namespace figures
