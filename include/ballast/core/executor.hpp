// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

/// @file
/// @brief Executors for the passes that are worth running in parallel. The result does not depend on the executor.

namespace ballast::inline v0_2 {

/// @brief Executes every task on the calling thread, in order.
struct serial {
  /// @brief Executes `body(0) … body(count - 1)`. @param count number of tasks @param body callable with a task number
  template <class Body>
  void operator()(std::size_t count, Body const& body) const {
    for (std::size_t task = 0; task < count; ++task) body(task);
  }
  /// @brief Number of tasks that run at the same time: 1.
  [[nodiscard]] std::size_t width() const noexcept { return 1; }
};

/// @brief Executes tasks on `width` threads, which start with the call and are joined before it returns. The first exception is rethrown.
class threads {
 public:
  /// @brief Uses `width` threads, the calling one included. @param width number of threads; 0 means one for each hardware thread
  explicit threads(std::size_t width = 0)
      : width_(width != 0 ? width : (std::max)(std::size_t{1}, std::size_t{std::thread::hardware_concurrency()})) {}
  /// @brief Executes `body(0) … body(count - 1)`. @param count number of tasks @param body callable with a task number, thread-safe
  template <class Body>
  void operator()(std::size_t count, Body const& body) const {
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex guard;
    auto const work = [&] {
      for (std::size_t task; (task = next.fetch_add(1)) < count;) {
        try {
          body(task);
        } catch (...) {
          std::lock_guard const lock(guard);
          if (!failure) failure = std::current_exception();
        }
      }
    };
    {
      std::vector<std::jthread> helpers;
      for (std::size_t t = 1; t < width_ && t < count; ++t) helpers.emplace_back(work);
      work();
    }
    if (failure) std::rethrow_exception(failure);
  }
  /// @brief Number of tasks that run at the same time.
  [[nodiscard]] std::size_t width() const noexcept { return width_; }

 private:
  std::size_t width_;
};

static_assert(executor<serial> && executor<threads>);

}  // namespace ballast::inline v0_2
