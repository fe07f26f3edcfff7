#include "qemu_machine.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

namespace hodo::capture {
namespace {

// What one question fetches, and how much is kept of the answers.
constexpr std::uint64_t kPiece = 256 << 10;
constexpr std::size_t kMostPieces = (512 << 20) / kPiece;
constexpr std::size_t kMostProcessors = 4096;

std::optional<std::uint64_t> parse_hex(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return error == std::errc() && end != text.data() ? std::optional(value) : std::nullopt;
}

// The number behind `name`, "CR3=" for one, in a line; blanks may stand between.
std::optional<std::uint64_t> field(std::string_view line, std::string_view name) {
  const auto at = line.find(name);
  if (at == line.npos) return std::nullopt;
  const auto digits = line.find_first_not_of(' ', at + name.size());
  return digits == line.npos ? std::nullopt : parse_hex(line.substr(digits));
}

// Calls `each` with every line of `text`.
template <class Each>
void for_lines(std::string_view text, Each each) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    each(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void parse_register_line(std::string_view line, guest::ProcessorState& processor) {
  const auto take = [&](const char* name, std::uint64_t& value) {
    if (const auto found = field(line, name)) value = *found;
  };
  // Names come at a line's begin or behind a blank: "CR0=", and "IDT=" with its base first.
  if (line.starts_with("RIP=") || line.starts_with("EIP=")) {
    take("IP=", processor.ip);
    processor.user = line.find("CPL=3") != line.npos;
    processor.halted = line.find("HLT=1") != line.npos;
  } else if (line.starts_with("CS =")) {
    // Selector, base; the base counts outside of 64-bit mode only, where it is 0.
    if (const auto base = line.find(' ', 5); base != line.npos) {
      processor.ip += parse_hex(line.substr(base + 1)).value_or(0);
    }
  } else if (line.starts_with("IDT=")) {
    take("IDT=", processor.idt);
  } else if (line.starts_with("CR0=")) {
    take("CR0=", processor.cr0);
    take("CR3=", processor.cr3);
    take("CR4=", processor.cr4);
  } else if (line.starts_with("EFER=")) {
    take("EFER=", processor.efer);
  }
}

}  // namespace

std::vector<guest::ProcessorState> parse_registers(std::string_view text) {
  std::vector<guest::ProcessorState> out;
  for_lines(text, [&](std::string_view line) {
    if (line.starts_with("CPU#") && out.size() < kMostProcessors) out.emplace_back();
    if (!out.empty()) parse_register_line(line, out.back());
  });
  return out;
}

std::vector<MemoryRange> parse_memory_map(std::string_view text) {
  // FlatView #0
  //  AS "memory", root: system
  //   0000000000100000-000000000fffffff (prio 0, ram): pc.ram @0000000000100000
  std::vector<MemoryRange> out;
  bool wanted = false;
  for_lines(text, [&](std::string_view line) {
    if (line.starts_with("FlatView")) wanted = false;
    if (line.find("AS \"memory\"") != line.npos) wanted = true;
    if (!wanted) return;
    const auto first = line.find_first_not_of(' ');
    const auto dash = line.find('-');
    if (first == line.npos || dash == line.npos || dash < first) return;
    const bool memory = line.find(", ram)") != line.npos || line.find(", rom)") != line.npos ||
                        line.find(", nv-ram)") != line.npos;
    const auto start = parse_hex(line.substr(first, dash - first));
    const auto last = parse_hex(line.substr(dash + 1));
    if (!memory || !start || !last || *last < *start || *last == ~std::uint64_t{0}) return;
    // RAM that is shadowed piece by piece is one range here.
    if (!out.empty() && out.back().end == *start) {
      out.back().end = *last + 1;
    } else {
      out.push_back({*start, *last + 1});
    }
  });
  std::ranges::sort(out, {}, &MemoryRange::start);
  return out;
}

Result<std::unique_ptr<QemuMemory>> QemuMemory::open(Qmp& qmp) {
  const auto text = qmp.monitor("info mtree -f");
  if (!text) return std::unexpected(text.error());
  auto map = parse_memory_map(*text);
  if (map.empty()) {
    return fail(ErrorCode::unsupported, "this QEMU does not say where the guest's memory lies");
  }
  Fd file(::memfd_create("hodo-guest-memory", MFD_CLOEXEC));
  if (!file) return fail(ErrorCode::io, std::strerror(errno));
  return std::unique_ptr<QemuMemory>(new QemuMemory(qmp, std::move(file), std::move(map)));
}

const MemoryRange* QemuMemory::range_of(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(map_, address, {}, &MemoryRange::start);
  if (after == map_.begin() || address >= std::prev(after)->end) return nullptr;
  return &*std::prev(after);
}

const QemuMemory::Piece* QemuMemory::piece_at(std::uint64_t start, std::uint64_t size) const {
  if (const auto found = pieces_.find(start); found != pieces_.end()) return &found->second;
  if (error_) return nullptr;
  const auto saved =
      qmp_.save_memory(start, size, fmt::format("/proc/{}/fd/{}", ::getpid(), file_.get()));
  if (!saved) {
    error_ = saved.error();
    if (error_->code == ErrorCode::unsupported) {
      error_->message += "; remedy: be the user that runs QEMU, or root";
    }
    return nullptr;
  }
  Piece piece(size);
  if (::pread(file_.get(), piece.data(), size, 0) != static_cast<ssize_t>(size)) {
    error_ = {ErrorCode::io, "QEMU did not save all of the memory that was asked for"};
    return nullptr;
  }
  if (pieces_.size() >= kMostPieces) pieces_.clear();
  return &(pieces_[start] = std::move(piece));
}

bool QemuMemory::read(std::uint64_t address, std::span<std::uint8_t> out) const {
  while (!out.empty()) {
    const MemoryRange* range = range_of(address);
    if (range == nullptr) return false;
    const std::uint64_t start = std::max(address & ~(kPiece - 1), range->start);
    const std::uint64_t end = std::min((address & ~(kPiece - 1)) + kPiece, range->end);
    const Piece* piece = piece_at(start, end - start);
    if (piece == nullptr) return false;
    const std::size_t size = std::min<std::uint64_t>(out.size(), end - address);
    std::memcpy(out.data(), piece->data() + (address - start), size);
    out = out.subspan(size);
    address += size;
  }
  return true;
}

Result<std::vector<guest::ProcessorState>> read_registers(Qmp& qmp) {
  const auto text = qmp.monitor("info registers -a");
  if (!text) return std::unexpected(text.error());
  auto processors = parse_registers(*text);
  if (processors.empty()) {
    return fail(ErrorCode::unsupported, "this QEMU does not print its processors' registers");
  }
  return processors;
}

Pause::Pause(Qmp& qmp) : qmp_(qmp) {
  sigset_t ending;
  sigemptyset(&ending);
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) sigaddset(&ending, signal);
  ::pthread_sigmask(SIG_BLOCK, &ending, &signals_);
}

Result<std::unique_ptr<Pause>> Pause::hold(Qmp& qmp) {
  const auto running = qmp.running();
  if (!running) return std::unexpected(running.error());
  std::unique_ptr<Pause> pause(new Pause(qmp));
  pause->held_ = *running;
  if (!pause->held_) return pause;
  if (const Status stopped = qmp.stop(); !stopped) return std::unexpected(stopped.error());
  return pause;
}

Pause::~Pause() {
  if (held_) (void)qmp_.resume();
  ::pthread_sigmask(SIG_SETMASK, &signals_, nullptr);
}

}  // namespace hodo::capture
