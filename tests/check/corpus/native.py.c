#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <setjmp.h>
#include <stdlib.h>
static PyObject* apply(PyObject* self, PyObject* args) {
  PyObject *f, *x;
  if (!PyArg_ParseTuple(args, "OO", &f, &x)) return NULL;
  return PyObject_CallOneArg(f, x);
}
static PyObject* compare_with;
static jmp_buf failed;
static int compare(const void* a, const void* b) {
  PyObject* r = PyObject_CallFunction(compare_with, "OO", *(PyObject**)a, *(PyObject**)b);
  if (r == NULL) longjmp(failed, 1);
  const int n = (int)PyLong_AsLong(r);
  Py_DECREF(r);
  return n;
}
static PyObject* sort(PyObject* self, PyObject* args) {
  PyObject* list;
  if (!PyArg_ParseTuple(args, "OO", &list, &compare_with)) return NULL;
  list = PyList_GetSlice(list, 0, PyList_Size(list));
  if (setjmp(failed) != 0) return NULL;
  qsort(((PyListObject*)list)->ob_item, (size_t)PyList_Size(list), sizeof(PyObject*), compare);
  return list;
}
static PyObject* away(PyObject* self, PyObject* f) {
  Py_BEGIN_ALLOW_THREADS;
  PyGILState_STATE state = PyGILState_Ensure();
  Py_XDECREF(PyObject_CallFunction(f, "i", 3));
  PyGILState_Release(state);
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}
static PyObject* inner(PyObject* self, PyObject* unused) {
  PyThreadState* mine = PyThreadState_Get();
  PyThreadState* other = Py_NewInterpreter();
  const int status = PyRun_SimpleString("print('inner', sum(range(5)))");
  Py_EndInterpreter(other);
  PyThreadState_Swap(mine);
  return PyLong_FromLong(status);
}
static PyMethodDef methods[] = {{"apply", apply, METH_VARARGS, 0},
                                {"sort", sort, METH_VARARGS, 0},
                                {"away", away, METH_O, 0},
                                {"inner", inner, METH_NOARGS, 0},
                                {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "library", 0, -1, methods};
PyMODINIT_FUNC PyInit_library(void) { return PyModule_Create(&module); }
