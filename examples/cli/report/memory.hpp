// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/graph/graph.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Pictures of memory over time: where buffers lie, and what a step holds; and a page with them.

namespace ballast_cli {

/// Bytes as "1.25 GiB": what people read beside the exact number.
[[nodiscard]] std::string short_bytes(std::int64_t bytes);

/// The colours of these pictures, which follow `chart_style`.
extern std::string_view const memory_style;

/// Buffers with their addresses.
struct layout_drawing {
  struct box {
    std::int64_t begin = 0, end = 0, offset = 0, size = 0;
    std::string name;
  };
  std::string title;          ///< what is laid out
  std::string time;           ///< what the times are, such as "operator"
  std::vector<box> boxes;     ///< at least one
  std::int64_t height = 0;    ///< of the layout
  std::int64_t capacity = 0;  ///< a line is drawn there; 0: none
  std::int64_t scale = 0;     ///< the address axis goes up to this at least
};
/// Boxes over time and address, coloured by size, with the sum of sizes in use as a curve. `complete`: a file of its own.
[[nodiscard]] std::string layout_picture(layout_drawing const& drawing, bool complete);
/// What the boxes leave out: "", or a sentence.
[[nodiscard]] std::string layout_omission(layout_drawing const& drawing);

/// What is in memory while the operators of an order run.
struct memory_curve {
  static constexpr std::size_t kinds = 5;              ///< as ballast::tensor_kind; workspace counts as temporary
  std::string name;                                    ///< of the order
  std::vector<std::array<std::int64_t, kinds>> bytes;  ///< for each operator, in the order in which they run
  std::vector<ballast::operator_kind> operators;

  [[nodiscard]] std::int64_t total(std::size_t step) const;
  [[nodiscard]] std::int64_t peak() const;
};
/// The same step in several orders one below the other, on one scale. `complete`: a file of its own, otherwise one picture for each order.
[[nodiscard]] std::string memory_picture(std::string const& title, std::vector<memory_curve> const& curves, bool complete);

/// A page of a layout or an order.
struct memory_page {
  struct tile {
    std::string name, value, note;
  };
  std::string what;   ///< "a layout of memory"
  std::string title;  ///< the file
  std::string lead;   ///< a sentence
  std::string command;
  std::vector<tile> tiles;
  std::string figures;  ///< HTML
  std::vector<std::string> notes;
};
[[nodiscard]] std::string page_of(memory_page const& page);

}  // namespace ballast_cli
