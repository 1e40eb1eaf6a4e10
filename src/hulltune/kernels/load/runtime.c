/* The part of the library of kernels that is written in C: kernels as functions of Python, and the memory of arrays.

   It needs no headers of Python or NumPy, and so fits all their versions: it uses functions of Python's stable ABI and
   of NumPy's C API, whose addresses it is given, and the fields of arrays, which NumPy documents. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN __attribute__((visibility("default")))

typedef struct Object Object;

/* Functions of Python, in the order of PYTHON in library.py. */
static struct {
    Object *(*function)(void *, Object *, Object *);
    Object *(*capsule)(void *, const char *, void (*)(Object *));
    void *(*pointer)(Object *, const char *);
    Object *(*tuple)(ptrdiff_t);
    ptrdiff_t (*size)(Object *);
    Object *(*item)(Object *, ptrdiff_t);
    int (*set_item)(Object *, ptrdiff_t, Object *);
    int (*is_instance)(Object *, Object *);
    long long (*as_long)(Object *);
    double (*as_double)(Object *);
    int (*is_true)(Object *);
    Object *(*from_long)(long long);
    Object *(*from_double)(double);
    Object *(*from_bool)(long);
    Object *(*error)(void);
    Object *(*format_error)(Object *, const char *, ...);
    void (*clear)(void);
    void *(*save)(void);
    void (*restore)(void *);
    void (*keep)(Object *), (*drop)(Object *);
    Object *none, **memory_error, **type_error;
    Object *tuple_type;
    void **numpy;
    ptrdiff_t head;
} python;

/* Places in the table of NumPy's C API (numpy/_core/code_generators/numpy_api.py). */
enum { ARRAY_TYPE = 2, COPY = 85, NEW = 93, SET_BASE = 282 };
enum { C_ORDER = 1, F_ORDER = 2, ALIGNED = 0x100, WRITEABLE = 0x400 };

/* The fields of an array, after its head (PyArrayObject_fields in numpy/ndarraytypes.h), and of its numbers' type (PyArray_Descr). */
typedef struct {
    char *data;
    int dimensions;
    intptr_t *shape, *strides;
    Object *base;
    char *numbers;
    int flags;
} Array;
typedef struct { void *type; char kind, letter, byte_order, flags; int number; } Numbers;

/* The head of the memory of an array, as the version of Numba that builds lays it out (core/runtime/nrt.h). */
typedef struct {
    size_t references;
    void (*destroy)(void *, size_t, void *);
    void *about, *data;
    size_t size;
    void *allocator;
} Memory;

void *NRT_Allocate(size_t size) { return malloc(size); }
void NRT_Free(void *data) { free(data); }

Memory *NRT_MemInfo_alloc_aligned(size_t size, unsigned align) {
    char *place = size < SIZE_MAX / 2 ? malloc(sizeof(Memory) + size + align) : NULL;
    if (!place) return NULL;
    char *data = place + sizeof(Memory);
    data += (align - (uintptr_t)data % align) % align;
    *(Memory *)place = (Memory){1, NULL, NULL, data, size, NULL};
    return (Memory *)place;
}
Memory *NRT_MemInfo_alloc(size_t size) { return NRT_MemInfo_alloc_aligned(size, 16); }
void NRT_MemInfo_call_dtor(Memory *memory) {
    if (memory->destroy) memory->destroy(memory->data, memory->size, memory->about);
    free(memory);
}

/* Lists: their numbers lie in memory of their own, which grows. */
static void destroy_list(void *data, size_t size, void *destroy_items) {
    if (destroy_items) ((void (*)(void *, size_t, void *))destroy_items)(data, size, NULL);
    free(data);
}
Memory *NRT_MemInfo_new_varsize_dtor(size_t size, void *destroy_items) {
    Memory *memory = malloc(sizeof(Memory));
    void *data = malloc(size);
    if (memory && data) {
        *memory = (Memory){1, destroy_list, destroy_items, data, size, NULL};
        return memory;
    }
    free(memory), free(data);
    return NULL;
}
void *NRT_MemInfo_varsize_realloc(Memory *memory, size_t size) {
    void *data = realloc(memory->data, size);
    if (data) memory->data = data, memory->size = size;
    return data;
}

