// The checker, told that a program went anywhere and had anything mapped: names, files, times and
// branches come from the input. Every finding is one that can be shown, and the same whether the
// branches come by themselves, as paths that come again or as passages.
#include "hodo/check/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "elf_builder.h"
#include "fake_session.h"
#include "hodo/base/byte_reader.h"
#include "hodo/text/module.h"

namespace {

using namespace hodo;
using namespace hodo::check;
using text::ElfBuilder;
using text::kText;

std::string file(const ElfBuilder& elf) {
  std::string path = path_of(elf);
  if (!text::Module::analyze(path)) std::abort();
  return path;
}

// Files whose functions call, jump, switch stacks and return.
std::string wide_file() {
  ElfBuilder elf;
  elf.entry = kText;
  elf.text = {0xf3, 0x0f, 0x1e, 0xfa, 0xe8, 0x07, 0x00, 0x00, 0x00, 0xff, 0xd0, 0xff,
              0xe0, 0xc3, 0x0f, 0x05, 0x50, 0xc3, 0x48, 0x8b, 0x67, 0x08, 0xff, 0x27,
              0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05, 0x74, 0xfe, 0xeb};
  elf.functions = {{.begin = kText, .end = kText + 16, .start = 4, .size = 5, .pad = 13},
                   {.begin = kText + 16, .end = kText + 24},
                   {.begin = kText + 24, .end = kText + 36}};
  return file(elf);
}

std::string narrow_file() {
  ElfBuilder elf;
  elf.narrow = true;
  elf.entry = kText;
  elf.text = {0xf3, 0x0f, 0x1e, 0xfb, 0xe8, 0x07, 0x00, 0x00, 0x00, 0xff, 0xd0, 0xff,
              0xe0, 0xc3, 0xcd, 0x80, 0x89, 0x04, 0x24, 0xc2, 0x0c, 0x00, 0x8b, 0x61,
              0x08, 0xff, 0xe2, 0x58, 0xb8, 0x77, 0x00, 0x00, 0x00, 0xcd, 0x80, 0xc3};
  elf.functions = {{.begin = kText, .end = kText + 16, .start = 4, .size = 5, .pad = 13},
                   {.begin = kText + 16, .end = kText + 22},
                   {.begin = kText + 22, .end = kText + 36}};
  return file(elf);
}

struct Files {
  std::string wide = wide_file();
  std::string narrow = narrow_file();
};

// Maps 64 KiB each: regions() looks at bits 16 to 18 of an address.
class Input final : public FakeSession {
 public:
  Input(const Files& files, ByteReader& reader) : files_(files) {
    for (auto& kind : kinds_) kind = reader.read<std::uint8_t>().value_or(0);
    const auto name = reader.take(reader.read<std::uint8_t>().value_or(0) % 32);
    if (name) name_.assign(name->begin(), name->end());
  }

  std::optional<session::Region> region(std::uint32_t space, std::uint64_t address,
                                        std::uint64_t time) const override {
    const std::uint8_t kind = kinds_[slot(space, address, time)];
    if ((kind & 7) == 0) return std::nullopt;
    session::Region out{.id = id(space, address, time).id, .kept = (kind & 8) != 0};
    out.generated = (kind & 16) != 0;
    out.writing = static_cast<session::Region::Writing>((kind >> 5) % 3);
    out.file_offset = address & 0xffff;
    switch (kind & 7) {
      case 1:
      case 2:
        out.path = "/bin/prog";
        out.location = (kind & 7) == 1 ? files_.wide : files_.narrow;
        break;
      case 3:
        out.path = name_;
        break;
      case 4:
        out.path = "[vdso]";
        break;
      case 5:
        out.area = "[stack]";
        break;
      case 6:
        out.area = "[heap]";
        break;
      default:
        break;
    }
    return out;
  }
  Id id(std::uint32_t space, std::uint64_t address, std::uint64_t time) const override {
    const std::size_t at = slot(space, address, time);
    return {.id = (kinds_[at] & 7) == 0 ? kNoRegion : static_cast<std::uint32_t>(at)};
  }
  std::vector<session::MappedFile> files(std::uint32_t, std::uint64_t) const override {
    return {{.path = "/bin/prog", .location = files_.wide},
            {.path = "/bin/prog32", .location = files_.narrow},
            {.path = name_, .location = {}}};
  }

  std::uint64_t next_thread(std::uint32_t, std::uint64_t time) const override {
    return (kinds_[0] & 8) != 0 ? time + 1 : kNever;
  }
  std::vector<session::Fork> forks() const override {
    if ((kinds_[1] & 8) == 0) return {};
    return {{.parent = 0, .child = 1, .time = std::uint64_t{kinds_[2]} >> 3}};
  }

