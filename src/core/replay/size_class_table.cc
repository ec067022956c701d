// Sizes asked for, priced by a model.
#include "core/replay/size_class_table.h"

#include <algorithm>
#include <vector>

#include "core/replay/replay_tables.h"

namespace tare::core {

const SizeModel* model_of(trace::AllocatorKind allocator, std::string_view allocator_path) {
  switch (allocator) {
    case trace::AllocatorKind::Glibc:
      return &size_models::glibc;
    case trace::AllocatorKind::Jemalloc:
      return &size_models::jemalloc;
    case trace::AllocatorKind::Mimalloc:
      return allocator_path.find(".so.3") != std::string_view::npos ? &size_models::mimalloc3 : &size_models::mimalloc2;
    case trace::AllocatorKind::Tcmalloc:  // Google's own is linked statically, and isn't recorded
      return &size_models::gperftools;
    case trace::AllocatorKind::Musl:
    case trace::AllocatorKind::Unknown:
      break;
  }
  return nullptr;
}

const SizeModel* model_of(const Tables& tables) {
  const Table& process = tables["process"];
  const std::string_view name = process["allocator"].text(0);
  for (const auto kind : {trace::AllocatorKind::Glibc, trace::AllocatorKind::Jemalloc, trace::AllocatorKind::Mimalloc,
                          trace::AllocatorKind::Tcmalloc}) {
    if (name == name_of(kind)) return model_of(kind, process["allocator_path"].text(0));
  }
  return nullptr;
}

Table size_classes_table(const Tables& tables, const SizeModel& model) {
  std::vector<std::int64_t> sizes = tables["site_sizes"]["requested_bytes"].ints;
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());

  TableBuilder table("size_classes");
  const auto requested_bytes = table.column("requested_bytes", ColumnType::Int64);
  const auto usable_bytes = table.column("usable_bytes", ColumnType::Int64);
  const auto slot_bytes = table.column("slot_bytes", ColumnType::Int64);  // with the allocator's header
  const auto class_below_bytes = table.column("class_below_bytes", ColumnType::Int64);
  const auto name = table.column("class", ColumnType::String);
  const auto clownshoe = table.column("clownshoe", ColumnType::Int64);  // 1: see tare/size_classes.h
  for (const std::int64_t size : sizes) {
    const auto requested = static_cast<std::size_t>(size);
    const SizeClass served = size_class(model, requested);
    table.add(requested_bytes, size);
    table.add(usable_bytes, to_column(served.usable_bytes));
    table.add(slot_bytes, to_column(served.slot_bytes));
    table.add(class_below_bytes, to_column(class_below(model, requested)));
    table.add(name, served.name);
    table.add(clownshoe, std::int64_t{is_clownshoe(model, requested)});
  }
  return table.take();
}

}  // namespace tare::core
