// SPDX-License-Identifier: Apache-2.0
#include "report/replace.hpp"

#include "errors.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <random>
#include <span>
#include <system_error>
#include <utility>

namespace ballast_cli {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view staged_mark = ".ballast-", aside_mark = ".before-";
constexpr std::size_t name_digits = 16;

[[nodiscard]] std::string reason(int error) { return std::generic_category().message(error); }

int exchange_names([[maybe_unused]] char const* one, [[maybe_unused]] char const* other) {
#if defined(__linux__) && defined(SYS_renameat2)
  constexpr unsigned exchange = 2;  // RENAME_EXCHANGE, which not every C library declares
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, one, AT_FDCWD, other, exchange));
#else
  errno = ENOSYS;
  return -1;
#endif
}

/// A name that nobody can guess: ".plan.ballast-0123456789abcdef" beside "plan".
[[nodiscard]] std::string random_neighbour(fs::path const& target, std::string_view mark) {
  std::random_device draw;
  auto name = "." + target.filename().string() + std::string(mark);
  for (std::size_t i = 0; i < name_digits; ++i) name += "0123456789abcdef"[draw() % 16];
  return (target.parent_path() / name).string();
}

[[nodiscard]] std::vector<std::string> neighbours(fs::path const& target, std::string_view mark) {
  auto const prefix = "." + target.filename().string() + std::string(mark);
  std::vector<std::string> found;
  std::error_code error;
  auto const parent = target.parent_path();
  for (fs::directory_iterator at(parent.empty() ? "." : parent, error), end; !error && at != end; at.increment(error)) {
    auto const name = at->path().filename().string();
    if (name.size() == prefix.size() + name_digits && name.starts_with(prefix) &&
        name.find_first_not_of("0123456789abcdef", prefix.size()) == std::string::npos)
      found.push_back((parent / name).string());
  }
  return found;
}

/// Through links and without a slash at the end, so that it has neighbours.
[[nodiscard]] std::string resolved(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  std::error_code error;
  auto const whole = fs::weakly_canonical(path, error);
  return error ? path : whole.string();
}

/// Whether two names, of files that need not be there, are names of one file.
[[nodiscard]] bool one_file(fs::path const& one, fs::path const& other) {
  auto const folder = [](fs::path const& of) { return of.has_parent_path() ? of.parent_path() : fs::path("."); };
  std::error_code error;
  return one.filename() == other.filename() && fs::equivalent(folder(one), folder(other), error);
}

/// What has a name, and on which device; nothing if the name is free.
[[nodiscard]] std::optional<std::pair<dev_t, ino_t>> identity(std::string const& path) {
  struct stat about{};
  return ::lstat(path.c_str(), &about) == 0 ? std::optional(std::pair(about.st_dev, about.st_ino)) : std::nullopt;
}
[[nodiscard]] bool exists(std::string const& path) { return identity(path).has_value(); }

/// Whether `path` is what is open as `fd`.
[[nodiscard]] bool is_open_as(std::string const& path, int fd) {
  struct stat one{}, other{};
  return ::lstat(path.c_str(), &one) == 0 && ::fstat(fd, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/// Opens and locks; -1 where another process holds the lock, or there is nothing, or nothing can be locked there.
[[nodiscard]] int open_locked(std::string const& path) {
  auto const fd = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd >= 0 && ::flock(fd, LOCK_EX | LOCK_NB) == 0 && is_open_as(path, fd)) return fd;
  if (fd >= 0) ::close(fd);
  return -1;
}

/// The name of something else in a folder; nothing if there is nothing else.
[[nodiscard]] std::optional<std::string> other_than(std::span<std::string_view const> names, std::string const& folder) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    auto const name = at->path().filename().string();
    if (std::find(names.begin(), names.end(), name) == names.end()) return name;
  }
  return std::nullopt;
}

/// Removes a file, or a folder that holds nothing but files of these names.
void remove_ours(std::string const& path, std::span<std::string_view const> names) {
  std::error_code error;
  if (fs::is_directory(fs::symlink_status(path, error))) {
    if (other_than(names, path)) return;
    for (auto const name : names) fs::remove(path + "/" + std::string(name), error);
  }
  fs::remove(path, error);
}

/// Removes what interrupted runs left of `target`; what is locked is of a run that goes on.
void sweep(std::string const& target, std::string_view mark, std::span<std::string_view const> names) {
  for (auto const& old : neighbours(target, mark)) {
    auto const fd = open_locked(old);
    if (fd < 0) continue;
    remove_ours(old, names);
    ::close(fd);
  }
}

