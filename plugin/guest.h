// The guest program as seen from inside the emulator's process: its registers, its memory, and the
// frames that signal delivery leaves on its stack.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

namespace hodo::plugin {

class Guest {
 public:
  // Finds what the emulator exports: QEMU 7.2 has no register access in its plugin API, but exports
  // qemu_get_cpu and x86_cpu_gdb_read_register, and guest_base. False if they are not there.
  bool attach(bool wide);

  bool wide() const { return wide_; }
  // Guest addresses as host addresses and back. In qemu-user both live in this process.
  std::uint64_t host(std::uint64_t guest) const { return guest + *base_; }
  std::uint64_t base() const { return *base_; }

  // Copies guest memory; false if any of it is not mapped. Never faults.
  bool read(std::uint64_t address, void* out, std::size_t size) const;
  template <class T>
  std::optional<T> read(std::uint64_t address) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    return read(address, &value, sizeof(value)) ? std::optional<T>(value) : std::nullopt;
  }
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
  };
  // The frame of a handler that is about to execute its first instruction on `vcpu`; nullopt if the
  // stack and registers do not look like a delivered signal (linux-user/i386/signal.c lays it out
  // as the kernel's arch/x86/kernel/signal.c does).
  std::optional<SignalFrame> handler_frame(unsigned vcpu) const;
  // The same for a frame at a known stack pointer, of a handler that has not run yet.
  std::optional<SignalFrame> frame_at(std::uint64_t sp) const;

 private:
  std::uint64_t read_register(unsigned vcpu, int number) const;

  bool wide_ = true;
  const std::uint64_t* base_ = nullptr;  // QEMU settles the value after it has loaded plugins
  void* (*get_cpu_)(int) = nullptr;
  int (*gdb_read_register_)(void*, void*, int) = nullptr;
};

}  // namespace hodo::plugin
