/* What generated code and the runtime know of each other. The same runtime is linked into the compiler, for
 * just-in-time calls, and into every artefact. All of its symbols are hidden in a shared library. */
#ifndef SCHEDC_RT_H
#define SCHEDC_RT_H

#include <stddef.h>
#include <stdint.h>

/* Status codes of every entry point; the public header documents them under the same numbers. */
enum {
    SCHEDC_OK = 0,
    SCHEDC_ERR_ARGUMENT = 1,    /* a null pointer, a negative count, an unknown kind or dtype, a stride too small */
    SCHEDC_ERR_CPU = 2,         /* the processor lacks instructions that the artefact was built for */
    SCHEDC_ERR_MEMORY = 3,      /* temporary memory could not be had */
    SCHEDC_ERR_UNSUPPORTED = 4, /* the model has no such output kind, e.g. the class of a regression */
    SCHEDC_ERR_DRIVER = 5,      /* the model runs on a GPU, and there is no driver for one */
    SCHEDC_ERR_DEVICE = 6,      /* no GPU of this number, or one that cannot run the model's code */
    SCHEDC_ERR_DEVICE_MEMORY = 7, /* memory of the GPU could not be had */
    SCHEDC_ERR_LAUNCH = 8,      /* the GPU failed */
    SCHEDC_ERR_ROWS = 9,        /* the rows would have to be rounded, which may lead them to other leaves */
};

/* Element types. Those of rows, margins and results do not depend on each other. */
enum {
    SCHEDC_DTYPE_F32 = 0,
    SCHEDC_DTYPE_F64 = 1,
    SCHEDC_DTYPE_I32 = 2, /* of leaves only */
};

/* Threads that take part in one call. Opaque to generated code. */
typedef struct schedc_team schedc_team;

/* One run of a kernel. Generated code reads the fields in this order; keep them 8 bytes each. */
typedef struct schedc_ctx {
    const void *rows;            /* packed row-major input of the kernel */
    int64_t n_rows;
    void *out;                   /* packed row-major output of the kernel */
    const void *const *tables;   /* the model's buffers */
    schedc_team *team;
    int64_t status;              /* set (atomically, first error wins) through schedc_rt_fail */
    const int64_t *order;        /* of `rows`: 0; or 1, and for each feature the element of `rows` that is its value in the first
                                    row, which those of the other rows follow */
} schedc_ctx;

typedef void (*schedc_kernel)(schedc_ctx *ctx);

/* Who makes GPUs. */
enum {
    SCHEDC_NVIDIA = 0,
    SCHEDC_AMD = 1,
};

/* Code for GPUs of one kind. */
typedef struct schedc_image {
    const void *bytes;           /* PTX, ended by NUL, a cubin, or a code object */
    int64_t capability;          /* ten times the major number of the compute capability, plus the minor one; 0: AMD's */
    int64_t is_final;            /* a cubin: for GPUs of the same major number only */
} schedc_image;

/* A function that runs on a GPU. */
typedef struct schedc_launch {
    const char *name;
    uint32_t block[3];           /* threads of a block */
    uint32_t shared;             /* bytes of memory that the threads of a block share */
    int32_t num_arguments;
    int32_t is_split;            /* there are two arguments more: the first block in the directions y and z */
} schedc_launch;

/* Where runs of up to so many rows take place. */
typedef struct schedc_range {
    int64_t max_rows;            /* INT64_MAX: all other runs */
    int64_t on_device;
} schedc_range;

/* How rows in memory of the host travel to a device as bins, which are fewer bytes. Bins lie in blocks of rows: the first
 * bin of all rows of a block, then the second one, and so on. The last block is as long as the others. */
typedef struct schedc_transfer {
    schedc_kernel quantize;      /* rows [n][num_features] -> bins, on the host */
    schedc_kernel raw;           /* what the kernels of these names do, for bins in place of rows */
    schedc_kernel direct;
    int64_t block;               /* rows */
    int64_t row_bytes;           /* of bins */
    int64_t least_rows;          /* shorter runs take the values */
    int64_t least_threads;       /* calls of fewer threads do, too: these quantize slower than a bus delivers values */
} schedc_transfer;

struct schedc_plan;

/* What a model has for GPUs. */
typedef struct schedc_gpu {
    int32_t num_images, num_launches, num_tables, maker;
    const schedc_image *images;  /* the first one that a device can run is used */
    const schedc_launch *launches;
    const int64_t *table_bytes;
    const schedc_range *ranges;  /* in ascending order; the last is for all other runs */
    schedc_kernel direct;        /* rows [n][num_features] -> results [n][num_values]; null: raw, and then value */
    const schedc_transfer *transfer; /* null: rows travel as they are */
    int32_t (*execute)(const struct schedc_plan *); /* schedc_rt_execute_on_device: nothing else refers to it */
    void **state;                /* of the runtime; null at first */
} schedc_gpu;

