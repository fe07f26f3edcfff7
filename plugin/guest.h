// The guest program as seen from inside the emulator's process: its registers, its memory, and the
// frames that signal delivery leaves on its stack.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "registers.h"

namespace hodo::plugin {

class Guest {
 public:
  // Finds the registers; false if this QEMU has no way to them.
  bool attach(bool wide);
  const Registers& registers() const { return registers_; }
  // An instruction that is being translated: where QEMU does not export guest_base, it is what lies
  // between the instruction's two addresses.
  void look_at(const qemu_plugin_insn& insn);

  bool wide() const { return wide_; }
  // Guest addresses as host addresses and back. In qemu-user both live in this process.
  std::uint64_t host(std::uint64_t guest) const { return guest + base(); }
  std::uint64_t base() const {
    return exported_base_ != nullptr ? *exported_base_ : base_.load(std::memory_order_relaxed);
  }

  // Copies guest memory; false if any of it is not mapped. Never faults.
  bool read(std::uint64_t address, void* out, std::size_t size) const;
  template <class T>
  std::optional<T> read(std::uint64_t address) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    return read(address, &value, sizeof(value)) ? std::optional<T>(value) : std::nullopt;
  }
  // PROT_*, as the guest asked for; 0 where nothing is mapped. What the emulator has mapped
  // differs. Where QEMU does not export page_get_flags: as for code of a file.
  std::uint32_t protection(std::uint64_t address) const;
  // Of the guest thread that the calling thread runs; 0 where QEMU does not say.
  std::uint64_t stack_pointer() const;
  // Where that thread is, between two instructions; 0 where QEMU does not say.
  std::uint64_t instruction_pointer() const;
  // A pointer-sized word of the guest.
  std::optional<std::uint64_t> read_word(std::uint64_t address) const;
  // A NUL-terminated string, cut at 64 KiB; nullopt if its start is not mapped.
  std::optional<std::string> read_string(std::uint64_t address) const;

  // What a signal handler finds when it is entered: where the program was, and whether the
  // instruction there raised the signal.
  struct SignalFrame {
    std::uint64_t ip = 0;
    std::uint64_t sp = 0;
    bool faulted = false;
    std::uint64_t first_argument = 0;  // what rdi was there; 64-bit only
  };
  // The frame of a handler that this thread is about to execute the first instruction of; nullopt
  // if the stack and registers do not look like a delivered signal (linux-user/i386/signal.c lays
  // it out as the kernel's arch/x86/kernel/signal.c does).
  std::optional<SignalFrame> handler_frame() const;
  // The same for a frame at a known stack pointer, of a handler that has not run yet. `signal`: its
  // number, the handler's first argument; an i386 frame has it.
  std::optional<SignalFrame> frame_at(std::uint64_t sp, std::uint64_t signal) const;

 private:
  // Of this thread; 0 outside of the program.
  std::uint64_t read_register(int number) const {
    void* const cpu = registers_.current_cpu();
    return cpu != nullptr ? registers_.read(cpu, number) : 0;
  }

  bool wide_ = true;
  Registers registers_;
  // QEMU settles the value after it has loaded plugins.
  const std::uint64_t* exported_base_ = nullptr;
  std::atomic<std::uint64_t> base_ = 0;
  int (*page_flags_)(std::uint64_t) = nullptr;
};

}  // namespace hodo::plugin