static void release(Object *capsule) {
    Memory *memory = python.pointer(capsule, NULL);
    if (__atomic_sub_fetch(&memory->references, 1, __ATOMIC_ACQ_REL) == 0) NRT_MemInfo_call_dtor(memory);
}

double numba_ldexp(double x, int exponent) { return ldexp(x, exponent); }
double numba_frexp(double x, int *exponent) { return *exponent = 0, isfinite(x) && x ? frexp(x, exponent) : x; }
double numba_nextafter(double x, double y) { return nextafter(x, y); }

/* The strides of an array in a new shape; 0 if they cannot be told because its numbers do not lie in C order. */
int numba_attempt_nocopy_reshape(intptr_t old_count, const intptr_t *old, const intptr_t *old_strides, intptr_t count,
                                 const intptr_t *shape, intptr_t *strides, intptr_t size, int by_column) {
    intptr_t step = size, numbers = 1;
    for (intptr_t i = 0; i < old_count; i++) numbers *= old[i];
    for (intptr_t i = old_count; i-- > 0; step *= old[i])
        if (old_strides[i] != step && old[i] != 1 && numbers > 1) return 0;
    step = size;
    for (intptr_t i = count; i-- > 0; step *= shape[i]) strides[i] = step;
    return !by_column;
}

/* What Numba's code would tell Python before it returns that it failed; the caller raises an error of its own. */
void PyErr_SetString(void *kind, const char *message) { (void)kind, (void)message; }
void *PyExc_RuntimeError;

/* A kernel: its types are spelled as in entries.py. The build writes the table of all. */
typedef struct {
    const char *name, *takes, *gives;
    int (*entry)(int64_t *ignored, void **error, const int64_t *words, int64_t *answers);
} Kernel;
extern const Kernel hulltune_kernels[];
extern const int hulltune_kernel_count;

enum { MOST_WORDS = 128 };

static int number_of(char letter) {
    switch (letter) {
    case 'q': return sizeof(long) == 8 ? 7 : 9;
    case 'Q': return sizeof(long) == 8 ? 8 : 10;
    default: return (int)(strchr("?bBhHiI....fd", letter) - "?bBhHiI....fd");
    }
}

static int is_array(Object *value, const char *type) {
    if (!python.is_instance(value, python.numpy[ARRAY_TYPE])) return 0;
    const Array *array = (const Array *)((char *)value + python.head);
    const Numbers *numbers = (const Numbers *)(array->numbers + python.head);
    int number = numbers->number, wanted = number_of(type[0]);
    if (number == 9 && sizeof(long) == 8) number = 7;
    if (number == 7 && sizeof(long) == 4) number = 5;
    int order = type[2] == 'C' ? C_ORDER : type[2] == 'F' ? F_ORDER : 0;
    return number == wanted && array->dimensions == type[1] - '0' && numbers->byte_order != '>' &&
           (array->flags & (order | ALIGNED)) == (order | ALIGNED);
}

/* Read a value of the type at *type, and move on behind it; 0 if the value is of another type. */
static int read_value(Object *value, const char **type, int64_t **words) {
    char kind = *(*type)++;
    double real;
    if (kind == '(') {
        if (!python.is_instance(value, python.tuple_type)) return 0;
        ptrdiff_t i = 0, size = python.size(value);
        for (; **type != ')'; i++)
            if (i == size || !read_value(python.item(value, i), type, words)) return 0;
        ++*type;
        return i == size;
    }
    switch (kind) {
    case 'a':
        if (!is_array(value, *type)) return 0;
        *type += 3;
        *(*words)++ = (int64_t)((char *)value + python.head);
        return 1;
    case 'd':
        real = python.as_double(value);
        memcpy((*words)++, &real, sizeof real);
        break;
    case 't': *(*words)++ = python.is_true(value); break;
    default: *(*words)++ = python.as_long(value);
    }
    return (*words)[-1] != -1 || !python.error();
}

