// What may be asked of an open recording, whatever way the question comes: one table of methods,
// each with the shape of its parameters and of its answer as JSON Schema.
//
// Answers that a command gives, too, are what its --json says. Addresses are strings, "0x401136";
// moments are as `hodo show` prints them, "4242:1700+3"; threads are as moments name them, "4242"
// or "q0". Members whose names end in _ns, and places on the axis of time, are nanoseconds since
// the recording's first time; in what is a command's JSON times are those of the recording's clock,
// as there (info: start_ns is where it begins).
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "hodo/base/result.h"

namespace hodo::serve {

using Json = nlohmann::ordered_json;
class Workspace;

struct Method {
  std::string_view name;     // "scene"
  std::string_view summary;  // one sentence
  Json (*parameters)();      // JSON Schema of an object, without any other members
  Json (*result)();          // JSON Schema
  // `params` fit the schema. Errors: as of what is asked.
  Result<Json> (*answer)(Workspace& workspace, const Json& params);
  bool beside = false;  // needs no recording: is answered while another question is
};

// In the order in which they are documented.
std::span<const Method> methods();
const Method* find_method(std::string_view name);  // null: there is none

// Waits until no other question is answered, and answers. `params` may be null for none. Errors:
// not_found: no such method; usage: params that do not fit; those of the question. Who asks may
// hold the turn already (`has_turn`).
Result<Json> ask(Workspace& workspace, std::string_view name, const Json& params,
                 bool has_turn = false);

// What answering comes to, as text; belongs to who has the turn, or needs no recording. Errors: its
// own; no_space: it takes more memory than there is. Then what it has left half done is not used
// again: the recording is opened anew for the next question.
Result<std::string> within_memory(Workspace& workspace,
                                  const std::function<Result<std::string>()>& answer);

// All methods: {"methods": [{"name", "summary", "params", "result"}]}.
Json all_methods();

}  // namespace hodo::serve
