// tare/internal/variant/writing/elements.h: arguments of functions that add an array's elements: one object that
// measures them, and one that writes them. For tare/variant/writer.h alone.
#pragma once

#include <cstddef>

#include "tare/internal/variant/writing/state.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::variant::writer_details {

struct Measured {
  std::size_t end;
  std::size_t count;  // of elements
};

// The argument of a function when sizes are measured.
template <typename Format, TypeText kElement>
class Measurer {
 public:
  explicit Measurer(std::size_t at) : at_(at) {}

  template <typename... Values>
  void add(const Values&... values) {
    at_ = Put<Format, kElement>::measure_arguments(aligned(at_, kAlignment<Format, kElement>), values...);
    ++count_;
  }
  Measured measured() const { return {at_, count_}; }

 private:
  std::size_t at_;
  std::size_t count_ = 0;
};

// And when they are written. Elements beyond the measured size aren't written. `after(index, end)` is called for each.
template <typename Format, TypeText kElement, typename AfterEach>
class Adder {
 public:
  Adder(State& state, char* base, std::size_t at, Measured measured, AfterEach after)
      : state_(state), base_(base), at_(at), measured_(measured), after_(after) {}

  template <typename... Values>
  void add(const Values&... values) {
    using PutElement = Put<Format, kElement>;
    const std::size_t begin = aligned(at_, kAlignment<Format, kElement>);
    if (count_ >= measured_.count || PutElement::measure_arguments(begin, values...) > measured_.end) {
      count_ = measured_.count + 1;
      return;
    }
    format_details::pad(base_, at_, kAlignment<Format, kElement>, state_.limit);
    at_ = PutElement::put_arguments(state_, base_, begin, values...);
    after_(count_++, at_);
  }
  std::size_t finish() {
    if (count_ != measured_.count || at_ != measured_.end) state_.fail(WriteError::Unsteady);
    return measured_.end;
  }

 private:
  State& state_;
  char* base_;
  std::size_t at_;
  Measured measured_;
  AfterEach after_;
  std::size_t count_ = 0;
};

}  // namespace tare::inline TARE_ABI::variant::writer_details
