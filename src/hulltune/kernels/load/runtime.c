/* Kernels as functions of Python, and the memory of their arrays: the part of the library that is written in C.

   It needs no headers of Python or NumPy, and so fits all their versions: it uses Python's stable ABI, whose functions
   every process of Python has, functions of NumPy's C API, and the fields of arrays, which NumPy documents. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN __attribute__((visibility("default")))

typedef struct Object Object;
Object *PyTuple_New(ptrdiff_t), *PyTuple_GetItem(Object *, ptrdiff_t), *Py_BuildValue(const char *, ...);
Object *PyLong_FromLongLong(long long), *PyFloat_FromDouble(double), *PyBool_FromLong(long);
Object *PyCFunction_NewEx(void *, Object *, Object *), *PyCapsule_New(void *, const char *, void (*)(Object *));
Object *PyErr_Format(Object *, const char *, ...), *PyErr_Occurred(void);
int PyObject_IsInstance(Object *, Object *), PyObject_IsTrue(Object *), PyTuple_SetItem(Object *, ptrdiff_t, Object *);
void *PyCapsule_GetPointer(Object *, const char *), *PyEval_SaveThread(void), PyEval_RestoreThread(void *);
void PyErr_Clear(void), Py_IncRef(Object *), Py_DecRef(Object *);
ptrdiff_t PyTuple_Size(Object *);
long long PyLong_AsLongLong(Object *);
double PyFloat_AsDouble(Object *);
extern Object *PyExc_MemoryError, *PyExc_TypeError;

/* The fields of an array, and of the type of its numbers, behind the head that every object has (numpy/ndarraytypes.h). */
typedef struct {
    void *data;
    int dimensions;
    intptr_t *shape, *strides;
    Object *base, *numbers;
    int flags;
} Fields;
typedef struct { void *type; char kind, letter, byte_order, flags; int number; } Numbers;
static ptrdiff_t head;
#define FIELDS(object) ((void *)((char *)(object) + head))
enum { C_ORDER = 1, F_ORDER = 2, ALIGNED = 0x100, WRITEABLE = 0x400 };

/* The types of numbers, as NumPy numbers them. Where longs have eight bytes, long long is another name for long. */
static const char LETTERS[] = "?bBhHiIlLqQfd", SIZES[] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 8, 8, 4, 8};
enum { LONG_LONG = 9, UNSIGNED_LONG_LONG = 10 };
static int number_of(const char *type) { return (int)(strchr(LETTERS, *type) - LETTERS); }

/* NumPy's functions, and the places of some among them (numpy/_core/code_generators/numpy_api.py). */
static void **numpy;
enum { ARRAY_TYPE = 2, NEW = 93, SET_BASE = 282 };

/* The head of an array's memory, as the Numba that builds reads it (core/runtime/nrt.h). The numbers of an array follow
   it; those of a list, which grows, lie in a place of their own. */
typedef struct {
    size_t references;
    void *own_place, *unused, *data;
} Memory;

void *NRT_Allocate(size_t size) { return malloc(size); }
void NRT_Free(void *data) { free(data); }
Memory *NRT_MemInfo_alloc_aligned(size_t size, unsigned align) {
    char *place = size < SIZE_MAX / 2 ? malloc(sizeof(Memory) + size + align) : NULL;
    if (!place) return NULL;
    char *data = place + sizeof(Memory);
    *(Memory *)place = (Memory){1, NULL, NULL, data + (align - (uintptr_t)data % align) % align};
    return (Memory *)place;
}
Memory *NRT_MemInfo_alloc(size_t size) { return NRT_MemInfo_alloc_aligned(size, 16); }
Memory *NRT_MemInfo_new_varsize_dtor(size_t size, void *destroy) { /* nothing is to be destroyed: items are numbers */
    Memory *memory = NRT_MemInfo_alloc(0);
    if (memory && (memory->data = memory->own_place = malloc(size))) return memory;
    free(memory);
    return NULL;
}
void *NRT_MemInfo_varsize_realloc(Memory *memory, size_t size) {
    void *data = realloc(memory->own_place, size);
    if (data) memory->data = memory->own_place = data;
    return data;
}
void NRT_MemInfo_call_dtor(Memory *memory) {
    free(memory->own_place);
    free(memory);
}
static void release(Object *capsule) {
    Memory *memory = PyCapsule_GetPointer(capsule, NULL);
    if (__atomic_sub_fetch(&memory->references, 1, __ATOMIC_ACQ_REL) == 0) NRT_MemInfo_call_dtor(memory);
}

