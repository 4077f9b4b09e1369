// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

// Writing that never leaves half a file under the name that was asked for.

namespace ballast_cli {

/// A file that takes its name only when it is complete; devices and pipes are written directly.
class output_file {
 public:
  /// Opens a temporary neighbour of `path`. Throws cannot_write, as all members do.
  explicit output_file(std::string path);
  output_file(output_file const&) = delete;
  output_file& operator=(output_file const&) = delete;
  ~output_file();  ///< removes what was not committed
  void write(std::string_view bytes);
  void finish();  ///< brings all bytes to the disk
  void commit();  ///< gives the finished file its name

 private:
  [[noreturn]] void fail(int error) const;
  std::string path_, written_to_;
  int fd_ = -1;
  bool committed_ = false;
};

/// Writes all of `text` to standard output. Throws cannot_write.
void write_standard_output(std::string_view text);

/// 1234567 as "1,234,567".
[[nodiscard]] std::string grouped(std::uint64_t value);
/// A share as "96.97 %", rounded down where rounding to nearest would claim 100 %.
[[nodiscard]] std::string percent(double share);
/// A share as "0.02 %", rounded up, for what is promised not to be exceeded.
[[nodiscard]] std::string percent_up(double share);

}  // namespace ballast_cli
