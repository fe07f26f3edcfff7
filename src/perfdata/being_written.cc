#include "being_written.h"

#include <fcntl.h>
#include <unistd.h>

namespace hodo::perfdata {

// Asks for the lock without taking it: a reader must not be in the way of the next recorder.
bool is_being_written(int fd) {
  struct flock wanted{};
  wanted.l_type = F_RDLCK;
  wanted.l_whence = SEEK_SET;
  return ::fcntl(fd, F_OFD_GETLK, &wanted) == 0 && wanted.l_type != F_UNLCK;
}

}  // namespace hodo::perfdata
