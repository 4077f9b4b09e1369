// SPDX-License-Identifier: Apache-2.0
#include "report/svg.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace ballast_cli {

namespace {

constexpr double width = 360, height = 240, left = 44, right = 8, top = 30, bottom = 38;  // 12 px letters stay readable on a telephone

/// A coordinate, to a tenth of a pixel.
[[nodiscard]] std::string pixels(double value) {
  char text[32];
  (void)std::snprintf(text, sizeof text, "%.1f", value);
  std::string out = text;
  return out.ends_with(".0") ? out.substr(0, out.size() - 2) : out;
}

[[nodiscard]] std::string rectangle(double x, double y, double w, double h, std::string_view style, std::string_view tip = {}) {
  auto out = "<rect class=\"" + std::string(style) + "\" x=\"" + pixels(x) + "\" y=\"" + pixels(y) + "\" width=\"" + pixels(w) +
             "\" height=\"" + pixels(h) + "\"";
  return out + (tip.empty() ? "/>" : "><title>" + escaped(tip) + "</title></rect>");
}

[[nodiscard]] std::string words_at(double x, double y, std::string_view anchor, std::string_view words) {
  return "<text x=\"" + pixels(x) + "\" y=\"" + pixels(y) + "\" text-anchor=\"" + std::string(anchor) + "\">" + escaped(words) + "</text>";
}

/// The way around a bar: neighbours stay apart, and short ones visible.
[[nodiscard]] std::string outline(double x, double y, double w, double h) {
  return "M" + pixels(x) + " " + pixels(y) + "h" + pixels((std::max)(w - 0.5, 0.3)) + "v" + pixels(h) + "H" + pixels(x) + "z";
}

[[nodiscard]] std::string opening(std::string_view id, std::string_view title, std::string_view description, double high,
                                  double wide = width, std::string_view style = "chart") {
  auto const name = escaped(id), box = pixels(wide) + " " + pixels(high);
  return "<svg id=\"" + name + "\" class=\"" + std::string(style) + "\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + box +
         "\" role=\"img\" aria-labelledby=\"" + name + "-title " + name + "-text\"><title id=\"" + name + "-title\">" + escaped(title) +
         "</title><desc id=\"" + name + "-text\">" + escaped(description) + "</desc>";
}

/// The smallest of 1, 2, 5, 10, 20, ... (and their tenths) that cuts `span` into at most five.
[[nodiscard]] double round_step(double span) {
  double power = 1;
  while (power * 5 < span && power < 1e300) power *= 10;
  while (power * 0.5 >= span && power > 1e-300) power /= 10;
  for (auto const step : {0.1, 0.2, 0.5})
    if (power * step * 5 >= span) return power * step;
  return power;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (auto const c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  }
  return out;
}

std::string compact(double value) {
  if (!std::isfinite(value)) return "n/a";
  auto const size = std::abs(value);
  auto const [unit, name] = size >= 1e9 ? std::pair(1e9, "G") : size >= 1e6 ? std::pair(1e6, "M") : std::pair(1.0, "");
  auto const thousands = size >= 1e4 && size < 1e6;
  char text[64];
  (void)std::snprintf(text, sizeof text, "%.4g%s", value / (thousands ? 1e3 : unit), thousands ? "k" : name);
  return text;
}

std::string_view const chart_style =
    ":root{color-scheme:light "
    "dark;--paper:#fff;--ink:#1b2228;--soft:#56616b;--rule:#dfe3e7;--c0:#79838c;--c1:#c4570a;--c2:#0a5fa6;--c3:#14796a}"
    "@media screen and (prefers-color-scheme:dark){:root{--paper:#15191d;--ink:#e6eaed;--soft:#9fa9b2;--rule:#313940;--c0:#949ea7;"
    "--c1:#f09a5c;--c2:#62b1f0;--c3:#4dbba2}}"
    ".chart{display:block;width:100%;height:auto;font:12px system-ui,-apple-system,\"Segoe UI\",Roboto,\"Liberation Sans\",sans-serif;"
    "font-variant-numeric:tabular-nums}"
    ".chart text{fill:var(--soft)}.chart path{fill:none;stroke-width:2;stroke-linejoin:round}.chart "
    ".grid{stroke:var(--rule);stroke-width:1}"
    ".paper{fill:var(--paper)}.rule{fill:var(--rule)}.c0{--c:var(--c0)}.c1{--c:var(--c1)}.c2{--c:var(--c2)}.c3{--c:var(--c3)}"
    ".chart .solid{fill:var(--c)}.chart .pale{fill:var(--c);opacity:.35}.chart path.line{stroke:var(--c)}"
    ".chart .line.c0{stroke-dasharray:2 3}.chart .line.c1{stroke-dasharray:7 3}";

chart::chart(std::string_view id, std::string_view title, std::string_view description, double x_end, double y_begin, double y_end,
             chart_size size)
    : head_(opening(id, title, description, size.height, size.width)), x_end_(x_end), y_begin_(y_begin), y_end_(y_end), size_(size) {}

double chart::at_x(double x) const {
  auto const share = x / x_end_;
  return left + (size_.width - left - right) * (std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0.0);
}

double chart::at_y(double y) const {
  auto const share = (y - y_begin_) / (y_end_ - y_begin_);
  return size_.height - bottom - (size_.height - size_.top - bottom) * (std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0.0);
}

void chart::text(double x, double y, std::string_view anchor, std::string_view words) { body_ += words_at(x, y, anchor, words); }

void chart::y_axis(std::string_view caption, std::function<std::string(double)> const& label) {
  text(0, 12, "start", caption);
  auto const span = y_end_ - y_begin_, step = round_step(span);
  if (!(span > 0) || !std::isfinite(span)) return;
  for (int i = 0; i <= 5 && i * step <= span * 1.0001; ++i) {
    auto const value = y_begin_ + i * step, y = at_y(value);
    body_ += "<path class=\"grid\" d=\"M" + pixels(left) + " " + pixels(y) + "H" + pixels(size_.width - right) + "\"/>";
    text(left - 6, y + 4, "end", label(value));
  }
}

void chart::x_axis(std::string_view caption) { text((left + size_.width - right) / 2, size_.height - 4, "middle", caption); }

void chart::x_label(double x, std::string_view words) {
  auto const place = at_x(x);
  text(place, size_.height - bottom + 15, place < left + 20 ? "start" : place > size_.width - right - 20 ? "end" : "middle", words);
}

void chart::x_numbers(double first) {
  auto const step = round_step(x_end_);
  if (!(x_end_ > 0) || !std::isfinite(x_end_)) return;
  for (int i = 0; i <= 5 && i * step <= x_end_ * 1.0001; ++i) x_label(i * step, compact(first + i * step));
}

void chart::bar(double x_from, double x_to, double y_from, double y_to, std::string_view style, std::string_view tip) {
  auto const x = at_x(x_from), y = at_y((std::max)(y_from, y_to));
  body_ += rectangle(x, y, at_x(x_to) - x, at_y((std::min)(y_from, y_to)) - y, style, tip);
}

void chart::curve(std::vector<std::pair<double, double>> const& points, std::string_view style) {
  std::string way;
  for (auto const& [x, y] : points) way += (way.empty() ? "M" : "L") + pixels(at_x(x)) + " " + pixels(at_y(y));
  if (!way.empty()) body_ += "<path class=\"line " + std::string(style) + "\" d=\"" + way + "\"/>";
}

void chart::area(std::vector<std::pair<double, double>> const& lower, std::vector<std::pair<double, double>> const& upper,
                 std::string_view style) {
  std::string way;
  for (auto const* points : {&lower, &upper})
    for (auto const& [x, y] : *points) way += (way.empty() ? "M" : "L") + pixels(at_x(x)) + " " + pixels(at_y(y));
  if (!way.empty()) body_ += "<path class=\"" + std::string(style) + "\" d=\"" + way + "z\"/>";
}

void chart::strip(double x_from, double x_to, std::string_view style) {
  body_ += rectangle(at_x(x_from), size_.height - bottom + 1, at_x(x_to) - at_x(x_from), 4, style);
}

void chart::note(double y, std::string_view words) { text(size_.width - right - 2, at_y(y) - 4, "end", words); }

void chart::swatches(std::vector<std::pair<std::string, std::string>> const& style_and_name) {
  auto x = left;
  for (auto const& [style, name] : style_and_name) {
    body_ += rectangle(x, 21, 11, 11, style);
    text(x + 16, 31, "start", name);
    x += 6.5 * static_cast<double>(name.size()) + 34;
  }
}

void chart::legend(std::vector<std::pair<std::string, std::string>> const& style_and_name) {
  auto x = size_.width - right;
  for (auto at = style_and_name.rbegin(); at != style_and_name.rend() && x > left; ++at) {  // from the right: the last is the plan
    auto const& [style, name] = *at;
    text(x, 12, "end", name);
    x -= 6.5 * static_cast<double>(name.size()) + 24;
    body_ += "<path class=\"line " + style + "\" d=\"M" + pixels(x) + " 8h18\"/>";
    x -= 12;
  }
}

std::string chart::str(std::string_view style) const {
  auto const inside = style.empty()
                          ? std::string()
                          : "<style>" + std::string(style) + "</style>" + rectangle(-20, -20, size_.width + 40, size_.height + 40, "paper");
  return head_ + inside + body_ + "</svg>";
}

std::string chart::column(std::string_view id, std::string_view title, std::string_view description, std::vector<chart> const& charts,
                          std::string_view style) {
  std::string inside;
  double high = 0, wide = 0;
  for (auto const& each : charts) {
    inside += "<g transform=\"translate(0 " + pixels(high) + ")\">" + each.body_ + "</g>";
    high += each.size_.height + 16;
    wide = (std::max)(wide, each.size_.width);
  }
  return opening(id, title, description, high, wide) + "<style>" + std::string(style) + "</style>" +
         rectangle(-20, -20, wide + 40, high + 40, "paper") + inside + "</svg>";
}

std::string share_bars(std::string_view id, std::string_view title, std::vector<share_bar> const& bars) {
  std::string description;
  for (auto const& bar : bars) description += bar.name + " " + bar.value + "; ";
  auto out = opening(id, title, description, (std::max)(1.0, 44.0 * static_cast<double>(bars.size())));
  double y = 0;
  for (auto const& [name, value, style, share] : bars) {
    out += words_at(0, y + 14, "start", name) + words_at(width, y + 14, "end", value) + rectangle(0, y + 20, width, 14, "rule");
    out += rectangle(0, y + 20, width * (std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0.0), 14, "solid " + style);
    y += 44;
  }
  return out + "</svg>";
}

std::string bar_rows(std::string_view id, std::string_view title, std::string_view description, std::vector<bar_row> const& rows,
                     std::vector<bar_shape> const& shapes, double x_end, std::function<std::string(double)> const& label) {
  constexpr double wide = 2 * width, names = 60, row_height = 32, legend_height = 26;
  std::string legend;
  double next = names, legend_top = 0;
  for (auto const& shape : shapes) {
    auto const first = std::find_if(shapes.begin(), shapes.end(), [&](auto const& other) { return other.name == shape.name; });
    if (&*first != &shape) continue;
    auto const length = 6.5 * static_cast<double>(shape.name.size());
    if (next > names && next + 24 + length > wide) next = names, legend_top += legend_height;
    legend += "<path class=\"" + escaped(shape.style) + "\" d=\"" + outline(next, legend_top + shape.top, 18, shape.height) + "\"/>" +
              words_at(next + 24, legend_top + 16, "start", shape.name);
    next += length + 44;
  }
  auto const first_row = top + legend_top, bottom_line = first_row + row_height * static_cast<double>(rows.size());
  auto const at = [&](double x) {
    auto const share = x_end > 0 ? x / x_end : 0.0;
    return names + (wide - names - right) * (std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0.0);
  };
  auto out = opening(id, title, description, bottom_line + 22, wide, "chart timeline");
  if (auto const step = round_step(x_end); x_end > 0 && std::isfinite(x_end))
    for (int i = 0; i <= 5 && i * step <= x_end * 1.0001; ++i) {
      auto const x = at(i * step);
      out += "<path class=\"grid\" d=\"M" + pixels(x) + " " + pixels(first_row - 4) + "V" + pixels(bottom_line) + "\"/>" +
             words_at(x, bottom_line + 15, x > wide - 40 ? "end" : "middle", label(i * step));
    }
  out += legend;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    auto const y = first_row + row_height * static_cast<double>(r);
    out += words_at(0, y + 16, "start", rows[r].name);
    for (std::size_t k = 0; k < shapes.size(); ++k) {
      std::string way, tip;
      std::size_t count = 0;
      for (auto const& [from, to, shape, what] : rows[r].bars)
        if (shape == k) {
          way += outline(at(from), y + shapes[k].top, at(to) - at(from), shapes[k].height);
          if (count++ == 0) tip = what;
        }
      if (count != 0)
        out += "<path class=\"" + escaped(shapes[k].style) + "\" d=\"" + way + "\"><title>" +
               escaped(rows[r].name + ": " + shapes[k].name + ", " + (tip.empty() ? std::to_string(count) : tip)) + "</title></path>";
    }
  }
  return out + "</svg>";
}

}  // namespace ballast_cli
