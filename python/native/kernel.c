#include "native.h"

#include <string.h>

typedef struct kernel_object {
    PyObject_HEAD evocc_kernel *kernel;
    PyThread_type_lock lock; /* one thread at a time, while Python's own lock is given away */
} kernel_object;

static void deallocate(PyObject *object)
{
    kernel_object *self = (kernel_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    evocc_kernel_free(self->kernel);
    if (self->lock != NULL) {
        PyThread_free_lock(self->lock);
    }
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* The words of a sequence of str; PyMem_Free. Borrowed from the sequence. */
static const char **take_words(PyObject *sequence, size_t *count)
{
    Py_ssize_t length = PySequence_Size(sequence);
    const char **words = length < 0 ? NULL : PyMem_Calloc((size_t)length + 1, sizeof *words);
    for (Py_ssize_t i = 0; words != NULL && i < length; i++) {
        PyObject *item = PySequence_GetItem(sequence, i);
        words[i] = item == NULL ? NULL : PyUnicode_AsUTF8AndSize(item, NULL);
        Py_XDECREF(item);
        if (words[i] == NULL) {
            PyMem_Free(words);
            return NULL;
        }
    }
    *count = length < 0 ? 0 : (size_t)length;
    return words;
}

static PyObject *make(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"path",         "arch",           "entry",   "arguments", "ptxas",
                            "whole_module", "allow_numerics", "timeout", NULL};
    evocc_kernel_options o = EVOCC_KERNEL_OPTIONS;
    PyObject *words = NULL;
    int whole_module;
    int allow_numerics;
    /* The words must be a tuple, so that what is borrowed from it stays. */
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "szzO!zppd", names, &o.path, &o.arch,
                                     &o.entry, &PyTuple_Type, &words, &o.ptxas, &whole_module,
                                     &allow_numerics, &o.timeout_s)) {
        return NULL;
    }
    o.whole_module = whole_module != 0;
    o.allow_numerics = allow_numerics != 0;
    o.arguments = take_words(words, &o.argument_count);
    if (o.arguments == NULL) {
        return NULL;
    }
    evocc_kernel *kernel = NULL;
    evocc_error error;
    evocc_status status;
    Py_BEGIN_ALLOW_THREADS status = evocc_kernel_open(&kernel, &o, &error);
    Py_END_ALLOW_THREADS PyMem_Free((void *)o.arguments);
    if (status != EVOCC_OK) {
        return native_raise(&error);
    }
    kernel_object *self = (kernel_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self == NULL) {
        evocc_kernel_free(kernel);
        return NULL;
    }
    self->kernel = kernel;
    self->lock = PyThread_allocate_lock();
    if (self->lock == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static PyObject *compilation_dict(const evocc_compilation *c)
{
    PyObject *metrics = native_metrics_dict(c->metrics, c->metric_count);
    if (metrics == NULL) {
        return NULL;
    }
    return Py_BuildValue("{s:s,s:N,s:s,s:s,s:s,s:d,s:y#}", "outcome",
                         evocc_outcome_name(c->outcome), "metrics", metrics, "detail", c->detail,
                         "command", c->command, "code_hash", c->code_hash, "wall_s", c->wall_s,
                         "code", c->code, (Py_ssize_t)c->code_length);
}

static int32_t *take_genes(const kernel_object *self, PyObject *sequence)
{
    return native_genes_take(sequence, evocc_space_count(evocc_kernel_space(self->kernel)));
}

static PyObject *compile(PyObject *object, PyObject *arguments)
{
    kernel_object *self = (kernel_object *)object;
    PyObject *sequence;
    int with_code;
    if (!PyArg_ParseTuple(arguments, "Op", &sequence, &with_code)) {
        return NULL;
    }
    int32_t *genes = take_genes(self, sequence);
    if (genes == NULL) {
        return NULL;
    }
    evocc_compilation result = EVOCC_COMPILATION;
    evocc_error error;
    evocc_status status;
    Py_BEGIN_ALLOW_THREADS PyThread_acquire_lock(self->lock, WAIT_LOCK);
    status = evocc_kernel_compile(&result, self->kernel, genes, with_code != 0, &error);
    Py_END_ALLOW_THREADS
        /* What the result borrows lives until the next compilation, so the lock is kept till here.
         */
        PyObject *dict = status == EVOCC_OK ? compilation_dict(&result) : native_raise(&error);
    PyThread_release_lock(self->lock);
    PyMem_Free(genes);
    return dict;
}

static PyObject *save(PyObject *object, PyObject *arguments)
{
    kernel_object *self = (kernel_object *)object;
    PyObject *sequence;
    PyObject *path = NULL;
    if (!PyArg_ParseTuple(arguments, "OO&", &sequence, PyUnicode_FSConverter, &path)) {
        return NULL;
    }
    int32_t *genes = take_genes(self, sequence);
    if (genes == NULL) {
        Py_DECREF(path);
        return NULL;
    }
    const char *name = PyBytes_AsString(path);
    evocc_error error;
    evocc_status status;
    Py_BEGIN_ALLOW_THREADS PyThread_acquire_lock(self->lock, WAIT_LOCK);
    status = evocc_kernel_save(self->kernel, genes, name, &error);
    PyThread_release_lock(self->lock);
    Py_END_ALLOW_THREADS Py_DECREF(path);
    PyMem_Free(genes);
    return status == EVOCC_OK ? Py_NewRef(Py_None) : native_raise(&error);
}

static PyObject *load(PyObject *object, PyObject *argument)
{
    kernel_object *self = (kernel_object *)object;
    size_t count = evocc_space_count(evocc_kernel_space(self->kernel));
    PyObject *path = NULL;
    if (!PyUnicode_FSConverter(argument, &path)) {
        return NULL;
    }
    int32_t *genes = PyMem_Calloc(count + 1, sizeof *genes);
    evocc_error error;
    PyObject *result = NULL;
    if (genes == NULL) {
        PyErr_NoMemory();
    } else if (evocc_kernel_load(genes, self->kernel, PyBytes_AsString(path), &error) == EVOCC_OK) {
        result = native_genes_tuple(genes, count);
    } else {
        native_raise(&error);
    }
    PyMem_Free(genes);
    Py_DECREF(path);
    return result;
}

static PyObject *get_space(PyObject *object, void *closure)
{
    (void)closure;
    return native_space_borrow(evocc_kernel_space(((kernel_object *)object)->kernel), object);
}

static PyObject *get_environment(PyObject *object, void *closure)
{
    (void)closure;
    return PyUnicode_FromString(evocc_kernel_environment(((kernel_object *)object)->kernel));
}

static PyMethodDef methods[] = {
    {"compile", compile, METH_VARARGS,
     "compile(genes, with_code): outcome, metrics, detail, command, code_hash, wall_s, code."},
    {"save", save, METH_VARARGS, "save(genes, path): as a controls file."},
    {"load", load, METH_O, "load(path): the genes that such a file holds."},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef properties[] = {
    {"space", get_space, NULL, "Its controls.", NULL},
    {"environment", get_environment, NULL, "What it is, one line a fact.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_new, make},
    {Py_tp_dealloc, deallocate},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_doc, "PTX on its way through ptxas."},
    {0, NULL},
};
PyType_Spec native_kernel_spec = {.name = "evocc._native.Kernel",
                                  .basicsize = sizeof(kernel_object),
                                  .flags = Py_TPFLAGS_DEFAULT,
                                  .slots = slots};
