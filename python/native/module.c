#include "native.h"

PyTypeObject *native_space_type;

/* ---- Errors --------------------------------------------------------------------------------- */

static PyObject *error_type;

/* Statuses that callers are likely to tell apart get a class of their own. */
static struct {
    evocc_status status;
    const char *name, *doc;
    PyObject **base; /* a second one, of Python's own */
    PyObject *type;
} error_types[] = {
    {EVOCC_INVALID_ARGUMENT, "evocc.ArgumentError", "Something was asked for that cannot be.",
     &PyExc_ValueError, NULL},
    {EVOCC_PARSE, "evocc.ParseError", "A text is not what it should be.", &PyExc_ValueError, NULL},
    {EVOCC_NOT_FOUND, "evocc.NotFoundError", "No such file, program, entry or control.",
     &PyExc_LookupError, NULL},
    {EVOCC_MISMATCH, "evocc.MismatchError",
     "A study or a controls file belongs to something else; the message names the field.", NULL,
     NULL},
    {EVOCC_BUSY, "evocc.BusyError", "The study is being written by another process.", NULL, NULL},
    {EVOCC_DAMAGED, "evocc.DamagedError", "The contents of a file contradict themselves.", NULL,
     NULL},
    {EVOCC_REFUSED, "evocc.RefusedError", "Forbidden by a rule; the message names it.", NULL, NULL},
    {EVOCC_UNSUPPORTED, "evocc.UnsupportedError", "Understood, but not possible here.", NULL, NULL},
};
enum { ERROR_TYPE_COUNT = sizeof error_types / sizeof error_types[0] };

PyObject *native_raise(const evocc_error *error)
{
    if (error->status == EVOCC_NO_MEMORY) {
        return PyErr_NoMemory();
    }
    PyObject *type = error_type;
    for (size_t i = 0; i < ERROR_TYPE_COUNT; i++) {
        if (error_types[i].status == error->status) {
            type = error_types[i].type;
        }
    }
    PyObject *raised = PyObject_CallFunction(type, "s", error->message);
    PyObject *status = PyUnicode_FromString(evocc_status_name(error->status));
    if (raised != NULL && status != NULL && PyObject_SetAttrString(raised, "status", status) == 0) {
        PyErr_SetObject(type, raised);
    }
    Py_XDECREF(raised);
    Py_XDECREF(status);
    return NULL;
}

static PyObject *new_error(const char *name, const char *doc, PyObject *bases)
{
    return bases == NULL ? NULL : PyErr_NewExceptionWithDoc(name, doc, bases, NULL);
}

static int add_errors(PyObject *module)
{
    error_type = PyErr_NewExceptionWithDoc(
        "evocc.Error", "What evocc refused or could not do; `status` is its kind as a word.", NULL,
        NULL);
    if (error_type == NULL || PyModule_AddObjectRef(module, "Error", error_type) != 0) {
        return -1;
    }
    for (size_t i = 0; i < ERROR_TYPE_COUNT; i++) {
        PyObject *bases = error_types[i].base == NULL
                              ? PyTuple_Pack(1, error_type)
                              : PyTuple_Pack(2, error_type, *error_types[i].base);
        error_types[i].type = new_error(error_types[i].name, error_types[i].doc, bases);
        Py_XDECREF(bases);
        if (error_types[i].type == NULL ||
            PyModule_AddObjectRef(module, error_types[i].name + sizeof "evocc." - 1,
                                  error_types[i].type) != 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- Conversions ---------------------------------------------------------------------------- */

PyObject *native_genes_tuple(const int32_t *genes, size_t count)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; tuple != NULL && i < count; i++) {
        PyObject *gene = PyLong_FromLong(genes[i]);
        if (gene == NULL || PyTuple_SetItem(tuple, (Py_ssize_t)i, gene) != 0) {
            Py_CLEAR(tuple);
        }
    }
    return tuple;
}

int32_t *native_genes_take(PyObject *sequence, size_t count)
{
    Py_ssize_t length = PySequence_Size(sequence);
    if (length < 0) {
        return NULL;
    }
    if ((size_t)length != count) {
        PyErr_Format(PyExc_ValueError, "a candidate of this space has %zu genes, not %zd", count,
                     length);
        return NULL;
    }
    int32_t *genes = PyMem_Calloc(count + 1, sizeof *genes);
    if (genes == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        PyObject *item = PySequence_GetItem(sequence, (Py_ssize_t)i);
        long gene = item == NULL ? -1 : PyLong_AsLong(item);
        Py_XDECREF(item);
        if (PyErr_Occurred() != NULL || gene < EVOCC_ABSENT || gene > INT32_MAX) {
            if (PyErr_Occurred() == NULL) {
                PyErr_Format(PyExc_ValueError, "%ld is no gene", gene);
            }
            PyMem_Free(genes);
            return NULL;
        }
        genes[i] = (int32_t)gene;
    }
    return genes;
}

PyObject *native_metrics_dict(const evocc_metric *metrics, size_t count)
{
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict != NULL && i < count; i++) {
        PyObject *value = metrics[i].value == metrics[i].value
                              ? PyFloat_FromDouble(metrics[i].value)
                              : Py_NewRef(Py_None);
        if (value == NULL || PyDict_SetItemString(dict, metrics[i].name, value) != 0) {
            Py_CLEAR(dict);
        }
        Py_XDECREF(value);
    }
    return dict;
}

/* ---- The module ----------------------------------------------------------------------------- */

static PyObject *outcome_names(void)
{
    PyObject *names = PyTuple_New(EVOCC_OUTCOME_COUNT);
    for (int i = 0; names != NULL && i < EVOCC_OUTCOME_COUNT; i++) {
        PyObject *name = PyUnicode_FromString(evocc_outcome_name((evocc_outcome)i));
        if (name == NULL || PyTuple_SetItem(names, i, name) != 0) {
            Py_CLEAR(names);
        }
    }
    return names;
}

static int add_type(PyObject *module, const char *name, PyType_Spec *spec, PyTypeObject **out)
{
    PyObject *type = PyType_FromSpec(spec);
    int status = type == NULL ? -1 : PyModule_AddObjectRef(module, name, type);
    if (status == 0 && out != NULL) {
        *out = (PyTypeObject *)type; /* keeps the reference */
    } else {
        Py_XDECREF(type);
    }
    return status;
}

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "evocc._native",
    .m_doc = "The C library of evocc, as it is. Use the package evocc instead.",
    .m_size = -1,
};

PyMODINIT_FUNC PyInit__native(void)
{
    PyObject *module = PyModule_Create(&definition);
    PyObject *outcomes = outcome_names();
    if (module == NULL || outcomes == NULL || add_errors(module) != 0 ||
        PyModule_AddStringConstant(module, "version", evocc_version()) != 0 ||
        PyModule_AddIntConstant(module, "ABSENT", EVOCC_ABSENT) != 0 ||
        PyModule_AddObjectRef(module, "OUTCOMES", outcomes) != 0 ||
        add_type(module, "Space", &native_space_spec, &native_space_type) != 0 ||
        add_type(module, "Study", &native_study_spec, NULL) != 0 ||
        add_type(module, "Kernel", &native_kernel_spec, NULL) != 0) {
        Py_CLEAR(module);
    }
    Py_XDECREF(outcomes);
    return module;
}
