/* The plan of a call, between its checks and its kernels. */
#ifndef SCHEDC_PLAN_H
#define SCHEDC_PLAN_H

#include "internal.h"

/* A checked call. No computation of the sizes below overflows. */
typedef struct schedc_plan {
    const schedc_model *model;
    const unsigned char *rows;
    const schedc_column *columns; /* the caller's columns; null: its rows are in `rows` */
    int64_t first_row;     /* first row of the part, in the columns */
    int64_t n_rows;
    size_t row_step;       /* bytes from one of the caller's rows to the next */
    int32_t dtype;         /* element type of the caller's rows */
    size_t row_bytes;      /* one packed row, in the kernels' element type */
    bool convert;          /* whether rows are copied to scratch and converted */
    bool direct;           /* whether runs get columns: the caller's own if possible */
    size_t converted_bytes; /* bytes of a row's columns that are converted then */
    double missing;        /* stands for missing values, besides NaN; NaN: none */
    const unsigned char *base_margin; /* the caller's initial margins; null: the model's own */
    size_t base_bytes;     /* one row of it */
    schedc_kernel walk;    /* rows -> margins or leaves */
    schedc_kernel finish;  /* margins -> output; null: none */
    size_t margin_bytes;   /* one row of margins in scratch; 0: the first kernel writes the output */
    unsigned char *out;
    size_t out_element;    /* bytes of an element of output */
    size_t out_bytes;      /* one row of output */
    void *scratch;         /* the caller's */
    size_t scratch_bytes;
    int32_t threads;       /* number to use: more are not worth the time to wake them */
    int32_t device;        /* number of the device, if the model has code for one */
    bool on_device;        /* whether rows and output are that device's memory */
    void *stream;          /* the caller's stream, which such a call runs in */
} schedc_plan;

/* Packs the caller's rows [first, first + n_rows) into `to`, in the kernels' type, with the threads of
 * `ctx`. */
void schedc_pack_rows(const schedc_plan *p, schedc_ctx *ctx, int64_t first, int64_t n_rows,
                      unsigned char *to);

/* Whether a caller's columns are well formed, and offsets of their values do not overflow. */
bool schedc_are_columns(const schedc_column *columns, int32_t count, int64_t n_rows);

/* Returns the type of rows that represents all values of the columns' types exactly. */
int32_t schedc_dtype_of_columns(const schedc_column *columns, int32_t count);

/* Writes n values of a feature, from row `first` on, to every `distance`-th element, in the kernels' type. */
void schedc_read_column(const schedc_plan *p, int32_t feature, int64_t first, int64_t n, void *to,
                        int64_t distance);

/* Returns the number of columns that must be converted before kernels can read them. */
int32_t schedc_count_converted(const schedc_plan *p);

/* Returns the bytes of the order of columns (schedc_ctx). */
size_t schedc_order_bytes(const schedc_plan *p);

/* Gives columns to the run on the rows [first, first + ctx->n_rows). `columns` has room for the converted
 * ones, `room` rows of each; `order` has room for their order. */
void schedc_hand_columns(const schedc_plan *p, schedc_ctx *ctx, int64_t first, int64_t room,
                         unsigned char *columns,
                         int64_t *order);

/* Packs the rows [first, first + n_rows) of columns into `to`. */
void schedc_gather_rows(const schedc_plan *p, int64_t first, int64_t n_rows, unsigned char *to);

/* Packs rows as schedc_pack_rows does, with one thread. */
void schedc_pack_serially(const schedc_plan *p, int64_t first, int64_t n_rows, unsigned char *to);

/* Returns the transfer of a run's rows as bins; null if they travel as they are. Leaf indices have no
 * kernels that read bins, and are more bytes than rows. */
const schedc_transfer *schedc_transfer_of(const schedc_plan *p, int64_t n_rows);

/* Returns the bytes of the bins of n_rows rows, at least one. */
size_t schedc_transfer_bytes(const schedc_transfer *transfer, int64_t n_rows);

/* Writes the bins of the caller's rows [first, first + n_rows) to `to`, with the threads of the call. */
int32_t schedc_quantize_rows(const schedc_plan *p, const schedc_transfer *transfer, int64_t first,
                             int64_t n_rows,
                             unsigned char *to);

/* Writes the initial margins of the rows [first, first + n_rows), for kernels that add to their output. */
void schedc_begin_sums(const schedc_plan *p, int64_t first, int64_t n_rows, void *margins);

/* Writes margins of n_rows rows to an output of another type. */
void schedc_convert_margins(const schedc_plan *p, const void *margins, int64_t n_rows, void *out);

/* Runs a call whose rows and output are the host's memory, in runs on the host or on devices, as the
 * model's ranges say. */
int32_t schedc_execute(const schedc_plan *p);

/* Returns the part of a call on the rows [first, first + n_rows). */
schedc_plan schedc_part(const schedc_plan *p, int64_t first, int64_t n_rows);

/* Whether runs of n_rows rows take place on a device. */
bool schedc_on_device(const schedc_plan *p, int64_t n_rows);

#endif
