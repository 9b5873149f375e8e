/* Written by schedc build, which overwrites it the next time.
 *
 * A compiled decision forest.
 *
 * Every function may be called from many threads at once. Rows are row-major, one number per feature; NaN
 * is a missing value. The model reads rows as 64-bit floats and adds in 64-bit floats. Outputs are
 * packed, row after row, and must not overlap the rows. Functions that return a status return SCHEDC_OK (0)
 * on success. After any other status the output is unspecified, and schedc_error() describes the failure. */
#ifndef SCHEDC_MODEL_H
#define SCHEDC_MODEL_H

#include <stdint.h>

#define SCHEDC_ABI_VERSION 1 /* schedc_abi_version() of libraries that this header fits */
#define SCHEDC_NUM_FEATURES 20 /* columns of a row */
#define SCHEDC_NUM_VALUES 3 /* columns of SCHEDC_VALUE */
#define SCHEDC_NUM_RAW 3 /* columns of SCHEDC_RAW */
#define SCHEDC_NUM_CLASS 1 /* columns of SCHEDC_CLASS; 0: no classes */
#define SCHEDC_NUM_LEAF 3 /* columns of SCHEDC_LEAF, one per tree; 0: the model has no such output */
#define SCHEDC_NUM_TREE 3 /* columns of SCHEDC_TREE, one per tree; 0: leaves hold vectors */

