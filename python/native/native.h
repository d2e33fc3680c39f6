/*
 * native.h: the extension evocc._native, the public header evocc.h as Python objects and nothing
 * more: what a search is made of and where it runs is Python's part. Stable ABI of CPython 3.10.
 *
 *   module.c  the module, errors, small conversions
 *   space.c   Space: controls and candidates
 *   study.c   Study: ask, tell, what the file says
 *   kernel.c  Kernel: PTX on its way through ptxas
 */
#ifndef EVOCC_PYTHON_NATIVE_H
#define EVOCC_PYTHON_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <evocc/evocc.h>

/* Raises evocc.Error (or its subclass for the status) and returns NULL. */
PyObject *native_raise(const evocc_error *error);

typedef struct space_object {
    PyObject_HEAD evocc_space *owned; /* NULL: the kernel's */
    const evocc_space *space;
    PyObject *owner; /* keeps a borrowed space alive */
} space_object;

extern PyType_Spec native_space_spec, native_study_spec, native_kernel_spec;
extern PyTypeObject *native_space_type; /* set once, by the module's initialisation */

/* A Space over a borrowed one; `owner` is kept alive. */
PyObject *native_space_borrow(const evocc_space *space, PyObject *owner);

/* The space behind an argument; NULL with TypeError. */
const evocc_space *native_space_get(PyObject *object);

/* Genes of a candidate as a tuple of ints, and back (PyMem_Free; NULL with an exception). */
PyObject *native_genes_tuple(const int32_t *genes, size_t count);
int32_t *native_genes_take(PyObject *sequence, size_t count);

/* {"name": value}, NaN as None. */
PyObject *native_metrics_dict(const evocc_metric *metrics, size_t count);

#endif
