// SPDX-License-Identifier: Apache-2.0
#include "report/memory.hpp"

#include "report/html.hpp"
#include "report/page_html.hpp"
#include "report/page_parts.hpp"
#include "report/svg.hpp"
#include "report/words.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace ballast_cli {

namespace {

constexpr chart_size wide_chart{.width = 960, .height = 470, .top = 46};
constexpr std::size_t most_boxes = 4000;    // more make a file that browsers are slow with
constexpr std::size_t drawn_columns = 900;  // of pixels, about
constexpr std::size_t shades = 5;

struct byte_unit {
  double bytes;
  char const* name;
};
/// The largest unit of which there are `least`.
[[nodiscard]] byte_unit unit_of(std::int64_t bytes, double least = 1) {
  constexpr std::array<byte_unit, 5> units{{{0x1p40, "TiB"}, {0x1p30, "GiB"}, {0x1p20, "MiB"}, {0x1p10, "KiB"}, {1, "bytes"}}};
  for (auto const& unit : units)
    if (static_cast<double>(bytes) >= least * unit.bytes) return unit;
  return units.back();
}

/// Where an axis begins that goes up to `top`, in the unit of the axis, where `fixed` of it is in use all the time: at 0, or so far above
/// that what changes is seen.
[[nodiscard]] double axis_begin(double fixed, double top) {
  auto const changing = top - fixed;
  if (!(changing > 0) || fixed < changing) return 0;
  auto const step = std::pow(10.0, std::floor(std::log10(changing)));
  return (std::max)(0.0, std::floor((fixed - changing / 8) / step) * step);
}

/// Up to which address all is in use from the first time to the last.
[[nodiscard]] std::int64_t always_in_use(layout_drawing const& drawing, std::int64_t first, std::int64_t last) {
  std::vector<std::pair<std::int64_t, std::int64_t>> whole;
  for (auto const& b : drawing.boxes)
    if (b.begin == first && b.end == last) whole.emplace_back(b.offset, b.size);
  std::sort(whole.begin(), whole.end());
  std::int64_t end = 0;
  for (auto const& [offset, size] : whole)
    if (offset == end) end += size;
  return end;
}

/// A line of steps: `y[k]` from `x[k]` to `x[k + 1]`.
[[nodiscard]] std::vector<std::pair<double, double>> step_line(std::vector<double> const& x, std::vector<double> const& y) {
  std::vector<std::pair<double, double>> out;
  for (std::size_t k = 0; k < y.size(); ++k) {
    if (k == 0 || y[k] != y[k - 1]) out.emplace_back(x[k], y[k]);
    if (k + 1 == y.size() || y[k + 1] != y[k]) out.emplace_back(x[k + 1], y[k]);
  }
  return out;
}

/// Indices of the boxes that are drawn: all that reach above `begin`, or those that cover most.
[[nodiscard]] std::vector<std::size_t> drawn(layout_drawing const& drawing, std::int64_t begin) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < drawing.boxes.size(); ++i)
    if (drawing.boxes[i].offset + drawing.boxes[i].size > begin) out.push_back(i);
  if (out.size() <= most_boxes) return out;
  auto const area = [&](std::size_t i) {
    auto const& b = drawing.boxes[i];
    return static_cast<double>(b.size) * static_cast<double>(b.end - b.begin);
  };
  std::sort(out.begin(), out.end(), [&](auto a, auto b) { return std::pair(-area(a), a) < std::pair(-area(b), b); });
  out.resize(most_boxes);
  return out;
}

/// The sum of sizes in use as a line of steps, no more of them than the picture has drawn_columns: the most of each column.
[[nodiscard]] std::vector<std::pair<double, double>> load_line(layout_drawing const& drawing, std::int64_t first, double end, double unit) {
  std::vector<std::pair<std::int64_t, std::int64_t>> changes;
  for (auto const& b : drawing.boxes) {
    changes.emplace_back(b.begin, b.size);
    changes.emplace_back(b.end, -b.size);
  }
  std::sort(changes.begin(), changes.end());
  std::vector<std::pair<double, double>> out;
  std::int64_t load = 0;
  auto column = -1.0;
  for (std::size_t i = 0; i < changes.size();) {
    auto const time = changes[i].first;
    for (; i < changes.size() && changes[i].first == time; ++i) load += changes[i].second;
    auto const x = static_cast<double>(time - first), at = std::floor(x / end * static_cast<double>(drawn_columns)),
               y = static_cast<double>(load) / unit;
    auto const crowded = changes.size() > 4 * drawn_columns && at == column;
    column = at;
    if (crowded) {
      out.back().second = (std::max)(out.back().second, y);
      continue;
    }
    if (!out.empty()) out.emplace_back(x, out.back().second);
    if (i < changes.size()) out.emplace_back(x, y);
  }
  return out;
}

