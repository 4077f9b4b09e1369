// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "house/headers.hpp"

// order_faces FILE...: writes programs that include all faces, in few orders that are as good as a program for each ordered pair of faces:
// whenever a face brings a header and another face a second one, which the first face lacks, some program reads the first header first.

namespace {

using order = std::vector<std::size_t>;        // of faces
using pairs = std::vector<std::vector<char>>;  // of kinds of headers
std::vector<std::string> faces;                // as they are included
std::vector<std::uint64_t> kinds;              // of headers, each by the faces that bring it

void read_faces() {
  std::map<std::string, std::vector<std::string>> includes;
  for (auto const& h : house::headers_below(BALLAST_SOURCES "/include")) includes[h.path] = h.includes;
  std::map<std::string, std::uint64_t> brought;
  for (auto const& [path, direct] : includes) {
    if (!house::room_of(path).empty() || path == "ballast/ballast.hpp") continue;
    std::set<std::string> seen;
    for (auto left = direct; !left.empty();) {
      auto const next = left.back();
      left.pop_back();
      if (!seen.insert(next).second) continue;
      if (!house::room_of(next).empty()) brought[next] |= std::uint64_t{1} << faces.size();
      left.insert(left.end(), includes[next].begin(), includes[next].end());
    }
    faces.push_back(path);
  }
  std::set<std::uint64_t> distinct;
  for (auto const& [header, by] : brought) distinct.insert(by);
  kinds.assign(distinct.begin(), distinct.end());
}

/// The first face of an order that brings each kind.
std::vector<std::size_t> places_in(order const& in) {
  std::vector<std::size_t> at(faces.size()), out;
  for (std::size_t i = 0; i < in.size(); ++i) at[in[i]] = i;
  for (auto const kind : kinds) {
    auto first = in.size();
    for (auto left = kind; left != 0; left &= left - 1) first = std::min(first, at[static_cast<std::size_t>(std::countr_zero(left))]);
    out.push_back(first);
  }
  return out;
}
int covered(order const& in, pairs const& open) {
  auto const at = places_in(in);
  int sum = 0;
  for (std::size_t a = 0; a < at.size(); ++a)
    for (std::size_t b = 0; b < at.size(); ++b) sum += open[a][b] & static_cast<char>(at[a] < at[b]);
  return sum;
}

/// An order that covers many open pairs: the best of some that are improved by moving faces.
order find_order(pairs const& open, std::mt19937& draw) {
  order best;
  auto most = -1;
  for (auto attempt = 0; attempt < 6; ++attempt) {
    order now;
    for (std::size_t f = 0; f < faces.size(); ++f) now.insert(now.begin() + static_cast<std::ptrdiff_t>(draw() % (f + 1)), f);
    auto value = covered(now, open);
    for (auto move = 0; move < 1500; ++move) {
      auto next = now;
      auto const from = next.begin() + static_cast<std::ptrdiff_t>(draw() % next.size());
      auto const face = *from;
      next.erase(from);
      next.insert(next.begin() + static_cast<std::ptrdiff_t>(draw() % now.size()), face);
      if (auto const other = covered(next, open); other >= value) {
        now = std::move(next);
        value = other;
      }
    }
    if (value > most) {
      best = now;
      most = value;
    }
  }
  return best;
}

std::vector<order> find_orders() {
  std::mt19937 draw(1);
  pairs open(kinds.size(), std::vector<char>(kinds.size()));
  for (std::size_t a = 0; a < kinds.size(); ++a)
    for (std::size_t b = 0; b < kinds.size(); ++b) open[a][b] = (kinds[a] & ~kinds[b]) != 0;
  std::vector<order> out;
  for (auto any = true; any;) {
    out.push_back(find_order(open, draw));
    auto const at = places_in(out.back());
    any = false;
    for (std::size_t a = 0; a < at.size(); ++a)
      for (std::size_t b = 0; b < at.size(); ++b) any |= (open[a][b] &= static_cast<char>(at[a] >= at[b])) != 0;
  }
  return out;
}

}  // namespace

int main(int count, char** files) {
  read_faces();
  auto const orders = find_orders();
  for (int i = 1; i < count; ++i) {
    std::ofstream out(files[i]);
    if (static_cast<std::size_t>(i) <= orders.size())
      for (auto const face : orders[static_cast<std::size_t>(i) - 1]) out << "#include <" << faces[face] << ">\n";
  }
  if (orders.size() < static_cast<std::size_t>(count)) return 0;
  std::cerr << orders.size() << " orders are needed, and there are files for " << count - 1 << '\n';
  return 1;
}
