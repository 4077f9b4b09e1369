// SPDX-License-Identifier: Apache-2.0
#include "output.hpp"

#include "errors.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <utility>

namespace ballast_cli {

namespace {

/// 0, or the error that stopped it.
[[nodiscard]] int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    auto const put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return 0;
}

}  // namespace

output_file::output_file(std::string path) : path_(std::move(path)), written_to_(path_) {
  struct stat about{};
  auto const direct = ::stat(path_.c_str(), &about) == 0 && !S_ISREG(about.st_mode);
  if (!direct) written_to_ += ".tmp" + std::to_string(::getpid());
  fd_ = ::open(written_to_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd_ < 0) fail(errno);
  committed_ = direct;
}

output_file::~output_file() {
  if (fd_ >= 0) ::close(fd_);
  if (!committed_) ::unlink(written_to_.c_str());
}

void output_file::fail(int error) const { throw cannot_write(path_ + ": cannot be written: " + std::strerror(error)); }

void output_file::write(std::string_view bytes) {
  if (auto const error = write_all(fd_, bytes); error != 0) fail(error);
}

void output_file::finish() {
  if (::fsync(fd_) != 0 && errno != EINVAL && errno != EROFS) fail(errno);  // EINVAL, EROFS: a pipe or device
  if (::close(std::exchange(fd_, -1)) != 0) fail(errno);
}

void output_file::commit() {
  if (committed_) return;
  if (std::rename(written_to_.c_str(), path_.c_str()) != 0) fail(errno);
  committed_ = true;
}

void write_standard_output(std::string_view text) {
  if (auto const error = write_all(STDOUT_FILENO, text); error != 0)
    throw cannot_write(std::string("standard output: cannot be written: ") + std::strerror(error));
}

std::string grouped(std::uint64_t value) {
  auto digits = std::to_string(value);
  for (auto at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

std::string percent(double share) {
  auto const shown = share < 1.0 && share > 0.9999 ? 0.9999 : share;
  char text[32];
  (void)std::snprintf(text, sizeof text, "%.2f %%", 100.0 * shown);
  return text;
}

std::string percent_up(double share) { return percent(std::ceil(share * 1e4) / 1e4); }

}  // namespace ballast_cli
