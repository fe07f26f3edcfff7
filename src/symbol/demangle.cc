#include "hodo/symbol/demangle.h"

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstring>

#define HAVE_DECL_BASENAME 1  // else libiberty.h declares its own, against glibc's
#include <demangle.h>         // libiberty's

namespace hodo::symbol {
namespace {

// Why libiberty and not __cxa_demangle, which is the same code: that one returns the whole result,
// and a name of 233 bytes was seen to become 109 MB in three seconds. libiberty hands the result
// out in pieces, so that it can be stopped.
struct Sink {
  std::size_t size = 0;
  std::jmp_buf full;
  char text[kLongestDemangled];
};

// Leaves the demangler through longjmp when there is no more room: it is C, holds no resources in
// this form ("callback" functions allocate on the stack only) and has no other way to stop.
extern "C" void hodo_demangle_append(const char* piece, std::size_t size, void* opaque) {
  auto& sink = *static_cast<Sink*>(opaque);
  if (size > sizeof sink.text - sink.size) std::longjmp(sink.full, 1);
  std::memcpy(sink.text + sink.size, piece, size);
  sink.size += size;
}

// No object with a destructor may live in this function or between it and the callback.
bool demangle_into(Sink& sink, const char* mangled) {
  if (setjmp(sink.full) != 0) return false;
  // Without NO_RECURSE_LIMIT libiberty refuses names of more than 1024 characters, which templates
  // reach; kLongestMangled keeps its recursion in bounds instead.
  constexpr int kOptions = DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT;
  if (rust_demangle_callback(mangled, kOptions, hodo_demangle_append, &sink) != 0) return true;
  sink.size = 0;
  return cplus_demangle_v3_callback(mangled, kOptions, hodo_demangle_append, &sink) != 0;
}

// Whether this may stand behind a function's parameters. "main.(*Box).Area" of Go, "<(A, B) as
// Trait>::f" and "Vec<(A, B)>::push" of Rust have others in brackets.
bool follows_parameters(std::string_view rest) {
  constexpr auto kWords = std::to_array<std::string_view>(
      {"@", "[abi:", " [", " const", " volatile", " &", " noexcept", " requires"});
  return rest.empty() || std::ranges::any_of(kWords, [rest](std::string_view word) {
           return rest.starts_with(word);
         });
}

// "ns::f<int>(char) const" -> "ns::f<int>"
std::string_view without_parameters(std::string_view name) {
  const auto close = name.rfind(')');
  if (close == std::string_view::npos || !follows_parameters(name.substr(close + 1))) return name;
  int depth = 0;
  for (std::size_t i = close + 1; i-- > 0;) {
    depth += name[i] == ')' ? 1 : name[i] == '(' ? -1 : 0;
    if (depth == 0) return name.substr(0, i);
  }
  return name;
}

// Of a generic function of Go with what stands in its brackets replaced: "main.(*Stack[int]).Push"
// -> "main.(*Stack).Push". Empty: it is none, as of "f(int [3])", "operator[]" or "[prog+0x10]".
std::string without_brackets(std::string_view name, std::string_view instead) {
  const auto part_of_name = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  std::string out;
  bool any = false;
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool opens =
        c == '[' &&
        (depth > 0 || (i != 0 && part_of_name(name[i - 1]) && !name.substr(i).starts_with("[]")));
    if (opens && depth++ == 0) out += instead;
    if (depth == 0) out += c;
    if (c == ']' && depth > 0) --depth;
    any = any || opens;
  }
  return any && depth == 0 ? out : "";
}

// Of the name of a template's instance, without parameters, how the template is called.
struct TemplateName {
  std::string whole;  // "std::sort<int*>" of "void std::sort<int*>"
  std::string bare;   // "std::sort"; "Map::find" of "Map<int>::find", "f" of "f::<i32>"
};

// Both empty: it is none, as of "operator<" or "<T as Trait>::f".
TemplateName template_name(std::string_view name) {
  constexpr std::string_view kOperator = "operator";
  std::string bare;
  std::size_t begin = 0;  // of the name itself, behind what it returns
  std::size_t bare_begin = 0;
  bool instance = false;
  int depth = 0;   // of <>
  int inside = 0;  // of ()
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (depth > 0) {
      if (c == '<') ++depth;
      if (c == '>' && name[i - 1] != '-') --depth;
      continue;
    }
    if (c == '<' && !bare.ends_with(kOperator) && !bare.ends_with("operator<")) {
      while (bare.ends_with(':') || bare.ends_with(' ')) bare.pop_back();
      if (bare.size() <= bare_begin) return {};
      instance = true;
      ++depth;
      continue;
    }
    bare += c;
    inside += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c != ' ' || inside != 0 || bare.find(kOperator, bare_begin) != bare.npos) continue;
    begin = i + 1;
    bare_begin = bare.size();
  }
  if (!instance || depth > 0) return {};
  return {std::string(name.substr(begin)), bare.substr(bare_begin)};
}