/// Shade of a size: 0 is up to `largest`, a power of two, each next up to a quarter of that.
[[nodiscard]] std::size_t shade_of(std::int64_t size, std::int64_t largest) {
  std::size_t shade = 0;
  for (auto limit = largest / 4; shade + 1 < shades && size <= limit; limit /= 4) ++shade;
  return shade;
}

[[nodiscard]] std::string shade_style(std::size_t shade) { return "box m" + std::to_string(shade); }

/// Style and name of each kind, from the bottom of the picture.
struct kind_style {
  ballast::tensor_kind kind;
  char const *style, *name;
};
constexpr std::array<kind_style, memory_curve::kinds> kind_styles{{{ballast::tensor_kind::parameter, "solid c0", "parameters"},
                                                                   {ballast::tensor_kind::state, "pale c0", "optimiser states"},
                                                                   {ballast::tensor_kind::activation, "solid c2", "activations"},
                                                                   {ballast::tensor_kind::gradient, "solid c1", "gradients"},
                                                                   {ballast::tensor_kind::temporary, "solid c3", "temporary"}}};
struct operator_style {
  ballast::operator_kind kind;
  char const* style;
};
constexpr std::array<operator_style, 3> operator_styles{{{ballast::operator_kind::forward, "solid c2"},
                                                         {ballast::operator_kind::backward, "solid c1"},
                                                         {ballast::operator_kind::update, "solid c3"}}};

/// The operators that are drawn: of each column of pixels the one at which memory is fullest.
[[nodiscard]] std::vector<std::size_t> drawn_steps(memory_curve const& curve) {
  auto const n = curve.bytes.size(), bins = (std::min)(n, drawn_columns);
  std::vector<std::size_t> out;
  for (std::size_t k = 0; k < bins; ++k) {
    auto fullest = k * n / bins;
    for (auto v = fullest; v < (k + 1) * n / bins; ++v)
      if (curve.total(v) > curve.total(fullest)) fullest = v;
    out.push_back(fullest);
  }
  return out;
}

/// What all curves of a picture have in common, in bytes.
struct curve_scale {
  std::int64_t highest = 1, best = 0;  ///< the highest and the lowest peak
  std::int64_t always = 0;             ///< of parameters and states, in every order at all times
};

[[nodiscard]] curve_scale scale_of(std::vector<memory_curve> const& curves) {
  curve_scale out{.highest = 1, .best = curves.front().peak(), .always = curves.front().peak()};
  for (auto const& c : curves) {
    out.highest = (std::max)(out.highest, c.peak());
    out.best = (std::min)(out.best, c.peak());
    for (auto const& bytes : c.bytes)
      out.always = (std::min)(out.always, bytes[static_cast<std::size_t>(ballast::tensor_kind::parameter)] +
                                              bytes[static_cast<std::size_t>(ballast::tensor_kind::state)]);
  }
  return out;
}

/// One area for each kind, above each other.
void draw_kinds(chart& out, memory_curve const& curve, double unit) {
  auto const n = curve.bytes.size();
  auto const steps = drawn_steps(curve);
  std::vector<std::pair<std::string, std::string>> names;
  std::vector<double> x, base(steps.size(), 0);
  for (std::size_t k = 0; k <= steps.size(); ++k) x.push_back(static_cast<double>(k * n / steps.size()));
  for (auto const& [kind, style, name] : kind_styles) {
    auto upper = base;
    for (std::size_t k = 0; k < steps.size(); ++k)
      upper[k] += static_cast<double>(curve.bytes[steps[k]][static_cast<std::size_t>(kind)]) / unit;
    if (upper == base) continue;
    auto way_back = step_line(x, upper);
    std::reverse(way_back.begin(), way_back.end());
    out.area(step_line(x, base), way_back, style);
    names.emplace_back(style, name);
    base = std::move(upper);
  }
  out.swatches(names);
}

