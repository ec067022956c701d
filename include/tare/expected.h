// tare/expected.h: a value, or the reason why there is none: the result of the library's functions that can fail.
//
//   tare::Expected<tare::Cage, tare::CageError> made = tare::Cage::reserve({});
//   if (!made) return complain(tare::describe(made.error()));
//   tare::Cage cage = std::move(*made);
//
// It has std::expected's (C++23) names and meanings, but no exceptions: value() without a value ends the program with a
// message. An Error is an enum class whose None is 0, with describe(error), one English sentence in static storage.
// Ignoring a result causes a warning.
//
// Types with a null value aren't wrapped: a null Atom, Bytes or pointer means failure. Functions that only succeed or
// fail return a [[nodiscard]] bool.
//
// As thread-safe as the value. Nothing allocates or throws, except moves of the value.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include "tare/internal/export.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI {

// Ends the program with a message that has the reason.
[[noreturn]] TARE_API void stop_without_value(const char* reason) noexcept;

template <class T, class Error>
class [[nodiscard]] Expected {
 public:
  using value_type = T;
  using error_type = Error;

  Expected(T value) noexcept(std::is_nothrow_move_constructible_v<T>)  // NOLINT(google-explicit-constructor)
      : value_(std::move(value)) {}
  // error mustn't be None.
  Expected(Error error) noexcept : error_(error) {}  // NOLINT(google-explicit-constructor): as std::unexpected

  bool has_value() const noexcept { return error_ == Error::None; }
  explicit operator bool() const noexcept { return has_value(); }
  // None if there is a value.
  Error error() const noexcept { return error_; }

  T& value() & noexcept {
    check();
    return value_;
  }
  const T& value() const& noexcept {
    check();
    return value_;
  }
  T&& value() && noexcept {
    check();
    return std::move(value_);
  }
  T& operator*() & noexcept { return value(); }
  const T& operator*() const& noexcept { return value(); }
  T&& operator*() && noexcept { return std::move(*this).value(); }
  T* operator->() noexcept { return &value(); }
  const T* operator->() const noexcept { return &value(); }
  // The value, or `other`.
  template <std::convertible_to<T> Other>
  T value_or(Other&& other) && {
    return has_value() ? std::move(value_) : static_cast<T>(std::forward<Other>(other));
  }

 private:
  void check() const noexcept {
    if (!has_value()) [[unlikely]]
      stop_without_value(describe(error_));
  }

  T value_{};
  Error error_ = Error::None;
};

}  // namespace tare::inline TARE_ABI
