/* The entry points to which an artefact's exported functions forward. The public header of an artefact
 * documents the call's structure and its numbers under the artefact's own prefix. */
#ifndef SCHEDC_API_H
#define SCHEDC_API_H

#include "rt.h"

/* The memory of a call's rows and output. */
enum {
    SCHEDC_MEMORY_HOST = 0,
    SCHEDC_MEMORY_DEVICE = 1,
};

/* Types of columns. */
enum {
    SCHEDC_COLUMN_F32 = SCHEDC_DTYPE_F32,
    SCHEDC_COLUMN_F64 = SCHEDC_DTYPE_F64,
    SCHEDC_COLUMN_I32 = SCHEDC_DTYPE_I32,
    SCHEDC_COLUMN_I8 = 3,
    SCHEDC_COLUMN_I16 = 4,
    SCHEDC_COLUMN_I64 = 5,
    SCHEDC_COLUMN_U8 = 6,
    SCHEDC_COLUMN_U16 = 7,
    SCHEDC_COLUMN_U32 = 8,
    SCHEDC_COLUMN_U64 = 9,
    SCHEDC_COLUMN_BOOL = 10, /* a byte: 0 is false, all others are true */
    SCHEDC_COLUMN_BIT = 11,  /* packed, the least significant bit first */
};

/* The values of one feature. */
typedef struct schedc_column {
    const void *values;       /* with any alignment on the host; null: the feature is missing in all rows */
    const uint8_t *validity;  /* bits of the rows with a value, lowest bit first; null: all rows have one */
    int64_t validity_offset;  /* index of row 0 in `validity` */
    int64_t stride;           /* bytes from one value to the next, which may be negative; 0: packed */
    const double *dictionary; /* numbers to which values are indices; null: values are numbers */
    int64_t dictionary_size;  /* an index that is not below it is a missing value */
    int32_t type;             /* SCHEDC_COLUMN_* */
    int32_t values_offset;    /* for bits, index of row 0 in `values` */
} schedc_column;

/* One prediction call. A caller that was compiled against an older, shorter structure names its length in
 * `size`. Fields after it count as zero, which is the default of every field. */
typedef struct schedc_call {
    uint32_t size;        /* bytes of the caller's structure: a multiple of 8, past `out` */
    int32_t kind;
    const void *rows;     /* may be null when n_rows is 0 */
    int64_t n_rows;
    void *out;            /* packed; may be null when n_rows is 0 */
    int32_t dtype;
    int32_t threads;      /* largest number; 0: SCHEDC_NUM_THREADS, else the usable cores */
    int64_t row_stride;   /* elements from one row to the next; 0: packed */
    void *scratch;        /* memory to use instead of allocating; null: none */
    int64_t scratch_size; /* bytes */
    int32_t memory;       /* SCHEDC_MEMORY_* */
    int32_t device;       /* number of the GPU, for models with code for one */
    void *stream;         /* CUstream of a call in device memory; the function does not wait for its end */
    const double *missing;   /* stands for missing values, besides NaN; null: the model's own */
    /* Initial margins, packed [n][num_margins], of the type of raw output, in the memory of rows and output;
     * null: the model's own base values. */
    const void *base_margin;
    /* A column for each feature; `rows`, `dtype` and `row_stride` are zero then. Null: the rows are in
     * `rows`. */
    const schedc_column *columns;
} schedc_call;

/* Predict packed rows; elements of `out` have the model's result type. */
int32_t schedc_rt_predict(const schedc_model *model, const float *rows, int64_t n_rows, void *out);
int32_t schedc_rt_predict_raw(const schedc_model *model, const float *rows, int64_t n_rows, void *out);
int32_t schedc_rt_predict_ex(const schedc_model *model, const schedc_call *call);

/* Returns the number of values per row of an output; 0 if the model has no output of this kind. */
int32_t schedc_rt_num_outputs(const schedc_model *model, int32_t kind);

/* Returns the element type of an output. */
int32_t schedc_rt_output_type(const schedc_model *model, int32_t kind);

/* Returns the message for a status, in English; never null. With a model, which may be null, the message is
 * more precise. */
const char *schedc_rt_error(const schedc_model *model, int32_t status);

/* Returns the code of a category by its name; NaN for a name that the model does not know. */
double schedc_rt_encode(const schedc_categories *all, int32_t feature, const char *text);

/* Returns the JSON text of the version that this processor runs. */
const char *schedc_rt_info(const schedc_model *model);

#endif
