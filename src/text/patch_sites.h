// Places of the text that a program changes by itself when it runs, as its file lists them.
#pragma once

#include <vector>

#include "hodo/text/elf_bytes.h"
#include "hodo/text/module.h"
#include "text_map.h"

namespace hodo::text {

// The sleds of XRay (clang's -fxray-instrument), by place; empty where there are none.
std::vector<PatchSite> patch_sites(const ElfBytes& elf, const TextMap& text);

}  // namespace hodo::text
