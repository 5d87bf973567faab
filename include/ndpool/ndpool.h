/* ndpool: pooling over any number of axes, forward and differentiated. The C interface.
 *
 * One call has three steps: fill an ndpool_desc, make an ndpool_plan from it, run the plan on
 * arrays. A plan is immutable: keep it, share it between threads, run it as often as you like.
 * Every function that can fail returns a status code (NDPOOL_OK is 0) and, if `error` is not NULL,
 * writes there which axis and which numbers are at fault and what to do. A refused call changes
 * nothing. */
#ifndef NDPOOL_NDPOOL_H_
#define NDPOOL_NDPOOL_H_

#include <stddef.h>
#include <stdint.h>

#define NDPOOL_VERSION_MAJOR 0
#define NDPOOL_VERSION_MINOR 1
#define NDPOOL_VERSION_PATCH 0

#if defined(_WIN32)
#if defined(NDPOOL_BUILDING)
#define NDPOOL_API __declspec(dllexport)
#else
#define NDPOOL_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define NDPOOL_API __attribute__((visibility("default")))
#else
#define NDPOOL_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Words ------------------------------------------------------------------------------------
 */

enum ndpool_op { NDPOOL_MAX, NDPOOL_MIN, NDPOOL_AVG, NDPOOL_SMOOTH_MAX, NDPOOL_LP };

enum ndpool_type {
  NDPOOL_F16,
  NDPOOL_BF16,
  NDPOOL_F32,
  NDPOOL_F64,
  NDPOOL_I8,
  NDPOOL_U8,
  NDPOOL_I16,
  NDPOOL_U16,
  NDPOOL_I32,
  NDPOOL_U32,
  NDPOOL_I64,
  NDPOOL_U64,
  NDPOOL_BOOL,
  NDPOOL_SAME_TYPE = -1 /* ndpool_desc.out_type: the input's type */
};

enum ndpool_mode { NDPOOL_WINDOWED, NDPOOL_ADAPTIVE, NDPOOL_GLOBAL };
enum ndpool_rounding { NDPOOL_FLOOR, NDPOOL_CEIL, NDPOOL_EXACT };
enum ndpool_padding { NDPOOL_PADDING_GIVEN, NDPOOL_PADDING_SAME, NDPOOL_PADDING_SAME_LOWER };
enum ndpool_ties { NDPOOL_TIES_FIRST, NDPOOL_TIES_LAST, NDPOOL_TIES_ALL, NDPOOL_TIES_SPLIT };
/* How max, min and avg are computed: the best (automatic), or one of these where it is fit for the
   problem, else the next simpler one. Results are the same. See ndpool_plan_explain. */
enum ndpool_algorithm {
  NDPOOL_ALGORITHM_AUTOMATIC,
  NDPOOL_ALGORITHM_ROWS,    /* any problem: rows combined two by two */
  NDPOOL_ALGORITHM_BANDS,   /* windows of few taps: bands of rows, lists of taps */
  NDPOOL_ALGORITHM_DOUBLING /* stride 1: windows of 1, 2, 4 … taps at every place */
};
enum ndpool_empty { NDPOOL_EMPTY_ERROR, NDPOOL_EMPTY_IDENTITY };

enum ndpool_status {
  NDPOOL_OK = 0,
  NDPOOL_BAD_ARGUMENT, /* a value that no pooling has: window 0, unknown op, null pointer … */
  NDPOOL_BAD_TYPE,     /* an operation or output that the element type does not have */
  NDPOOL_BAD_GEOMETRY, /* values that do not fit together: no output, remainder, empty window … */
  NDPOOL_OVERFLOW,     /* a size, product or byte count beyond 64 bits */
  NDPOOL_BAD_ARRAY,    /* memory that overlaps, strides that overflow, a box that does not cover */
  NDPOOL_BAD_INDEX,    /* an argmax or index handed in that names no cell */
  NDPOOL_NO_MEMORY,
  NDPOOL_CANCELLED
};

/* ---- Errors -----------------------------------------------------------------------------------
 */

typedef struct ndpool_error {
  int32_t code;       /* an ndpool_status */
  int32_t axis;       /* the axis of the array at fault, or -1 */
  int64_t numbers[4]; /* the numbers at fault, in the order in which the message names them */
  char message[512];  /* what is wrong and what to do, in one sentence or two; "" after NDPOOL_OK */
} ndpool_error;

/* ---- What to compute --------------------------------------------------------------------------
 */

/* A list of integers. count 0: the default. count 1: that value on every pooled axis. */
typedef struct ndpool_ints {
  const int64_t* data;
  int64_t count;
} ndpool_ints;

#define NDPOOL_KEEP INT64_MIN /* in output_size: as many outputs as the axis has cells */

