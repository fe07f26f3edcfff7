// A program for the headers that the tests share (hodo_test_headers in cmake/Hodo.cmake).
int main() {}
