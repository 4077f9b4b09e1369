// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Writing that never leaves half a file, or half a folder, under the name that was asked for. What is not complete lies beside that
// name under a random one, and is locked while its writer lives, so that the next run can tell it from what an interrupted run left.

namespace ballast_cli {

/// Writes to what is open, however many calls it takes. Returns 0, or the error that stopped it.
[[nodiscard]] int write_all(int fd, std::string_view bytes);

/// Files that take their names together, when all of them are complete, so that a run that fails leaves none. Devices and pipes, which have
/// no other name to be written under, are written first then.
class file_set {
 public:
  file_set() = default;
  file_set(file_set const&) = delete;
  file_set& operator=(file_set const&) = delete;
  ~file_set();  ///< removes what has not taken its name
  /// Writes a file beside its name. Throws cannot_write, and bad_input where another file of the set has that name.
  void add(std::string const& path, std::string_view bytes);
  /// Throws cannot_write.
  void commit();

 private:
  struct staged_file {
    std::string path, target, made, bytes;  // as it was given; without links; under which name it is; of a device or a pipe, its bytes
    int fd;                                 // -1 for a device or a pipe
  };
  std::vector<staged_file> files_;
};

/// Writes a file that takes its name when it is complete; devices and pipes are written directly. Throws cannot_write.
void replace_file(std::string const& path, std::string_view bytes);

/// How names change: as rename(2), and as renameat2(2) with RENAME_EXCHANGE. Tests give others, to stop between two calls.
struct rename_calls {
  int (*move)(char const* from, char const* to);
  int (*exchange)(char const* one, char const* other);  ///< -1 and ENOSYS or EINVAL where the system has no such call
};
extern rename_calls const system_renames;

/// A file of a folder: a header and what follows it, which the caller keeps.
struct folder_file {
  std::string name, header;
  std::string_view bytes;
};

/// The folders that may be replaced: empty ones, and those that hold nothing but what we write.
struct folder_kind {
  std::span<std::string_view const> names;    ///< all that one may hold; nothing else is ever removed
  bool (*is_one)(std::string const& folder);  ///< whether the files of one that is not empty are ours, or only have such names
};

/// A folder under construction, which takes its name as a whole: a reader, whenever it looks and whenever the writer is killed, finds the
/// complete old folder, the complete new one or, where two names cannot be exchanged, for a moment neither, with the old one beside.
class folder_writer {
 public:
  /// Makes a folder beside `path`; first it brings back or removes what interrupted runs left there. Throws cannot_write, and bad_input
  /// where the folder may not be replaced, as all members do.
  folder_writer(std::string path, folder_kind const& kind, rename_calls const& calls = system_renames);
  folder_writer(folder_writer const&) = delete;
  folder_writer& operator=(folder_writer const&) = delete;
  ~folder_writer();  ///< removes what is not wanted any more: the old folder or, without a commit, the new one
  void add(folder_file const& file);
  void commit();
  [[nodiscard]] bool restored() const noexcept { return restored_; }  ///< whether an old folder was brought back

 private:
  [[noreturn]] void fail(std::string const& what, int error) const;
  /// Looks at the old folder once it is out of the way, and puts it back where something of others came into it meanwhile.
  void take_out(std::string const& old, int (*back)(char const*, char const*));

  std::string path_, target_, staged_;  // as it was given; without links; the folder under construction, later the old one
  folder_kind kind_;
  rename_calls const& calls_;
  int fd_ = -1;
  bool restored_ = false;
};

/// Refuses a folder that may not be replaced, the working folder among them, by bad_input; a file of that name by cannot_write.
void require_replaceable(std::string const& path, folder_kind const& kind);

/// Where an interrupted run set the folder of this name aside; nothing where it did not.
[[nodiscard]] std::optional<std::string> set_aside_beside(std::string const& path);

}  // namespace ballast_cli
