// A running QEMU's monitor: the QEMU Machine Protocol (QEMU's docs/interop/qmp-spec), JSON over a
// Unix socket as "-qmp unix:PATH,server=on,wait=off" makes it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/capture/fd.h"

namespace hodo::capture {

// A virtual processor of the machine.
struct VirtualCpu {
  std::uint32_t index = 0;
  pid_t thread = 0;  // of the host, that runs it
};

// The connection. Calls wait for QEMU's answer, five seconds at most. One client at a time: QEMU
// answers others only when this one has gone. Not thread-safe.
class Qmp {
 public:
  // Errors: not_found (no such socket), not_permitted, io (nobody answers; another client holds
  // the monitor), malformed (what answers is no QEMU).
  static Result<Qmp> connect(const std::string& path);

  // query-cpus-fast, by index. Errors of this and of all others: io (the machine has gone or does
  // not answer), malformed, unsupported (QEMU refused; with its words).
  Result<std::vector<VirtualCpu>> cpus();
  // query-kvm: does the machine run on the processor itself?
  Result<bool> uses_kvm();
  // human-monitor-command: what the monitor for people prints for `line`, as to processor `cpu`.
  Result<std::string> monitor(const std::string& line, std::uint32_t cpu = 0);
  // query-status: do the processors run? stop and resume make them stand and go.
  Result<bool> running();
  Status stop();
  Status resume();
  // pmemsave: writes `size` bytes of physical memory from `address` on into `file`, a path as QEMU
  // sees it. Where there is a device instead of memory, its registers are read.
  Status save_memory(std::uint64_t address, std::uint64_t size, const std::string& file);

  // Readable when QEMU has closed the connection, or has an event to tell.
  int fd() const { return socket_.get(); }
  // Takes what has come since, which is events only. False: the machine has gone.
  bool alive();

 private:
  Qmp(Fd socket, std::string path) : socket_(std::move(socket)), path_(std::move(path)) {}
  Result<nlohmann::json> execute(const std::string& command, const std::string& arguments = "");
  Result<nlohmann::json> next_message();
  Status receive(int timeout_ms);
  Error gone() const;

  Fd socket_;
  std::string path_;
  std::string received_;
};

}  // namespace hodo::capture
