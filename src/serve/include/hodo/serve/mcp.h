// The Model Context Protocol, by which language models use tools (https://modelcontextprotocol.io):
// ten tools made from the methods, whose answers are bounded.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "hodo/serve/rpc.h"
#include "hodo/serve/workspace.h"

namespace hodo::serve {

inline constexpr std::size_t kLongestToolAnswer = std::size_t{24} << 10;  // bytes

// The answer to one message, on one line without its end; nullopt where none is due, as for a
// question that was given up.
std::optional<std::string> answer_mcp_message(Workspace& workspace, std::string_view message,
                                              const Asker& asker = {});

}  // namespace hodo::serve
