// A message of one byte with a descriptor (unix(7), SCM_RIGHTS), for those with a C library and
// those without.
#pragma once

#include <sys/socket.h>

#include <cstring>

namespace hodo::relay {

// To be sent, or to be received into. It points into itself.
struct DescriptorMessage {
  DescriptorMessage() {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
  }
  explicit DescriptorMessage(int fd) : DescriptorMessage() {
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &fd, sizeof(fd));
  }
  DescriptorMessage(const DescriptorMessage&) = delete;
  DescriptorMessage& operator=(const DescriptorMessage&) = delete;

  // What came; -1: none did.
  int descriptor() const {
    const cmsghdr* rights = CMSG_FIRSTHDR(&header);
    if (rights == nullptr || rights->cmsg_type != SCM_RIGHTS) return -1;
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(rights), sizeof(fd));
    return fd;
  }

  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
};

}  // namespace hodo::relay
