// Where code of functions was inlined that a name means, in the processes of a session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "by_file.h"
#include "hodo/analyze/call_tree.h"
#include "hodo/analyze/function_name.h"
#include "hodo/session/session.h"
#include "spots.h"

namespace hodo::ask {

// Such calls of a file; places are offsets in it.
class InlinedInFile {
 public:
  struct Call {
    std::uint32_t function = 0;  // in InlinedCode::functions()
    std::vector<std::uint64_t> entries;
    std::vector<Spot> pieces;  // of its code, by offset, apart

    // The first in [from, to).
    std::optional<std::uint64_t> entry_in(std::uint64_t from, std::uint64_t to) const;
    bool covers(std::uint64_t offset) const;
  };

  InlinedInFile() = default;
  // In the order of SymbolTable::inlined_calls.
  explicit InlinedInFile(std::vector<Call> calls);

  const Call& operator[](std::uint32_t call) const { return calls_[call]; }
  bool empty() const { return calls_.empty(); }
  // Adds those whose code meets [first, last], by number.
  void add_meeting(std::uint64_t first, std::uint64_t last, std::vector<std::uint32_t>& out) const;
  bool meets(std::uint64_t first, std::uint64_t last) const;

 private:
  struct Piece {
    Spot code;
    std::uint32_t call = 0;
    std::uint64_t reach = 0;  // the largest end of this piece and those before it
  };
  std::vector<Call> calls_;
  std::vector<Piece> pieces_;  // by begin
};

// Whether `inlined`, of which debug information may say no more than its bare name, as of functions
// that only their file knows, is this function.
bool is_inlined_as(const analyze::Function& function, const analyze::Function& inlined);

class InlinedCode {
 public:
  // Looks through the debug information of all files that ran; null: none has any. `session` must
  // outlive it.
  static std::unique_ptr<InlinedCode> find(session::Session& session,
                                           const analyze::FunctionName& name);
  InlinedCode(const InlinedCode&) = delete;
  InlinedCode& operator=(const InlinedCode&) = delete;

  ByFile<InlinedInFile>::Mapped at(std::uint32_t space, std::uint64_t address, std::uint64_t time) {
    return files_.at(space, address, time);
  }
  // Whether some of the code may lie in [first, last], which is of one file.
  bool meets(std::uint32_t space, std::uint64_t first, std::uint64_t last, std::uint64_t time);
  // The name of all of them, if it is one and they are of one file.
  std::optional<std::string> only_name() const;
  // Those of files that have come up.
  std::span<const analyze::Function> functions() const { return functions_; }

 private:
  using Found = std::map<const symbol::SymbolTable*, std::vector<symbol::InlinedCall>>;

  InlinedCode(session::Session& session, const analyze::FunctionName& name, Found found);
  InlinedInFile calls_of(const session::Object& object);
  std::uint32_t number_of(const std::string& name, const std::string& object);

  analyze::FunctionName name_;
  Found found_;
  std::vector<analyze::Function> functions_;
  ByFile<InlinedInFile> files_;
};

}  // namespace hodo::ask
