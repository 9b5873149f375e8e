/* Calls with columns in a device's memory: the words by which the device's kernel finds their values. */
#include "device.h"

#include <stdlib.h>

/* The words of a column, in the order in which codegen/ir/src/lower/pack_columns.rs reads them. */
enum {
    FIRST,           /* place of the first row's value, in values; in bits for bits */
    STEP,            /* distance of the values of two rows, in values */
    SIZE,            /* bytes of a value; -1 for bits, and 0 if the feature is missing in all rows */
    IS_FLOAT,
    SIGN,            /* sign bit of signed integers, else 0 */
    LARGEST,         /* upper bound of integers: 1 for truth values */
    VALIDITY,        /* place of the first row's bit of validity, in bits; -1: all rows have a value */
    DICTIONARY,      /* place of the dictionary, in doubles; -1: values are numbers */
    DICTIONARY_SIZE,
    SCHEDC_COLUMN_WORDS
};

/* Returns the lowest address of all columns, rounded down to the alignment of every type. */
static uintptr_t lowest_address(const schedc_plan *p)
{
    uintptr_t lowest = UINTPTR_MAX;
    for (int32_t i = 0; i < p->model->num_features; i++) {
        const schedc_column *c = &p->columns[i];
        const void *all[] = {c->values, c->validity, c->dictionary};
        for (size_t k = 0; c->values && k < sizeof all / sizeof *all; k++)
            lowest = all[k] && (uintptr_t)all[k] < lowest ? (uintptr_t)all[k] : lowest;
    }
    return lowest / sizeof(double) * sizeof(double);
}

static bool is_signed(int32_t type)
{
    return type == SCHEDC_COLUMN_I8 || type == SCHEDC_COLUMN_I16 || type == SCHEDC_COLUMN_I32 ||
           type == SCHEDC_COLUMN_I64;
}

/* Describes a column. Places count from `start`. */
static void describe(const schedc_column *c, uintptr_t start, int64_t first_row, int64_t *words)
{
    int64_t size = (int64_t)schedc_column_size(c), bit = c->type == SCHEDC_COLUMN_BIT;
    words[SIZE] = !c->values ? 0 : bit ? -1 : size;
    words[VALIDITY] = words[DICTIONARY] = -1;
    if (!c->values)
        return;
    int64_t place = (int64_t)((uintptr_t)c->values - start);
    words[STEP] = bit || !c->stride ? 1 : c->stride / size;
    words[FIRST] = (bit ? 8 * place + c->values_offset : place / size) + first_row * words[STEP];
    words[IS_FLOAT] = c->type == SCHEDC_COLUMN_F32 || c->type == SCHEDC_COLUMN_F64;
    words[SIGN] = is_signed(c->type) ? (int64_t)(UINT64_C(1) << (8 * size - 1)) : 0;
    words[LARGEST] = c->type == SCHEDC_COLUMN_BOOL ? 1 : INT64_MAX;
    if (c->validity)
        words[VALIDITY] = 8 * (int64_t)((uintptr_t)c->validity - start) + c->validity_offset + first_row;
    if (c->dictionary)
        words[DICTIONARY] = (int64_t)(((uintptr_t)c->dictionary - start) / sizeof(double));
    words[DICTIONARY_SIZE] = c->dictionary_size;
}

int32_t schedc_pack_columns(const schedc_plan *p, schedc_session *session, cu_pointer rows)
{
    size_t features = (size_t)p->model->num_features;
    if (!session->order)
        session->order = calloc(features * SCHEDC_COLUMN_WORDS + 1, sizeof *session->order);
    if (!session->order)
        return SCHEDC_ERR_MEMORY;
    uintptr_t start = lowest_address(p);
    for (size_t i = 0; i < features; i++)
        describe(&p->columns[i], start, p->first_row, session->order + i * SCHEDC_COLUMN_WORDS);
    schedc_team team = {.threads = 1, .lane = &session->lanes[0]};
    schedc_ctx ctx = {.rows = (const void *)start,
                      .n_rows = p->n_rows,
                      .out = (void *)(uintptr_t)rows,
                      .tables = session->lanes[0].device->tables,
                      .team = &team,
                      .order = session->order};
    p->model->gpu->pack(&ctx);
    return (int32_t)ctx.status;
}
