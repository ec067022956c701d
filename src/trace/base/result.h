// A value or an error: the result of functions that can fail for reasons outside the program.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace tare {

enum class ErrorKind : std::uint8_t {
#define TARE_ERROR(id, status, meaning) id,
#include "trace/base/errors.def"
};

constexpr int exit_status(ErrorKind kind) {
  switch (kind) {
#define TARE_ERROR(id, status, meaning) \
  case ErrorKind::id:                   \
    return status;
#include "trace/base/errors.def"
  }
  return 70;
}

// `message` is one line for users: what happened, to which file or address, what to do next.
struct Error {
  ErrorKind kind;
  std::string message;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

using Status = Result<std::monostate>;
inline Status ok() { return std::monostate{}; }

}  // namespace tare
