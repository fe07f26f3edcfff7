// Which of a virtual machine's translated blocks report their execution.
#pragma once

#include "qemu_api.h"

namespace hodo::plugin {

// QEMU's callback for a block that it has translated.
void translate(qemu_plugin_id_t id, qemu_plugin_tb* tb);

}  // namespace hodo::plugin
