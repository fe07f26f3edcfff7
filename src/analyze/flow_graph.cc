#include "hodo/analyze/flow_graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "coverage_counts.h"
#include "executions.h"
#include "function_code.h"
#include "functions.h"
#include "hodo/analyze/function_name.h"
#include "hodo/base/written_bytes.h"
#include "hodo/isa/disasm.h"
#include "hodo/symbol/demangle.h"

namespace hodo::analyze {
namespace {

using isa::InsnClass;

// Symbols' sizes are what files say.
constexpr std::uint64_t kLargestFunction = 16 << 20;
constexpr std::size_t kMostOthers = 100'000;  // names that could be suggested

bool comes_back(InsnClass cls) {
  return cls == InsnClass::call || cls == InsnClass::icall || cls == InsnClass::syscall ||
         cls == InsnClass::int_ || cls == InsnClass::far_call;
}

// Execution goes on behind it, be it now or after a call.
bool falls_through(InsnClass cls) {
  return !isa::is_branch(cls) || cls == InsnClass::cond || comes_back(cls);
}

bool ends_block(InsnClass cls) { return isa::is_branch(cls) && !comes_back(cls); }

// A function as the recording's names tell it, whoever maps it. A file may have several of one
// name: static ones of C, instances that differ in what the name does not say.
struct Which {
  std::string object;
  std::string symbol;
  std::string name;  // the symbol, and which of the name
  std::uint64_t size = 0;
  std::uint64_t start = 0;  // in its file; 0: of no file that can be read
  auto operator<=>(const Which&) const = default;
};

struct Found {
  std::uint64_t address = 0;
  std::uint32_t space = 0;
  std::uint64_t time = 0;
};

// Where the function begins that has `place` at `address`, as Which has it.
std::uint64_t start_in_file(const session::Names& names, std::uint32_t space, std::uint64_t address,
                            std::uint64_t time, const session::Place& place) {
  const session::Object object = names.object(space, address, time);
  if (object.table == nullptr) return 0;
  return object.table->elf().vaddr_of(object.offset).value_or(place.offset) - place.offset;
}

// An address of the function as its distance from the start; of no other.
class Locator {
 public:
  Locator(const session::Names& names, Which which) : names_(names), which_(std::move(which)) {}

  std::optional<std::uint64_t> offset(const PairCount& pair, std::uint64_t address) const {
    const session::Place place = names_.place(pair.space, address, pair.time);
    if (place.symbol != which_.symbol || place.object != which_.object) return std::nullopt;
    if (place.stub || place.size != which_.size) return std::nullopt;
    const auto start = start_in_file(names_, pair.space, address, pair.time, place);
    return start == which_.start ? std::optional(place.offset) : std::nullopt;
  }

