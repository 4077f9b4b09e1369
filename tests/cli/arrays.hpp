// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "program.hpp"

#include "support/catch.hpp"

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace ballast_test {

/// The elements of a one-dimensional little-endian array that the program wrote.
template <class T>
[[nodiscard]] std::vector<T> read_npy(std::filesystem::path const& path, std::string const& descr) {
  auto const bytes = read_whole(path);
  auto const data = 10U + static_cast<unsigned char>(bytes.at(8)) + 256U * static_cast<unsigned char>(bytes.at(9));
  CHECK(data % 64 == 0);
  CHECK(bytes.find("'descr': '" + descr + "'") < data);
  std::vector<T> values((bytes.size() - data) / sizeof(T));
  CHECK(bytes.find("'shape': (" + std::to_string(values.size()) + ",)") < data);
  std::memcpy(values.data(), bytes.data() + data, values.size() * sizeof(T));
  return values;
}

}  // namespace ballast_test
