#include "hodo/symbol/demangle.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <csetjmp>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

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

// Where the reference back leads that a D name has at `at`: 'Q' and a number in letters, of which
// the last is a small one. nullopt: it is none.
std::optional<std::size_t> referred_to(std::string_view name, std::size_t at) {
  constexpr std::size_t kLetters = 26;
  if (name[at] != 'Q') return std::nullopt;
  std::size_t back = 0;
  for (std::size_t i = at + 1; i < name.size() && back <= at; ++i) {
    const char c = name[i];
    const bool last = c >= 'a' && c <= 'z';
    if (!last && (c < 'A' || c > 'Z')) return std::nullopt;
    back = back * kLetters + static_cast<std::size_t>(c - (last ? 'a' : 'A'));
    if (last) return back != 0 && back <= at ? std::optional(at - back) : std::nullopt;
  }
  return std::nullopt;
}

// What libiberty may have to do for a part of a D name.
struct Work {
  double bytes = 0;     // of text
  double attempts = 0;  // places where it goes on in two ways, one after the other
  Work operator+(const Work& other) const {
    return {bytes + other.bytes, attempts + other.attempts};
  }
  Work operator-(const Work& other) const {
    return {bytes - other.bytes, attempts - other.attempts};
  }
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The number that begins at `at`, at most `most`, and where it ends.
struct Number {
  std::size_t value = 0;
  std::size_t end = 0;
};
Number number_at(std::string_view name, std::size_t at, std::size_t most) {
  Number out{.end = at};
  for (; out.end < name.size() && is_digit(name[out.end]); ++out.end) {
    out.value = std::min(out.value * 10 + static_cast<std::size_t>(name[out.end] - '0'), most);
  }
  return out;
}

// Where an identifier may end, and what follows be taken for a function's type or for what comes
// behind it: behind a number and so many characters, a template, or a reference back.
std::vector<bool> identifier_ends(std::string_view name) {
  std::vector<bool> out(name.size() + 1);
  for (std::size_t i = 0; i < name.size(); ++i) {
    const Number size = number_at(name, i, name.size());
    if (size.end != i && size.end + size.value <= name.size()) out[size.end + size.value] = true;
    if (name[i] == 'Z') out[i + 1] = true;
    if (!referred_to(name, i)) continue;
    for (++i; name[i] < 'a'; ++i) {
    }
    out[i + 1] = true;
  }
  return out;
}

// Of what begins at `at`, but for a reference to a type.
Work own_work(std::string_view name, std::size_t at, bool behind_identifier) {
  constexpr double kOfCharacter = 24;  // "Y": extern(Objective-C)
  constexpr std::string_view kFunctions = "FUVWRYM";
  const auto target = referred_to(name, at);
  if (target) return {.bytes = static_cast<double>(number_at(name, *target, name.size()).value)};
  Work out{.bytes = kOfCharacter};
  if (behind_identifier && kFunctions.contains(name[at])) out.attempts = 1;
  // The symbol behind it may begin with each of the digits.
  const std::size_t end = number_at(name, at + 1, 0).end;
  if (name[at] == 'S' && end != at + 1) {
    const bool more = end < name.size() && (name[end] == '_' || name[end] == 'Q');
    out.attempts = std::log2(static_cast<double>(end - at - (more ? 0 : 1)));
  }
  return out;
}

// Whether libiberty is soon done with a D name. It can't be stopped, and a reference to a type can
// stand for all that came before it, twice in each. What was referred to goes on behind the
// reference at most to the next one to a type.
bool is_simple_d(std::string_view name) {
  constexpr double kMostBits = 20;
  const std::vector<bool> ends = identifier_ends(name);
  std::vector<Work> own(name.size());
  Work rest;
  for (std::size_t i = 0; i < name.size(); ++i) {
    own[i] = own_work(name, i, ends[i]);
    rest = rest + own[i];
  }
  std::vector<Work> before(name.size() + 1);
  for (std::size_t i = 0; i < name.size(); ++i) {
    rest = rest - own[i];
    const auto target = referred_to(name, i);
    const bool type = target && !is_digit(name[*target]);
    before[i + 1] = before[i] + (type ? before[i] - before[*target] + rest : own[i]);
    if (std::log2(before[i + 1].bytes + 1) + before[i + 1].attempts > kMostBits) return false;
  }
  return true;
}

struct Free {
  void operator()(char* text) const { std::free(text); }
};

// ".isra.0.cold" -> " [clone .isra.0] [clone .cold]", as libiberty writes it of names of C++.
std::string clones(std::string_view suffix) {
  constexpr std::string_view kDigits = "0123456789";
  std::string out;
  while (!suffix.empty()) {
    std::size_t end = std::min(suffix.find('.', 1), suffix.size());
    const std::size_t number = std::min(suffix.find_first_not_of(kDigits, end + 1), suffix.size());
    if (number > end + 1 && (number == suffix.size() || suffix[number] == '.')) end = number;
    out.append(" [clone ").append(suffix.substr(0, end)).append("]");
    suffix.remove_prefix(end);
  }
  return out;
}

// Empty: it is no name of D, or too long. `mangled` ends in a 0.
std::string demangle_d(std::string_view mangled) {
  const std::size_t dot = std::min(mangled.find('.'), mangled.size());
  const std::string name(mangled.substr(0, dot));
  if (!is_simple_d(name)) return "";
  const std::unique_ptr<char, Free> made(dlang_demangle(name.c_str(), 0));
  if (made == nullptr || std::strlen(made.get()) > kLongestDemangled) return "";
  return made.get() + clones(mangled.substr(dot));
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

// Of an instance of D's templates without the arguments: "main.max" of "main.max!(int).max", and of
// "main.Box!(int).Box.get" "main.Box.get", as what is declared in a template of its own name is
// called. Empty: it is none.
std::string without_d_arguments(std::string_view name) {
  std::string out;
  std::size_t begin = 0;  // in `out`, of the template's own name
  bool any = false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!name.substr(i).starts_with("!(") || out.ends_with("operator")) {
      if (name[i] == '<') return "";
      if (name[i] == '.') begin = out.size() + 1;
      out += name[i];
      continue;
    }
    any = true;
    int depth = 0;
    bool quoted = false;
    for (++i; i < name.size(); ++i) {
      const char c = name[i];
      if (quoted && c == '\\') ++i;
      if (c == '"') quoted = !quoted;
      if (!quoted) depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      if (depth == 0) break;
    }
    const std::string again = "." + out.substr(std::min(begin, out.size()));
    const std::string_view rest = name.substr(std::min(i + 1, name.size()));
    const char behind = rest.size() > again.size() ? rest[again.size()] : '.';
    if (rest.starts_with(again) && (behind == '.' || behind == '!')) i += again.size();
  }
  return any ? out : "";
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
  const bool d = mangled.starts_with("_D");
  const bool candidate = d || mangled.starts_with("_Z") || mangled.starts_with("_R");
  std::string name(mangled);
  if (!candidate || mangled.size() > kLongestMangled) return name;
  const auto suffix = std::min(mangled.find('@'), mangled.size());
  name.resize(suffix);
  if (d) {
    if (std::string made = demangle_d(name); !made.empty()) name = std::move(made);
    return name.append(mangled.substr(suffix));
  }
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
  if (std::string bare = without_d_arguments(without_parameters(whole)); !bare.empty()) {
    add(without_parameters(whole));
    add(bare);
    return out;
  }
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