#ifdef __cplusplus
extern "C" {
#endif

#ifndef SCHEDC_CALL_DECLARED
#define SCHEDC_CALL_DECLARED

/* Status codes. */
enum {
    SCHEDC_OK = 0,
    /* a null pointer, a negative count, an unknown kind or type, a stride too small */
    SCHEDC_ERR_ARGUMENT = 1,
    SCHEDC_ERR_CPU = 2,         /* the processor lacks instructions that the model was compiled for */
    SCHEDC_ERR_MEMORY = 3,      /* no temporary memory is left */
    SCHEDC_ERR_UNSUPPORTED = 4, /* the model has no such output, or cannot run in the named memory */
    SCHEDC_ERR_ROWS = 9,        /* rows of 64-bit floats, which the model would have to round */
    /* For models that are compiled for GPUs: */
    SCHEDC_ERR_DRIVER = 5,        /* no driver is installed */
    SCHEDC_ERR_DEVICE = 6,        /* no GPU has this number, or it cannot run the code */
    SCHEDC_ERR_DEVICE_MEMORY = 7, /* no memory of the GPU is left */
    SCHEDC_ERR_LAUNCH = 8         /* the GPU failed */
};

/* Output kinds. */
enum {
    SCHEDC_VALUE = 0, /* predictions, as the training library returns them: double */
    SCHEDC_RAW = 1,   /* margins, before the output transform: double */
    SCHEDC_CLASS = 2, /* the predicted class: float */
    SCHEDC_LEAF = 3,  /* the leaf that each tree reaches: int32_t */
    SCHEDC_TREE = 4   /* the value of the leaf that each tree reaches: double */
};

/* Element types. Rows of either float type are welcome: they are rounded or widened to the model's own. */
enum {
    SCHEDC_F32 = 0,
    SCHEDC_F64 = 1,
    SCHEDC_I32 = 2, /* for leaves and columns; the types below are for columns only */
    SCHEDC_I8 = 3,
    SCHEDC_I16 = 4,
    SCHEDC_I64 = 5,
    SCHEDC_U8 = 6,
    SCHEDC_U16 = 7,
    SCHEDC_U32 = 8,
    SCHEDC_U64 = 9,
    SCHEDC_BOOL = 10, /* a byte: 0 is false, all others are true */
    SCHEDC_BIT = 11   /* packed bits, the least significant first, as in Arrow */
};

/* Memory of rows and output. */
enum {
    SCHEDC_HOST = 0,
    SCHEDC_DEVICE = 1 /* memory of a GPU */
};

/* The values of one feature, for calls with columns instead of rows. Zero is the default of every field: a
 * column of zeros is a feature that is missing in all rows. */
typedef struct schedc_column {
    const void *values;       /* with any alignment; null: the feature is missing in all rows */
    const uint8_t *validity;  /* Arrow's bitmap: bits of the rows with a value, the least significant first;
                                 default: all rows have one. NaN is missing, too */
    int64_t validity_offset;  /* index of row 0 in validity */
    int64_t stride;           /* bytes from one value to the next, which may be negative; default: packed */
    const double *dictionary; /* numbers to which the values, which are integers, are indices; default: values
                                 are numbers */
    int64_t dictionary_size;  /* length of dictionary. An index that is not below is a missing value */
    int32_t type;             /* element type; default SCHEDC_F32 */
    int32_t values_offset;    /* for bits, index of row 0 in values */
} schedc_column;

/* A call. Zero is the default of every field, so clear the structure first:
 *
 * schedc_call call = {0}; call.size = sizeof call; */
typedef struct schedc_call {
    uint32_t size;        /* sizeof(schedc_call): programs compiled with an older header keep working */
    int32_t kind;         /* output kind; default SCHEDC_VALUE */
    const void *rows;     /* may be null when n_rows is 0 */
    int64_t n_rows;
    void *out;            /* n_rows * schedc_num_outputs(kind) numbers; may be null when n_rows is 0 */
    int32_t dtype;        /* element type of rows; default SCHEDC_F32 */
    int32_t threads;      /* largest number of threads, at most the machine's processors; default: the
                             environment variable SCHEDC_NUM_THREADS, else the cores that the process may
                             use */
    int64_t row_stride;   /* elements from the start of one row to the next; default: rows are packed */
    void *scratch;        /* memory for the call to use instead of allocating; default: none. Only one call
                             at a time may use it */
    int64_t scratch_size; /* bytes of scratch, more than 16 KiB. If they are few, the call uses fewer
                             threads and fewer rows at a time; it allocates only if not even one row fits */
    int32_t memory;       /* memory of rows and out; default SCHEDC_HOST. Rows in memory of a GPU are packed
                             and of the model's own type */
    int32_t device;       /* number of the GPU, for models that are compiled for one; default: the first */
    void *stream;         /* CUstream of the GPU's primary context, for a call in its memory. The call may
                             return before out is written: wait for the stream. Copy rows in this stream,
                             or wait for their copy before the call; default: the default stream */
    const double *missing;   /* values equal to this one are missing, as NaN is; default: the number of schedc
                                build --missing, else none. Not for rows in memory of a GPU */
    const void *base_margin; /* n_rows * SCHEDC_NUM_RAW numbers of type double instead of the model's base
                                values, for libraries built with --base-margin; default: the model's own */
    const schedc_column *columns; /* SCHEDC_NUM_FEATURES columns in memory of the host, instead of rows; rows,
                                  dtype and row_stride are zero then; default: none */
} schedc_call;

#endif /* SCHEDC_CALL_DECLARED */

/* Predictions of n_rows packed rows: out[n_rows][SCHEDC_NUM_VALUES]. */
int32_t schedc_predict(const float *rows, int64_t n_rows, double *out);

/* Margins, before the output transform, of n_rows packed rows: out[n_rows][SCHEDC_NUM_RAW]. */
int32_t schedc_predict_raw(const float *rows, int64_t n_rows, double *out);

/* The general call. */
int32_t schedc_predict_ex(const schedc_call *call);

/* The version of this interface. It grows when programs that were compiled for an earlier version cannot
 * work with the library. New functions, fields and kinds do not change it. */
int32_t schedc_abi_version(void);

/* Columns of a row. */
int32_t schedc_num_features(void);

/* The name of a column of a row, from 0, in UTF-8, as the model has it. Null if the model has no names,
 * the column does not exist, or the name contains the character NUL. It lives as long as the library. */
const char *schedc_feature_name(int32_t feature);

/* Columns of an output; 0 if the model has none of the kind. */
int32_t schedc_num_outputs(int32_t kind);

/* Element type of an output: SCHEDC_F32, SCHEDC_F64 or SCHEDC_I32. */
int32_t schedc_output_type(int32_t kind);

/* The description of the model and the compiler: a JSON text that lives as long as the library. */
const char *schedc_info(void);

/* The meaning of a status, in English. Never null; lives as long as the library. */
const char *schedc_error(int32_t status);

#ifdef __cplusplus
}
#endif

#endif
