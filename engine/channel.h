// Connects the engine to its recorder: hodo/relay/channel.h without the C library.
#pragma once

#include <optional>

#include "hodo/relay/channel.h"

namespace hodo::engine {

// A connection to the recorder on which the key has been shown, which exec closes; negative: no
// recorder is there. `place` is told of its descriptor as soon as there is one.
long connect_recorder(long* place = nullptr);
// Where that found no descriptor: whether it succeeds apart (own_files.h).
bool can_be_reached_apart();
// Of this thread, to ask for what is no channel.
relay::Hello own_hello(relay::Start start);
// Says hello, closes the connection and maps the channel that comes back.
std::optional<relay::ChannelWriter> open_channel(long connection, const relay::Hello& hello);

// /proc/self/maps; negative: it is not to be had. Where there is no /proc, as in many roots that
// chroot goes to, the recorder opens it.
long open_mappings();

// Whether the recorder finds that what is in memory at `address` is a page of its file still.
bool is_page_of_file_to_recorder(std::uint64_t address);

// Asks the recorder to hold no file of this file system (st_dev) open any longer, and waits until
// it does not.
bool let_go_of_files(std::uint64_t device);

// Asks the recorder to open the files whose code it was told of, and waits until it has.
void have_files_held();

// Asks the recorder to copy this file, whose code it was told of and which another process serves,
// and waits until it has, or takes too long. The major number of its device is 0.
void have_file_copied(const char* path, std::uint32_t minor, std::uint64_t inode);

// Asks the recorder, which may trace this process, to hold its other threads where a core file is
// to show them, and waits until it does. They have stopped (stop_here()).
void have_stopped_threads_held();

// Asks the recorder to let go of the process of this thread, which somebody is about to trace, and
// waits until it has; 0: of this one, which is let go behind the answer. False: it cannot.
bool have_let_go(std::int32_t traced);

// In a forked child, where its memory does not exist.
void forget_channel(relay::ChannelWriter& channel);

}  // namespace hodo::engine
