// Calls that a forked process has from the one that forked it.
#pragma once

#include "hodo/ask/scene.h"

namespace hodo::ask {

// If the outermost call of `scene` is one that its process began with, and the fork is found on the
// parent's path, the calls that were open there and that the child has not left take its place:
// `entered` then is a moment of the parent, where that is known the parent's parent, and so on.
// Else nothing changes. Errors: as walk().
Status add_inherited_calls(session::Session& session, Scene& scene, const SceneOptions& options);

}  // namespace hodo::ask
