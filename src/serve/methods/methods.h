// The methods, one function for each, and what they share.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>

#include "hodo/serve/covering.h"
#include "hodo/serve/method.h"
#include "hodo/serve/workspace.h"

namespace hodo::serve {

Method info_method();
Method reopen_method();
Method moment_method();
Method scene_method();
Method part_method();
Method tile_method();
Method steps_method();
Method flame_method();
Method tree_method();
Method calls_method();
Method findings_method();
Method report_method();
Method stats_method();
Method coverage_method();
Method ends_method();
Method code_method();
Method graph_method();
Method around_method();
Method diff_method();
Method search_method();
Method notes_method();
Method progress_method();
Method schema_method();

// Members of an object that fits its schema.
std::string text_in(const Json& params, const char* name, std::string otherwise = {});
// The one of these texts that is given. Errors: usage where there is none, or are several.
Result<std::string> one_in(const Json& params, std::initializer_list<const char*> names);
std::uint64_t number_in(const Json& params, const char* name, std::uint64_t otherwise);
bool flag_in(const Json& params, const char* name);

// "4242" or "q0", as moments name threads. Errors: usage.
Result<ask::ThreadId> thread_named(const std::string& text);
// The member "thread"; nullopt: it says none. Errors: usage for what is no thread.
Result<std::optional<ask::ThreadId>> thread_in(const Json& params);
// That and "pid". Errors: as thread_in(); not_found: the recording has nobody of that number.
Result<session::Selection> selection_in(Workspace& workspace, const Json& params);
// Of the members "from", "to", "last", "call": as the commands' options of these names.
WindowInput window_in(const Json& params);

// A function's graph with the counts of the part that is asked for. Errors: as function_graph.
Result<FunctionGraph> graph_in(Workspace& workspace, const Json& params,
                               const std::string& function);
// What graph_in() takes, as a method's parameters.
Json graph_parameters();

namespace schema {
// What they take, to be put among a method's parameters.
Json thread();
Json pid();
Json moment(std::string_view description);
// Of answers.
Json losses();
Json growing();
}  // namespace schema

}  // namespace hodo::serve
