#include "hodo/ask/moment.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "hodo/base/written_bytes.h"

namespace hodo::ask {
namespace {

constexpr std::string_view kForms =
    "a moment is THREAD:BRANCH[+INSTRUCTIONS], SECONDS.NANOSECONDS, time:NANOSECONDS, crash[:PID], "
    "start[:TID], end[:TID], finding:N, call:FUNCTION#N, return:FUNCTION#N, line:FILE:LINE#N or "
    "at:ADDRESS#N";
constexpr std::size_t kNanosecondDigits = 9;

// A moment that begins with a word, as it is written.
struct Form {
  std::string_view word;
  std::string_view form;
};
constexpr Form kWordForms[] = {
    {"crash", "crash or crash:PID"},
    {"start", "start or start:THREAD"},
    {"end", "end or end:THREAD"},
    {"time", "time:NANOSECONDS"},
    {"finding", "finding:N, with N from 1"},
    {"call", "call:FUNCTION or call:FUNCTION#N, with N from 1"},
    {"return", "return:FUNCTION or return:FUNCTION#N, with N from 1"},
    {"line", "line:FILE:LINE or line:FILE:LINE#N, with LINE and N from 1"},
    {"at", "at:ADDRESS or at:ADDRESS#N, with N from 1"},
};

template <class T>
bool number(std::string_view text, T& value) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool thread(std::string_view text, ThreadId& out) {
  if (text.starts_with('q')) return number(text.substr(1), out.queue);
  return number(text, out.tid) && out.tid >= 0;
}

bool position(std::string_view text, MomentSpec& out) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos || !thread(text.substr(0, colon), out.position.thread)) return false;
  std::string_view rest = text.substr(colon + 1);
  const std::size_t plus = rest.find('+');
  if (plus != rest.npos && !number(rest.substr(plus + 1), out.position.insn)) return false;
  return number(rest.substr(0, plus), out.position.branch);
}

// "12.345": seconds.
bool seconds(std::string_view text, std::uint64_t& nanoseconds) {
  const std::size_t dot = text.find('.');
  if (dot == text.npos) return false;
  std::string digits(text.substr(dot + 1));
  std::uint64_t whole = 0;
  std::uint64_t part = 0;
  if (digits.empty() || digits.size() > kNanosecondDigits) return false;
  digits.resize(kNanosecondDigits, '0');
  if (!number(text.substr(0, dot), whole) || !number(digits, part)) return false;
  if (digits.find_first_not_of("0123456789") != digits.npos || whole > 10'000'000'000) return false;
  nanoseconds = whole * 1'000'000'000 + part;
  return true;
}

// "NAME#N": without a number the first. Compilers number lambdas and closures within their names:
// "f()::{lambda(int)#1}::operator()(int) const", "f::{closure#0}".
bool counted(std::string_view text, MomentSpec& out) {
  std::size_t hash = text.rfind('#');
  if (text.find_first_of(")}", std::min(hash, text.size())) != text.npos) hash = text.npos;
  if (hash != text.npos && (!number(text.substr(hash + 1), out.count) || out.count == 0)) {
    return false;
  }
  out.name = text.substr(0, hash);
  return !out.name.empty();
}

// "FILE:LINE#N"
bool line(std::string_view text, MomentSpec& out) {
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos || colon == 0 || !counted(text.substr(colon + 1), out)) return false;
  const bool good = number(std::string_view(out.name), out.value);
  out.name = text.substr(0, colon);
  return good && out.value != 0;
}

bool address(std::string_view text, MomentSpec& out) {
  if (!counted(text, out)) return false;
  if (number(std::string_view(out.name), out.value)) {
    out.name.clear();
    return true;
  }
  const std::size_t plus = out.name.rfind('+');
  if (plus == std::string::npos) return true;
  if (!number(std::string_view(out.name).substr(plus + 1), out.value)) return true;
  out.name.resize(plus);
  return !out.name.empty();
}

bool parse(std::string_view text, MomentSpec& out) {
  using Kind = MomentSpec::Kind;
  const std::size_t colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  const bool more = colon != text.npos;
  const std::string_view rest = more ? text.substr(colon + 1) : std::string_view();
  const auto as = [&out](Kind kind) { return out.kind = kind, true; };
  if (word == "crash") return as(Kind::crash) && (!more || number(rest, out.process.emplace()));
  if (word == "start") return as(Kind::start) && (!more || thread(rest, out.thread.emplace()));
  if (word == "end") return as(Kind::end) && (!more || thread(rest, out.thread.emplace()));
  if (word == "time") return as(Kind::time) && number(rest, out.time);
  if (word == "finding") return as(Kind::finding) && number(rest, out.count) && out.count != 0;
  if (word == "call") return as(Kind::call) && counted(rest, out);
  if (word == "return") return as(Kind::ret) && counted(rest, out);
  if (word == "line") return as(Kind::line) && line(rest, out);
  if (word == "at") return as(Kind::address) && address(rest, out);
  if (!more) return as(Kind::time) && seconds(text, out.time);
  return as(Kind::position) && position(text, out);
}

// "parse#17" and "parse.cc:12", where the word is left out that says what they are; or empty.
std::string meant_by(std::string_view text) {
  MomentSpec spec;
  std::uint64_t thread = 0;
  if (line(text, spec) && !number(std::string_view(spec.name), thread)) {
    return fmt::format("line:{}", text);
  }
  const bool begins = !text.empty() && text.find_first_of("0123456789+-.") != 0;
  const std::size_t colon = text.find(':');
  const bool qualified = colon == text.npos || text.substr(colon).starts_with("::");
  return begins && qualified && counted(text, spec) ? fmt::format("call:{}", text) : "";
}

}  // namespace

ThreadId thread_of(const session::Context& context) {
  if (context.tid >= 0) return {.tid = context.tid};
  return {.queue = context.queue};
}

std::string to_string(const ThreadId& thread) {
  return thread.tid >= 0 ? fmt::format("{}", thread.tid) : fmt::format("q{}", thread.queue);
}

std::string to_string(const Moment& moment) {
  std::string out = fmt::format("{}:{}", to_string(moment.thread), moment.branch);
  if (moment.insn != 0) out += fmt::format("+{}", moment.insn);
  return out;
}

Result<MomentSpec> parse_moment(std::string_view text) {
  MomentSpec out;
  if (parse(text, out)) {
    out.name = written_bytes(out.name);
    return out;
  }
  const std::string_view word = text.substr(0, text.find(':'));
  const Form* const meant = std::ranges::find(kWordForms, word, &Form::word);
  if (meant != std::end(kWordForms)) {
    return fail(ErrorCode::usage, fmt::format("'{}' is no moment: it is {}", text, meant->form));
  }
  const std::string whole = meant_by(text);
  return fail(ErrorCode::usage,
              fmt::format("'{}' is no moment{}; {}", text,
                          whole.empty() ? "" : " (did you mean '" + whole + "'?)", kForms));
}

}  // namespace hodo::ask
