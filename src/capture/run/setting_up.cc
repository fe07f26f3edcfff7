#include "setting_up.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <climits>
#include <cstdlib>

#include "hodo/relay/clock.h"

namespace hodo::capture {
namespace {

constexpr std::uint64_t kDefaultAuxSize = 4 << 20;
constexpr std::uint64_t kBtsAuxSize = 16 << 20;

std::string own_folder() {
  std::array<char, PATH_MAX> path{};
  const ssize_t n = readlink("/proc/self/exe", path.data(), path.size() - 1);
  const std::string file(path.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  return file.substr(0, file.rfind('/'));
}

}  // namespace

std::string find_plugin(const std::string& name) {
  const std::string here = own_folder();
  for (const char* folder : {"/../../plugin/", "/../../engine/", "/../lib/hodoscope/",
                             "/../lib/x86_64-linux-gnu/hodoscope/"}) {
    std::array<char, PATH_MAX> real{};
    const std::string path = std::string(here).append(folder).append(name);
    if (realpath(path.c_str(), real.data()) != nullptr) return real.data();
  }
  return {};
}

perfdata::ClockData clock_data() {
  timespec wall{};
  clock_gettime(CLOCK_REALTIME, &wall);
  perfdata::ClockData data;
  data.clockid = CLOCK_MONOTONIC;
  data.clockid_ns = relay::now();
  data.wall_clock_ns = static_cast<std::uint64_t>(wall.tv_sec) * 1'000'000'000 +
                       static_cast<std::uint64_t>(wall.tv_nsec);
  return data;
}

std::string socket_name() {
  std::uint64_t random = 0;
  if (getrandom(&random, sizeof(random), 0) != sizeof(random)) random = relay::now();
  return fmt::format("hodo-{}-{:016x}", getpid(), random);
}

Result<relay::Key> make_key() {
  std::array<std::uint8_t, relay::Key{}.size() / 2> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return fail(ErrorCode::io, "the kernel gives no random bytes");
  }
  relay::Key key{};
  fmt::format_to(key.begin(), "{:02x}", fmt::join(bytes, ""));
  return key;
}

Result<std::uint64_t> aux_size(const RecordOptions& options) {
  constexpr std::uint64_t kLeast = 64 << 10;
  constexpr std::uint64_t kMost = 1 << 30;
  if (options.buffer_size > kMost) {
    return fail(ErrorCode::usage,
                "--buffer-size: at most 1G where the software trace unit records");
  }
  // BTS records are ten to four hundred times the bytes: with less, the program waits too often.
  const std::uint64_t usual = options.source == SourceKind::bts ? kBtsAuxSize : kDefaultAuxSize;
  const std::uint64_t wanted = options.buffer_size != 0 ? options.buffer_size : usual;
  return std::bit_ceil(std::max(wanted, kLeast));
}

}  // namespace hodo::capture
