/* The entry points that an artefact's exported functions forward to. The public header of an artefact documents the
 * same call structure and the same numbers under the artefact's own prefix. */
#ifndef SCHEDC_API_H
#define SCHEDC_API_H

#include "rt.h"

/* What a call computes for each row. */
enum {
    SCHEDC_KIND_VALUE = 0, /* predictions: results [n][num_values] */
    SCHEDC_KIND_RAW = 1,   /* margins, before the output transform: results [n][num_margins] */
    SCHEDC_KIND_CLASS = 2, /* the predicted class: float [n][1] */
    SCHEDC_KIND_LEAF = 3,  /* the leaf that each tree reaches: int32 [n][num_trees] */
    SCHEDC_KIND_TREE = 4,  /* what the leaf that each tree reaches adds: margins [n][num_trees] */
};

/* Where the rows and the output of a call are. */
enum {
    SCHEDC_MEMORY_HOST = 0,
    SCHEDC_MEMORY_DEVICE = 1,
};

/* One prediction call. A caller compiled against an older, shorter structure says so in `size`; what it does not
 * know is zero, and zero is the default of every field. */
typedef struct schedc_call {
    uint32_t size;        /* bytes of the caller's structure, a multiple of 8 that reaches past `out` */
    int32_t kind;
    const void *rows;     /* may be null when n_rows is 0 */
    int64_t n_rows;
    void *out;            /* packed; may be null when n_rows is 0 */
    int32_t dtype;
    int32_t threads;      /* at most this many threads; 0: SCHEDC_NUM_THREADS, else the usable cores */
    int64_t row_stride;   /* elements from one row to the next; 0: packed */
    void *scratch;        /* memory that the call may use instead of allocating; null: none */
    int64_t scratch_size; /* bytes */
    int32_t memory;       /* SCHEDC_MEMORY_* */
    int32_t device;       /* the number of the GPU, for models that are compiled for one */
    void *stream;         /* CUstream that a call in device memory is put into, without waiting for it */
    const double *missing;   /* values that are equal to it are missing, too; null: as the model says */
    const void *base_margin; /* what sums begin with, packed: [n][num_margins] of the type of raw output; null: the model's own
                                base values */
} schedc_call;

/* `out` has the model's result type. */
int32_t schedc_rt_predict(const schedc_model *model, const float *rows, int64_t n_rows, void *out);
int32_t schedc_rt_predict_raw(const schedc_model *model, const float *rows, int64_t n_rows, void *out);
int32_t schedc_rt_predict_ex(const schedc_model *model, const schedc_call *call);

/* Columns of an output kind; 0 when the model has no such kind. */
int32_t schedc_rt_num_outputs(const schedc_model *model, int32_t kind);

/* Element type of an output kind. */
int32_t schedc_rt_output_type(const schedc_model *model, int32_t kind);

/* What a status means, in English; never null. The model, which may be null, makes the text more precise. */
const char *schedc_rt_error(const schedc_model *model, int32_t status);

/* The code of a category by its name; NaN for a name that the model does not know. */
double schedc_rt_encode(const schedc_categories *all, int32_t feature, const char *text);

/* The JSON text of the version that this processor runs. */
const char *schedc_rt_info(const schedc_model *model);

#endif
