// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// Runs the executable as a user does, in a folder of its own.

namespace ballast_test {

[[nodiscard]] inline std::string read_whole(std::filesystem::path const& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A working folder that is gone after the test; the program is run inside it.
class scratch {
 public:
  explicit scratch(std::filesystem::path const& around = std::filesystem::temp_directory_path()) {
    auto name = (around / "ballast-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = name;
  }
  scratch(scratch const&) = delete;
  scratch& operator=(scratch const&) = delete;
  ~scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  [[nodiscard]] std::filesystem::path operator/(std::string const& name) const { return folder_ / name; }
  void file(std::string const& name, std::string_view bytes) const {
    std::ofstream(folder_ / name, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  struct outcome {
    int code;         ///< exit code, or -1 after a crash
    std::string out;  ///< standard output
    std::string err;  ///< standard error
  };
  /// Runs a shell command; $B is the executable.
  [[nodiscard]] outcome shell(std::string const& command) const {
    auto const line = "cd '" + folder_.string() + "' && B='" BALLAST_CLI "' && { " + command + "\n} >.out 2>.err </dev/null";
    auto const status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_whole(folder_ / ".out"), read_whole(folder_ / ".err")};
  }
  [[nodiscard]] outcome ballast(std::string const& arguments) const { return shell("\"$B\" " + arguments); }

 private:
  std::filesystem::path folder_;
};

/// What `--json` prints, less the times.
[[nodiscard]] inline std::string figures(std::string const& json) { return json.substr(0, json.find(",\"seconds\"")); }

[[nodiscard]] inline std::string as_text(std::vector<std::int64_t> const& lengths) {
  std::string text;
  for (auto const length : lengths) text += std::to_string(length) + "\n";
  return text;
}

/// A .npy file, written by the book and not with the code under test.
[[nodiscard]] inline std::string npy(std::string const& descr, std::string const& shape, std::vector<std::int64_t> const& values,
                                     std::string const& fortran = "False", char version = 1) {
  auto header = "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
  auto const before = version == 1 ? 10U : 12U;
  while ((before + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  auto out = std::string("\x93NUMPY") + version + '\0';
  for (auto b = 0U; b < before - 8; ++b) out += static_cast<char>((header.size() >> (8 * b)) & 0xff);
  out += header;
  auto const size = static_cast<unsigned>(descr.back() - '0');
  for (auto const value : values)
    for (auto b = 0U; b < size; ++b)
      out += static_cast<char>((static_cast<std::uint64_t>(value) >> (8 * (descr[0] == '>' ? size - 1 - b : b))) & 0xff);
  return out;
}

}  // namespace ballast_test
