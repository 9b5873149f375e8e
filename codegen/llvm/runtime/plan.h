/* A call that has been checked, on its way to the kernels. */
#ifndef SCHEDC_PLAN_H
#define SCHEDC_PLAN_H

#include "internal.h"

/* A checked call: every size below is known to fit. */
typedef struct schedc_plan {
    const schedc_model *model;
    const unsigned char *rows;
    const schedc_column *columns; /* that the caller's rows are; null: they are `rows` */
    int64_t first_row;     /* of columns, which are not moved for a part of a call */
    int64_t n_rows;
    size_t row_step;       /* bytes from one of the caller's rows to the next */
    int32_t dtype;         /* element type of the caller's rows */
    size_t row_bytes;      /* one packed row, in the kernels' element type */
    bool convert;          /* rows go through scratch */
    bool direct;           /* runs are handed columns, which are those of the caller where they can be */
    size_t converted_bytes; /* of a row: columns that are converted then */
    double missing;        /* values that are equal to it are missing, too; NaN: there are none */
    const unsigned char *base_margin; /* what the caller's sums begin with; null: the model's own base values */
    size_t base_bytes;     /* one row of it */
    schedc_kernel walk;    /* rows -> margins or leaves */
    schedc_kernel finish;  /* margins -> output; null: none */
    size_t margin_bytes;   /* one row of margins in scratch; 0: the first kernel writes into the output */
    unsigned char *out;
    size_t out_element;    /* bytes of an element of output */
    size_t out_bytes;      /* one row of output */
    void *scratch;         /* the caller's */
    size_t scratch_bytes;
    int32_t threads;       /* that are worth waking */
    int32_t device;        /* the number of the device, where the model has code for one */
    bool on_device;        /* rows and output are memory of that device */
    void *stream;          /* of the caller, which such a call is put into */
} schedc_plan;

/* Packs the caller's rows [first, first + n_rows) into `to`, in the kernels' type, with the threads of `ctx`. */
void schedc_pack_rows(const schedc_plan *p, schedc_ctx *ctx, int64_t first, int64_t n_rows, unsigned char *to);

/* Whether a caller's columns are well formed and the places of their values can be counted. */
bool schedc_are_columns(const schedc_column *columns, int32_t count, int64_t n_rows);

/* The type of rows that holds all values of columns as they are, as far as their types say. */
int32_t schedc_dtype_of_columns(const schedc_column *columns, int32_t count);

/* Writes n values of a feature from row `first` on to every `apart`-th element, in the kernels' type. */
void schedc_read_column(const schedc_plan *p, int32_t feature, int64_t first, int64_t n, void *to, int64_t apart);

/* How many columns have to be converted before kernels can read them. */
int32_t schedc_count_converted(const schedc_plan *p);

/* Bytes of the order of columns. */
size_t schedc_order_bytes(const schedc_plan *p);

/* Hands the run on the rows [first, first + ctx->n_rows) columns. `columns` has room for those that are converted, `held`
 * rows of each; `order` for their order. */
void schedc_hand_columns(const schedc_plan *p, schedc_ctx *ctx, int64_t first, int64_t held, unsigned char *columns,
                         int64_t *order);

/* Packs the rows [first, first + n_rows) of columns into `to`. */
void schedc_gather_rows(const schedc_plan *p, int64_t first, int64_t n_rows, unsigned char *to);

/* Makes the columns that the kernels read of a few rows of a caller's columns: sixteen at most. */
void schedc_make_columns_of_columns(const schedc_plan *p, int64_t first, int64_t n_rows, unsigned char *to);

/* Makes the columns that the kernels read of one of the caller's rows. */
void schedc_make_columns(const schedc_plan *p, void *to, const unsigned char *row);
/* The same with one thread. */
void schedc_pack_serially(const schedc_plan *p, int64_t first, int64_t n_rows, unsigned char *to);

/* How the rows of a run on a device travel as bins; null: they travel as they are. Numbers of leaves are more bytes than
 * rows, and have no kernels that read bins. */
const schedc_transfer *schedc_transfer_of(const schedc_plan *p, int64_t n_rows);

/* Bytes of the bins of so many rows, of which there is one at least. */
size_t schedc_transfer_bytes(const schedc_transfer *transfer, int64_t n_rows);

/* Writes the bins of the caller's rows [first, first + n_rows) to `to`, with the threads of the call. */
int32_t schedc_quantize_rows(const schedc_plan *p, const schedc_transfer *transfer, int64_t first, int64_t n_rows,
                             unsigned char *to);

/* Writes what the sums of the rows [first, first + n_rows) begin with, for kernels that add to what is there. */
void schedc_begin_sums(const schedc_plan *p, int64_t first, int64_t n_rows, void *margins);

/* Writes margins of so many rows that are the output themselves, in another type. */
void schedc_convert_margins(const schedc_plan *p, const void *margins, int64_t n_rows, void *out);

/* Runs a call whose rows and output are memory of the host, in runs that take place wherever the model says. */
int32_t schedc_execute(const schedc_plan *p);

/* The part of a call on the rows [first, first + n_rows). */
schedc_plan schedc_part(const schedc_plan *p, int64_t first, int64_t n_rows);

/* Whether runs of so many rows take place on a device. */
bool schedc_on_device(const schedc_plan *p, int64_t n_rows);

#endif
