// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief Helpers to call twins conveniently: arrays that free their memory, and errors as exceptions.

namespace ballast::inline v0_2::gpu {

/// @brief Thrown if a backend reports an error; `what()` names the call and the error.
class gpu_error : public std::runtime_error {
 public:
  /// @brief Makes the exception. @param what the call @param code the backend's number of the error
  gpu_error(std::string const& what, int code) : std::runtime_error(what), code_(code) {}
  /// @brief The backend's number of the error: a `cudaError_t` or a `host_error`.
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

/// @brief Throws if a backend reported an error.
/// @param error  the result of a member of a backend or of a twin
/// @param what   name of the call, for the message
/// @throws gpu_error if `error` is not 0
template <class Error>
void check(Error error, char const* what) {
  if (error != Error{})
    throw gpu_error(std::string(what) + ": error " + std::to_string(static_cast<int>(error)) + " of the backend", static_cast<int>(error));
}

/// @brief An array in memory of a backend, allocated and freed in the order of its stream.
/// @tparam T   plain data
/// @tparam On  the backend
template <class T, class On>
class array {
 public:
  /// @brief Allocates uninitialised elements. @param on the backend @param count number of elements
  array(On on, std::size_t count) : on_(on), size_(count) {
    void* memory = nullptr;
    check(count > most ? On::invalid_value : typename On::error_type{}, "allocate");
    check(on_.allocate((count == 0 ? 1 : count) * sizeof(T), memory), "allocate");
    data_ = static_cast<T*>(memory);
  }
  /// @brief Takes over memory. @param other the array, which is empty afterwards
  array(array&& other) noexcept : on_(other.on_), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  /// @brief Exchanges memory. @param other the array that gets the memory of this one @return this array
  array& operator=(array&& other) noexcept {
    std::swap(on_, other.on_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  array(array const&) = delete;
  array& operator=(array const&) = delete;
  ~array() {
    if (data_ != nullptr) on_.release(data_);
  }
  /// @brief Reduces the number of elements; the memory is kept. @param count at most `size()`
  void shrink(std::size_t count) noexcept { size_ = count; }
  /// @brief Pointer to the first element.
  [[nodiscard]] T* data() const noexcept { return data_; }
  /// @brief Number of elements.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  static constexpr auto most = static_cast<std::size_t>((std::numeric_limits<std::ptrdiff_t>::max)()) / sizeof(T);
  On on_;
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// @brief Copies elements from memory of a backend to the host; waits.
/// @tparam T plain data @tparam On the backend
/// @param on the backend @param from pointer to the first element @param count number of elements @return the elements
/// @throws gpu_error if the backend reports an error
template <class T, class On>
[[nodiscard]] std::vector<T> fetch(On const& on, T const* from, std::size_t count) {
  std::vector<T> out(count);
  check(on.download(out.data(), from, count), "download");
  return out;
}
/// @brief Copies one element to the host; waits. @tparam T plain data @tparam On the backend @param on the backend @param from the element
/// @return the element
template <class T, class On>
[[nodiscard]] T fetch_one(On const& on, T const* from) {
  T out{};
  check(on.download(&out, from, 1), "download");
  return out;
}
/// @brief Copies all elements of an array to the host; waits. @tparam T plain data @tparam On the backend @param on the backend
/// @param from the array
/// @return the elements
template <class T, class On>
[[nodiscard]] std::vector<T> fetch(On const& on, array<T, On> const& from) {
  return fetch(on, from.data(), from.size());
}
/// @brief Copies elements from the host to a new array in memory of a backend; waits.
/// @tparam T plain data @tparam On the backend
/// @param on the backend @param values the elements @return the array
/// @throws gpu_error if the backend reports an error
template <class T, class On>
[[nodiscard]] array<T, On> send(On const& on, std::vector<T> const& values) {
  array<T, On> out(on, values.size());
  check(on.upload(out.data(), values.data(), values.size()), "upload");
  return out;
}

/// @brief Calls a twin twice, for the size of its scratch memory and for its work, with scratch memory from the backend.
///
/// @param on    the backend
/// @param what  name of the call, for the message of an error
/// @param twin  callable with `(temp, bytes)`, such as `[&](void* temp, std::size_t& bytes) { return some_twin(on, temp, bytes, …); }`
/// @throws gpu_error if either call or the allocation reports an error
template <class On, class Twin>
void call(On const& on, char const* what, Twin const& twin) {
  std::size_t bytes = 0;
  check(twin(nullptr, bytes), what);
  array<std::byte, On> const temp(on, bytes);
  check(twin(static_cast<void*>(temp.data()), bytes), what);
}

}  // namespace ballast::inline v0_2::gpu