/// A thin bar that says to which part of the step each operator belongs, as far as it can be seen.
void draw_parts(chart& out, memory_curve const& curve) {
  auto const n = curve.operators.size(), bins = (std::min)(n, 2 * drawn_columns);
  auto const at = [&](std::size_t k) { return curve.operators[k * n / bins]; };
  for (std::size_t k = 0, from = 0; k < bins; ++k) {
    if (k + 1 < bins && at(k + 1) == at(from)) continue;
    for (auto const& [kind, style] : operator_styles)
      if (kind == at(from)) out.strip(static_cast<double>(from * n / bins), static_cast<double>((k + 1) * n / bins), style);
    from = k + 1;
  }
}

[[nodiscard]] chart curve_chart(memory_curve const& curve, std::size_t index, curve_scale const& scale) {
  auto const unit = unit_of(scale.highest, 4);
  auto const end = static_cast<double>(curve.bytes.size());
  auto const peak = curve.peak();
  auto const y_of = [&](std::int64_t bytes) { return static_cast<double>(bytes) / unit.bytes; };
  auto const begin = axis_begin(y_of(scale.always), y_of(scale.highest));
  chart out("memory-" + std::to_string(index), "Memory in " + curve.name,
            "Bytes in memory while each of " + grouped(curve.bytes.size()) + " operators runs, stacked by what they are. The peak is " +
                short_bytes(peak) + ".",
            end, begin, begin + (y_of(scale.highest) - begin) * 1.08, {.width = 960, .height = 300, .top = 46});
  out.y_axis(curve.name + ": memory, " + unit.name);
  draw_kinds(out, curve, unit.bytes);
  draw_parts(out, curve);
  out.curve({{0, y_of(scale.best)}, {end, y_of(scale.best)}}, "thin c3");
  if (peak != scale.best) out.curve({{0, y_of(peak)}, {end, y_of(peak)}}, "thin c1");
  out.note(y_of(peak), "peak " + short_bytes(peak));
  out.x_numbers();
  out.x_axis("operators in the order in which they run; bar below: blue forward, orange backward, green update");
  return out;
}

}  // namespace

std::string short_bytes(std::int64_t bytes) {
  auto const unit = unit_of(bytes);
  auto const value = static_cast<double>(bytes) / unit.bytes;
  return formatted(value < 999.5 ? "%.3g %s" : "%.0f %s", value, unit.name);
}

std::string_view const memory_style =
    ":root{--m0:#08407a;--m1:#2c74b3;--m2:#6aa5d8;--m3:#a5c9e9;--m4:#d3e4f4}"
    "@media screen and (prefers-color-scheme:dark){:root{--m0:#b5dafa;--m1:#71aee6;--m2:#437fb6;--m3:#2c587f;--m4:#213b53}}"
    ".chart .box{stroke:var(--paper);stroke-width:.5}.m0{fill:var(--m0)}.m1{fill:var(--m1)}.m2{fill:var(--m2)}.m3{fill:var(--m3)}"
    ".m4{fill:var(--m4)}.chart path.thin{stroke-width:1.2;stroke-dasharray:5 3}.chart path.load{stroke:var(--c1);stroke-width:1.6}";

