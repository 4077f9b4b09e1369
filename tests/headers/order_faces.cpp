// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "house/headers.hpp"

// order_faces FILE...: writes the parts of a program that include all headers, in few orders of the faces. Whenever a face brings a header
// that declares an alias or a variable, and another face, which lacks that header, one that gives a local variable or parameter the same
// name, some order reads the declaration first: the compiler then warns of the local that hides it.

namespace {

using order = std::vector<std::size_t>;                    // of faces
using clash = std::pair<std::uint64_t, std::uint64_t>;     // the faces that bring a declaration, and those that bring a local of its name
std::map<std::string, std::vector<std::string>> includes;  // of each header
std::vector<std::string> faces, unfaced;                   // as they are included; the latter are headers that no face brings

/// The words of a line without its comment. With `locals`, only those that may name a parameter or a local variable, by what stands around.
std::vector<std::string> words_of(std::string_view line, bool locals = false) {
  line = line.substr(0, line.find("//"));
  auto const in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  auto const one_of = [&](std::size_t at, std::string_view some) { return at == line.npos || some.find(line[at]) != some.npos; };
  std::vector<std::string> out;
  for (std::size_t at = 0, end = 0; at < line.size(); at = end + 1) {
    for (end = at; end < line.size() && in_word(line[end]);) ++end;
    if (end == at) continue;
    auto const before = at == 0 ? line.npos : line.find_last_not_of(' ', at - 1), behind = line.find_first_not_of(' ', end);
    auto const local = (one_of(before, ">&*[,") || in_word(line[before])) && one_of(behind, ",;={()[]:");
    if (local || !locals) out.emplace_back(line.substr(at, end - at));
  }
  return out;
}
/// The alias or variable that a line of a namespace declares, or nothing; compilers do not warn of a local that hides a class.
/// `scripts/format` puts it at the margin, behind its template head.
std::string declared_by(std::string_view line) {
  auto const words = words_of(line);
  if (words.size() < 2 || line.front() == ' ' || line.front() == '#') return {};
  auto const& kind = words.front();
  if (kind == "using") return words[1];
  auto const named = line.substr(0, line.find_first_of("=[{;"));
  if ((kind != "inline" && kind != "constexpr") || named.find('(') != named.npos) return {};
  return words_of(named).back();
}

std::set<std::string> brought_by(std::string const& face) {
  std::set<std::string> seen;
  for (auto left = includes.at(face); !left.empty();) {
    auto const next = left.back();
    left.pop_back();
    if (seen.insert(next).second) left.insert(left.end(), includes[next].begin(), includes[next].end());
  }
  return seen;
}

std::set<clash> find_clashes() {
  auto const headers = house::headers_below(BALLAST_SOURCES "/include");
  for (auto const& h : headers) includes[h.path] = h.includes;
  std::map<std::string, std::uint64_t> by;  // the faces that bring a header
  for (auto const& h : headers) {
    if (!house::room_of(h.path).empty() || h.path == "ballast/ballast.hpp") continue;
    for (auto const& brought : brought_by(h.path)) by[brought] |= std::uint64_t{1} << faces.size();
    faces.push_back(h.path);
  }
  std::map<std::string, std::set<std::uint64_t>> declared, local;
  for (auto const& h : headers) {
    if (house::room_of(h.path).empty()) continue;
    if (!by.contains(h.path)) unfaced.push_back(h.path);
    for (auto const& line : h.lines) {
      if (auto const name = declared_by(line); !name.empty()) declared[name].insert(by[h.path]);
      for (auto const& word : words_of(line, true)) local[word].insert(by[h.path]);
    }
  }
  std::set<clash> out;
  for (auto const& [name, declarers] : declared)
    for (auto const a : declarers)
      for (auto const b : local[name])
        if ((a & ~b) != 0 && b != 0) out.emplace(a, b);
  return out;
}

/// The clashes for which an order reads the declaration first.
std::set<clash> shown_by(order const& in, std::set<clash> const& open) {
  std::vector<std::size_t> at(faces.size());
  for (std::size_t i = 0; i < in.size(); ++i) at[in[i]] = i;
  auto const first = [&](std::uint64_t by) {
    auto least = in.size();
    for (; by != 0; by &= by - 1) least = std::min(least, at[static_cast<std::size_t>(std::countr_zero(by))]);
    return least;
  };
  std::set<clash> out;
  for (auto const& c : open)
    if (first(c.first) < first(c.second)) out.insert(c);
  return out;
}

/// An order that shows many open clashes: the best of some that are improved by moving faces.
order find_order(std::set<clash> const& open, std::mt19937& draw) {
  order best;
  std::size_t most = 0;
  for (auto attempt = 0; attempt < 6; ++attempt) {
    order now;
    for (std::size_t f = 0; f < faces.size(); ++f) now.insert(now.begin() + static_cast<std::ptrdiff_t>(draw() % (f + 1)), f);
    auto value = shown_by(now, open).size();
    for (auto move = 0; move < 500; ++move) {
      auto next = now;
      auto const from = next.begin() + static_cast<std::ptrdiff_t>(draw() % next.size());
      auto const face = *from;
      next.erase(from);
      next.insert(next.begin() + static_cast<std::ptrdiff_t>(draw() % now.size()), face);
      if (auto const other = shown_by(next, open).size(); other >= value) {
        now = std::move(next);
        value = other;
      }
    }
    if (best.empty() || value > most) {
      best = now;
      most = value;
    }
  }
  return best;
}

}  // namespace

int main(int count, char** files) {
  auto open = find_clashes();
  std::mt19937 draw(1);
  std::vector<order> orders;
  while (orders.size() < 2 || !open.empty()) {  // two, so that all headers are read twice
    orders.push_back(find_order(open, draw));
    for (auto const& c : shown_by(orders.back(), open)) open.erase(c);
  }
  for (int i = 1; i < count; ++i) {
    std::ofstream out(files[i]);
    if (static_cast<std::size_t>(i) > orders.size()) continue;
    out << "#include \"before.hpp\"\n";
    for (auto const face : orders[static_cast<std::size_t>(i) - 1]) out << "#include <" << faces[face] << ">\n";
    for (auto const& header : unfaced) out << "#include <" << header << ">\n";
    if (i == 1) out << "int main() {}\n";
  }
  if (orders.size() < static_cast<std::size_t>(count)) return 0;
  std::cerr << orders.size() << " orders are needed, and there are files for " << count - 1 << '\n';
  return 1;
}