 private:
  const session::Names& names_;
  Which which_;
};

std::string several(const std::string& name, const std::map<Which, Found>& found) {
  std::set<std::string> objects;
  for (const auto& [which, where] : found) objects.insert(which.object);
  const bool by_file = objects.size() == found.size();
  std::string text = fmt::format(
      "{} functions that are called '{}' ran; {} of the one that is meant:", found.size(), name,
      by_file ? "name the file" : "write the address");
  for (const auto& [which, where] : found) {
    // Where it ran: addresses in files are the same in many.
    if (!by_file) text += fmt::format(" {:#x} is", where.address);
    text += fmt::format(" {} in {},", which.name, which.object);
  }
  text.pop_back();
  return text;
}

// `elsewhere`: the objects that have such a function all the same.
std::string none(const std::string& name, const std::string& object, const std::string& part,
                 const std::set<std::string>& elsewhere, const std::set<std::string>& others,
                 const session::Names& files) {
  std::string text = fmt::format("no function '{}'{} ran in {}", name,
                                 object.empty() ? "" : fmt::format(" of '{}'", object), part);
  if (!elsewhere.empty()) return text + fmt::format("; it did of {}", fmt::join(elsewhere, ", "));
  const std::string like =
      suggestion(FunctionName(name).name(), {others.begin(), others.end()}, files);
  return text + (like.empty() ? "; 'hodo coverage --top 0' lists those that did" : like);
}

// "0x401230": an address of the function, in its file or where it ran.
std::optional<std::uint64_t> address_in(std::string_view text) {
  if (!text.starts_with("0x")) return std::nullopt;
  std::uint64_t address = 0;
  const auto [end, error] =
      std::from_chars(text.data() + 2, text.data() + text.size(), address, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return address;
}

bool covers(const session::Place& place, const session::Object& object, std::uint64_t at,
            std::uint64_t wanted) {
  if (wanted - (at - place.offset) < place.size) return true;
  if (object.table == nullptr) return false;
  const auto vaddr = object.table->elf().vaddr_of(object.offset);
  return vaddr && wanted - (*vaddr - place.offset) < place.size;
}

// Which function is meant, and where it ran first.
Result<std::pair<Which, Found>> find(const std::vector<PairCount>& runs,
                                     const session::Names& names, const std::string& name,
                                     const std::string& object, const std::string& part) {
  const auto address = address_in(name);
  const FunctionName wanted(name);
  const std::string file = written_bytes(object);
  std::map<Which, Found> found;
  std::set<std::string> elsewhere;  // objects that have it, and are not meant
  std::set<std::string> others;
  for (const PairCount& run : runs) {
    const session::Place place = names.place(run.space, run.from, run.time);
    if (place.symbol.empty() || place.stub) continue;
    const bool meant =
        address ? covers(place, names.object(run.space, run.from, run.time), run.from, *address)
                : wanted.means(session::full_name(place), place.object);
    const bool in_object = place.object.find(file) != std::string::npos;
    if (meant && !in_object) elsewhere.insert(place.object);
    if (!meant && in_object && others.size() < kMostOthers) others.insert(place.symbol);
    if (!meant || !in_object) continue;
    const Found here{run.from - place.offset, run.space, run.time};
    const auto start = start_in_file(names, run.space, run.from, run.time, place);
    auto [it, fresh] = found.try_emplace(
        {place.object, place.symbol, session::full_name(place), place.size, start}, here);
    if (!fresh && here.time < it->second.time) it->second = here;
  }
  if (found.empty())
    return fail(ErrorCode::usage, none(name, object, part, elsewhere, others, names));
  if (found.size() > 1) {
    const auto written = [&](const auto& one) { return one.first.name == wanted.name(); };
    const auto as_written = std::ranges::count_if(found, written);
    // Not one of the copies that the compiler has made of it.
    if (as_written == 1) return *std::ranges::find_if(found, written);
    // Nor the rare part of one that is among them.
    std::erase_if(found, [&found](const auto& one) {
      const std::string whole = without_cold(one.first.symbol);
      return whole != one.first.symbol && std::ranges::any_of(found, [&](const auto& other) {
               return other.first.symbol == whole && other.first.object == one.first.object;
             });
    });
  }
  if (found.size() > 1) return fail(ErrorCode::usage, several(name, found));
  return *found.begin();
}

class GraphBuilder {
 public:
  GraphBuilder(const std::vector<PairCount>& runs, const std::vector<PairCount>& edges,
               session::Session& session, const Which& which, const Found& found)
      : session_(session), locator_(session.names(), which) {
    graph_.function = which.symbol;
    graph_.object = which.object;
    graph_.address = found.address;
    graph_.space = found.space;
    graph_.time = found.time;
    graph_.size = which.size;
    disassemble();
    for (const PairCount& edge : edges) add_executed(edge);
    for (const PairCount& run : runs) add_run(run);
    executions_.finish();
  }

  FlowGraph build() {
    make_blocks();
    for (std::uint32_t i = 0; i < graph_.blocks.size(); ++i) make_edges(i);
    return std::move(graph_);
  }

 private:
  struct Code {  // one instruction
    std::uint8_t length = 0;
    InsnClass cls = InsnClass::other;
    std::uint64_t target = 0;
    bool padding = false;
  };
  struct Exit {  // where an instruction's branch went
    std::uint64_t to = 0;
    bool not_taken = false;
    auto operator<=>(const Exit&) const = default;
  };

  void disassemble() {
    code_.resize(static_cast<std::size_t>(std::min(graph_.size, kLargestFunction)));
    code_.resize(session_.read_code(graph_.space, graph_.address, graph_.time, code_));
    leaders_.insert(0);
    std::size_t at = 0;
    while (at < code_.size()) {
      const auto rest = std::span(code_).subspan(at);
      const auto insn =
          isa::decode(rest, graph_.address + at, session_.mode(graph_.space, graph_.time));
      if (!insn) break;
      insns_[at] = {insn->length, insn->cls, insn->target, is_padding(rest.first(insn->length))};
      at += insn->length;
      if (ends_block(insn->cls)) leaders_.insert(at);
      const bool stays = insn->target - graph_.address < code_.size();
      if (ends_block(insn->cls) && isa::has_direct_target(insn->cls) && stays) {
        leaders_.insert(insn->target - graph_.address);
      }
    }
    graph_.undecoded = graph_.size - at;
  }

  void add_executed(const PairCount& edge) {
    const auto from = locator_.offset(edge, edge.from);
    const auto to = locator_.offset(edge, edge.to);
    // What comes back from a call goes on in the middle of a block.
    const bool returns = edge.kind == BranchKind::ret || edge.kind == BranchKind::sysret ||
                         edge.kind == BranchKind::iret;
    if (to && !returns) leaders_.insert(*to);
    if (!from) return;
    // In the first process's addresses.
    const std::uint64_t start = edge.from - *from;
    exits_[*from][{edge.to - start + graph_.address, edge.not_taken}] += edge.count;
  }

  void add_run(const PairCount& run) {
    const auto first = locator_.offset(run, run.from);
    if (!first) return;
    const std::uint64_t last = *first + (run.to - run.from);
    const auto insn = insns_.find(last);
    const std::uint64_t length = run.not_taken ? 0 : insn == insns_.end() ? 1 : insn->second.length;
    executions_.add(*first, last + length, run.count);
  }

  void make_blocks() {
    bool open = false;  // the last block goes on
    for (const auto& [at, insn] : insns_) {
      if (!open || leaders_.contains(at)) {
        drop_padding();
        graph_.blocks.push_back({.count = executions_.at(at)});
        numbers_[at] = static_cast<std::uint32_t>(graph_.blocks.size() - 1);
      }
      const auto bytes = std::span(code_).subspan(at, insn.length);
      const std::uint64_t address = graph_.address + at;
      graph_.blocks.back().insns.push_back(
          {address, isa::disassemble(bytes, address, session_.mode(graph_.space, graph_.time)),
           insn.target, executions_.at(at)});
      open = !ends_block(insn.cls);
    }
    drop_padding();
  }

  // A last block of nothing but padding that nothing leads to.
  void drop_padding() {
    if (graph_.blocks.empty()) return;
    const GraphBlock& last = graph_.blocks.back();
    const auto padding = [&](const GraphInsn& i) {
      return insns_.at(i.address - graph_.address).padding;
    };
    if (last.count != 0 || !std::ranges::all_of(last.insns, padding)) return;
    const std::uint64_t start = last.insns[0].address - graph_.address;
    const auto before = insns_.lower_bound(start);
    if (before != insns_.begin() && falls_through(std::prev(before)->second.cls)) return;
    numbers_.erase(start);
    graph_.blocks.pop_back();
  }

  void make_edges(std::uint32_t block) {
    const std::uint64_t at = graph_.blocks[block].insns.back().address - graph_.address;
    const Code& last = insns_.at(at);
    const std::uint64_t behind = graph_.address + at + last.length;
    using Kind = GraphEdge::Kind;
    if (last.cls == InsnClass::cond) {
      add_edge(block, last.target, Kind::taken, executed(at, last.target, false));
      add_edge(block, behind, Kind::next, executed(at, behind, true));
    } else if (last.cls == InsnClass::jmp) {
      add_edge(block, last.target, Kind::jump, executed(at, last.target, false));
    } else if (last.cls == InsnClass::ijmp || last.cls == InsnClass::far_jmp) {
      for (const auto& [exit, count] : exits_[at]) {
        add_edge(block, exit.to, Kind::indirect, count);
      }
    } else if (falls_through(last.cls)) {
      // Not every call comes back.
      const std::uint64_t ran = executions_.at(at);
      add_edge(block, behind, Kind::next, std::min(ran, executions_.at(at + last.length)));
    }
  }

  std::uint64_t executed(std::uint64_t at, std::uint64_t to, bool not_taken) {
    const auto exits = exits_.find(at);
    if (exits == exits_.end()) return 0;
    const auto exit = exits->second.find({to, not_taken});
    return exit == exits->second.end() ? 0 : exit->second;
  }

  void add_edge(std::uint32_t from, std::uint64_t target, GraphEdge::Kind kind,
                std::uint64_t count) {
    const auto to = numbers_.find(target - graph_.address);
    // Behind a call that never comes back the next function begins.
    const bool next = kind == GraphEdge::Kind::next;
    if (next && count == 0 && to == numbers_.end()) return;
    graph_.edges.push_back({.from = from,
                            .to = to == numbers_.end() ? GraphEdge::kOutside : to->second,
                            .target = target,
                            .count = count,
                            .kind = kind});
  }

  session::Session& session_;
  Locator locator_;
  FlowGraph graph_;
  std::vector<std::uint8_t> code_;
  // All by distance from the function's start.
  std::map<std::uint64_t, Code> insns_;
  std::set<std::uint64_t> leaders_;
  std::map<std::uint64_t, std::map<Exit, std::uint64_t>> exits_;
  std::map<std::uint64_t, std::uint32_t> numbers_;  // of blocks
  Executions executions_;
};

}  // namespace

Result<FlowGraph> flow_graph(const CoverageCounts& counts, session::Session& session,
                             const std::string& name, const std::string& object,
                             const std::string& part) {
  const std::vector<PairCount> runs = sorted(counts.state().runs);
  const auto found = find(runs, session.names(), name, object, part);
  if (!found) return std::unexpected(found.error());
  const std::vector<PairCount> edges = sorted(counts.state().edges);
  return GraphBuilder(runs, edges, session, found->first, found->second).build();
}

}  // namespace hodo::analyze
