// Compiled for the headers that the modules share where a build shall be quick (hodo_headers in
// cmake/Hodo.cmake).
