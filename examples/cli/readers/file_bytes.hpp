// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

// The bytes of a file: mapped where the system allows it, read otherwise, unpacked where they are gzip.

namespace ballast_cli {

/// A file as sentences call it.
[[nodiscard]] inline std::string shown_name(std::string const& name) { return name == "-" ? "standard input" : name; }

/// Read-only contents of a file; lives as long as views into it are used.
class file_bytes {
 public:
  /// Opens `name`; "-" is standard input. Throws bad_input.
  explicit file_bytes(std::string const& name);
  file_bytes(file_bytes const&) = delete;
  file_bytes& operator=(file_bytes const&) = delete;
  ~file_bytes();
  [[nodiscard]] std::string_view view() const noexcept {
    return mapped_ != nullptr ? std::string_view(mapped_, size_) : std::string_view(read_);
  }

 private:
  char const* mapped_ = nullptr;
  std::size_t size_ = 0;
  std::string read_;
};

[[nodiscard]] inline bool is_gzip(std::string_view bytes) noexcept { return bytes.starts_with("\x1f\x8b"); }

/// Unpacks all members of a gzip file. Throws bad_input, naming `name`.
[[nodiscard]] std::string gunzip(std::string_view bytes, std::string const& name);

}  // namespace ballast_cli
