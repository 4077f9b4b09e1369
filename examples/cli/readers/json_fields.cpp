// SPDX-License-Identifier: Apache-2.0
#include "readers/json_fields.hpp"

#include <cstring>

namespace ballast_cli {

namespace {

constexpr std::size_t deepest_scan = 32, most_keys = 64;
constexpr std::ptrdiff_t exact_digits = 18, most_digits = 300;  // of 64 bits; of a double, with room

[[nodiscard]] constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// Whether eight bytes of a string are all letters that stand for themselves: no quote, backslash, control or byte beyond ASCII.
[[nodiscard]] bool eight_plain(char const* p) noexcept {
  constexpr std::uint64_t ones = 0x0101010101010101ULL, highs = 0x8080808080808080ULL;
  std::uint64_t w = 0;
  std::memcpy(&w, p, sizeof w);
  auto const zero_in = [](std::uint64_t v) { return (v - ones) & ~v; };
  return ((zero_in(w ^ (ones * '"')) | zero_in(w ^ (ones * '\\')) | (w - ones * 0x20) | w) & highs) == 0;
}

}  // namespace

bool field_scan::operator()(std::string_view text, std::vector<std::optional<std::int64_t>>& found) {
  p_ = text.data();
  end_ = p_ + text.size();
  found.assign(fields_.names.size(), std::nullopt);
  found_ = &found;
  path_.clear();
  keys_.clear();
  turns_at_ = 0;
  conversation_ = false;
  blanks();
  if (!at('{') || !object(0, true)) return false;
  blanks();
  return p_ == end_ && std::all_of(found.begin(), found.end(), [](auto const& f) { return f.has_value(); });
}

bool field_scan::object(std::size_t depth, bool matching) {
  if (depth == deepest_scan) return false;
  ++p_;
  auto const first_key = keys_.size();
  blanks();
  if (!take('}')) {
    do {
      blanks();
      if (!at('"')) return false;
      auto const* const begin = p_ + 1;
      if (!string()) return false;
      std::string_view const key(begin, static_cast<std::size_t>(p_ - 1 - begin));
      if (key.find('\\') != std::string_view::npos || keys_.size() - first_key == most_keys) return false;
      auto const opened = keys_.begin() + static_cast<std::ptrdiff_t>(first_key);
      if (std::find(opened, keys_.end(), key) != keys_.end()) return false;
      keys_.push_back(key);
      conversation_ = conversation_ || (depth == turns_at_ && depth != 0 && is_key_of_turn(key));
      blanks();
      if (!take(':')) return false;
      blanks();
      if (!member(depth, matching)) return false;
      blanks();
    } while (take(','));
    if (!take('}')) return false;
  }
  keys_.resize(first_key);
  return true;
}

bool field_scan::member(std::size_t depth, bool matching) {
  auto const key = keys_.back();
  if (!matching) return value(depth);
  auto number = fields_.names.size();
  if (depth == 0) {
    number = fields_.number_of(key);
  } else {
    auto const before = path_.size();
    number = fields_.number_of(path_.append(key));
    path_.resize(before);
  }
  if (number < fields_.names.size()) return !(*found_)[number] && wanted_value(depth, (*found_)[number]);
  if (!at('{') || depth >= fields_.deepest) return value(depth);
  auto const before = path_.size();
  path_.append(key) += '.';
  auto const read = object(depth + 1, true);
  path_.resize(before);
  return read;
}

bool field_scan::wanted_value(std::size_t depth, std::optional<std::int64_t>& to) {
  std::int64_t read = 0;
  if (at('[')) {
    turns_at_ = fields_.turns ? 0 : depth + 2;
    auto const valid = array(depth + 1, read);
    turns_at_ = 0;
    if (!valid || conversation_) return false;
  } else {
    auto const* const first = p_;
    for (; p_ != end_ && is_digit(*p_); ++p_)
      if (p_ - first == exact_digits)
        return false;
      else
        read = read * 10 + (*p_ - '0');
    if (p_ == first || (*first == '0' && p_ - first > 1) || at('.') || at('e') || at('E')) return false;
  }
  to = read;
  return true;
}

bool field_scan::array(std::size_t depth, std::int64_t& size) {
  if (depth == deepest_scan) return false;
  ++p_;
  size = 0;
  blanks();
  if (take(']')) return true;
  do {
    blanks();
    if (!value(depth)) return false;
    ++size;
    blanks();
  } while (take(','));
  return take(']');
}

bool field_scan::value(std::size_t depth) {
  if (p_ == end_) return false;
  std::int64_t unused = 0;
  switch (*p_) {
    case '"': return string();
    case '{': return object(depth + 1, false);
    case '[': return array(depth + 1, unused);
    case 't': return word("true");
    case 'f': return word("false");
    case 'n': return word("null");
    default: return number();
  }
}

bool field_scan::word(std::string_view expected) {
  if (!std::string_view(p_, static_cast<std::size_t>(end_ - p_)).starts_with(expected)) return false;
  p_ += expected.size();
  return true;
}

bool field_scan::digits() {
  auto const* const first = p_;
  while (p_ != end_ && is_digit(*p_)) ++p_;
  return p_ != first && p_ - first <= most_digits;
}

bool field_scan::number() {
  (void)take('-');
  if (!take('0') && !digits()) return false;
  if (take('.') && !digits()) return false;
  return !at('e') && !at('E') && (p_ == end_ || !is_digit(*p_));  // an exponent may be too large for a double
}

bool field_scan::string() {
  for (++p_; p_ != end_;) {
    while (end_ - p_ >= 8 && eight_plain(p_)) p_ += 8;
    if (p_ == end_) return false;
    auto const byte = static_cast<unsigned char>(*p_);
    if (byte == '"') return ++p_, true;
    if (byte < 0x20) return false;
    if (byte == '\\') {
      if (!escape()) return false;
    } else if (byte >= 0x80) {
      if (!beyond_ascii()) return false;
    } else {
      ++p_;
    }
  }
  return false;
}

bool field_scan::escape() {
  constexpr std::ptrdiff_t unicode = 6;
  if (end_ - p_ < 2) return false;
  if (p_[1] != 'u') {
    auto const known = std::string_view("\"\\/bfnrt").find(p_[1]) != std::string_view::npos;
    p_ += 2;
    return known;
  }
  if (end_ - p_ < unicode) return false;
  if ((p_[2] == 'd' || p_[2] == 'D') && p_[3] >= '8') return false;  // perhaps half of a pair
  for (auto i = 2; i < unicode; ++i)
    if (std::string_view("0123456789abcdefABCDEF").find(p_[i]) == std::string_view::npos) return false;
  p_ += unicode;
  return true;
}

bool field_scan::beyond_ascii() {
  auto const byte = [&](std::ptrdiff_t i) { return static_cast<unsigned char>(p_[i]); };
  auto const first = byte(0);
  std::ptrdiff_t const more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
  if (first < 0xc2 || first > 0xf4 || end_ - p_ <= more) return false;
  auto const second = byte(1);  // neither longer than needed, nor half of a pair, nor beyond the last letter
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
      (first == 0xf4 && second > 0x8f))
    return false;
  for (std::ptrdiff_t i = 1; i <= more; ++i)
    if ((byte(i) & 0xc0) != 0x80) return false;
  p_ += more + 1;
  return true;
}

}  // namespace ballast_cli
