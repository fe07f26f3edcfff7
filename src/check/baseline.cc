#include "hodo/check/baseline.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <tuple>

#include "hodo/base/byte_reader.h"
#include "hodo/image/file.h"

namespace hodo::check {
namespace {

constexpr std::array<std::uint8_t, 8> kMagic = {'h', 'o', 'd', 'o', 'b', 'a', 's', 'e'};
constexpr std::uint32_t kVersion = 1;
constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 28;

// --- numbers of variable length: LEB128, at most 64 bits ---

void put_number(std::vector<std::uint8_t>& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<std::uint8_t>(value | 0x80));
  out.push_back(static_cast<std::uint8_t>(value));
}

template <class T>
void put_fixed(std::vector<std::uint8_t>& out, T value) {
  for (std::size_t i = 0; i < sizeof value; ++i) {
    out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  }
}

std::unexpected<Error> broken(const ByteReader& in, std::string what) {
  return fail(ErrorCode::malformed, "the baseline is damaged: " + std::move(what), in.offset());
}

std::unexpected<Error> ends(const ByteReader& in) {
  return fail(ErrorCode::truncated, "the baseline ends in the middle", in.offset());
}

Result<std::uint64_t> take_number(ByteReader& in) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const auto byte = in.read<std::uint8_t>();
    if (!byte) return ends(in);
    const std::uint64_t part = *byte & 0x7fu;
    if ((part << shift) >> shift != part) return broken(in, "a number is too large");
    value |= part << shift;
    if ((*byte & 0x80) != 0) continue;
    if (part == 0 && shift != 0) return broken(in, "a number is longer than it has to be");
    return value;
  }
  return broken(in, "a number is too long");
}

// What stands before the edges of two modules.
struct Group {
  std::uint32_t from_module = 0;
  std::uint32_t to_module = 0;
  std::uint64_t count = 0;
};

// An index below `limit`.
Result<std::uint32_t> take_index(ByteReader& in, std::size_t limit) {
  const auto value = take_number(in);
  if (!value) return std::unexpected(value.error());
  if (*value >= limit) return broken(in, "there is no such module");
  return static_cast<std::uint32_t>(*value);
}

Result<std::vector<Baseline::BuildId>> take_modules(ByteReader& in, std::uint32_t count) {
  std::vector<Baseline::BuildId> out;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto size = in.read<std::uint8_t>();
    if (!size) return ends(in);
    if (*size == 0 || *size > Baseline::kLongestId) return broken(in, "a build-id of that size");
    const auto id = in.take(*size);
    if (!id) return ends(in);
    out.emplace_back(id->begin(), id->end());
    if (i != 0 && out[i] <= out[i - 1]) return broken(in, "modules are out of order");
  }
  return out;
}

Result<Group> take_group(ByteReader& in, std::size_t modules, std::uint64_t most) {
  const auto from = take_index(in, modules);
  if (!from) return std::unexpected(from.error());
  const auto to = take_index(in, modules);
  if (!to) return std::unexpected(to.error());
  const auto count = take_number(in);
  if (!count) return std::unexpected(count.error());
  if (*count == 0 || *count > most) return broken(in, "a group of that size");
  return Group{*from, *to, *count};
}

// The next edge of a group, behind one that begins at `from`.
Status take_edge(ByteReader& in, std::uint64_t& from, std::uint64_t& to) {
  const auto step = take_number(in);
  if (!step) return std::unexpected(step.error());
  const auto target = take_number(in);
  if (!target) return std::unexpected(target.error());
  if (*step > ~from) return broken(in, "an address is too large");
  from += *step;
  to = *target;
  return {};
}

}  // namespace

std::uint32_t Baseline::number(const BuildId& module) {
  return modules_.try_emplace(module, static_cast<std::uint32_t>(modules_.size())).first->second;
}

bool Baseline::add(const Edge& edge) {
  const auto fits = [](const BuildId& id) { return !id.empty() && id.size() <= kLongestId; };
  if (full() || !fits(edge.from_module) || !fits(edge.to_module)) return false;
  const std::uint32_t from = number(edge.from_module);
  return edges_.insert({from, number(edge.to_module), edge.from, edge.to}).second;
}

bool Baseline::contains(const Edge& edge) const {
  const auto from = modules_.find(edge.from_module);
  const auto to = modules_.find(edge.to_module);
  return from != modules_.end() && to != modules_.end() &&
         edges_.contains({from->second, to->second, edge.from, edge.to});
}

// --- the file ---

