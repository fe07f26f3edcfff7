// The way to the recorder from where nobody is called by the name of its abstract socket (unix(7)):
// another network namespace, or a domain of Landlock's. A connection that is made before a process
// goes there and kept, over which the recorder is handed one end of each that is made later.
//
// It is a descriptor of the process, which forked ones and programs that are executed have, too. To
// the program it is none: what would close it leaves it alone, and where another is to take its
// number it gets out of the way.
#pragma once

#include "hodo/relay/protocol.h"

namespace hodo::engine {

// Before a call that may lead there. False: there is one already, or the recorder cannot be
// reached.
bool keep_line();
void drop_line();
// Of this process; none if something else has its number.
relay::Line line();
bool is_line(std::uint64_t descriptor);
// Another descriptor is to have its number.
void move_line();
// Of the program that this one has taken the place of.
void take_over_line(const relay::Line& from);
// As connect_recorder(); -ECONNREFUSED: there is no line.
long connect_by_line();

}  // namespace hodo::engine