/* How columns are made from features. */
enum {
    SCHEDC_PART_VALUE = 0,           /* of so many features from this one on, one each */
    SCHEDC_PART_ZERO_IS_MISSING = 1, /* the same, but values that are nearly zero are missing */
    SCHEDC_PART_EQUAL = 2,           /* 0 where the value is the one in the table, else 1 */
    SCHEDC_PART_MEMBER = 3,          /* the bits of the value's class */
    SCHEDC_PART_CLASS = 4,           /* two: the byte that the bit of the value's class is in, and that bit */
};

/* How values become categories. */
enum {
    SCHEDC_CATEGORY_TRUNCATED = 0,   /* -0.5 is category 0 */
    SCHEDC_CATEGORY_POSITIVE = 1,    /* -0.5 is none, nor is what is not below a bound */
    SCHEDC_CATEGORY_WHOLE = 2,       /* 2.5 is none */
};

/* Columns side by side. */
typedef struct schedc_column_part {
    uint32_t feature, kind, count;
    uint32_t categories;         /* that have an entry in the table of classes */
    uint64_t first;              /* in the table of values or of bits */
    uint64_t first_class;        /* in the table of classes */
} schedc_column_part;

/* The columns that kernels read, where these are not the features. */
typedef struct schedc_columns {
    int32_t count;               /* 0: kernels read the features */
    int32_t num_parts;
    int32_t first_table;         /* of four: parts, values, classes and bits */
    int32_t rule;                /* SCHEDC_CATEGORY_* */
    double below;                /* the bound of the rule */
} schedc_columns;

/* Everything the entry points need to know of one compiled model. Emitted as a constant by the compiler. */
typedef struct schedc_model {
    uint32_t size;               /* of this struct */
    int32_t num_features;        /* columns of a row */
    int32_t num_margins;         /* columns of raw output */
    int32_t num_values;          /* columns of value output */
    int32_t num_trees;           /* columns of leaf output */
    int32_t row_type;            /* SCHEDC_DTYPE_*: of the rows that kernels read */
    int32_t margin_type;         /* of margins, in which trees are added up */
    int32_t result_type;         /* of raw and value output */
    int64_t rows_per_run;        /* a call is cut into runs of at most this many rows; INT64_MAX: never */
    double ns_per_row;           /* rough cost of one row, decides how many threads are worth waking */
    schedc_kernel raw;           /* rows [n][num_features] -> margins [n][num_margins] */
    schedc_kernel value;         /* margins -> results [n][num_values]; null: values are the margins */
    schedc_kernel klass;         /* margins -> float [n][1]; null: the model has no classes */
    schedc_kernel leaf;          /* rows -> int32 [n][num_trees] */
    const void *const *tables;
    const char *info;            /* JSON text, NUL-terminated */
    uint64_t cpu_needs;          /* bits of SCHEDC_CPU_* */
    const struct schedc_model *otherwise; /* the same model for processors that lack these; null: none */
    const schedc_gpu *gpu;       /* null: the model has no code for GPUs */
    schedc_columns columns;
    double missing;              /* values that are equal to it are missing, too; NaN: there are none */
    const void *base;            /* what sums begin with, of margin_type, one for each margin: kernels add to what is there;
                                    null: they begin themselves */
    const struct schedc_model *other_rows; /* the same version for rows of another type; null: none */
    int64_t own_row_type;        /* SCHEDC_DTYPE_*: of the rows that the trainer reads. Where the kernels' type is the narrower
                                    one, rows are not rounded to it */
    schedc_kernel tree;          /* rows -> what leaves add, of margin_type [n][num_trees]; null: leaves hold vectors */
    int64_t columns_from;        /* runs of so many rows and more may be handed columns; INT64_MAX: none may */
} schedc_model;

/* The names of the categories of a model's features. */
typedef struct schedc_categories {
    int64_t num_features;
    const uint32_t *starts;      /* the names of a feature are from starts[feature] to starts[feature + 1] */
    const char *const *names;    /* of each feature in ascending order of their bytes */
    const double *codes;         /* of these names */
} schedc_categories;

/* Runs body(env, i) for every i in [0, trip), on the call's threads where that is worth it; returns when all are
 * done. Called from inside a body it runs serially. */
void schedc_rt_parallel(schedc_ctx *ctx, void (*body)(void *env, int64_t i), void *env, int64_t trip);

/* Records why a run failed; the first status recorded stays. May be called by any thread of the run. */
void schedc_rt_fail(schedc_ctx *ctx, int32_t status);

/* Temporary memory of a run, 64-byte aligned; null when there is none, after recording SCHEDC_ERR_MEMORY. */
void *schedc_rt_alloc(schedc_ctx *ctx, int64_t bytes);
void schedc_rt_free(schedc_ctx *ctx, void *memory);

/* Runs a launch of the model, by its number, on a grid of so many blocks. `arguments` are the addresses of what the
 * kernel takes, with room for two more. In a run on a device all buffers are its memory, those of schedc_rt_alloc, too. */
void schedc_rt_launch(schedc_ctx *ctx, int32_t number, int64_t x, int64_t y, int64_t z, void **arguments);

/* Runs a checked call on a device. */
int32_t schedc_rt_execute_on_device(const struct schedc_plan *plan);

#endif
