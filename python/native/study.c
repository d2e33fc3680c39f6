#include "native.h"

#include <string.h>

typedef struct study_object {
    PyObject_HEAD evocc_study *study; /* NULL: closed */
    PyObject *space;                  /* keeps it alive; NULL: opened for reading */
    size_t gene_count, objective_count;
    PyObject *allowed; /* NULL: no rule of the caller's */
} study_object;

static evocc_study *get(PyObject *object)
{
    study_object *self = (study_object *)object;
    if (self->study == NULL) {
        PyErr_SetString(PyExc_ValueError, "the study is closed");
    }
    return self->study;
}

static PyObject *close_study(PyObject *object, PyObject *unused)
{
    (void)unused;
    study_object *self = (study_object *)object;
    evocc_study_free(self->study);
    self->study = NULL;
    return Py_NewRef(Py_None);
}

static void deallocate(PyObject *object)
{
    study_object *self = (study_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    evocc_study_free(self->study);
    Py_XDECREF(self->space);
    Py_XDECREF(self->allowed);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* ---- Opening -------------------------------------------------------------------------------- */

/* The caller's rule. After an exception nothing more is allowed: ask then raises it. */
static bool allow(void *context, const int32_t *genes)
{
    const study_object *self = context;
    if (PyErr_Occurred() != NULL) {
        return false;
    }
    PyObject *tuple = native_genes_tuple(genes, self->gene_count);
    PyObject *answer =
        tuple == NULL ? NULL : PyObject_CallFunctionObjArgs(self->allowed, tuple, NULL);
    int allowed = answer == NULL ? 0 : PyObject_IsTrue(answer);
    Py_XDECREF(tuple);
    Py_XDECREF(answer);
    return allowed > 0;
}

/* Objectives as tuples (name, maximize, weight, limit or None, target or None). */
static int take_objectives(evocc_objective *out, PyObject *list)
{
    Py_ssize_t count = PyTuple_Size(list);
    if (count < 1 || count > EVOCC_STUDY_OBJECTIVES_MAX) {
        PyErr_Format(PyExc_ValueError, "a study has 1 to %d objectives, not %zd",
                     EVOCC_STUDY_OBJECTIVES_MAX, count);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *limit;
        PyObject *target;
        int maximize;
        if (!PyArg_ParseTuple(PyTuple_GetItem(list, i), "spdOO", &out[i].name, &maximize,
                              &out[i].weight, &limit, &target)) {
            return -1;
        }
        out[i].maximize = maximize != 0;
        out[i].limited = limit != Py_None;
        out[i].limit = limit == Py_None ? 0 : PyFloat_AsDouble(limit);
        out[i].has_target = target != Py_None;
        out[i].target = target == Py_None ? 0 : PyFloat_AsDouble(target);
        if (PyErr_Occurred() != NULL) {
            return -1;
        }
    }
    return (int)count;
}

/* First candidates: a tuple of genes. Freed with free_seeds. */
static int32_t **take_seeds(PyObject *list, size_t gene_count)
{
    Py_ssize_t count = PyTuple_Size(list);
    int32_t **seeds = PyMem_Calloc((size_t)count + 1, sizeof *seeds);
    if (seeds == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        seeds[i] = native_genes_take(PyTuple_GetItem(list, i), gene_count);
        if (seeds[i] == NULL) {
            break;
        }
    }
    return seeds;
}

static void free_seeds(int32_t **seeds)
{
    for (size_t i = 0; seeds != NULL && seeds[i] != NULL; i++) {
        PyMem_Free(seeds[i]);
    }
    PyMem_Free(seeds);
}

static const char *const modes[] = {"open", "create", "resume"};

static int take_mode(evocc_study_mode *out, const char *name)
{
    for (int i = 0; i < 3; i++) {
        if (strcmp(name, modes[i]) == 0) {
            *out = (evocc_study_mode)i;
            return 0;
        }
    }
    PyErr_Format(PyExc_ValueError, "mode '%s' is not 'open', 'create' or 'resume'", name);
    return -1;
}

static study_object *new_object(PyTypeObject *type)
{
    return (study_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
}

static PyObject *make(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {
        "space",       "objectives",   "pool_size", "cull_size",   "generations",
        "mutate_rate", "seed",         "lag",       "max_trials",  "stale_generations",
        "hypervolume", "repeat_share", "prescreen", "seeds",       "allowed",
        "path",        "mode",         "title",     "environment", NULL};
    evocc_search_options o = EVOCC_SEARCH_OPTIONS;
    evocc_study_options file = EVOCC_STUDY_OPTIONS;
    evocc_objective objectives[EVOCC_STUDY_OBJECTIVES_MAX] = {{0}};
    PyObject *space;
    PyObject *objective_list;
    PyObject *seed_list;
    PyObject *allowed;
    PyObject *path;
    const char *mode;
    unsigned long long seed;
    unsigned long long max_trials;
    int hypervolume;
    int prescreen;
    if (!PyArg_ParseTupleAndKeywords(
            arguments, keywords, "OO!nnndKnKIpdpO!OOsss", names, &space, &PyTuple_Type,
            &objective_list, &o.pool_size, &o.cull_size, &o.generations, &o.mutate_rate, &seed,
            &o.lag, &max_trials, &o.stale_generations, &hypervolume, &o.repeat_share, &prescreen,
            &PyTuple_Type, &seed_list, &allowed, &path, &mode, &file.title, &file.environment)) {
        return NULL;
    }
    const evocc_space *controls = native_space_get(space);
    int count = controls == NULL ? -1 : take_objectives(objectives, objective_list);
    if (count < 0 || take_mode(&file.mode, mode) != 0) {
        return NULL;
    }
    study_object *self = new_object(type);
    if (self == NULL) {
        return NULL;
    }
    self->space = Py_NewRef(space);
    self->gene_count = evocc_space_count(controls);
    self->objective_count = (size_t)count;
    self->allowed = allowed == Py_None ? NULL : Py_NewRef(allowed);
    o.objectives = objectives;
    o.objective_count = (size_t)count;
    o.seed = seed;
    o.max_trials = max_trials;
    o.survival = hypervolume ? EVOCC_SURVIVAL_HYPERVOLUME : EVOCC_SURVIVAL_NSGA3;
    o.prescreen = prescreen != 0;
    o.allowed = self->allowed == NULL ? NULL : allow;
    o.allowed_context = self;
    o.seed_count = (size_t)PyTuple_Size(seed_list);
    int32_t **seeds = take_seeds(seed_list, self->gene_count);
    o.seeds = (const int32_t *const *)seeds;
    PyObject *bytes = NULL;
    evocc_error error = {0};
    evocc_status status = EVOCC_INVALID_ARGUMENT;
    if (PyErr_Occurred() == NULL && (path == Py_None || PyUnicode_FSConverter(path, &bytes))) {
        file.path = bytes == NULL ? NULL : PyBytes_AsString(bytes);
        status = evocc_study_open(&self->study, controls, &o, &file, &error);
    }
    free_seeds(seeds);
    Py_XDECREF(bytes);
    if (status != EVOCC_OK) {
        Py_DECREF(self);
        return PyErr_Occurred() != NULL ? NULL : native_raise(&error);
    }
    return (PyObject *)self;
}

static PyObject *read_file(PyObject *type, PyObject *path)
{
    PyObject *bytes = NULL;
    evocc_error error;
    if (!PyUnicode_FSConverter(path, &bytes)) {
        return NULL;
    }
    study_object *self = new_object((PyTypeObject *)type);
    if (self != NULL &&
        evocc_study_read(&self->study, PyBytes_AsString(bytes), &error) != EVOCC_OK) {
        Py_CLEAR(self);
        native_raise(&error);
    }
    Py_DECREF(bytes);
    return (PyObject *)self;
}

/* ---- Ask and tell --------------------------------------------------------------------------- */

static PyObject *trial_tuple(const study_object *self, const evocc_trial *trial)
{
    PyObject *genes = native_genes_tuple(trial->genes, self->gene_count);
    return genes == NULL ? NULL
                         : Py_BuildValue("(KIN)", (unsigned long long)trial->id,
                                         (unsigned)trial->generation, genes);
}

static PyObject *ask(PyObject *object, PyObject *unused)
{
    (void)unused;
    evocc_study *study = get(object);
    evocc_trial trial;
    evocc_error error;
    if (study == NULL) {
        return NULL;
    }
    evocc_status status = evocc_study_ask(&trial, study, &error);
    if (PyErr_Occurred() != NULL) {
        return NULL; /* the caller's rule raised */
    }
    if (status == EVOCC_OK) {
        return trial_tuple((study_object *)object, &trial);
    }
    return status == EVOCC_WAIT || status == EVOCC_DONE || status == EVOCC_EXHAUSTED
               ? PyUnicode_FromString(evocc_status_name(status))
               : native_raise(&error);
}

static PyObject *pending(PyObject *object, PyObject *unused)
{
    (void)unused;
    evocc_study *study = get(object);
    PyObject *list = study == NULL ? NULL : PyList_New(0);
    evocc_trial trial;
    for (size_t i = 0; list != NULL && evocc_study_pending(&trial, study, i, NULL) == EVOCC_OK;
         i++) {
        PyObject *item = trial_tuple((study_object *)object, &trial);
        if (item == NULL || PyList_Append(list, item) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(item);
    }
    return list;
}

enum { METRICS_MAX = 24 };

/* Further metrics out of a dict; their names are borrowed from its keys. */
static int take_metrics(evocc_metric *out, PyObject *dict)
{
    PyObject *key;
    PyObject *value;
    Py_ssize_t position = 0;
    int count = 0;
    while (PyDict_Next(dict, &position, &key, &value)) {
        if (count == METRICS_MAX) {
            PyErr_Format(PyExc_ValueError, "at most %d further metrics", METRICS_MAX);
            return -1;
        }
        out[count].name = PyUnicode_AsUTF8AndSize(key, NULL);
        out[count].value = value == Py_None ? Py_HUGE_VAL - Py_HUGE_VAL : PyFloat_AsDouble(value);
        if (PyErr_Occurred() != NULL) {
            return -1;
        }
        count++;
    }
    return count;
}

static int take_values(double *out, PyObject *tuple, size_t count)
{
    if ((size_t)PyTuple_Size(tuple) != count) {
        PyErr_Format(PyExc_ValueError, "the study has %zu objectives, not %zd", count,
                     PyTuple_Size(tuple));
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        out[i] = PyFloat_AsDouble(PyTuple_GetItem(tuple, (Py_ssize_t)i));
        if (PyErr_Occurred() != NULL) {
            return -1;
        }
    }
    return 0;
}

static PyObject *tell(PyObject *object, PyObject *arguments)
{
    evocc_study *study = get(object);
    unsigned long long id;
    const char *outcome;
    PyObject *values;
    PyObject *further;
    evocc_answer answer = EVOCC_ANSWER;
    double numbers[EVOCC_STUDY_OBJECTIVES_MAX];
    evocc_metric metrics[METRICS_MAX];
    evocc_error error;
    if (study == NULL || !PyArg_ParseTuple(arguments, "KsO!sO!ssd", &id, &outcome, &PyTuple_Type,
                                           &values, &answer.detail, &PyDict_Type, &further,
                                           &answer.command, &answer.code_hash, &answer.wall_s)) {
        return NULL;
    }
    if (evocc_outcome_parse(&answer.outcome, outcome, &error) != EVOCC_OK) {
        return native_raise(&error);
    }
    size_t count = ((study_object *)object)->objective_count;
    int metric_count = take_metrics(metrics, further);
    if (metric_count < 0 ||
        (answer.outcome == EVOCC_OUTCOME_OK && take_values(numbers, values, count) != 0)) {
        return NULL;
    }
    answer.values = numbers;
    answer.metrics = metrics;
    answer.metric_count = (size_t)metric_count;
    return evocc_study_tell(study, id, &answer, &error) == EVOCC_OK ? Py_NewRef(Py_None)
                                                                    : native_raise(&error);
}

/* ---- What there is -------------------------------------------------------------------------- */

static const evocc_search *get_search(PyObject *object)
{
    evocc_study *study = get(object);
    const evocc_search *search = study == NULL ? NULL : evocc_study_search(study);
    if (study != NULL && search == NULL) {
        PyErr_SetString(PyExc_ValueError, "the study was opened for reading only");
    }
    return search;
}

static PyObject *progress(PyObject *object, PyObject *unused)
{
    (void)unused;
    const evocc_search *search = get_search(object);
    evocc_progress p;
    if (search == NULL) {
        return NULL;
    }
    evocc_search_get_progress(&p, search);
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:I,s:I,s:I,s:d}", "asked", (unsigned long long)p.asked,
                         "told", (unsigned long long)p.told, "valid", (unsigned long long)p.valid,
                         "budget", (unsigned long long)p.budget, "generation",
                         (unsigned)p.generation, "generations", (unsigned)p.generations, "stale",
                         (unsigned)p.stale, "diversity", p.diversity);
}

static PyObject *front(PyObject *object, PyObject *unused)
{
    (void)unused;
    const evocc_search *search = get_search(object);
    size_t count;
    if (search == NULL) {
        return NULL;
    }
    const uint64_t *ids = evocc_search_front(search, &count);
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list != NULL && i < count; i++) {
        PyObject *id = PyLong_FromUnsignedLongLong(ids[i]);
        if (id == NULL || PyList_SetItem(list, (Py_ssize_t)i, id) != 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *importance(PyObject *object, PyObject *argument)
{
    const evocc_search *search = get_search(object);
    size_t count = ((study_object *)object)->gene_count;
    size_t objective = PyLong_AsSize_t(argument);
    if (search == NULL || PyErr_Occurred() != NULL) {
        return NULL;
    }
    double *shares = PyMem_Calloc(count + 1, sizeof *shares);
    evocc_error error;
    if (shares == NULL) {
        return PyErr_NoMemory();
    }
    PyObject *list = NULL;
    if (evocc_search_importance(shares, search, objective, &error) != EVOCC_OK) {
        native_raise(&error);
    } else {
        list = PyList_New((Py_ssize_t)count);
    }
    for (size_t i = 0; list != NULL && i < count; i++) {
        PyObject *share = PyFloat_FromDouble(shares[i]);
        if (share == NULL || PyList_SetItem(list, (Py_ssize_t)i, share) != 0) {
            Py_CLEAR(list);
        }
    }
    PyMem_Free(shares);
    return list;
}

static bool append_record(void *context, const evocc_record *r)
{
    PyObject *list = context;
    PyObject *metrics = native_metrics_dict(r->metrics, r->metric_count);
    PyObject *record =
        metrics == NULL
            ? NULL
            : Py_BuildValue("{s:K,s:I,s:s,s:O,s:s,s:s,s:s,s:s,s:d,s:N}", "id",
                            (unsigned long long)r->id, "generation", (unsigned)r->generation,
                            "outcome", evocc_outcome_name(r->outcome), "shared",
                            r->shared ? Py_True : Py_False, "candidate", r->candidate, "code_hash",
                            r->code_hash, "detail", r->detail, "command", r->command, "wall_s",
                            r->wall_s, "metrics", metrics);
    bool added = record != NULL && PyList_Append(list, record) == 0;
    Py_XDECREF(record);
    return added;
}

static PyObject *trials(PyObject *object, PyObject *unused)
{
    (void)unused;
    evocc_study *study = get(object);
    PyObject *list = study == NULL ? NULL : PyList_New(0);
    evocc_error error;
    if (list == NULL) {
        return NULL;
    }
    evocc_status status = evocc_study_each(study, append_record, list, &error);
    if (status == EVOCC_OK && PyErr_Occurred() == NULL) {
        return list;
    }
    Py_DECREF(list);
    return PyErr_Occurred() != NULL ? NULL : native_raise(&error);
}

static PyObject *report(PyObject *object, PyObject *argument)
{
    static const char *const forms[] = {"table", "json", "html"};
    evocc_study *study = get(object);
    const char *name = study == NULL ? NULL : PyUnicode_AsUTF8AndSize(argument, NULL);
    for (int i = 0; name != NULL && i < 3; i++) {
        if (strcmp(name, forms[i]) != 0) {
            continue;
        }
        char *text;
        size_t length;
        evocc_error error;
        if (evocc_study_report(&text, &length, study, (evocc_report_form)i, &error) != EVOCC_OK) {
            return native_raise(&error);
        }
        PyObject *result = PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "replace");
        evocc_free(text);
        return result;
    }
    if (name != NULL) {
        PyErr_Format(PyExc_ValueError, "form '%s' is not 'table', 'json' or 'html'", name);
    }
    return NULL;
}

static PyObject *set_note(PyObject *object, PyObject *arguments)
{
    evocc_study *study = get(object);
    const char *name;
    const char *data;
    Py_ssize_t length;
    evocc_error error;
    if (study == NULL || !PyArg_ParseTuple(arguments, "sy#", &name, &data, &length)) {
        return NULL;
    }
    return evocc_study_set_note(study, name, data, (size_t)length, &error) == EVOCC_OK
               ? Py_NewRef(Py_None)
               : native_raise(&error);
}

static PyObject *get_note(PyObject *object, PyObject *argument)
{
    evocc_study *study = get(object);
    const char *name = study == NULL ? NULL : PyUnicode_AsUTF8AndSize(argument, NULL);
    char *data;
    size_t length;
    evocc_error error;
    if (name == NULL) {
        return NULL;
    }
    evocc_status status = evocc_study_get_note(&data, &length, study, name, &error);
    if (status == EVOCC_NOT_FOUND) {
        return Py_NewRef(Py_None);
    }
    if (status != EVOCC_OK) {
        return native_raise(&error);
    }
    PyObject *bytes = PyBytes_FromStringAndSize(data, (Py_ssize_t)length);
    evocc_free(data);
    return bytes;
}

static PyMethodDef methods[] = {
    {"read", read_file, METH_O | METH_CLASS, "read(path): a study file, for reading."},
    {"close", close_study, METH_NOARGS, "Closes the file; other methods then raise ValueError."},
    {"ask", ask, METH_NOARGS,
     "(id, generation, genes), or 'wait' (tell first), 'done', 'exhausted'."},
    {"pending", pending, METH_NOARGS, "Trials that were asked and not told."},
    {"tell", tell, METH_VARARGS,
     "tell(id, outcome, values, detail, metrics, command, code_hash, wall_s): on disk when it "
     "returns."},
    {"progress", progress, METH_NOARGS, "asked, told, valid, budget, generation, ..."},
    {"front", front, METH_NOARGS, "Ids of the non-dominated valid trials."},
    {"importance", importance, METH_O, "importance(objective): one share a control."},
    {"trials", trials, METH_NOARGS, "All told trials as dicts."},
    {"report", report, METH_O, "report('table' | 'json' | 'html')."},
    {"set_note", set_note, METH_VARARGS, "set_note(name, data): the caller's own bytes."},
    {"get_note", get_note, METH_O, "get_note(name): bytes; None when there is none."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_new, make},
    {Py_tp_dealloc, deallocate},
    {Py_tp_methods, methods},
    {Py_tp_doc, "A search that remembers."},
    {0, NULL},
};
PyType_Spec native_study_spec = {.name = "evocc._native.Study",
                                 .basicsize = sizeof(study_object),
                                 .flags = Py_TPFLAGS_DEFAULT,
                                 .slots = slots};