/* What else Numba's code calls. It tells Python of an error before it fails, without the GIL: that is left to ``call``. */
void PyErr_SetString(void *kind, const char *message) { (void)kind, (void)message; }
void *PyExc_RuntimeError;
double numba_ldexp(double x, int exponent) { return ldexp(x, exponent); }
double numba_frexp(double x, int *exponent) { return *exponent = 0, isfinite(x) && x ? frexp(x, exponent) : x; }

/* The strides of an array in a new shape; 0 if they cannot be told. Numba asks of arrays without gaps only. */
int numba_attempt_nocopy_reshape(intptr_t old_count, const intptr_t *old_shape, const intptr_t *old_strides,
                                 intptr_t count, const intptr_t *shape, intptr_t *strides, intptr_t size, int by_column) {
    for (intptr_t i = count; i-- > 0; size *= shape[i]) strides[i] = size;
    return !by_column;
}

/* An array as Numba passes and returns it. */
typedef struct {
    Memory *memory;
    Object *owner;
    intptr_t count, size;
    void *data;
    intptr_t shape[]; /* and the strides behind it */
} Passed;

/* A kernel. What it takes and gives is spelled as in build.py, which writes the table of all. An entry reads words of eight
   bytes, writes an answer in the layout of C, and returns 0, or another number if there is no memory for an array: kernels
   raise no other error. */
typedef struct {
    const char *name, *takes, *gives;
    int (*entry)(const int64_t *words, void *answer);
} Kernel;
extern const Kernel hulltune_kernels[];
enum { MOST_WORDS = 512 };

static int is_array(Object *value, const char *type) {
    if (PyObject_IsInstance(value, numpy[ARRAY_TYPE]) != 1) return 0;
    const Fields *array = FIELDS(value);
    const Numbers *numbers = FIELDS(array->numbers);
    int number = numbers->number, needed = ALIGNED | (type[2] == 'C' ? C_ORDER : type[2] == 'F' ? F_ORDER : 0);
    if (number == LONG_LONG || number == UNSIGNED_LONG_LONG) number -= 2;
    return number == number_of(type) && array->dimensions == type[1] - '0' && numbers->byte_order != '>' &&
           (array->flags & needed) == needed;
}

/* Read a value of the type at *type, and move on behind it; 0 if the value is of another type. */
static int read_value(Object *value, const char **type, int64_t **words) {
    char kind = *(*type)++;
    if (kind == '(') {
        ptrdiff_t i = 0, size = PyTuple_Size(value);
        for (; **type != ')'; i++)
            if (i >= size || !read_value(PyTuple_GetItem(value, i), type, words)) return 0;
        ++*type;
        return i == size;
    }
    if (kind == 'a') {
        if (!is_array(value, *type)) return 0;
        const Fields *array = FIELDS(value);
        Passed *passed = (Passed *)*words;
        *passed = (Passed){NULL, value, 1, SIZES[number_of(*type)], array->data};
        for (int i = 0; i < array->dimensions; i++) {
            passed->count *= passed->shape[i] = array->shape[i];
            passed->shape[array->dimensions + i] = array->strides[i];
        }
        *words = passed->shape + 2 * array->dimensions;
        *type += 3;
        return 1;
    }
    double real = kind == 'd' ? PyFloat_AsDouble(value) : 0;
    int64_t whole = kind == 't' ? PyObject_IsTrue(value) : kind == 'd' ? 0 : PyLong_AsLongLong(value);
    memcpy((*words)++, kind == 'd' ? (void *)&real : (void *)&whole, sizeof real);
    return !PyErr_Occurred();
}

