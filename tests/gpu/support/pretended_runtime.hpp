// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <map>
#include <string>

/// @file
/// @brief What launch_rules.cpp is linked with instead of the CUDA runtime: it judges launches by the documented limits of shared memory
/// and runs nothing.

namespace ballast_test {

/// @brief The shared memory of a device of compute capability 9.0.
///
/// The driver keeps 1 KiB of it for each block. cuobjdump lists that KiB as static memory of every kernel, and ptxas does not. Which of the
/// two the runtime counts is for a device to show, so launches must keep the rules both ways.
struct pretended_runtime {
  static constexpr std::size_t usual = 48 * 1024;  ///< bytes of a block, if no more is granted
  static constexpr std::size_t most = 227 * 1024;  ///< bytes of a block, if that is granted
  std::size_t statically = 0;                      ///< static bytes of every kernel
  std::map<void const*, std::size_t> granted;      ///< dynamic bytes that a kernel may have, where it was asked for
  std::size_t launches = 0;                        ///< number of launches that kept the rules
  std::string broken;                              ///< the first rule that was broken
  /// @brief The device of the program.
  static pretended_runtime& get();
  /// @brief Dynamic bytes that a kernel may have. @param kernel the kernel
  [[nodiscard]] std::size_t limit(void const* kernel) const {
    auto const found = granted.find(kernel);
    return found == granted.end() ? usual - statically : found->second;
  }
};

}  // namespace ballast_test
