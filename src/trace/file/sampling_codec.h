// The value of field 60 of an End record: what became of a budget of sampling. See FORMAT.md.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "trace/model/process_info.h"

namespace tare::trace {

std::vector<std::uint8_t> encode_sampling(const SamplingUse& use);
// Nothing where it isn't valid.
std::optional<SamplingUse> decode_sampling(std::span<const std::uint8_t> bytes);

}  // namespace tare::trace
