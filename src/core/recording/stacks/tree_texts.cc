// Both walk the tree depth first.
#include "core/recording/stacks/tree_texts.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tare::core {
namespace {

// Calls visit(node, depth); the root has depth 0.
template <typename Visit>
void for_each_depth_first(const FrameTree& tree, const Visit& visit) {
  const auto& parents = tree.parents();
  std::vector<std::uint32_t> depths(parents.size());
  for (std::size_t node = 1; node < parents.size(); ++node) depths[node] = depths[parents[node]] + 1;
  for (const std::uint32_t node : tree.depth_first()) visit(node, depths[node]);
}

std::string_view text_of(std::span<const std::string> texts, std::uint32_t frame) {
  return frame < texts.size() ? std::string_view(texts[frame]) : std::string_view();
}

}  // namespace

void write_folded(const FrameTree& tree, std::span<const std::string> names, std::string_view unknown,
                  const TextSink& sink) {
  TextPieces pieces(sink);
  std::string path;                     // of the node that was visited last
  std::vector<std::size_t> ends = {0};  // of its parts, by depth
  for_each_depth_first(tree, [&](std::uint32_t node, std::uint32_t depth) {
    ends.resize(depth == 0 ? 1 : depth);
    path.resize(ends.back());
    if (depth != 0) {
      if (depth > 1) path += ';';
      path += text_of(names, tree.frames()[node]);
      ends.push_back(path.size());
    }
    if (tree.amounts()[node] == 0) return;
    pieces << (path.empty() ? unknown : std::string_view(path)) << " " << tree.amounts()[node] << "\n";
    pieces.end_of_part();
  });
  pieces.flush();
}

void write_nested(const FrameTree& tree, std::span<const std::string> heads, std::string_view root_head,
                  const TextSink& sink) {
  TextPieces pieces(sink);
  std::int64_t before = -1;  // depth of the node that was visited last
  const auto close_until = [&](std::int64_t depth) {
    for (; before >= depth; --before) pieces << "]}";
  };
  for_each_depth_first(tree, [&](std::uint32_t node, std::uint32_t depth) {
    if (depth != 0 && depth <= before) {
      close_until(depth);
      pieces << ",";
    }
    pieces << (node == FrameTree::kRoot ? root_head : text_of(heads, tree.frames()[node]))
           << ",\"selfSize\":" << tree.amounts()[node] << ",\"id\":" << std::int64_t{node} + 1 << ",\"children\":[";
    before = depth;
    pieces.end_of_part();
  });
  close_until(0);
  pieces.flush();
}

}  // namespace tare::core
