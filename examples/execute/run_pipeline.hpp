// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/pipeline/tasks.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

// Stages of a pipeline as threads, each of which does its tasks in order and waits for what other stages send.

namespace execute {

/// What stages send each other: activations forwards, gradients backwards. If all of them wait, none will ever be woken: that is an error.
template <class Message>
class mailbox {
 public:
  using key = std::tuple<bool, std::uint32_t, std::uint32_t>;  // backwards?, micro-batch, the virtual stage that gets it
  explicit mailbox(std::size_t stages) : wants_(stages), working_(stages) {}

  void put(key const& to, Message message) {
    std::lock_guard const lock(mutex_);
    sent_.insert_or_assign(to, std::move(message));
    changed_.notify_all();
  }
  Message take(std::size_t stage, key const& from) {
    std::unique_lock lock(mutex_);
    wants_[stage] = from;
    notice();
    changed_.wait(lock, [&] { return stuck_ || sent_.contains(from); });
    if (!sent_.contains(from))
      throw std::runtime_error("stage " + std::to_string(stage) + " waits for ever for micro-batch " + std::to_string(std::get<1>(from)));
    wants_[stage].reset();
    return std::move(sent_.extract(from).mapped());
  }
  void leave(std::size_t stage) {
    std::lock_guard const lock(mutex_);
    wants_[stage].reset();
    --working_;
    notice();
  }

 private:
  void notice() {
    auto const waiting = std::count_if(wants_.begin(), wants_.end(), [&](auto const& w) { return w && !sent_.contains(*w); });
    if (working_ == 0 || static_cast<std::size_t>(waiting) < working_) return;
    stuck_ = true;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<key, Message> sent_;
  std::vector<std::optional<key>> wants_;  // what each waiting stage waits for
  std::size_t working_;
  bool stuck_ = false;
};

/// Runs the tasks of each stage on a thread of its own. `forward(stage, task, input)` and `backward(stage, task, gradient)` return what the
/// next or previous virtual stage gets; `weight(stage, task)` is the weight part of a split backward pass.
/// @throws std::runtime_error if stages wait for ever, and what the calls throw
template <class Message, class Forward, class Backward, class Weight>
void run_pipeline(std::vector<std::vector<ballast::pipeline_task>> const& tasks, std::size_t virtual_stages, Forward const& forward,
                  Backward const& backward, Weight const& weight) {
  mailbox<Message> mail(tasks.size());
  std::vector<std::exception_ptr> failed(tasks.size());
  auto const run = [&](std::size_t stage) {
    try {
      for (auto const& task : tasks[stage]) {
        auto const k = task.virtual_stage;
        if (task.pass == ballast::pipeline_pass::forward) {
          auto out = forward(stage, task, k == 0 ? Message{} : mail.take(stage, {false, task.micro_batch, k}));
          if (k + 1 < virtual_stages) mail.put({false, task.micro_batch, k + 1}, std::move(out));
        } else if (task.pass == ballast::pipeline_pass::weight) {
          weight(stage, task);
        } else {
          auto out = backward(stage, task, k + 1 == virtual_stages ? Message{} : mail.take(stage, {true, task.micro_batch, k}));
          if (k > 0) mail.put({true, task.micro_batch, k - 1}, std::move(out));
        }
      }
    } catch (...) {
      failed[stage] = std::current_exception();
    }
    mail.leave(stage);
  };
  std::vector<std::thread> threads;
  for (std::size_t s = 0; s < tasks.size(); ++s) threads.emplace_back(run, s);
  for (auto& t : threads) t.join();
  for (auto const& each : failed)
    if (each) std::rethrow_exception(each);
}

}  // namespace execute
