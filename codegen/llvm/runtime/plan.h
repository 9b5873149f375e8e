/* The plan of a call: the result of its checks, and the input of its runs. */
#ifndef SCHEDC_PLAN_H
#define SCHEDC_PLAN_H

#include "internal.h"

/* A checked call. No computation of the sizes below overflows. */
typedef struct schedc_plan {
    const schedc_model *model;
    const unsigned char *rows;
    const schedc_column *columns; /* the caller's columns; null: its rows are in `rows` */
    int64_t first_row;     /* index in the columns of the plan's first row */
    int64_t n_rows;
    size_t row_step;       /* bytes from one of the caller's rows to the next */
    int32_t dtype;         /* element type of the caller's rows */
    size_t row_bytes;      /* bytes of a packed row, in the kernels' element type */
    bool convert;          /* whether rows are copied to scratch and converted */
    bool direct;           /* whether kernels read columns: the caller's own if possible */
    size_t converted_bytes; /* bytes, for each row, of the columns that must be converted then */
    double missing;        /* stands for missing values, besides NaN; NaN: none */
    const unsigned char *base_margin; /* the caller's initial margins; null: the model's own */
    size_t base_bytes;     /* bytes of a row of base_margin */
    schedc_kernel walk;    /* rows -> margins or leaves */
    schedc_kernel finish;  /* margins -> output; null: none */
    size_t margin_bytes;   /* bytes of a row of margins in scratch; 0: the first kernel writes the output */
    unsigned char *out;
    size_t out_element;    /* bytes of an element of output */
    size_t out_bytes;      /* bytes of a row of output */
    void *scratch;         /* the caller's temporary memory */
    size_t scratch_bytes;
    int32_t threads;       /* number to use: waking more would take longer than they save */
    int32_t device;        /* number of the device, if the model has code for one */
    bool on_device;        /* whether rows and output are in that device's memory */
    void *stream;          /* the caller's stream, in which such a call runs */
} schedc_plan;

/* Packs the caller's rows [first, first + n_rows) into `to`, in the kernels' type, with the threads of
 * `ctx`. */
void schedc_pack_rows(const schedc_plan *p, schedc_ctx *ctx, int64_t first, int64_t n_rows,
                      unsigned char *to);

/* Whether a caller's columns are well formed, and offsets of their values do not overflow. */
bool schedc_are_columns(const schedc_column *columns, int32_t count, int64_t n_rows);

/* Returns the type of rows that represents all values of the columns' types exactly. Dictionaries that are
 * not `readable`, on a device, count as 64-bit floats. */
int32_t schedc_dtype_of_columns(const schedc_column *columns, int32_t count, bool readable);

/* Returns the bytes of a value of a column; 0 for bits. */
size_t schedc_column_size(const schedc_column *column);

/* Whether values and dictionaries have addresses, and values distances, that are multiples of their size. */
bool schedc_are_aligned(const schedc_column *columns, int32_t count);

/* Writes n values of a feature, from row `first` on, to every `distance`-th element, in the kernels' type. */
void schedc_read_column(const schedc_plan *p, int32_t feature, int64_t first, int64_t n, void *to,
                        int64_t distance);

/* Returns the number of columns that must be converted before kernels can read them. */
int32_t schedc_count_converted(const schedc_plan *p);

/* Returns the bytes of the order of columns (schedc_ctx), with the list of converted columns. */
size_t schedc_order_bytes(const schedc_plan *p);

/* Makes `ctx` read the columns' rows [first, first + ctx->n_rows), after converting columns if necessary.
 * `columns` has room for the converted ones, `room` rows of each; `order` has schedc_order_bytes. */
void schedc_hand_columns(const schedc_plan *p, schedc_ctx *ctx, int64_t first, int64_t room,
                         unsigned char *columns,
                         int64_t *order);

/* Packs the rows [first, first + n_rows) of columns into `to`. */
void schedc_gather_rows(const schedc_plan *p, int64_t first, int64_t n_rows, unsigned char *to);

/* Packs rows as schedc_pack_rows does, with one thread. */
void schedc_pack_serially(const schedc_plan *p, int64_t first, int64_t n_rows, unsigned char *to);

/* Returns the transfer of a run's rows as bins; null if rows are transferred as values. Kernels of leaf
 * indices never read bins: their results have more bytes than the rows anyway. */
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

/* Runs a call whose rows and output are in the host's memory. The model's ranges decide which runs take
 * place on a device. */
int32_t schedc_execute(const schedc_plan *p);

/* Returns the part of a call on the rows [first, first + n_rows). */
schedc_plan schedc_part(const schedc_plan *p, int64_t first, int64_t n_rows);

/* Whether runs of n_rows rows take place on a device. */
bool schedc_on_device(const schedc_plan *p, int64_t n_rows);

#endif
