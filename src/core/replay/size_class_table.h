// Table `size_classes`: how an allocator's model serves the sizes that a recording asked for.
#pragma once

#include "core/replay/tables.h"
#include "tare/size_classes.h"
#include "trace/process_info.h"

namespace tare::core {

// The model of the allocator that a program was recorded with; null where there is none. The library's file name tells
// versions apart ("libmimalloc.so.3").
const SizeModel* model_of(trace::AllocatorKind allocator, std::string_view allocator_path);
// The same from table `process`.
const SizeModel* model_of(const Tables& tables);

// One row for each requested size in site_sizes, ascending: requested_bytes, usable_bytes, slot_bytes,
// class_below_bytes, class, clownshoe.
Table size_classes_table(const Tables& tables, const SizeModel& model);

}  // namespace tare::core
