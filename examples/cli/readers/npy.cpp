// SPDX-License-Identifier: Apache-2.0
#include "readers/npy.hpp"

#include "readers/lengths.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

namespace ballast_cli {

namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::string_view whitespace = " \t\r\n";

/// What follows `key:` in the header, a Python dictionary of three known keys; `key` is in quotes.
[[nodiscard]] std::string_view value_of(std::string_view header, std::string_view key) {
  auto at = header.find(key);
  if (at == std::string_view::npos) return {};
  at = header.find_first_not_of(whitespace, at + key.size());
  if (at == std::string_view::npos || header[at] != ':') return {};
  at = header.find_first_not_of(whitespace, at + 1);
  return at == std::string_view::npos ? std::string_view{} : header.substr(at);
}

}  // namespace

npy_view::npy_view(std::string_view bytes, std::string const& name, std::size_t most_dimensions, bool floats) {
  auto const refuse = [&](std::string const& why) { throw bad_input(name + ": " + why); };
  auto const byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])); };
  auto const at = magic.size() + 2;
  std::size_t const field = bytes.size() > magic.size() && byte(magic.size()) == 1 ? 2 : 4;  // bytes that hold the header's size
  if (bytes.size() < at + field) refuse("the .npy header ends early, the file is truncated");
  if (byte(magic.size()) < 1 || byte(magic.size()) > 3) refuse("this .npy format is not 1, 2 or 3");
  std::size_t header_size = 0;
  for (std::size_t i = 0; i < field; ++i) header_size |= byte(at + i) << (8 * i);
  if (header_size > bytes.size() - at - field) refuse("the .npy header ends early, the file is truncated");
  auto const header = bytes.substr(at + field, header_size);
  auto const data = bytes.substr(at + field + header_size);

  auto descr = value_of(header, "'descr'");
  descr = descr.starts_with('\'') ? descr.substr(1, descr.find('\'', 1) - 1) : descr.substr(0, descr.find(']'));
  auto const known = descr.size() == 3 && std::string_view("<>|=").find(descr[0]) != std::string_view::npos;
  float_ = known && floats && descr[1] == 'f' && (descr[2] == '4' || descr[2] == '8');
  auto const whole = known && (descr[1] == 'i' || descr[1] == 'u') && std::string_view("1248").find(descr[2]) != std::string_view::npos;
  if (descr == "|O") refuse("holds objects, such as rows of token ids, which python -m ballast reads; write that in place of ballast");
  if (!whole && !float_)
    refuse("elements are of dtype " + printable(descr) + "; lengths are whole numbers, i1 to i8 or u1 to u8" +
           (floats ? ", or f4 or f8 without a fraction" : ""));
  big_endian_ = descr[0] == '>';
  signed_ = descr[1] == 'i';
  item_ = static_cast<std::size_t>(descr[2] - '0');
  data_ = data.data();

  auto shape = value_of(header, "'shape'");
  shape = shape.substr(0, shape.find(')'));
  for (auto digit = shape.find_first_of("0123456789"); digit != std::string_view::npos; digit = shape.find_first_of("0123456789")) {
    std::size_t extent = 0;
    auto const [stop, error] = std::from_chars(shape.data() + digit, shape.data() + shape.size(), extent);
    if (error != std::errc{} || (extent != 0 && size_ > (std::numeric_limits<std::size_t>::max)() / item_ / extent))
      refuse("the shape in the .npy header is too large");
    size_ *= extent;
    shape_.push_back(extent);
    shape = std::string_view(stop, static_cast<std::size_t>(shape.data() + shape.size() - stop));
  }
  if (shape_.empty() || shape_.size() > most_dimensions)
    refuse("the array has " + std::to_string(shape_.size()) + " dimensions; " +
           (most_dimensions == 2 ? "one or two" : std::to_string(most_dimensions)) + " are read");
  if (std::count_if(shape_.begin(), shape_.end(), [](std::size_t extent) { return extent > 1; }) > 1 &&
      !value_of(header, "'fortran_order'").starts_with("False"))
    refuse("the array is in Fortran order; save it with numpy.ascontiguousarray");
  if (data.size() != size_ * item_)
    refuse("the header announces " + std::to_string(size_ * item_) + " bytes of data and " + std::to_string(data.size()) + " follow" +
           (data.size() < size_ * item_ ? ", the file is truncated" : ""));
}

std::uint64_t npy_view::operator[](std::size_t i) const noexcept {
  auto const* const p = data_ + i * item_;
  std::uint64_t value = 0;
  for (std::size_t b = 0; b < item_; ++b) value |= std::uint64_t{static_cast<unsigned char>(p[big_endian_ ? item_ - 1 - b : b])} << (8 * b);
  if (signed_ && item_ < 8 && (value >> (8 * item_ - 1)) != 0) value |= ~std::uint64_t{0} << (8 * item_);
  return value;
}

double npy_view::real(std::size_t i) const noexcept {
  auto const bits = (*this)[i];
  return item_ == 4 ? double{std::bit_cast<float>(static_cast<std::uint32_t>(bits))} : std::bit_cast<double>(bits);
}

std::string npy_view::text(std::size_t i) const {
  if (float_) {
    char shown[32];
    (void)std::snprintf(shown, sizeof shown, "%.17g", real(i));
    return shown;
  }
  return is_negative(i) ? std::to_string(static_cast<std::int64_t>((*this)[i])) : std::to_string((*this)[i]);
}

std::string npy_header(std::string_view descr, std::span<std::size_t const> shape) {
  std::string extents;
  for (auto const extent : shape) extents += (extents.empty() ? "" : " ") + std::to_string(extent) + ",";
  if (shape.size() > 1) extents.pop_back();  // Python's tuples of one element alone end in a comma
  auto dictionary = "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (" + extents + "), }";
  auto const before = magic.size() + 4;
  dictionary.append(63 - (before + dictionary.size()) % 64, ' ') += '\n';  // the data starts at a multiple of 64
  auto const size = dictionary.size();
  return std::string(magic) + '\x01' + '\x00' + static_cast<char>(size & 0xff) + static_cast<char>(size >> 8) + dictionary;
}

void append_npy(table& out, std::string_view bytes, std::string const& name, selection const& select) {
  npy_view const in(bytes, name, 2, true);
  constexpr auto beyond = 0x1p63;
  out.begin_file(name, table::counted_by::entry);
  auto const measures = resolve_columns(select, in.columns(), {}, name);
  out.reserve_rows(in.rows());
  for (std::size_t row = 0; row < in.rows(); ++row)
    append_row(out, select.skip_zeros, row + 1, measures, [&](std::size_t column, std::size_t measure) {
      auto const i = row * in.columns() + column;
      if (in.is_float()) {
        auto const real = in.real(i);
        if (!(real >= 0 && real < beyond && real == std::floor(real))) throw not_a_value(out.place(row + 1), in.text(i), out.kind(measure));
        return static_cast<std::int64_t>(real);
      }
      auto const value = in[i];
      if (value > static_cast<std::uint64_t>(largest_length)) throw not_a_value(out.place(row + 1), in.text(i), out.kind(measure));
      return static_cast<std::int64_t>(value);
    });
}

}  // namespace ballast_cli
