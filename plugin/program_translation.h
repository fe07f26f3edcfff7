// Translated blocks: described once, with the mappings and the code that they are from.
#pragma once

#include <cstdint>
#include <string_view>

#include "mappings.h"
#include "qemu_api.h"

namespace hodo::plugin {

// For qemu_plugin_register_vcpu_tb_trans_cb() and qemu_plugin_register_flush_cb().
void translate(qemu_plugin_id_t id, qemu_plugin_tb* tb);
void on_flush(qemu_plugin_id_t id);

// These need the recorder's mutex.
// Tells the recorder what the code at this address is from, once.
Mapping* report_mapping(std::uint64_t address);
// In a recording a mapping replaces what was there, also the code that was kept there: it comes
// again.
void send_mapping(const relay::MapRecord& where, std::string_view path);

}  // namespace hodo::plugin