std::vector<std::uint8_t> Baseline::bytes() const {
  std::vector<std::uint8_t> out(kMagic.begin(), kMagic.end());
  put_fixed(out, kVersion);
  put_fixed(out, static_cast<std::uint32_t>(modules_.size()));
  put_fixed(out, static_cast<std::uint64_t>(edges_.size()));
  std::vector<std::uint32_t> place(modules_.size());  // number -> place among the sorted
  std::uint32_t next = 0;
  for (const auto& [id, number] : modules_) {
    place[number] = next++;
    out.push_back(static_cast<std::uint8_t>(id.size()));
    out.insert(out.end(), id.begin(), id.end());
  }
  std::vector<Key> sorted;
  sorted.reserve(edges_.size());
  for (const Key& e : edges_) {
    sorted.push_back({place[e.from_module], place[e.to_module], e.from, e.to});
  }
  std::ranges::sort(sorted);
  for (auto group = sorted.begin(); group != sorted.end();) {
    const auto end = std::find_if(group, sorted.end(), [&](const Key& e) {
      return e.from_module != group->from_module || e.to_module != group->to_module;
    });
    put_number(out, group->from_module);
    put_number(out, group->to_module);
    put_number(out, static_cast<std::uint64_t>(end - group));
    Key last{.from = 0, .to = 0};
    for (; group != end; ++group) {
      put_number(out, group->from - last.from);
      put_number(out, group->to);
      last = *group;
    }
  }
  return out;
}

Result<Baseline> Baseline::parse(std::span<const std::uint8_t> bytes) {
  ByteReader in(bytes);
  const auto magic = in.take(kMagic.size());
  if (!magic || !std::ranges::equal(*magic, kMagic)) {
    return fail(ErrorCode::malformed, "this is no baseline; 'hodo check --learn' makes them", 0);
  }
  const auto version = in.read<std::uint32_t>();
  const auto modules = in.read<std::uint32_t>();
  const auto edges = in.read<std::uint64_t>();
  if (!version || !modules || !edges) return ends(in);
  if (*version != kVersion) {
    return fail(ErrorCode::unsupported,
                fmt::format("the baseline is of version {}, this hodo reads version {}", *version,
                            kVersion));
  }
  if (*modules > kMostModules || *edges > kMostEdges) {
    return fail(ErrorCode::no_space, fmt::format("more than {} modules or {} edges in a baseline",
                                                 kMostModules, kMostEdges));
  }
  const auto ids = take_modules(in, *modules);
  if (!ids) return std::unexpected(ids.error());
  Baseline out;
  for (const BuildId& id : *ids) out.number(id);  // sorted: numbers are indices
  std::vector<bool> used(*modules);
  std::optional<Key> last;
  for (std::uint64_t done = 0; done < *edges;) {
    const auto group = take_group(in, *modules, *edges - done);
    if (!group) return std::unexpected(group.error());
    Key edge{.from_module = group->from_module, .to_module = group->to_module};
    if (last && std::tie(edge.from_module, edge.to_module) <=
                    std::tie(last->from_module, last->to_module)) {
      return broken(in, "groups are out of order");
    }
    used[edge.from_module] = used[edge.to_module] = true;
    for (std::uint64_t i = 0; i < group->count; ++i, ++done) {
      if (Status status = take_edge(in, edge.from, edge.to); !status) {
        return std::unexpected(status.error());
      }
      if (i != 0 && edge <= *last) return broken(in, "edges are out of order");
      out.edges_.insert(out.edges_.end(), edge);
      last = edge;
    }
  }
  if (in.remaining() != 0) return broken(in, "there is more behind its end");
  if (std::ranges::find(used, false) != used.end()) return broken(in, "a module without edges");
  return out;
}

Result<Baseline> Baseline::load(const std::string& path) {
  auto file = image::RegularFile::open(path);
  if (!file) return std::unexpected(file.error());
  auto bytes = file->read_all(kLargestFile);
  if (!bytes) return std::unexpected(bytes.error());
  auto out = parse(*bytes);
  if (!out) out.error().message = path + ": " + out.error().message;
  return out;
}

Status Baseline::save(const std::string& path) const {
  const auto refused = [](const std::string& what) {
    return fail(ErrorCode::io,
                fmt::format("cannot write {}: {}", what, std::generic_category().message(errno)));
  };
  std::string name = path + ".XXXXXX";
  const int fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0) return refused(name);
  const std::vector<std::uint8_t> all = bytes();
  std::span<const std::uint8_t> rest(all);
  bool good = ::fchmod(fd, 0644) == 0;
  while (good && !rest.empty()) {
    const ssize_t n = ::write(fd, rest.data(), rest.size());
    good = n > 0 || (n < 0 && errno == EINTR);
    if (n > 0) rest = rest.subspan(static_cast<std::size_t>(n));
  }
  good = ::close(fd) == 0 && good;
  if (good && ::rename(name.c_str(), path.c_str()) == 0) return {};
  auto error = refused(path);
  ::unlink(name.c_str());
  return error;
}

}  // namespace hodo::check
