// Messages are written for people, who type commands. Programs ask methods, or tools.
#pragma once

#include <string>

namespace hodo::serve {

enum class Asks : unsigned char { commands, methods, tools };

// The message for who asks by methods or tools: 'hodo list' becomes the one that answers the same,
// "--from" becomes 'from'. What has no such counterpart, as 'hodo record', stays.
std::string in_words_of(Asks asks, std::string message);

}  // namespace hodo::serve
