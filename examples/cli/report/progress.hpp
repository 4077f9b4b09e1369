// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

// A line on standard error that says how far long work is, only where a person sees it: on a terminal.

namespace ballast_cli {

/// Shows "WHAT: 43 %" once work has taken half a second, and wipes the line when it ends.
class progress_line {
 public:
  explicit progress_line(std::string what, bool terminal = ::isatty(STDERR_FILENO) != 0) : what_(std::move(what)), terminal_(terminal) {}
  progress_line(progress_line const&) = delete;
  progress_line& operator=(progress_line const&) = delete;
  ~progress_line() {
    if (shown_) (void)std::fputs("\r\033[K", stderr);
  }
  /// `done` of `all`, which is not 0: a progress callback of the library.
  void operator()(std::uint64_t done, std::uint64_t all) {
    if (!terminal_) return;
    auto const now = clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds(200);
    show(": " + std::to_string(static_cast<int>(100.0 * static_cast<double>(done) / static_cast<double>(all))) + " %");
  }
  /// Shows the line without a share, at once.
  void begin() {
    if (terminal_) show(" ...");
  }

 private:
  using clock = std::chrono::steady_clock;
  void show(std::string const& how_far) {
    (void)std::fprintf(stderr, "\r\033[K%s%s", what_.c_str(), how_far.c_str());
    shown_ = true;
  }

  std::string what_;
  bool terminal_, shown_ = false;
  clock::time_point next_ = clock::now() + std::chrono::milliseconds(500);
};

}  // namespace ballast_cli