static Object *made_array(const char *type, int64_t **words) {
    int dimensions = type[1] - '0';
    void *data = (void *)*(*words)++, *memory = (void *)*(*words)++;
    int flags = (type[2] == 'F' ? F_ORDER : C_ORDER) | ALIGNED | WRITEABLE;
    Object *(*new)(void *, int, int64_t *, int, void *, void *, int, int, void *) = python.numpy[NEW];
    Object *array = new(python.numpy[ARRAY_TYPE], dimensions, *words, number_of(type[0]), NULL, data, 0, flags, NULL);
    *words += dimensions;
    int (*set_base)(Object *, Object *) = python.numpy[SET_BASE];
    if (!array) return NULL;
    if (!memory) { /* the kernel answers with an array that it was given */
        Object *(*copy)(Object *, int) = python.numpy[COPY], *own = copy(array, -1); /* in the order that it has */
        python.drop(array);
        return own;
    }
    Object *holder = python.capsule(memory, NULL, release);
    return holder && set_base(array, holder) == 0 ? array : NULL;
}

static Object *made_value(const char **type, int64_t **words) {
    char kind = *(*type)++;
    double real;
    if (kind == '(') {
        ptrdiff_t size = 0;
        Object *values[MOST_WORDS];
        while (**type != ')')
            if (!(values[size++] = made_value(type, words))) return NULL;
        ++*type;
        Object *tuple = python.tuple(size);
        for (ptrdiff_t i = 0; tuple && i < size; i++) python.set_item(tuple, i, values[i]);
        return tuple;
    }
    switch (kind) {
    case 'a': *type += 3; return made_array(*type - 3, words);
    case 'd': memcpy(&real, (*words)++, sizeof real); return python.from_double(real);
    case 't': return python.from_bool(*(*words)++ != 0);
    default: return python.from_long(*(*words)++);
    }
}

/* Call the first kernel of a name, of those for several types of numbers, that takes these arguments. */
static Object *call(Object *self, Object *const *arguments, ptrdiff_t count) {
    const Kernel *first = python.pointer(self, NULL), *end = hulltune_kernels + hulltune_kernel_count;
    for (const Kernel *kernel = first; kernel < end && !strcmp(kernel->name, first->name); kernel++) {
        int64_t words[MOST_WORDS], answers[MOST_WORDS], *word = words, ignored = 0;
        const char *type = kernel->takes;
        ptrdiff_t i = 0;
        while (*type && i < count && read_value(arguments[i], &type, &word)) i++;
        if (*type || i < count) continue;
        void *error = NULL, *thread = python.save();
        int failed = kernel->entry(&ignored, &error, words, answers);
        python.restore(thread);
        if (failed) return python.format_error(*python.memory_error, "not enough memory for %s", kernel->name);
        word = answers;
        type = kernel->gives;
        return *type ? made_value(&type, &word) : (python.keep(python.none), python.none);
    }
    python.clear();
    return python.format_error(*python.type_error, "%s takes other arguments: %s", first->name, first->takes);
}

/* What Python sees of the library: the level of this CPU (4, 3, or 1), the beginning, and a kernel by its name. */
#if defined(__x86_64__)
#include <cpuid.h>

/* The bits of the features of x86-64-v3 and v4, by the leaf of CPUID (x86-64 psABI). Those that compilers offer to ask
   for them need a library of the compiler's, which Zig does not link here. */
enum { V3_LEAF_1 = 1 << 12 | 1 << 22 | 1 << 27 | 1 << 28 | 1 << 29, V3_LEAF_7 = 1 << 3 | 1 << 5 | 1 << 8 };
static const unsigned V4_LEAF_7 = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;

SHOWN int hulltune_level(void) {
    unsigned a, b, c, d, saved, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & V3_LEAF_1) != V3_LEAF_1) return 1;
    __asm__("xgetbv" : "=a"(saved), "=d"(high) : "c"(0)); /* the registers that the system saves */
    if ((saved & 6) != 6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & V3_LEAF_7) != V3_LEAF_7) return 1;
    return (saved & 0xe6) == 0xe6 && (b & V4_LEAF_7) == V4_LEAF_7 ? 4 : 3;
}
#else
SHOWN int hulltune_level(void) { return 1; }
#endif

SHOWN void hulltune_begin(const void *functions) { memcpy(&python, functions, sizeof python); }

SHOWN Object *hulltune_function(const char *name) {
    static struct { const char *name; void *call; int flags; const char *doc; } definition = {"kernel", call, 0x80, NULL};
    for (int i = 0; i < hulltune_kernel_count; i++)
        if (!strcmp(hulltune_kernels[i].name, name))
            return python.function(&definition, python.capsule((void *)(hulltune_kernels + i), NULL, NULL), NULL);
    return python.format_error(*python.type_error, "the library has no kernel %s", name);
}
