// Answers that a file's DWARF gives, as they are kept in a LineStore.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "debug_file.h"
#include "hodo/symbol/line_store.h"

namespace hodo::symbol {

// What is kept of `question` for the files that `key` tells, else what `find` gives, a
// std::optional<Answer>, which is kept then unless it is very large; of nothing an empty answer.
// `read` takes whatever bytes somebody made up, and gives such an optional, too; `write` makes them
// of an answer.
template <class Answer, class Read, class Write, class Find>
Answer kept_answer(LineStore& store, const std::function<FilesKey()>& key,
                   std::string_view question, Read read, Write write, Find find) {
  constexpr std::size_t kMostKept = std::size_t{64} << 20;
  const FilesKey files = key();
  std::vector<std::uint8_t> name = files.bytes;
  name.insert(name.end(), question.begin(), question.end());
  if (auto kept = store.load(name)) {
    if (std::optional<Answer> answer = read(*std::move(kept))) return *std::move(answer);
  }
  std::optional<Answer> found = find();
  if (!found) return Answer();
  if (!files.settled || key() != files) return *std::move(found);
  const std::vector<std::uint8_t> written = write(*found);
  if (written.size() <= kMostKept) store.store(name, written);
  return *std::move(found);
}

}  // namespace hodo::symbol