std::string layout_picture(layout_drawing const& drawing, bool complete) {
  auto first = drawing.boxes.front().begin, last = first;
  for (auto const& b : drawing.boxes) {
    first = (std::min)(first, b.begin);
    last = (std::max)(last, b.end);
  }
  auto const top = (std::max)({drawing.height, drawing.capacity, drawing.scale, std::int64_t{1}});
  auto const unit = unit_of(top, 4);
  auto const y_of = [&](std::int64_t bytes) { return static_cast<double>(bytes) / unit.bytes; };
  auto const x_of = [&](std::int64_t time) { return static_cast<double>(time - first); };
  auto const begin = drawing.scale > 0 ? 0.0 : axis_begin(y_of(always_in_use(drawing, first, last)), y_of(top));
  chart out("layout-" + std::to_string(drawing.height), "Layout of " + drawing.title,
            counted(drawing.boxes.size(), "buffer") + " as boxes over time and address, " + short_bytes(drawing.height) +
                " high. A curve shows how much is in use.",
            x_of(last), begin, begin + (y_of(top) - begin) * 1.06, wide_chart);
  out.y_axis(std::string("address, ") + unit.name);
  auto const boxes = drawn(drawing, static_cast<std::int64_t>(begin * unit.bytes));
  auto largest = std::int64_t{1};
  for (auto const i : boxes)
    while (largest < drawing.boxes[i].size) largest *= 2;
  std::array<bool, shades> used{};
  for (auto const i : boxes) {
    auto const& b = drawing.boxes[i];
    auto const shade = shade_of(b.size, largest);
    used[shade] = true;
    out.bar(x_of(b.begin), x_of(b.end), y_of(b.offset), y_of(b.offset + b.size), shade_style(shade),
            b.name + ": " + short_bytes(b.size) + " at " + short_bytes(b.offset) + ", " + std::to_string(b.begin) + " to " +
                std::to_string(b.end));
  }
  std::vector<std::pair<std::string, std::string>> names, lines{{"load", "in use"}};
  auto limit = largest;
  for (std::size_t shade = 0; shade < shades; ++shade, limit /= 4)
    if (used[shade]) names.emplace_back(shade_style(shade), "up to " + short_bytes(limit));
  out.swatches(names);
  out.curve(load_line(drawing, first, x_of(last), unit.bytes), "load");
  if (drawing.capacity > 0) {
    out.curve({{0, y_of(drawing.capacity)}, {x_of(last), y_of(drawing.capacity)}}, "thin c0");
    lines.emplace_back("thin c0", "capacity");
  }
  out.legend(lines);
  out.note(y_of(drawing.height), "height " + short_bytes(drawing.height));
  out.x_numbers(static_cast<double>(first));
  out.x_axis(drawing.time);
  return out.str(complete ? std::string(chart_style) + std::string(memory_style) : std::string());
}

std::string layout_omission(layout_drawing const& drawing) {
  if (drawing.boxes.size() <= most_boxes) return {};
  return "The " + grouped(most_boxes) + " largest of " + grouped(drawing.boxes.size()) + " buffers are drawn.";
}

std::int64_t memory_curve::total(std::size_t step) const {
  return std::accumulate(bytes[step].begin(), bytes[step].end(), std::int64_t{0});
}

std::int64_t memory_curve::peak() const {
  std::int64_t out = 0;
  for (std::size_t v = 0; v < bytes.size(); ++v) out = (std::max)(out, total(v));
  return out;
}

std::string memory_picture(std::string const& title, std::vector<memory_curve> const& curves, bool complete) {
  auto const scale = scale_of(curves);
  std::vector<chart> charts;
  for (std::size_t i = 0; i < curves.size(); ++i) charts.push_back(curve_chart(curves[i], i, scale));
  if (complete)
    return chart::column("memory", "Memory of " + title, "Memory over time in each order, stacked by what is in it.", charts,
                         std::string(chart_style) + std::string(memory_style)) +
           "\n";
  std::string out;
  for (auto const& each : charts) out += each.str() + "\n";
  return out;
}

std::string page_of(memory_page const& page) {
  std::string tiles, notes;
  for (auto const& [name, value, note] : page.tiles)
    tiles += "<div><dt>" + escaped(name) + "</dt><dd class=\"figure\">" + escaped(value) + "</dd><dd>" + escaped(note) + "</dd></div>\n";
  for (auto const& sentence : page.notes) notes += "<p>" + escaped(sentence) + "</p>\n";
  return filled(page_html, {{"title", escaped(page.title)},
                            {"what", page.what},
                            {"chart_style", std::string(chart_style)},
                            {"memory_style", std::string(memory_style)},
                            {"lead", escaped(page.lead)},
                            {"memory", "shown"},
                            {"memory_tiles", tiles},
                            {"memory_figures", page.figures},
                            {"memory_notes", notes},
                            {"command", escaped(page.command)}});
}

}  // namespace ballast_cli
