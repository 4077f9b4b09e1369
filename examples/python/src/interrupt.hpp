// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <exception>
#include <future>
#include <memory>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace ballast_python {

/// What a thread works on. It is destroyed with the GIL held, because its body may keep objects of Python.
class job {
 public:
  virtual ~job() = default;
  std::stop_source stop;
  std::atomic<bool> ended = false;

 protected:
  job() = default;
};

/// Jobs whose callers were interrupted before they ended. What is left of them at exit is left to the system.
inline std::vector<std::unique_ptr<job>>& left_behind() {
  static auto& jobs = *new std::vector<std::unique_ptr<job>>;  // NOLINT(cppcoreguidelines-owning-memory)
  return jobs;
}

/// Runs `body()`, or `body(stop_token)`, on a thread of its own, without the GIL. On Ctrl-C it is asked to stop, and KeyboardInterrupt is
/// raised; a body that does not stop soon is left behind, so it owns all that it reads, and nobody else sees what it writes.
template <class Body>
auto interruptible(Body&& given) {
  using body_type = std::remove_cvref_t<Body>;
  struct body_job final : job {
    explicit body_job(Body&& b) : body(std::forward<Body>(b)) {}
    auto operator()() {
      if constexpr (std::invocable<body_type&, std::stop_token>)
        return body(stop.get_token());
      else
        return body();
    }
    body_type body;
  };
  using namespace std::chrono_literals;
  std::erase_if(left_behind(), [](auto const& before) { return before->ended.load(); });
  auto work = std::make_unique<body_job>(std::forward<Body>(given));
  std::promise<decltype((*work)())> promise;
  auto result = promise.get_future();
  std::thread([job = work.get(), promise = std::move(promise)]() mutable {
    try {
      auto out = (*job)();
      job->ended = true;  // and not looked at any more
      promise.set_value(std::move(out));
    } catch (...) {
      job->ended = true;
      promise.set_exception(std::current_exception());
    }
  }).detach();
  auto const ready_after = [&](std::chrono::milliseconds time) {
    nanobind::gil_scoped_release const free;
    return result.wait_for(time) == std::future_status::ready;
  };
  while (!ready_after(50ms)) {
    if (PyErr_CheckSignals() == 0) continue;
    nanobind::python_error const raised;
    work->stop.request_stop();
    static_cast<void>(ready_after(200ms));
    left_behind().push_back(std::move(work));
    throw raised;
  }
  return result.get();
}

/// Runs `body()` without the GIL, to its end.
template <class Body>
auto without_gil(Body const& body) {
  nanobind::gil_scoped_release const free;
  return body();
}

/// Runs a body that takes `items`: where they are few, it ends before any Ctrl-C matters, and a thread would take longer than it.
template <class Body>
auto interruptible(std::size_t items, Body const& body) {
  return items < 4096 ? without_gil(body) : interruptible(Body(body));
}

}  // namespace ballast_python
