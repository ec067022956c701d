// Any bytes as rows of Python's module and the strings they refer to: each row gets a frame, with names as long as a
// trace allows. The first byte is the number of rows.
#include "trace/spool/python_frames.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "trace/model/python_state.h"
#include "trace/spool/program_note.h"

using namespace tare::trace;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::size_t count = data[0] < (size - 1) / 8 ? data[0] : (size - 1) / 8;
  Dictionary dictionary;
  dictionary.modules.resize(2);
  dictionary.modules[1].path = kPythonModule;
  std::size_t python = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t row = 0;
    std::memcpy(&row, data + 1 + 8 * i, sizeof row);
    dictionary.rows.push_back(row);
    if (row_module(row) != kNoModule && index(row_module(row)) == 1) ++python;
  }
  const std::string pool(reinterpret_cast<const char*>(data) + 1 + 8 * count, size - 1 - 8 * count);
  const auto string_at = [&pool](StringRef place) {
    if (place.offset > pool.size() || place.length > pool.size() - place.offset) return std::string();
    return pool.substr(place.offset, place.length);
  };
  add_python_frames(dictionary, 0, string_at);
  if (dictionary.given_frames.size() != python) std::abort();
  for (const auto& frame : dictionary.given_frames) {
    if (index(frame.row) >= count) std::abort();
  }
  return 0;
}
