// Each size is looked up once, for all its stacks.
#include "core/recording/size_classes.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace tare::core {
namespace {

// Versions differ and can't be identified; the libraries of gperftools and Google are both called "tcmalloc".
std::vector<const SizeModel*> candidates(std::string_view allocator) {
  using namespace size_models;
  if (allocator == "glibc") return {&glibc};
  if (allocator == "jemalloc") return {&jemalloc, &mozjemalloc, &jemalloc_2011};
  if (allocator == "mimalloc") return {&mimalloc2, &mimalloc3};
  if (allocator == "tcmalloc") return {&gperftools, &tcmalloc};
  if (allocator == "musl") return {&musl};
  return {};
}

// As the recorder counts it: musl's malloc_usable_size hides the slot, which the recorder reads.
std::int64_t usable_bytes_of(const SizeModel& model, const SizeClass& taken) {
  return static_cast<std::int64_t>(&model == &size_models::musl ? taken.capacity_bytes : taken.usable_bytes);
}

bool is_of_pool(std::int32_t api_code) { return api_code == kPoolBlockWord || api_code == kPoolMemoryWord; }

std::string model_names() {
  std::string names;
  for (const SizeModel& model : kSizeModels) names += (names.empty() ? "" : ", ") + std::string(model.name);
  return names;
}

}  // namespace

const SizeModel* model_of(const Tables& tables) {
  const Table& sizes = tables["site_sizes"];
  const Column& requested = sizes["requested_bytes"];
  const Column& usable = sizes["usable_bytes"];
  const Column& align = sizes["align_bytes"];
  const Column& blocks = sizes["total_blocks"];
  const Column& api = sizes["api"];
  const auto is_modelled = [&](std::size_t row) { return align.ints[row] == 0 && !is_of_pool(api.codes[row]); };
  const SizeModel* best = nullptr;
  std::int64_t best_blocks = 0;
  std::int64_t all_blocks = 0;
  for (std::size_t row = 0; row < sizes.rows(); ++row) {
    if (is_modelled(row)) all_blocks += blocks.ints[row];
  }
  for (const SizeModel* model : candidates(tables["process"]["allocator"].text(0))) {
    std::int64_t fitting = 0;
    for (std::size_t row = 0; row < sizes.rows(); ++row) {
      if (!is_modelled(row)) continue;
      const SizeClass taken = size_class(*model, static_cast<std::size_t>(requested.ints[row]));
      if (usable_bytes_of(*model, taken) == usable.ints[row]) fitting += blocks.ints[row];
    }
    if (best == nullptr || fitting > best_blocks) {
      best = model;
      best_blocks = fitting;
    }
  }
  return 2 * best_blocks >= all_blocks ? best : nullptr;
}

Result<Table> size_classes_table(const Tables& tables, std::string_view model_name) {
  const SizeModel* model = model_name.empty() ? model_of(tables) : find_size_model(model_name);
  if (model == nullptr && !model_name.empty()) {
    return Error{ErrorKind::Usage, "no model is called '" + std::string(model_name) + "': there are " + model_names()};
  }
  if (model == nullptr) return size_classes_of({}, nullptr);
  const Table& sizes = tables["site_sizes"];
  std::vector<std::int64_t> all;
  all.reserve(sizes.rows());
  const std::vector<std::int64_t>& requested = sizes["requested_bytes"].ints;
  const std::vector<std::int32_t>& api = sizes["api"].codes;
  for (std::size_t row = 0; row < sizes.rows(); ++row) {
    if (!is_of_pool(api[row])) all.push_back(requested[row]);
  }
  return size_classes_of(std::move(all), model);
}

Table size_classes_of(std::vector<std::int64_t> requested, const SizeModel* model) {
  TableBuilder table("size_classes");
  const auto requested_bytes = table.column("requested_bytes");
  const auto usable_bytes = table.column("usable_bytes");
  const auto class_below_bytes = table.column("class_below_bytes");
  const auto clownshoe = table.column("clownshoe");
  const auto class_name = table.column("class");
  if (model == nullptr) return table.take();
  // A million shapes have a few thousand different sizes, nearly all of them small. Sorting the larger ones takes a
  // quarter of the time of a set.
  constexpr std::int64_t kSmall = 1 << 16;
  std::vector<bool> wanted(kSmall);
  std::erase_if(requested, [&](std::int64_t bytes) {
    if (bytes < 0 || bytes >= kSmall) return false;
    const bool again = wanted[static_cast<std::size_t>(bytes)];
    wanted[static_cast<std::size_t>(bytes)] = true;
    return again;
  });
  std::sort(requested.begin(), requested.end());
  requested.erase(std::unique(requested.begin(), requested.end()), requested.end());
  for (const std::int64_t bytes : requested) {
    const auto n = static_cast<std::size_t>(bytes);
    const SizeClass taken = size_class(*model, n);
    table.add(requested_bytes, bytes);
    table.add(usable_bytes, usable_bytes_of(*model, taken));
    table.add(class_below_bytes, static_cast<std::int64_t>(class_below(*model, n)));
    table.add(clownshoe, std::int64_t{is_clownshoe(*model, n) ? 1 : 0});
    table.add(class_name, taken.name);
  }
  return table.take();
}

}  // namespace tare::core
