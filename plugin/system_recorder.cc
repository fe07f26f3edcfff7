#include "system_recorder.h"

#include <cstdio>
#include <string_view>

#include "api_version.h"
#include "hodo/guest/watch.h"
#include "system_crossings.h"
#include "system_translation.h"

int qemu_plugin_version = hodo::plugin::declared_api_version();

namespace hodo::plugin {

SystemRecorder* recorder = nullptr;
std::array<Vcpu*, kMostProcessors> running{};

namespace {

void on_flush(qemu_plugin_id_t) {
  recorder->spaces.forget_blocks();
  recorder->blocks.collect([](const void* first, const void* last) {
    for (const auto& vcpu : recorder->vcpus) {
      const void* in_use = vcpu ? vcpu->unit().current() : nullptr;
      if (in_use >= first && in_use < last) return true;
    }
    return false;
  });
}

void on_start(qemu_plugin_id_t, unsigned index) {
  if (index >= kMostProcessors) return;
  recorder->vcpus[index] =
      Vcpu::start(recorder->socket, recorder->key, index, recorder->machine.cpu(index),
                  {.interrupted = interrupted, .cr3 = cr3_of});
  running[index] = recorder->vcpus[index].get();
  if (running[index] != nullptr) recorder->traces_kernel = running[index]->traces_kernel();
}

void on_exit(qemu_plugin_id_t, void*) {
  std::string about = recorder->introspection.description();
  if (recorder->traces_kernel && recorder->entries() == nullptr) {
    about += "; nothing of its kernel was recorded, since where it is entered is not known";
  }
  for (const auto& vcpu : recorder->vcpus) {
    if (!vcpu) continue;
    if (vcpu->index() == 0) vcpu->send(relay::RecordType::guest_note, {}, bytes_of(about));
    vcpu->close();
  }
}

void register_callbacks(qemu_plugin_id_t id) {
  qemu_plugin_register_vcpu_init_cb(id, on_start);
  qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
  qemu_plugin_register_flush_cb(id, on_flush);
  qemu_plugin_register_atexit_cb(id, on_exit, nullptr);
}

int install(qemu_plugin_id_t id, const qemu_info_t* info, int argc, char** argv) {
  if (!info->system_emulation || std::string_view(info->target_name) != "x86_64") {
    std::fprintf(stderr, "hodo: this plugin records machines under qemu-system-x86_64 only\n");
    return 1;
  }
  if (info->system.max_vcpus > static_cast<int>(kMostProcessors)) {
    std::fprintf(stderr, "hodo: machines of at most %u processors can be recorded; use -smp %u\n",
                 kMostProcessors, kMostProcessors);
    return 1;
  }
  recorder = new SystemRecorder;
  recorder->id = id;
  recorder->key = relay::take_key();
  for (int i = 0; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option.starts_with("socket=")) recorder->socket = option.substr(7);
    guest::parse_watch(option, recorder->spaces.watch);
  }
  set_emulator_version(*info);
  if (!recorder->machine.attach()) {
    std::fprintf(stderr,
                 "hodo: this QEMU does not give what recording needs: the registers by its plugin "
                 "interface (QEMU 9.0 and later) or by qemu_get_cpu and x86_cpu_gdb_read_register, "
                 "and cpu_physical_memory_rw and cpu_physical_memory_is_io; Debian 12's "
                 "qemu-system-x86 7.2 does\n");
    return 1;
  }
  register_callbacks(id);
  return 0;
}

}  // namespace

void adapt_coverage() {
  Coverage wanted = recorder->introspection.tried() ? Coverage::all : Coverage::programs;
  if (const guest::KernelEntries* entries = recorder->entries(); entries != nullptr) {
    const bool waits = !recorder->met && entries->rename != 0;
    wanted = waits ? Coverage::starts : Coverage::crossings;
  }
  if (recorder->coverage.exchange(wanted) == wanted) return;
  qemu_plugin_reset(recorder->id, register_callbacks);
}

}  // namespace hodo::plugin

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int argc, char** argv) {
  return hodo::plugin::install(id, info, argc, argv);
}
