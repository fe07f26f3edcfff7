// Stands in for the page where esbuild is missing.
#include "hodo/web/page.h"

namespace hodo::web {

Result<Page> page() {
  return fail(ErrorCode::unsupported,
              "this hodo was built without its page; install the package esbuild and build again");
}

}  // namespace hodo::web
