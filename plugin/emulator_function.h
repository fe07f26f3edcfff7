// Functions of the emulator that no header of its plugin interface has.
#pragma once

#include <dlfcn.h>

namespace hodo::plugin {

// Sets `function` to the emulator's function of that name; false, and null: it has none.
template <class T>
bool find_function(T& function, const char* name) {
  function = reinterpret_cast<T>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

}  // namespace hodo::plugin
