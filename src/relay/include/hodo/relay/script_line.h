// What a script's first line says, as fs/binfmt_script.c splits it.
#pragma once

#include <string_view>

namespace hodo::relay {

constexpr std::size_t kProgramHead = 256;  // BINPRM_BUF_SIZE: what the kernel reads to tell
// binfmt_script allows this many interpreters of interpreters (fs/exec.c, exec_binprm).
constexpr int kMaxInterpreters = 5;

struct ScriptLine {
  std::string_view interpreter;  // empty: the line names none, or this is no script
  std::string_view argument;     // may have blanks; empty: none
};

// "#! interpreter [one argument]". `head`: a file's first kProgramHead bytes. The engine calls it,
// too, which has no C library.
inline ScriptLine script_line(std::string_view head) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  if (head.size() < 2 || head[0] != '#' || head[1] != '!') return {};
  head.remove_prefix(2);
  // Blanks before it, and blanks and zeros behind it, are no part of the line.
  std::size_t size = 0;
  while (size < head.size() && head[size] != '\n') ++size;
  head.remove_suffix(head.size() - size);
  const auto begin_at_word = [&] {
    while (!head.empty() && is_blank(head.front())) head.remove_prefix(1);
  };
  begin_at_word();
  while (!head.empty() && (is_blank(head.back()) || head.back() == 0)) head.remove_suffix(1);
  size = 0;
  while (size < head.size() && !is_blank(head[size])) ++size;
  std::string_view interpreter = head;
  interpreter.remove_suffix(head.size() - size);
  head.remove_prefix(size);
  begin_at_word();
  return {.interpreter = interpreter, .argument = head};
}

}  // namespace hodo::relay
