// attach_driver VM_DATA QMP OUTPUT: runs hodo vm attach on a machine that is emulated, as if it ran
// under KVM on a processor with Intel PT. What that processor would write comes from VM_DATA, a
// recording of the same machine by its own trace unit that is still being made; the machine's
// memory is the real one, asked of its monitor at QMP.
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdio>
#include <cstring>

#include "../capture/fake_kernel.h"
#include "../capture/fake_qmp.h"
#include "../capture/fake_sysfs.h"
#include "hodo/capture/vm_attach.h"
#include "hodo/perfdata/model.h"
#include "hodo/perfdata/reader.h"
#include "hodo/pt/reader.h"
#include "hodo/pt/writer.h"

namespace hodo::capture {
namespace {

constexpr pid_t kThread = 501;

// A client of the real monitor.
class Monitor {
 public:
  explicit Monitor(const char* path) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
      return;
    line();  // its greeting
    ask(R"({"execute":"qmp_capabilities"})");
  }
  ~Monitor() { ::close(socket_); }
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  // The answer; empty if the machine has gone.
  std::string ask(const std::string& question) {
    const std::string text = question + "\n";
    ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
    for (;;) {
      std::string answer = line();
      if (answer.empty() || answer.find("\"event\"") == answer.npos) return answer;
    }
  }

 private:
  std::string line() {
    std::string out;
    for (char c; ::read(socket_, &c, 1) == 1 && c != '\n';) {
      if (c != '\r') out += c;
    }
    return out;
  }
  int socket_;
};

// The first processor's stream, as far as there is any.
std::vector<std::uint8_t> stream_of(const char* file) {
  std::vector<std::uint8_t> bytes;
  const auto reader = perfdata::Reader::open(file);
  auto session = reader ? perfdata::Model::load(*reader)
                        : Result<perfdata::Model>(std::unexpected(reader.error()));
  if (!session || session->queues().empty()) return bytes;
  for (const auto& piece : session->queues()[0].pieces) {
    const std::size_t end = bytes.size();
    bytes.resize(end + piece.size);
    if (!reader->read(piece.file_offset, std::span(bytes).subspan(end))) bytes.resize(end);
  }
  return bytes;
}

std::uint64_t first_cr3(std::span<const std::uint8_t> stream) {
  pt::PacketReader packets(stream);
  while (!packets.at_end()) {
    const auto packet = packets.next();
    if (!packet) break;
    if (packet->type == pt::PacketType::pip) return packet->payload;
  }
  return 0;
}

// The same as a processor in VMX non-root operation has it: its PIP packets have the NR bit, and
// its first PSB+ has one, too, where the trace unit was off.
std::vector<std::uint8_t> in_non_root_operation(std::span<const std::uint8_t> stream) {
  std::vector<std::uint8_t> out;
  const auto put = [&](const pt::Packet& packet) {
    std::array<std::uint8_t, pt::kMaxPacketSize> bytes{};
    const std::size_t size = pt::write(packet, bytes);
    out.insert(out.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
  };
  bool begun = false;
  pt::PacketReader packets(stream);
  while (!packets.at_end()) {
    const std::size_t at = packets.offset();
    auto packet = packets.next();
    if (!packet) break;
    if (packet->type == pt::PacketType::psbend && !std::exchange(begun, true)) {
      put({.type = pt::PacketType::pip, .payload = first_cr3(stream), .extra = 1});
    }
    if (packet->type == pt::PacketType::pip) {
      packet->extra = 1;
      put(*packet);
    } else {
      out.insert(out.end(), stream.begin() + static_cast<std::ptrdiff_t>(at),
                 stream.begin() + static_cast<std::ptrdiff_t>(packets.offset()));
    }
  }
  return out;
}

// A processor whose clocks are the trace unit's.
Files like_the_trace_unit() {
  Files pmu = skylake_pt();
  pmu["tsc_art_ratio"] = "128:1";
  return pmu;
}

int attach(const char* vm_data, const char* monitor, const char* output) {
  const auto stream = in_non_root_operation(stream_of(vm_data));
  FakeSystem system;
  system.add_pmu("intel_pt", like_the_trace_unit());
  Monitor real(monitor);
  FakeQmp qmp(system.root() + "/qmp",
              {{"query-kvm", R"({"enabled": true, "present": true})"},
               {"query-cpus-fast", R"([{"cpu-index": 0, "thread-id": 501, "target": "x86_64"}])"}});
  qmp.otherwise = [&](const std::string& line) { return real.ask(line); };
  FakeKernel kernel;
  const pthread_t recorder = ::pthread_self();
  kernel.thread_scripts[kThread] = [&](FakeCpu& cpu) {
    constexpr std::size_t kPiece = 16 << 10;
    for (std::size_t at = 0; at < stream.size(); at += kPiece) {
      const std::size_t size = std::min(kPiece, stream.size() - at);
      cpu.trace({stream.data() + at, stream.data() + at + size});
    }
    ::pthread_kill(recorder, SIGTERM);
  };
  VmAttachOptions options;
  options.qmp_socket = qmp.path();
  options.record.output = output;
  options.record.buffer_size = 1 << 20;
  PerfEventContext context;
  context.paths = system.paths();
  context.kernel = &kernel;
  context.version = "hodoscope test";
  const auto result = record_vm_attach(options, context);
  if (!result) {
    std::fprintf(stderr, "attach_driver: %s\n", result.error().message.c_str());
    return 1;
  }
  for (const auto& warning : result->warnings) std::fprintf(stderr, "%s\n", warning.c_str());
  std::printf("%zu bytes of trace, %u processes\n", stream.size(), result->processes);
  return result->complete ? 0 : 1;
}

}  // namespace
}  // namespace hodo::capture

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  return hodo::capture::attach(argv[1], argv[2], argv[3]);
}