// "f[abi:cxx11]" -> "f"
std::string without_abi_tags(std::string name) {
  for (auto tag = name.find("[abi:"); tag != std::string::npos; tag = name.find("[abi:", tag)) {
    const auto end = name.find(']', tag);
    if (end == std::string::npos) break;
    name.erase(tag, end + 1 - tag);
  }
  return name;
}

// What compilers append to the names of functions that they have made another of, or renamed; what
// they have split off ("f.part.0", "f.cold") is not the whole function.
constexpr auto kCopies =
    std::to_array<std::string_view>({".constprop", ".isra", ".lto_priv", ".llvm", ".localalias"});

// "f.constprop.0" -> "f", "f(int) [clone .isra.0]" -> "f(int)"
std::string_view without_copies(std::string_view name) {
  constexpr std::string_view kClone = " [clone ";
  while (true) {
    std::string_view rest = name;
    const bool clone = rest.ends_with(']');
    if (clone) rest.remove_suffix(1);
    const auto number = rest.find_last_not_of("0123456789");
    if (number != rest.npos && rest[number] == '.') rest = rest.substr(0, number);
    const auto* const copy =
        std::ranges::find_if(kCopies, [&](std::string_view one) { return rest.ends_with(one); });
    if (copy == kCopies.end()) return name;
    rest.remove_suffix(copy->size());
    if (clone && !rest.ends_with(kClone)) return name;
    if (clone) rest.remove_suffix(kClone.size());
    if (rest.empty()) return name;
    name = rest;
  }
}

}  // namespace

std::string demangle(std::string_view mangled) {
  const bool candidate = mangled.starts_with("_Z") || mangled.starts_with("_R");
  std::string name(mangled);
  if (!candidate || mangled.size() > kLongestMangled) return name;
  const auto suffix = std::min(mangled.find('@'), mangled.size());
  name.resize(suffix);
  Sink sink;
  if (demangle_into(sink, name.c_str())) name.assign(sink.text, sink.size);
  return name.append(mangled.substr(suffix));
}

std::vector<std::string> spellings(std::string_view demangled) {
  const std::string name = without_abi_tags(std::string(demangled));
  const std::string_view whole = without_copies(name);
  std::vector<std::string> out{name};
  const auto add = [&out](std::string_view one) {
    if (!one.empty() && std::ranges::find(out, one) == out.end()) out.emplace_back(one);
  };
  add(demangled);
  add(without_parameters(name));
  add(whole);
  if (!name.contains('<')) {
    add(without_brackets(name, ""));
    add(without_brackets(name, "[...]"));  // as Go's tracebacks have it
    return out;
  }
  TemplateName of = template_name(without_parameters(whole));
  // "call::<fn(i32) -> i32>" has none behind its arguments.
  if (of.bare.empty()) of = template_name(whole);
  add(of.whole);
  add(of.bare);
  return out;
}

bool means(std::string_view wanted, std::string_view demangled) {
  if (wanted == demangled) return true;
  // But for "[...]" all are made of its characters, most of them by leaving some out.
  if (wanted.empty()) return false;
  if (wanted.size() > demangled.size() && !wanted.contains("[...]")) return false;
  const std::vector<std::string> all = spellings(demangled);
  return std::ranges::find(all, wanted) != all.end();
}

}  // namespace hodo::symbol
