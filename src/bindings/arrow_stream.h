// A table as an Arrow C stream: DuckDB scans it in place, without numpy or pyarrow.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "core/columns/tables.h"

namespace tare::bindings {

// The Arrow C data and stream interfaces, as their specification gives them.
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
  int (*get_next)(ArrowArrayStream*, ArrowArray*);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};

// Gives the next batch of rows, or null at the end. Called by the scanning thread, which may be any, one call at a
// time.
using NextBatch = std::function<std::shared_ptr<const core::Table>()>;

// A stream of `columns` (names and types; its rows are ignored) that `next` feeds. The caller owns it; its release
// frees it.
std::unique_ptr<ArrowArrayStream> arrow_stream(std::shared_ptr<const core::Table> columns, NextBatch next);

}  // namespace tare::bindings
