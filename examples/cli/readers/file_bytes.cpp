// SPDX-License-Identifier: Apache-2.0
#include "readers/file_bytes.hpp"

#include "errors.hpp"

#include <zlib.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>

namespace ballast_cli {

namespace {

struct descriptor {
  int fd;
  bool owned;
  ~descriptor() {
    if (owned && fd >= 0) ::close(fd);
  }
};

[[noreturn]] void cannot_read(std::string const& name, int error) { throw bad_input(name + ": cannot be read: " + std::strerror(error)); }

}  // namespace

file_bytes::file_bytes(std::string const& name) {
  auto const standard = name == "-";
  descriptor const file{standard ? STDIN_FILENO : ::open(name.c_str(), O_RDONLY | O_CLOEXEC), !standard};
  auto const shown = shown_name(name);
  struct stat about{};
  if (file.fd < 0 || ::fstat(file.fd, &about) != 0) cannot_read(shown, errno);
  if (S_ISDIR(about.st_mode)) throw bad_input(shown + ": is a directory, not a file of lengths");
  if (!standard && S_ISREG(about.st_mode) && about.st_size > 0) {
    size_ = static_cast<std::size_t>(about.st_size);
    if (auto* const at = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.fd, 0); at != MAP_FAILED) {
      (void)::madvise(at, size_, MADV_SEQUENTIAL);
      mapped_ = static_cast<char const*>(at);
      return;
    }
  }
  std::size_t used = 0;  // pipes, devices, files without a size
  for (;;) {
    if (used == read_.size()) read_.resize((std::max)(std::size_t{1} << 16, 2 * used));
    auto const got = ::read(file.fd, read_.data() + used, read_.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) cannot_read(shown, errno);
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
  }
  read_.resize(used);
}

file_bytes::~file_bytes() {
  if (mapped_ != nullptr) ::munmap(const_cast<char*>(mapped_), size_);
}

std::string gunzip(std::string_view bytes, std::string const& name) {
  constexpr std::size_t chunk = std::size_t{1} << 16;
  std::string out;
  z_stream stream{};
  if (::inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) throw std::bad_alloc();
  auto const end = [](z_stream* s) { ::inflateEnd(s); };
  std::unique_ptr<z_stream, decltype(end)> const guard(&stream, end);
  std::size_t used = 0;
  for (auto more = true; more;) {
    auto const in = (std::min)(bytes.size() - used, static_cast<std::size_t>((std::numeric_limits<uInt>::max)()));
    stream.next_in = const_cast<Bytef*>(reinterpret_cast<Bytef const*>(bytes.data() + used));
    stream.avail_in = static_cast<uInt>(in);
    auto const at = out.size();
    out.resize(at + (std::max)(chunk, at));
    auto const room = (std::min)(out.size() - at, static_cast<std::size_t>((std::numeric_limits<uInt>::max)()));
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + at);
    stream.avail_out = static_cast<uInt>(room);
    auto const result = ::inflate(&stream, Z_NO_FLUSH);
    used += in - stream.avail_in;
    out.resize(at + (room - stream.avail_out));
    if (result == Z_STREAM_END) {  // another member may follow, or zeros up to the end of a block
      more = is_gzip(bytes.substr(used));
      if (!more && bytes.find_first_not_of('\0', used) != std::string_view::npos)
        throw bad_input(name + ": bytes that are not gzip follow the gzip data");
      ::inflateReset(&stream);
    } else if (result == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      throw bad_input(name + ": the gzip data is damaged");
    } else if (used == bytes.size() && stream.avail_out != 0) {
      throw bad_input(name + ": the gzip data ends early, the file is truncated");
    }
  }
  return out;
}

}  // namespace ballast_cli
