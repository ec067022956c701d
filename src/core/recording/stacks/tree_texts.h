// A tree of frames as text, in pieces: files of other tools have a million nodes, and a step of Python for each took
// half of an export.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/recording/stacks/frame_tree.h"
#include "core/recording/stacks/text_pieces.h"

namespace tare::core {

// `main;parse;grow 4096`: a line for each node with an amount. `names`: by number of a frame. A path without text is
// `unknown`.
void write_folded(const FrameTree& tree, std::span<const std::string> names, std::string_view unknown,
                  const TextSink& sink);

// The nodes of V8's heap profile, each with its children: `heads` begin an object of JSON, by number of a frame.
void write_nested(const FrameTree& tree, std::span<const std::string> heads, std::string_view root_head,
                  const TextSink& sink);

}  // namespace tare::core