  std::uint32_t generation(std::uint32_t, std::uint64_t time) const override {
    return time >= 128 ? 1 : 0;
  }

  std::size_t read_code(std::uint32_t, std::uint64_t address, std::uint64_t,
                        std::span<std::uint8_t> out) override {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = kinds_[(address + i) % kinds_.size()];
    return out.size() - address % 2;
  }
  isa::Mode mode(std::uint32_t space, std::uint64_t) override {
    return (kinds_[space % kinds_.size()] & 0x80) != 0 ? isa::Mode::bits32 : isa::Mode::bits64;
  }

 private:
  std::size_t slot(std::uint32_t space, std::uint64_t address, std::uint64_t time) const {
    return static_cast<std::size_t>((address >> 16) + space + (time >= 128 ? 3 : 0)) %
           kinds_.size();
  }

  const Files& files_;
  std::array<std::uint8_t, 8> kinds_{};
  std::string name_;
};

// Addresses near those that mean something, and any other.
std::uint64_t address(ByteReader& reader) {
  const auto how = reader.read<std::uint8_t>().value_or(0);
  if (how == 0) return 0;
  if (how == 255) return reader.read<std::uint64_t>().value_or(0);
  return std::uint64_t{how & 7u} << 16 | (kText + reader.read<std::uint8_t>().value_or(0) % 40);
}

// Gives branches to a checker as a decoder does that remembers paths: up to four of one thread and
// time are a path, known by where it leads, and up to six paths a batch. One in five was walked.
class AsPaths {
 public:
  explicit AsPaths(Checker& checker) : checker_(checker) {}

  void add(const session::Context& context, const Branch& branch) {
    if (!(context == context_)) flush();
    context_ = context;
    const bool walked = ++added_ % 5 == 0;
    if (walked || path_.size() == 4 || (!path_.empty() && path_[0].time != branch.time)) end_path();
    if (walked) return walked_.push_back(branch);
    path_.push_back(branch);
    if (list_.size() == 6) flush();
  }
  void flush() {
    end_path();
    const flow::Repeats batch{
        .walked = walked_, .list = list_, .memory = 1, .numbers = edge_numbers_, .edges = edges_};
    if (!batch.empty()) checker_.repeats(context_, batch);
    walked_.clear();
    list_.clear();
  }

 private:
  void end_path() {
    if (path_.empty()) return;
    std::string key;
    for (const Branch& b : path_) {
      key +=
          fmt::format("{} {} {} {} {},", b.from, b.to, b.insns, static_cast<int>(b.kind), b.flags);
    }
    const auto [path, fresh] =
        numbers_.try_emplace(key, static_cast<std::uint32_t>(numbers_.size()));
    if (fresh) {
      edge_numbers_.resize(flow::Repeats::kStep * path->second);
      for (const Branch& b : path_) {
        edge_numbers_.push_back(static_cast<std::uint32_t>(edges_.size()));
        edges_.push_back(b);
      }
    }
    list_.push_back({.time = path_[0].time,
                     .begin = static_cast<std::uint32_t>(walked_.size()),
                     .path = path->second,
                     .count = static_cast<std::uint32_t>(path_.size())});
    path_.clear();
  }

  Checker& checker_;
  session::Context context_;
  unsigned added_ = 0;
  std::vector<Branch> path_;  // at work
  std::vector<Branch> walked_;
  std::vector<flow::Repeat> list_;
  std::map<std::string, std::uint32_t> numbers_;
  std::vector<std::uint32_t> edge_numbers_;
  std::vector<Branch> edges_;
};

// Gives branches to a checker as a decoder does that goes by what it judges: what passes is in
// passages of up to four branches of one thread and time, of which a batch has up to six.
class AsPassages final : flow::Passages::Reader {
 public:
  explicit AsPassages(Checker& checker) : checker_(checker) {}

  void add(const session::Context& context, const Branch& branch) {
    if (!(context == context_)) flush();
    context_ = context;
    const bool known = std::ranges::find(walked_, branch.from, &Branch::from) != walked_.end();
    if (known || list_.size() == 6) flush();
    if (!passes(branch)) {
      end_passage();
      return walked_.push_back(branch);
    }
    passed_.push_back(branch);
    ++passage_.branches;
  }
  void flush() {
    end_passage();
    const flow::Passages batch{.walked = walked_,
                               .list = list_,
                               .entries = entries_,
                               .addresses = addresses_,
                               .reader = this};
    if (!batch.empty()) checker_.passages(context_, batch);
    walked_.clear();
    list_.clear();
    entries_.clear();
    passed_.clear();
    addresses_.clear();
  }
  // An entry is the place of a branch.
  void append(const flow::Passages&, std::span<const flow::Passages::Entry> entries, std::uint64_t,
              std::uint64_t, std::vector<Branch>& out) const override {
    for (const flow::Passages::Entry& entry : entries) out.push_back(passed_[entry.where]);
  }

