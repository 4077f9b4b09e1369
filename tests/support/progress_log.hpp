// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

// A progress callback that remembers how it was called.

namespace ballast_test {

struct progress_log {
  std::size_t calls = 0;
  std::uint64_t last = 0, most = 0;
  bool sound = true;  // no call told more than everything, or of nothing

  void operator()(std::uint64_t done, std::uint64_t all) {
    ++calls;
    sound = sound && all > 0 && done <= all;
    last = done;
    most = all;
  }
};

}  // namespace ballast_test
