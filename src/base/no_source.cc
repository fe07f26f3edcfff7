// Compiled for the headers that the modules share under sanitizers (hodo_headers in
// cmake/Hodo.cmake).
