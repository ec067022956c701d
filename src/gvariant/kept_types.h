// Keeps GLib's type infos of the types that values are built of: GLib throws one away with the last value of its type,
// and makes it again, with those of all parts, for the next one. That was half of building a small value.
#pragma once

#include <string_view>

namespace tare::gvariant {

// Makes GLib keep its information about `type`, a container. Up to 256 types; any thread.
void keep_type(std::string_view type) noexcept;

// Gives all back, so that GLib has infos of living values alone. For its tests.
void let_types_go() noexcept;

}  // namespace tare::gvariant
