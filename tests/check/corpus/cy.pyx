cdef extern from "stdlib.h":
    void qsort(void*, size_t, size_t, int (*)(const void*, const void*) except? -9)
cdef int order(const void* a, const void* b) except? -9:
    return (<int*>a)[0] - (<int*>b)[0]
cdef class Node:
    cdef int n
    def __init__(self, n): self.n = n
    def __iter__(self):
        for i in range(self.n):
            try:
                if i == 3: raise ValueError(i)
                yield i
            except ValueError as e:
                yield -e.args[0]
def run():
    cdef int a[4]
    a[0], a[1], a[2], a[3] = 5, 3, 9, 1
    qsort(a, 4, sizeof(int), order)
    return a[0], list(Node(6))
