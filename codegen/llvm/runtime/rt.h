/* The interface between generated code and the runtime. schedc contains the runtime for code in memory, and
 * every artefact contains it. In a shared library all of its symbols are hidden. */
#ifndef SCHEDC_RT_H
#define SCHEDC_RT_H

#include "kinds.h"

#include <stddef.h>
#include <stdint.h>

/* Status codes of every entry point; the public header documents them under the same numbers. */
enum {
    SCHEDC_OK = 0,
    /* a null pointer, a negative count, an unknown kind or type, a stride too small */
    SCHEDC_ERR_ARGUMENT = 1,
    SCHEDC_ERR_CPU = 2,         /* the processor lacks instructions that the artefact was built for */
    SCHEDC_ERR_MEMORY = 3,      /* no temporary memory is left */
    SCHEDC_ERR_UNSUPPORTED = 4, /* the model has no output of this kind, such as the class of a regression */
    SCHEDC_ERR_DRIVER = 5,      /* the model runs on a GPU, and no driver is installed */
    SCHEDC_ERR_DEVICE = 6,      /* no GPU has this number, or it cannot run the model's code */
    SCHEDC_ERR_DEVICE_MEMORY = 7, /* no memory of the GPU is left */
    SCHEDC_ERR_LAUNCH = 8,      /* the GPU failed */
    SCHEDC_ERR_ROWS = 9,        /* rows would have to be rounded, and could then end in other leaves */
};

/* Element types. The types of rows, margins and results are independent of each other. */
enum {
    SCHEDC_DTYPE_F32 = 0,
    SCHEDC_DTYPE_F64 = 1,
    SCHEDC_DTYPE_I32 = 2, /* only of leaf indices */
};

/* The threads of one call, opaque to generated code. */
typedef struct schedc_team schedc_team;

/* One run of a kernel. Generated code reads the fields in this order, 8 bytes each. */
typedef struct schedc_ctx {
    const void *rows;            /* packed row-major input of the kernel */
    int64_t n_rows;
    void *out;                   /* packed row-major output of the kernel */
    const void *const *tables;   /* the model's buffers */
    schedc_team *team;           /* the call's threads; null: the calling thread runs every loop */
    int64_t status;              /* first error, which schedc_rt_fail sets atomically */
    /* Describes `rows`. Word 0 is 0 for packed rows. Otherwise it is 1, word 1 + f is the element of
     * feature f in the first row, and values of a feature are contiguous. For schedc_gpu.pack, each column
     * has SCHEDC_COLUMN_WORDS words. */
    const int64_t *order;
} schedc_ctx;

typedef void (*schedc_kernel)(schedc_ctx *ctx);

/* Makers of GPUs. */
enum {
    SCHEDC_NVIDIA = 0,
    SCHEDC_AMD = 1,
};

/* Code for GPUs of one kind. */
typedef struct schedc_image {
    const void *bytes;           /* PTX that ends with NUL, a cubin, or a code object */
    int64_t capability;          /* 10 * major + minor number of the compute capability; 0 for AMD's */
    int64_t is_final;            /* 1: machine code, for GPUs of the same major number only */
} schedc_image;

/* A function that runs on a GPU. */
typedef struct schedc_launch {
    const char *name;
    uint32_t block[3];           /* threads of a block */
    uint32_t shared;             /* bytes of memory that the threads of a block share */
    int32_t num_arguments;
    int32_t is_split;            /* 1: two more arguments, the first block in the directions y and z */
} schedc_launch;

/* The place, device or host, of runs of at most max_rows rows. */
typedef struct schedc_range {
    int64_t max_rows;            /* INT64_MAX: all other runs */
    int64_t on_device;           /* 1: on a device, 0: on the host */
} schedc_range;

/* The transfer of the host's rows to a device as bins, which are fewer bytes. Bins are in blocks of rows:
 * the first bin of all rows of a block, then the second bin, and so on. The last block is as long as the
 * others. */
typedef struct schedc_transfer {
    schedc_kernel quantize;      /* rows [n][num_features] -> bins, on the host */
    schedc_kernel raw;           /* bins -> margins */
    schedc_kernel direct;        /* bins -> results of value output; null: `raw`, then value */
    int64_t block;               /* rows of a block of bins */
    int64_t row_bytes;           /* bytes of the bins of a row */
    int64_t least_rows;          /* fewest rows of a run that is transferred as bins */
    int64_t least_threads;       /* fewest threads that quantize as fast as a bus transfers values */
} schedc_transfer;

struct schedc_plan;

/* The code of a model for GPUs. */
typedef struct schedc_gpu {
    int32_t num_images, num_launches, num_tables, maker;
    const schedc_image *images;  /* a device uses the first one that it can run */
    const schedc_launch *launches;
    const int64_t *table_bytes;
    const schedc_range *ranges;  /* in ascending order; the last one covers all longer runs */
    /* rows [n][num_features] -> results of value output; null: margins, then value */
    schedc_kernel direct;
    schedc_kernel base;          /* writes the model's initial margins, if kernels add to their output */
    schedc_kernel pack;          /* columns in the device's memory -> rows [n][num_features] */
    const schedc_transfer *transfer; /* null: rows are transferred as values */
    /* schedc_rt_execute_on_device. Only this field refers to it, so that code for processors alone is linked
     * without it. */
    int32_t (*execute)(const struct schedc_plan *);
    void **state;                /* state of the runtime, null at first */
} schedc_gpu;