/* Fill with ndpool_desc_init first, then set what differs. All that it points to is copied. */
typedef struct ndpool_desc {
  size_t struct_size; /* set by ndpool_desc_init */
  int32_t op, type, out_type, mode, rounding, padding, ties, empty;
  int32_t count_include_pad; /* avg, smooth max: 1 (default) or 0 */
  int32_t mean;              /* smooth max: 1 subtracts log(terms)/beta */
  ndpool_ints shape;         /* of the whole input; count is its rank */
  ndpool_ints axes;     /* pooled axes, negative from the end; none: as many last ones as window or
                           output_size has numbers */
  ndpool_ints window;   /* windowed; values belong to axes[i] */
  ndpool_ints stride;   /* default: the window */
  ndpool_ints dilation; /* default: 1 */
  ndpool_ints pad_lo;   /* default: 0 */
  ndpool_ints pad_hi;   /* default: pad_lo */
  ndpool_ints output_size; /* adaptive */
  const int64_t* divisor;  /* avg: overrides the count; NULL: none */
  double beta;             /* smooth max: default 1 */
  double p;                /* Lp: default 2 */
  const char* target;      /* force a SIMD target by name ("AVX2"); NULL: the best one here */
  int32_t algorithm;       /* an ndpool_algorithm, to force one */
} ndpool_desc;

NDPOOL_API void ndpool_desc_init(ndpool_desc* desc);

/* ---- Plans ------------------------------------------------------------------------------------
 */

typedef struct ndpool_plan ndpool_plan;

NDPOOL_API int32_t ndpool_plan_create(const ndpool_desc* desc, ndpool_plan** plan,
                                      ndpool_error* error);
/* The same from one line of text, such as "max f32 32x64x112x112 w3x3 s2 p1 ceil". */
NDPOOL_API int32_t ndpool_plan_parse(const char* line, ndpool_plan** plan, ndpool_error* error);
NDPOOL_API void ndpool_plan_destroy(ndpool_plan* plan); /* NULL is fine */

NDPOOL_API int32_t ndpool_plan_rank(const ndpool_plan* plan);
/* Writes rank numbers. A global plan keeps its axes with size 1. */
NDPOOL_API void ndpool_plan_input_shape(const ndpool_plan* plan, int64_t* shape);
NDPOOL_API void ndpool_plan_output_shape(const ndpool_plan* plan, int64_t* shape);
/* Writes rank numbers: the input cells that no window covers at the end of each axis. */
NDPOOL_API void ndpool_plan_dropped(const ndpool_plan* plan, int64_t* dropped);
/* Writes rank numbers: the padding in force (after "same"), 0 on axes that are not pooled. */
NDPOOL_API void ndpool_plan_padding(const ndpool_plan* plan, int64_t* lo, int64_t* hi);
/* For tiles: the cells [*first, *last) of an axis that outputs [begin, end) of it need, which must
 * be among the plan's; the outputs themselves on an axis that is not pooled. */
NDPOOL_API int32_t ndpool_plan_cells(const ndpool_plan* plan, int32_t axis, int64_t begin,
                                     int64_t end, int64_t* first, int64_t* last,
                                     ndpool_error* error);
NDPOOL_API int32_t ndpool_plan_input_type(const ndpool_plan* plan);
NDPOOL_API int32_t ndpool_plan_output_type(const ndpool_plan* plan);
/* The type of the compact argmax: NDPOOL_U8, U16, U32 or U64. */
NDPOOL_API int32_t ndpool_plan_argmax_type(const ndpool_plan* plan);
/* What the plan chose and why, as text. Returns its length without the closing 0; writes at most
 * `size` bytes, closing 0 included. */
NDPOOL_API size_t ndpool_plan_explain(const ndpool_plan* plan, char* text, size_t size);
/* Scratch that any call of this plan needs, on whole arrays or tiles, with that many threads. */
NDPOOL_API size_t ndpool_plan_scratch_bytes(const ndpool_plan* plan, int32_t threads);

/* ---- Running ----------------------------------------------------------------------------------
 */

/* An array. strides: bytes per axis, one for each axis of the plan, negative and (for inputs) zero
 * allowed; NULL: row-major without gaps. Data need not be aligned. Inputs are never written. */
typedef struct ndpool_array {
  void* data;
  const int64_t* strides;
} ndpool_array;

typedef struct ndpool_const_array {
  const void* data;
  const int64_t* strides;
} ndpool_const_array;

/* Calls body(arg, i) once for each i in [0, n), on any threads in any order, and returns when all
 * are done. n is at most ndpool_exec.threads. */
typedef struct ndpool_runner {
  void* context;
  void (*parallel_for)(void* context, int64_t n, void (*body)(void* arg, int64_t i), void* arg);
} ndpool_runner;

/* A box of an array: rank starts and sizes. start NULL: the whole array. */
typedef struct ndpool_box {
  const int64_t* start;
  const int64_t* size;
} ndpool_box;

