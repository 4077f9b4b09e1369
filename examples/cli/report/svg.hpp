// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Small charts as inline SVG, coloured by style classes of the page that contains them.

namespace ballast_cli {

/// `text` as the content or a quoted attribute of HTML and SVG; control characters, which neither may hold, become spaces.
[[nodiscard]] std::string escaped(std::string_view text);
/// 1234567 as "1.235M": four digits are enough on an axis. Not finite: "n/a".
[[nodiscard]] std::string compact(double value);

/// The colours and letters of all charts, light and dark, as CSS. A drawing with class `c0`, `c1`, `c2` or `c3` takes that colour.
extern std::string_view const chart_style;

/// Pixels of a chart: its extent, and how much of the height is above the axes.
struct chart_size {
  double width = 360, height = 240, top = 30;
};

/// A chart over [0, x_end] x [y_begin, y_end], read as one picture: what it shows is said in its title and description.
/// What lies outside the range is drawn at its border, what is not finite at its beginning.
class chart {
 public:
  chart(std::string_view id, std::string_view title, std::string_view description, double x_end, double y_begin, double y_end,
        chart_size size = {});

  /// Grid lines at round values, `caption` above them.
  void y_axis(std::string_view caption, std::function<std::string(double)> const& label = compact);
  /// `caption` below, centred.
  void x_axis(std::string_view caption);
  /// `text` under `x`.
  void x_label(double x, std::string_view text);
  /// Numbers under round values, counted from `first`.
  void x_numbers(double first = 0);
  /// `tip` is shown under the pointer.
  void bar(double x_from, double x_to, double y_from, double y_to, std::string_view style, std::string_view tip = {});
  void curve(std::vector<std::pair<double, double>> const& points, std::string_view style);
  /// What is between two curves, of which the upper one goes from right to left.
  void area(std::vector<std::pair<double, double>> const& lower, std::vector<std::pair<double, double>> const& upper,
            std::string_view style);
  /// A thin bar below the axis.
  void strip(double x_from, double x_to, std::string_view style);
  /// Words at the right end, above `y`.
  void note(double y, std::string_view words);
  /// Samples of the styles with their names, in a line above the chart.
  void legend(std::vector<std::pair<std::string, std::string>> const& style_and_name);
  /// The same for filled styles, from the left, in a line of its own below that.
  void swatches(std::vector<std::pair<std::string, std::string>> const& style_and_name);

  /// The element; with `style` in it, it is a picture of its own, whose background leaves room for a margin of 20 pixels.
  [[nodiscard]] std::string str(std::string_view style = {}) const;
  /// The same charts one below the other, as one picture.
  [[nodiscard]] static std::string column(std::string_view id, std::string_view title, std::string_view description,
                                          std::vector<chart> const& charts, std::string_view style);

 private:
  [[nodiscard]] double at_x(double x) const;
  [[nodiscard]] double at_y(double y) const;
  void text(double x, double y, std::string_view anchor, std::string_view words);

  std::string head_, body_;
  double x_end_, y_begin_, y_end_;
  chart_size size_;
};

struct share_bar {
  std::string name, value, style;
  double share = 0;  ///< of the full width, 0 to 1
};
/// Bars from 0 to 100 %, each under its name and value, which are the description too.
[[nodiscard]] std::string share_bars(std::string_view id, std::string_view title, std::vector<share_bar> const& bars);

/// How bars of a kind look: filling and colour by `style`, and a place of their own in the height of a row.
struct bar_shape {
  std::string name, style;
  double top = 0, height = 24;  ///< pixels
};
struct bar_row {
  struct bar {
    double from = 0, to = 0;
    std::size_t shape = 0;  ///< index of the shapes
    std::string tip = {};   ///< of the first bar of a shape in a row; empty: how many there are
  };
  std::string name;
  std::vector<bar> bars;
};
/// Rows of bars over [0, x_end] of time, twice as wide as a chart, with a legend of the names of shapes above, in as many lines as they
/// need, and times below. Class `timeline`.
[[nodiscard]] std::string bar_rows(std::string_view id, std::string_view title, std::string_view description,
                                   std::vector<bar_row> const& rows, std::vector<bar_shape> const& shapes, double x_end,
                                   std::function<std::string(double)> const& label);

}  // namespace ballast_cli
