// A path without its folders.
#pragma once

#include <string_view>

namespace hodo {

// "libc.so.6" of "/lib/libc.so.6"; what has no slash is itself. A view into `path`.
constexpr std::string_view last_component(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

}  // namespace hodo
