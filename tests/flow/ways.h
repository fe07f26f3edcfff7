// The decoder's ways through a trace: walking every step, following what it remembers, counting.
// All have to say the same.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "hodo/flow/decoder.h"
#include "hodo/image/code.h"

namespace hodo::flow {

// Decodes in every way and compares branches, losses, events and numbers. Empty if they are the
// same; otherwise which way first said what else. Config::want_instructions is of no account.
std::string difference_between_ways(std::span<const Piece> pieces, const image::CodeSource& code,
                                    const Config& config);

}  // namespace hodo::flow