 private:
  using Judged = flow::BranchSink::Judged;

  // If it does, what it does to the open calls is noted.
  bool passes(const Branch& branch) {
    if (branch.kind > BranchKind::ret || branch.flags != 0) return false;
    const bool calls = branch.kind == BranchKind::call || branch.kind == BranchKind::icall;
    // Where a call returns to the decoder knows by the code; here, by what the judge agrees to.
    std::uint64_t next = branch.from;
    Judged judged = checker_.judged(context_, branch, next);
    for (unsigned i = 0; calls && judged == Judged::comes && i < 15; ++i) {
      judged = checker_.judged(context_, branch, ++next);
    }
    if (judged == Judged::comes || judged == Judged::later) return false;
    const bool other_time = passage_.branches != 0 && passed_.back().time != branch.time;
    const bool returns = branch.kind == BranchKind::ret;
    const bool passes_its_call = returns && !called_.empty() && called_.back() != branch.to;
    if (other_time || passes_its_call || passage_.branches == 4) end_passage();
    if (calls) called_.push_back(next);
    if (!returns) return true;
    if (called_.empty()) {
      returned_.push_back(branch.to);
    } else {
      called_.pop_back();
    }
    return true;
  }
  void end_passage() {
    if (passage_.branches == 0) return;
    for (std::size_t i = passed_.size() - passage_.branches; i < passed_.size(); ++i) {
      entries_.push_back({.where = i});
    }
    passage_.time = passed_.back().time;
    passage_.begin = static_cast<std::uint32_t>(walked_.size());
    passage_.entries = passage_.branches;
    passage_.returned = static_cast<std::uint32_t>(returned_.size());
    passage_.called = static_cast<std::uint32_t>(called_.size());
    list_.push_back(std::exchange(passage_, {}));
    addresses_.insert(addresses_.end(), returned_.begin(), returned_.end());
    addresses_.insert(addresses_.end(), called_.begin(), called_.end());
    returned_.clear();
    called_.clear();
  }

  Checker& checker_;
  session::Context context_;
  std::vector<Branch> walked_;
  std::vector<Branch> passed_;
  std::vector<flow::Passage> list_;
  std::vector<flow::Passages::Entry> entries_;
  std::vector<std::uint64_t> addresses_;
  flow::Passage passage_;  // at work: its branches, and what it does to calls
  std::vector<std::uint64_t> returned_;
  std::vector<std::uint64_t> called_;
};

std::string told(const Finding& f) {
  std::string out = fmt::format("{} {} {} {} {}:", f.rule->name, f.reason, f.count, f.who.tid,
                                static_cast<int>(f.grade));
  for (const auto& list : {f.before, {f.branch}, f.after}) {
    for (const Branch& b : list) out += fmt::format(" {:x} {:x} {}", b.from, b.to, b.time);
    out += ';';
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Files files;
  ByteReader reader({data, size});
  Input input(files, reader);
  check::Checker checker(input, {});
  check::Checker by_paths(input, {});
  AsPaths paths(by_paths);
  check::Checker by_passages(input, {});
  AsPassages passages(by_passages);
  std::uint64_t time = 0;
  while (const auto kind = reader.read<std::uint8_t>()) {
    const auto who = reader.read<std::uint8_t>().value_or(0);
    time += who >> 4;
    const std::array<Branch, 1> batch = {
        Branch{.from = address(reader),
               .to = address(reader),
               .time = time,
               .insns = who,
               .kind = static_cast<BranchKind>(*kind % kBranchKinds),
               .flags = static_cast<std::uint8_t>(who % 3 == 0 ? 0 : *kind & 0x7f)}};
    const session::Context context{.space = who & 1u, .pid = who & 1, .tid = who & 3};
    checker.branches(context, batch);
    paths.add(context, batch.front());
    passages.add(context, batch.front());
    if (*kind != 0xfe) continue;
    paths.flush();
    passages.flush();
    checker.move_to(input);
    by_paths.move_to(input);
    by_passages.move_to(input);
  }
  paths.flush();
  passages.flush();
  const auto findings = checker.findings();
  if (!std::ranges::equal(findings, by_paths.findings(), {}, told, told)) std::abort();
  if (!std::ranges::equal(findings, by_passages.findings(), {}, told, told)) std::abort();
  for (const Finding& f : findings) {
    if (f.rule == nullptr || f.reason.empty() || f.count == 0) std::abort();
    if (f.before.size() > Finding::kBefore || f.after.size() > Finding::kAfter) std::abort();
  }
  (void)checker.unjudged();
  return 0;
}
