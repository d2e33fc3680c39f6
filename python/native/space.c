#include "native.h"

const evocc_space *native_space_get(PyObject *object)
{
    if (!PyObject_TypeCheck(object, native_space_type)) {
        PyErr_SetString(PyExc_TypeError, "a Space is needed");
        return NULL;
    }
    return ((space_object *)object)->space;
}

static PyObject *wrap(evocc_space *owned, const evocc_space *space, PyObject *owner)
{
    allocfunc allocate = (allocfunc)PyType_GetSlot(native_space_type, Py_tp_alloc);
    space_object *self = (space_object *)allocate(native_space_type, 0);
    if (self == NULL) {
        evocc_space_free(owned);
        return NULL;
    }
    self->owned = owned;
    self->space = space;
    self->owner = Py_XNewRef(owner);
    return (PyObject *)self;
}

PyObject *native_space_borrow(const evocc_space *space, PyObject *owner)
{
    return wrap(NULL, space, owner);
}

static void deallocate(PyObject *object)
{
    space_object *self = (space_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    evocc_space_free(self->owned);
    Py_XDECREF(self->owner);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* ---- Making --------------------------------------------------------------------------------- */

static PyObject *parse(PyObject *type, PyObject *arguments)
{
    (void)type;
    const char *text;
    const char *name;
    Py_ssize_t length;
    evocc_space *space;
    evocc_error error;
    if (!PyArg_ParseTuple(arguments, "s#s", &text, &length, &name)) {
        return NULL;
    }
    return evocc_space_parse(&space, text, (size_t)length, name, &error) == EVOCC_OK
               ? wrap(space, space, NULL)
               : native_raise(&error);
}

static PyObject *load(PyObject *type, PyObject *path)
{
    (void)type;
    PyObject *bytes = NULL;
    evocc_space *space;
    evocc_error error;
    if (!PyUnicode_FSConverter(path, &bytes)) {
        return NULL;
    }
    evocc_status status = evocc_space_load(&space, PyBytes_AsString(bytes), &error);
    Py_DECREF(bytes);
    return status == EVOCC_OK ? wrap(space, space, NULL) : native_raise(&error);
}

static PyObject *probe(PyObject *type, PyObject *arguments)
{
    (void)type;
    const char *compiler;
    const char *path;
    const char *arch;
    evocc_space *space;
    evocc_error error;
    if (!PyArg_ParseTuple(arguments, "szz", &compiler, &path, &arch)) {
        return NULL;
    }
    evocc_status status;
    Py_BEGIN_ALLOW_THREADS status = evocc_space_probe(&space, compiler, path, arch, &error);
    Py_END_ALLOW_THREADS return status == EVOCC_OK ? wrap(space, space, NULL)
                                                   : native_raise(&error);
}

static PyObject *join(PyObject *type, PyObject *list)
{
    (void)type;
    Py_ssize_t count = PySequence_Size(list);
    const evocc_space **parts = count < 0 ? NULL : PyMem_Calloc((size_t)count + 1, sizeof *parts);
    PyObject *result = NULL;
    if (parts == NULL) {
        return count < 0 ? NULL : PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PySequence_GetItem(list, i);
        parts[i] = item == NULL ? NULL : native_space_get(item);
        Py_XDECREF(item); /* the list keeps it */
        if (parts[i] == NULL) {
            PyMem_Free(parts);
            return NULL;
        }
    }
    evocc_space *space;
    evocc_error error;
    result = evocc_space_join(&space, parts, (size_t)count, &error) == EVOCC_OK
                 ? wrap(space, space, NULL)
                 : native_raise(&error);
    PyMem_Free(parts);
    return result;
}

/* ---- Controls ------------------------------------------------------------------------------- */

static Py_ssize_t length_of(PyObject *self)
{
    return (Py_ssize_t)evocc_space_count(((space_object *)self)->space);
}

static PyObject *value_of(const evocc_space *space, size_t control, int32_t value)
{
    char text[256];
    size_t length = evocc_space_value_text(text, sizeof text, space, control, value);
    if (length >= sizeof text) {
        return PyErr_NoMemory();
    }
    double number = evocc_space_value_number(space, control, value);
    PyObject *as_number = number == number ? PyFloat_FromDouble(number) : Py_NewRef(Py_None);
    return as_number == NULL ? NULL : Py_BuildValue("(sN)", text, as_number);
}

static PyObject *control(PyObject *object, PyObject *argument)
{
    const evocc_space *space = ((space_object *)object)->space;
    size_t index = PyLong_AsSize_t(argument);
    if (PyErr_Occurred() != NULL) {
        return NULL;
    }
    if (index >= evocc_space_count(space)) {
        PyErr_SetString(PyExc_IndexError, "no such control");
        return NULL;
    }
    size_t count = evocc_space_value_count(space, index);
    PyObject *values = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; values != NULL && i < count; i++) {
        PyObject *value = value_of(space, index, (int32_t)i);
        if (value == NULL || PyTuple_SetItem(values, (Py_ssize_t)i, value) != 0) {
            Py_CLEAR(values);
        }
    }
    return values == NULL ? NULL
                          : Py_BuildValue("(ssN)", evocc_space_name(space, index),
                                          evocc_space_help(space, index), values);
}

/* ---- Candidates ----------------------------------------------------------------------------- */

static PyObject *text_of(PyObject *object, PyObject *sequence)
{
    const evocc_space *space = ((space_object *)object)->space;
    int32_t *genes = native_genes_take(sequence, evocc_space_count(space));
    if (genes == NULL) {
        return NULL;
    }
    size_t length = evocc_candidate_text(NULL, 0, space, genes);
    char *text = length == (size_t)-1 ? NULL : PyMem_Malloc(length + 1);
    PyObject *result = NULL;
    if (text == NULL) {
        PyErr_NoMemory();
    } else {
        evocc_candidate_text(text, length + 1, space, genes);
        result = PyUnicode_FromStringAndSize(text, (Py_ssize_t)length);
    }
    PyMem_Free(text);
    PyMem_Free(genes);
    return result;
}

static PyObject *genes_of(PyObject *object, PyObject *argument)
{
    const evocc_space *space = ((space_object *)object)->space;
    size_t count = evocc_space_count(space);
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(argument, &length);
    int32_t *genes = text == NULL ? NULL : PyMem_Calloc(count + 1, sizeof *genes);
    evocc_error error;
    if (genes == NULL) {
        return text == NULL ? NULL : PyErr_NoMemory();
    }
    PyObject *result = evocc_candidate_parse(genes, space, text, &error) == EVOCC_OK
                           ? native_genes_tuple(genes, count)
                           : native_raise(&error);
    PyMem_Free(genes);
    return result;
}

static PyObject *check(PyObject *object, PyObject *sequence)
{
    const evocc_space *space = ((space_object *)object)->space;
    int32_t *genes = native_genes_take(sequence, evocc_space_count(space));
    evocc_error error;
    if (genes == NULL) {
        return NULL;
    }
    evocc_status status = evocc_candidate_check(space, genes, &error);
    PyMem_Free(genes);
    return status == EVOCC_OK ? Py_NewRef(Py_None) : native_raise(&error);
}

static PyObject *arguments_of(PyObject *object, PyObject *arguments)
{
    const evocc_space *space = ((space_object *)object)->space;
    PyObject *sequence;
    const char *compiler;
    if (!PyArg_ParseTuple(arguments, "Os", &sequence, &compiler)) {
        return NULL;
    }
    int32_t *genes = native_genes_take(sequence, evocc_space_count(space));
    if (genes == NULL) {
        return NULL;
    }
    size_t length = evocc_candidate_arguments(NULL, 0, space, genes, compiler);
    char *text = length == (size_t)-1 ? NULL : PyMem_Malloc(length + 1);
    PyObject *result = NULL;
    if (text == NULL) {
        PyErr_Format(PyExc_ValueError, "no compiler that evocc knows is called '%s'", compiler);
    } else {
        evocc_candidate_arguments(text, length + 1, space, genes, compiler);
        result = PyUnicode_FromStringAndSize(text, (Py_ssize_t)length);
    }
    PyMem_Free(text);
    PyMem_Free(genes);
    return result;
}

static PyMethodDef methods[] = {
    {"parse", parse, METH_VARARGS | METH_STATIC, "parse(text, name): of the text of a space file."},
    {"load", load, METH_O | METH_STATIC, "load(path): of a space file."},
    {"probe", probe, METH_VARARGS | METH_STATIC,
     "probe(compiler, path, arch): the options of an installed compiler."},
    {"join", join, METH_O | METH_STATIC, "join(spaces): one space of several."},
    {"control", control, METH_O, "control(index): (name, help, ((text, number or None), ...))."},
    {"text", text_of, METH_O, "text(genes): what differs from the defaults."},
    {"genes", genes_of, METH_O, "genes(text): and back, in canonical form."},
    {"check", check, METH_O, "check(genes): raises RefusedError naming the rule."},
    {"arguments", arguments_of, METH_VARARGS,
     "arguments(genes, compiler): words of a command line, one a line."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, deallocate},
    {Py_tp_methods, methods},
    {Py_sq_length, length_of},
    {Py_tp_doc, "Controls with their values, and rules over them."},
    {0, NULL},
};
PyType_Spec native_space_spec = {.name = "evocc._native.Space",
                                 .basicsize = sizeof(space_object),
                                 .flags = Py_TPFLAGS_DEFAULT,
                                 .slots = slots};
