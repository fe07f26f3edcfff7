// The program's system calls, where it leaves the traced context.
#pragma once

#include <cstdint>

#include "qemu_api.h"

namespace hodo::plugin {

// For qemu_plugin_register_vcpu_syscall_cb() and qemu_plugin_register_vcpu_syscall_ret_cb().
void on_syscall(qemu_plugin_id_t id, unsigned vcpu, std::int64_t number, std::uint64_t a1,
                std::uint64_t a2, std::uint64_t a3, std::uint64_t a4, std::uint64_t a5,
                std::uint64_t a6, std::uint64_t a7, std::uint64_t a8);
void on_syscall_return(qemu_plugin_id_t id, unsigned vcpu, std::int64_t number,
                       std::int64_t result);

}  // namespace hodo::plugin