static Object *made_array(const char *type, const Passed *passed) {
    Object *(*new)(void *, int, const intptr_t *, int, const intptr_t *, void *, int, int, void *) = numpy[NEW];
    int (*set_base)(Object *, Object *) = numpy[SET_BASE];
    int dimensions = type[1] - '0';
    Object *array = new(numpy[ARRAY_TYPE], dimensions, passed->shape, number_of(type), passed->shape + dimensions,
                        passed->data, 0, WRITEABLE, NULL);
    /* What keeps the numbers: memory of the kernel's, or the argument that the kernel answers with. */
    Object *holder = passed->memory ? PyCapsule_New(passed->memory, NULL, release) : passed->owner;
    if (!passed->memory) Py_IncRef(holder);
    return array && holder && set_base(array, holder) == 0 ? array : NULL;
}

/* Make the value of the type at *type that lies at *place, and move on behind both. */
static Object *made_value(const char **type, char **place) {
    char kind = *(*type)++;
    if (kind == '(') {
        ptrdiff_t size = 0;
        Object *values[MOST_WORDS];
        while (**type != ')')
            if (!(values[size++] = made_value(type, place))) return NULL;
        ++*type;
        Object *tuple = PyTuple_New(size);
        for (ptrdiff_t i = 0; tuple && i < size; i++) PyTuple_SetItem(tuple, i, values[i]);
        return tuple;
    }
    if (kind == 't') return PyBool_FromLong(*(*place)++);
    char *at = *place += -(uintptr_t)*place % 8;
    *place += 8;
    if (kind == 'd') return PyFloat_FromDouble(*(double *)at);
    if (kind == 'q') return PyLong_FromLongLong(*(int64_t *)at);
    *place = (char *)(((Passed *)at)->shape + 2 * ((*type)[1] - '0'));
    *type += 3;
    return made_array(*type - 3, (Passed *)at);
}

/* Call the first kernel of a name, of those for several types of numbers, that takes these arguments. */
static Object *call(Object *self, Object *const *arguments, ptrdiff_t count) {
    const Kernel *first = PyCapsule_GetPointer(self, NULL);
    for (const Kernel *kernel = first; !strcmp(kernel->name, first->name); kernel++) {
        int64_t words[MOST_WORDS], answer[MOST_WORDS], *word = words;
        const char *type = kernel->takes;
        ptrdiff_t i = 0;
        while (*type && i < count && read_value(arguments[i], &type, &word)) i++;
        if (*type || i < count) {
            PyErr_Clear();
            continue;
        }
        void *thread = PyEval_SaveThread();
        int failed = kernel->entry(words, answer);
        PyEval_RestoreThread(thread);
        if (failed) return PyErr_Format(PyExc_MemoryError, "not enough memory for %s", kernel->name);
        type = kernel->gives;
        char *place = (char *)answer;
        return *type ? made_value(&type, &place) : Py_BuildValue("");
    }
    return PyErr_Format(PyExc_TypeError, "%s takes other arguments: %s", first->name, first->takes);
}

/* What the loader calls: first with NumPy's functions and the size of an object's head, then with the name of a kernel. */
SHOWN void hulltune_begin(Object *functions, ptrdiff_t size) {
    numpy = PyCapsule_GetPointer(functions, NULL);
    head = size;
}
SHOWN Object *hulltune_function(const char *name) {
    static struct { const char *name; void *call; int flags; const char *doc; } definition = {"kernel", call, 0x80, NULL};
    for (const Kernel *kernel = hulltune_kernels; *kernel->name; kernel++)
        if (!strcmp(kernel->name, name))
            return PyCFunction_NewEx(&definition, PyCapsule_New((void *)kernel, NULL, NULL), NULL);
    return PyErr_Format(PyExc_TypeError, "the library has no kernel %s", name);
}