/* Computes a part of the whole. Array data points at the first element of the box, and NULL strides
 * mean row-major in the box. Forward, JVP: box y is computed from box x, which covers its taps.
 * VJP, HVP: box dx is computed from box y (of g, argmax), which covers the outputs that reach it,
 * and, where x is read, from box x, which covers the taps of those outputs. */
typedef struct ndpool_tile {
  ndpool_box x, y, dx;
} ndpool_tile;

/* How to run; zeros (or a NULL pointer) mean the defaults. */
typedef struct ndpool_exec {
  const ndpool_runner* runner; /* NULL: ndpool's own threads */
  int32_t threads;             /* 0: ndpool_get_num_threads() */
  void* scratch;               /* NULL: allocated for the call */
  size_t scratch_bytes;
  const ndpool_tile* tile;     /* NULL: the whole array */
  int32_t (*cancelled)(void*); /* asked between tasks, by any of the threads; non-zero stops */
  void* cancelled_context;
} ndpool_exec;

/* y from x. argmax (compact tap numbers of the winners that carry the derivative) and index (flat
 * int64, always the first winner) are for max and min; leave data NULL for those not wanted. */
NDPOOL_API int32_t ndpool_forward(const ndpool_plan* plan, ndpool_const_array x, ndpool_array y,
                                  ndpool_array argmax, ndpool_array index, const ndpool_exec* exec,
                                  ndpool_error* error);
/* y (data may be NULL) and dy = J·dx. dx has x's type, dy has y's. */
NDPOOL_API int32_t ndpool_jvp(const ndpool_plan* plan, ndpool_const_array x, ndpool_const_array dx,
                              ndpool_array y, ndpool_array dy, const ndpool_exec* exec,
                              ndpool_error* error);
/* dy = J·dx of max and min from the compact argmax alone (ties first, last). */
NDPOOL_API int32_t ndpool_jvp_argmax(const ndpool_plan* plan, ndpool_const_array argmax,
                                     ndpool_const_array dx, ndpool_array dy,
                                     const ndpool_exec* exec, ndpool_error* error);
/* dx = Jᵀ·g, both in x's type. avg needs no x. */
NDPOOL_API int32_t ndpool_vjp(const ndpool_plan* plan, ndpool_const_array x, ndpool_const_array g,
                              ndpool_array dx, const ndpool_exec* exec, ndpool_error* error);
/* dx = Jᵀ·g of max and min from the compact argmax alone (ties first, last). */
NDPOOL_API int32_t ndpool_vjp_argmax(const ndpool_plan* plan, ndpool_const_array argmax,
                                     ndpool_const_array g, ndpool_array dx, const ndpool_exec* exec,
                                     ndpool_error* error);
/* The derivative in x of <v, VJP(x, g)>: smooth max and Lp. */
NDPOOL_API int32_t ndpool_hvp(const ndpool_plan* plan, ndpool_const_array x, ndpool_const_array g,
                              ndpool_const_array v, ndpool_array hx, const ndpool_exec* exec,
                              ndpool_error* error);

/* ---- Unpool -----------------------------------------------------------------------------------
 */

typedef struct ndpool_unpool_desc {
  size_t struct_size; /* set by ndpool_unpool_desc_init */
  int32_t type;
  ndpool_ints y_shape;      /* of y and of the indices */
  ndpool_ints output_shape; /* full shape of the result */
  ndpool_ints axes;         /* the axes that the indices run over */
} ndpool_unpool_desc;

NDPOOL_API void ndpool_unpool_desc_init(ndpool_unpool_desc* desc);
/* Each y goes to its index, zeros elsewhere; of several y with one index the last stays. */
NDPOOL_API int32_t ndpool_unpool(const ndpool_unpool_desc* desc, ndpool_const_array y,
                                 ndpool_const_array index, ndpool_array out,
                                 const ndpool_exec* exec, ndpool_error* error);
/* dy from the gradient g of the result. */
NDPOOL_API int32_t ndpool_unpool_vjp(const ndpool_unpool_desc* desc, ndpool_const_array g,
                                     ndpool_const_array index, ndpool_array dy,
                                     const ndpool_exec* exec, ndpool_error* error);

/* ---- The library ------------------------------------------------------------------------------
 */

NDPOOL_API const char* ndpool_version(void);
/* The name of an enum's value ("f32", "max", …), or NULL. */
NDPOOL_API const char* ndpool_type_name(int32_t type);
NDPOOL_API size_t ndpool_type_size(int32_t type);
NDPOOL_API const char* ndpool_op_name(int32_t op);
/* Threads used where the call does not say: n >= 1, or 0 for the default (NDPOOL_NUM_THREADS, else
 * the processors this process may use). */
NDPOOL_API int32_t ndpool_set_num_threads(int32_t n);
NDPOOL_API int32_t ndpool_get_num_threads(void);
/* The SIMD targets that this machine can run, best first: name i, or NULL. */
NDPOOL_API const char* ndpool_target_name(int32_t i);

#ifdef __cplusplus
}
#endif

#endif /* NDPOOL_NDPOOL_H_ */
