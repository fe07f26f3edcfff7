#include "named_places.h"

#include <fmt/format.h>

#include <utility>

#include "hodo/view/place.h"
#include "hodo/view/text.h"

namespace hodo::view {

std::string NamedPlaces::At::label() const {
  return function->has_symbol() ? fmt::format("{}+{:#x}", function->name, offset) : function->name;
}

NamedPlaces::At NamedPlaces::at(std::uint32_t space, std::uint64_t address, std::uint64_t time) {
  const session::Object object = names_.object(space, address, time);
  if (object.table == nullptr) return look(space, address, time);
  const auto vaddr = object.table->elf().vaddr_of(object.offset);
  const symbol::Symbol* const symbol = vaddr ? object.table->function_at(*vaddr) : nullptr;
  if (symbol == nullptr) return look(space, address, time);
  const auto [known, fresh] = of_symbols_.try_emplace(symbol, nullptr);
  if (fresh) known->second = look(space, address, time).function;
  if (known->second->place.object != object.path) return look(space, address, time);
  return {known->second, *vaddr - symbol->start};
}

NamedPlaces::At NamedPlaces::look(std::uint32_t space, std::uint64_t address, std::uint64_t time) {
  session::Place place = names_.place(space, address, time);
  const bool has_symbol = !place.symbol.empty();
  const std::uint64_t offset = has_symbol ? place.offset : 0;
  std::string name = has_symbol ? place.symbol : function_name(address, place);
  Key key(name, place.object, place.stub, place.synthetic, !has_symbol);
  const auto [known, fresh] = others_.try_emplace(std::move(key), nullptr);
  if (fresh) known->second = add(std::move(place), std::move(name));
  return {known->second, offset};
}

const NamedPlaces::Function* NamedPlaces::add(session::Place place, std::string name) {
  const bool has_symbol = !place.symbol.empty();
  if (has_symbol) name = printable(name);
  const auto next = static_cast<std::uint32_t>(numbers_.size());
  const auto number = numbers_.try_emplace({name, has_symbol}, next).first->second;
  return &functions_.emplace_back(std::move(place), std::move(name), number, functions_.size());
}

}  // namespace hodo::view
