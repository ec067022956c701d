// The entries that events refer to: return addresses, stacks, shapes, modules. Grows while a trace is written or read;
// ids are indices.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "trace/base/large_vector.h"
#include "trace/model/event.h"
#include "trace/model/ids.h"

namespace tare::trace {

struct Module {
  std::uint64_t load_bias = 0;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::string path;
  std::vector<std::uint8_t> build_id;  // empty: none
  std::uint32_t generation = 0;
};

// A function at a row, as another profiler, Python or a JIT compiler named it. A row with several has its inlined ones
// first.
struct GivenFrame {
  RowId row{};
  std::string function;  // empty: not named
  std::string file;
  std::uint32_t line = 0;  // 0: unknown
};

struct Dictionary {
  std::vector<std::uint64_t> rows;  // by RowId: Row::bits (address | module << 48), see spool_layout.h
  LargeVector<StackNode> stacks;    // by StackId; [0] is the empty stack {0, 0}
  LargeVector<Shape> shapes;        // by ShapeId
  std::vector<Module> modules;      // by ModuleId
  std::vector<std::string> names;   // by NameId: paths and pool names from the program; any bytes
  // By ascending row: of imported recordings, Python and generated code. These rows aren't looked up in files with
  // symbols.
  std::vector<GivenFrame> given_frames;
};

constexpr std::uint64_t row_address(std::uint64_t row_bits) { return row_bits & 0xffffffffffffull; }
constexpr ModuleId row_module(std::uint64_t row_bits) { return static_cast<ModuleId>(row_bits >> 48); }

}  // namespace tare::trace