/// Makes a file (opened for writing) or a folder beside `target`, exclusively, and locks it. Returns what is open, or -1 and errno.
[[nodiscard]] int make_neighbour(std::string const& target, bool folder, std::string& made) {
  for (int tries = 0; tries < 100; ++tries) {
    made = random_neighbour(target, staged_mark);
    auto fd = -1;
    if (!folder) {
      fd = ::open(made.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    } else if (::mkdir(made.c_str(), 0777) == 0) {
      fd = ::open(made.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      if (fd < 0 && errno == ENOENT) continue;
    }
    if (fd < 0 && errno == EEXIST) continue;
    if (fd < 0) return -1;
    auto const locked = ::flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;  // a file system without locks is never swept
    if (locked && is_open_as(made, fd)) return fd;
    ::close(fd);  // another run took it for a leftover before it was locked
  }
  errno = EEXIST;
  return -1;
}

/// Brings all to the disk; 0, or the error. Pipes, devices and some file systems have nothing to bring.
[[nodiscard]] int synchronise(int fd) { return ::fsync(fd) == 0 || errno == EINVAL || errno == EROFS ? 0 : errno; }

/// Brings the names of a folder to the disk, as far as the system lets us.
void synchronise_parent(std::string const& path) {
  auto const parent = fs::path(path).parent_path().string();
  auto const fd = ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  (void)::fsync(fd);
  ::close(fd);
}

/// What is new has the permissions of what it replaces.
void copy_mode(std::string const& from, int fd) {
  struct stat about{};
  if (::stat(from.c_str(), &about) == 0) (void)::fchmod(fd, about.st_mode & 07777U);
}

[[nodiscard]] bool is_working_folder(std::string const& path) {
  struct stat one{}, other{};
  return ::stat(path.c_str(), &one) == 0 && ::stat(".", &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/// Refuses a folder that holds what is not ours.
void require_ours(std::string const& path, folder_kind const& kind, std::string const& folder) {
  if (auto const other = other_than(kind.names, folder))
    throw bad_input(path + ": the folder holds " + printable(*other) +
                    ", which ballast did not write, and a plan replaces its folder as a whole; name another folder, or one inside it");
}

/// Throws unless there is a complete plan of ours or an empty folder.
void require_plan_at(std::string const& target, std::string const& path, folder_kind const& kind) {
  std::error_code error;
  if (!fs::is_directory(target, error)) throw cannot_write(path + ": the folder cannot be made: " + reason(ENOTDIR));
  if (is_working_folder(target))
    throw bad_input(path + ": is the working folder, which cannot be replaced as a whole; name a folder inside it");
  require_ours(path, kind, target);
  if (!fs::is_empty(target, error) && !error && !kind.is_one(target))
    throw bad_input(path + ": the folder holds files, but no plan.json that vouches for them; remove them or name another folder");
}

}  // namespace

rename_calls const system_renames{std::rename, exchange_names};

int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    auto const put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return 0;
}

file_set::~file_set() {
  for (auto const& f : files_) {
    if (!f.made.empty()) ::unlink(f.made.c_str());
    if (f.fd >= 0) ::close(f.fd);
  }
}

void file_set::add(std::string const& path, std::string_view bytes) {
  auto const fail = [&](int error) { throw cannot_write(path + ": cannot be written: " + reason(error)); };
  auto const target = resolved(path);
  struct stat about{};
  auto const there = ::stat(target.c_str(), &about) == 0;
  if (there && S_ISDIR(about.st_mode)) fail(EISDIR);
  if (there && ::access(target.c_str(), W_OK) != 0) fail(errno);
  if (there && !S_ISREG(about.st_mode)) {
    files_.push_back({path, target, {}, std::string(bytes), -1});
    return;
  }
  for (auto const& other : files_)
    if (other.fd >= 0 && one_file(other.target, target))
      throw bad_input(path + ": two outputs are to be written to this file; name another one for each");
  sweep(target, staged_mark, {});
  auto& f = files_.emplace_back(staged_file{path, target, {}, {}, -1});
  f.fd = make_neighbour(target, false, f.made);
  if (f.fd < 0) {
    auto const error = errno;
    f.made.clear();
    fail(error);
  }
  auto error = write_all(f.fd, bytes);
  if (error == 0) error = synchronise(f.fd);
  copy_mode(target, f.fd);
  if (error != 0) fail(error);
}

void file_set::commit() {
  auto const fail = [](staged_file const& f, int error) { throw cannot_write(f.path + ": cannot be written: " + reason(error)); };
  for (auto const& f : files_) {
    if (f.fd >= 0) continue;
    auto const fd = ::open(f.target.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) fail(f, errno);
    auto error = write_all(fd, f.bytes);
    if (error == 0) error = synchronise(fd);
    if (::close(fd) != 0 && error == 0) error = errno;
    if (error != 0) fail(f, error);
  }
  for (auto& f : files_) {
    if (f.fd < 0) continue;
    if (std::rename(f.made.c_str(), f.target.c_str()) != 0) fail(f, errno);
    f.made.clear();
    synchronise_parent(f.target);
  }
}

void replace_file(std::string const& path, std::string_view bytes) {
  file_set one;
  one.add(path, bytes);
  one.commit();
}

void require_replaceable(std::string const& path, folder_kind const& kind) {
  auto const target = resolved(path);
  for (int tries = 1;; ++tries) {
    auto const seen = identity(target);
    if (!seen) return;
    try {
      return require_plan_at(target, path, kind);
    } catch (...) {  // another run may have replaced the folder while it was looked at
      if (tries == 100 || (tries > 3 && identity(target) == seen)) throw;
    }
  }
}

std::optional<std::string> set_aside_beside(std::string const& path) {
  auto const target = resolved(path);
  if (exists(target)) return std::nullopt;
  auto const aside = neighbours(target, aside_mark);
  return aside.empty() ? std::nullopt : std::optional(aside.front());
}

folder_writer::folder_writer(std::string path, folder_kind const& kind, rename_calls const& calls)
    : path_(std::move(path)), target_(resolved(path_)), kind_(kind), calls_(calls) {
  if (auto const aside = set_aside_beside(path_)) restored_ = calls_.move(aside->c_str(), target_.c_str()) == 0;
  require_replaceable(path_, kind_);
  std::error_code error;
  auto const parent = fs::path(target_).parent_path();
  if (!parent.empty()) fs::create_directories(parent, error);
  if (error) fail("the folder cannot be made", error.value());
  auto const there = exists(target_);
  if (there && ::access(target_.c_str(), R_OK | W_OK | X_OK) != 0 && errno != ENOENT) fail("cannot be written", errno);
  sweep(target_, staged_mark, kind_.names);
  if (there) sweep(target_, aside_mark, kind_.names);
  fd_ = make_neighbour(target_, true, staged_);
  if (fd_ < 0) fail(there ? "is replaced as a whole, and the folder around it cannot be written" : "the folder cannot be made", errno);
}

folder_writer::~folder_writer() {
  if (!staged_.empty()) remove_ours(staged_, kind_.names);
  if (fd_ >= 0) ::close(fd_);
}

void folder_writer::fail(std::string const& what, int error) const { throw cannot_write(path_ + ": " + what + ": " + reason(error)); }

void folder_writer::add(folder_file const& file) {
  auto const fd = ::openat(fd_, file.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  auto error = fd < 0 ? errno : write_all(fd, file.header);
  if (error == 0) error = write_all(fd, file.bytes);
  if (error == 0) error = synchronise(fd);
  if (fd >= 0 && ::close(fd) != 0 && error == 0) error = errno;
  if (error != 0) throw cannot_write(path_ + "/" + file.name + ": cannot be written: " + reason(error));
}

void folder_writer::commit() {
  auto const stuck = [&](int error) {
    fail(error == EBUSY || error == EXDEV ? "cannot be replaced as a whole, so name a folder inside it" : "cannot be replaced", error);
  };
  copy_mode(target_, fd_);
  if (auto const error = synchronise(fd_); error != 0) fail("cannot be written", error);
  for (int tries = 0; tries < 1000; ++tries) {
    if (calls_.exchange(staged_.c_str(), target_.c_str()) == 0) {
      take_out(staged_, calls_.exchange);
      return synchronise_parent(target_);
    }
    auto error = errno;
    std::string aside;
    if (error == ENOSYS || error == EINVAL || error == EOPNOTSUPP) {
      aside = random_neighbour(target_, aside_mark);
      if (calls_.move(target_.c_str(), aside.c_str()) == 0)
        take_out(aside, calls_.move);
      else if (error = errno; error == ENOENT)
        aside.clear();
      else
        stuck(error);
    } else if (error != ENOENT) {
      stuck(error);
    }
    if (calls_.move(staged_.c_str(), target_.c_str()) == 0) {
      staged_ = std::move(aside);  // the old one, to be removed
      return synchronise_parent(target_);
    }
    error = errno;
    auto const another = error == ENOTEMPTY || error == EEXIST;  // a plan that was written meanwhile
    if (!another && !aside.empty()) (void)calls_.move(aside.c_str(), target_.c_str());
    if (!another) stuck(error);
    if (!aside.empty()) remove_ours(aside, kind_.names);
  }
  stuck(EBUSY);
}

void folder_writer::take_out(std::string const& old, int (*back)(char const*, char const*)) {
  if (!exists(old)) return;
  try {
    require_ours(path_, kind_, old);
  } catch (bad_input const&) {
    (void)back(old.c_str(), target_.c_str());
    throw;
  }
}

}  // namespace ballast_cli