/* Kernels that an output needs. */
enum {
    /* the kernel of margins, that of SCHEDC_KIND_RAW */
    SCHEDC_NEEDS_MARGINS = 0,
    /* the kernel of margins, then the output's own kernel; without the latter, results are the margins */
    SCHEDC_NEEDS_FINISH = 1,
    /* the same two kernels; without the output's own, the model lacks the output */
    SCHEDC_NEEDS_FINISH_OR_NONE = 2,
    /* the output's own kernel alone; without it, the model lacks the output */
    SCHEDC_NEEDS_WALK = 3,
};

/* An output of a model. */
typedef struct schedc_output {
    /* rows [n][num_features], or margins [n][num_margins] for outputs that finish them -> [n][columns], of
     * `type`; null: none. The kernel of margins writes [n][num_margins] of margin_type. */
    schedc_kernel kernel;
    int32_t columns;             /* values per row; 0: the model lacks the output */
    int32_t type;                /* SCHEDC_DTYPE_* of its elements */
    int64_t needs;               /* SCHEDC_NEEDS_* */
} schedc_output;

/* The description of a compiled model for the entry points. The compiler emits it as a constant. */
typedef struct schedc_model {
    uint32_t size;               /* of this struct */
    int32_t num_features;        /* features of a row */
    int32_t num_margins;         /* margins of a row */
    int32_t row_type;            /* SCHEDC_DTYPE_* of the rows that kernels read */
    int32_t margin_type;         /* SCHEDC_DTYPE_* of margins, in which trees are added up */
    int32_t result_type;         /* SCHEDC_DTYPE_* of raw and value output */
    int64_t rows_per_run;        /* most rows of a run; INT64_MAX: any number */
    double ns_per_row;           /* estimated time of one row: the number of threads depends on it */
    const void *const *tables;
    const char *info;            /* JSON text, NUL-terminated */
    uint64_t cpu_needs;          /* bits of SCHEDC_CPU_* */
    const struct schedc_model *otherwise; /* version for processors that lack these bits; null: none */
    const schedc_gpu *gpu;       /* null: the model has no code for GPUs */
    double missing;              /* stands for missing values, besides NaN; NaN: none */
    const void *base;            /* initial margins, of margin_type; null: kernels set them */
    const struct schedc_model *other_rows; /* version for rows of another type; null: none */
    /* SCHEDC_DTYPE_* of the rows that the trainer's program reads. Rows of this type are never rounded. */
    int64_t own_row_type;
    int64_t columns_from;        /* fewest rows of a run that may read columns; INT64_MAX: no run may */
    schedc_output outputs[SCHEDC_NUM_KINDS]; /* by SCHEDC_KIND_* */
} schedc_model;

/* The names of the categories of a model's features. */
typedef struct schedc_categories {
    int64_t num_features;
    const uint32_t *starts;      /* names of feature f: starts[f] up to starts[f + 1] */
    const char *const *names;    /* for each feature, in ascending order of their bytes */
    const double *codes;         /* codes of these names */
} schedc_categories;

/* Runs body(env, i) for every i in [0, trip), on the call's threads if the loop is long enough. Returns
 * when all iterations are done. A call inside a body runs serially. */
void schedc_rt_parallel(schedc_ctx *ctx, void (*body)(void *env, int64_t i), void *env, int64_t trip);

/* Records the status of a failed run; the first status stays. Any thread of the run may call it. */
void schedc_rt_fail(schedc_ctx *ctx, int32_t status);

/* Allocates temporary memory of a run, aligned to 64 bytes. Returns null if there is none, and records
 * SCHEDC_ERR_MEMORY. */
void *schedc_rt_alloc(schedc_ctx *ctx, int64_t bytes);
void schedc_rt_free(schedc_ctx *ctx, void *memory);

/* Runs a launch of the model, by its number, on a grid of x * y * z blocks. `arguments` has the address of
 * each argument of the kernel, and room for two more. In a run on a device, all buffers are in the device's
 * memory, also those of schedc_rt_alloc. */
void schedc_rt_launch(schedc_ctx *ctx, int32_t number, int64_t x, int64_t y, int64_t z, void **arguments);

/* Returns `bytes` bytes of the device's memory for counters of launches, all 0. Launches must leave them 0.
 * They last until the run ends. Returns null if there is no memory, and records a status. */
void *schedc_rt_counters(schedc_ctx *ctx, int64_t bytes);

/* Runs a checked call on a device. */
int32_t schedc_rt_execute_on_device(const struct schedc_plan *plan);

#endif
