/* Calls with columns: checks of the columns, and conversion of their values to the type that kernels read. */
#include "plan.h"

#include <math.h>
#include <string.h>

/* Returns the bytes of a value of a type; 0 for bits. */
static size_t bytes_of(int32_t type)
{
    switch (type) {
    case SCHEDC_COLUMN_I8:
    case SCHEDC_COLUMN_U8:
    case SCHEDC_COLUMN_BOOL:
        return 1;
    case SCHEDC_COLUMN_I16:
    case SCHEDC_COLUMN_U16:
        return 2;
    case SCHEDC_COLUMN_F64:
    case SCHEDC_COLUMN_I64:
    case SCHEDC_COLUMN_U64:
        return 8;
    default:
        return 4;
    }
}

static bool is_whole(int32_t type)
{
    return type >= SCHEDC_COLUMN_I32 && type <= SCHEDC_COLUMN_U64;
}

/* Whether the index of every row's bit fits 64 bits. */
static bool are_bits(int64_t offset, int64_t n_rows)
{
    int64_t end;
    return offset >= 0 && !__builtin_add_overflow(offset, n_rows, &end);
}

static bool is_column(const schedc_column *c, int64_t n_rows)
{
    if (!c->values)
        return true;
    if (c->type < SCHEDC_COLUMN_F32 || c->type > SCHEDC_COLUMN_BIT || c->dictionary_size < 0)
        return false;
    if (c->dictionary ? !is_whole(c->type) : c->dictionary_size != 0)
        return false;
    if (c->validity && !are_bits(c->validity_offset, n_rows))
        return false;
    if (c->type == SCHEDC_COLUMN_BIT)
        return are_bits(c->values_offset, n_rows);
    int64_t size = (int64_t)bytes_of(c->type), bytes;
    int64_t step = c->stride ? c->stride : size;
    return c->values_offset == 0 && step != INT64_MIN && (step < 0 ? -step : step) >= size &&
           !__builtin_mul_overflow(step, n_rows, &bytes);
}

bool schedc_are_columns(const schedc_column *columns, int32_t count, int64_t n_rows)
{
    for (int32_t i = 0; i < count; i++)
        if (!is_column(&columns[i], n_rows))
            return false;
    return true;
}

/* Whether a dictionary has a number that 32-bit floats do not represent exactly. */
static bool has_doubles(const schedc_column *c)
{
    for (int64_t i = 0; i < c->dictionary_size; i++) {
        double x = c->dictionary[i];
        if (x == x && (double)(float)x != x)
            return true;
    }
    return false;
}

size_t schedc_column_size(const schedc_column *column)
{
    return column->type == SCHEDC_COLUMN_BIT ? 0 : bytes_of(column->type);
}

bool schedc_are_aligned(const schedc_column *columns, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        const schedc_column *c = &columns[i];
        size_t size = schedc_column_size(c);
        if (c->values && size && ((uintptr_t)c->values % size || (uint64_t)c->stride % size))
            return false;
        if (c->values && (uintptr_t)c->dictionary % sizeof(double))
            return false;
    }
    return true;
}

int32_t schedc_dtype_of_columns(const schedc_column *columns, int32_t count, bool readable)
{
    for (int32_t i = 0; i < count; i++) {
        const schedc_column *c = &columns[i];
        if (!c->values)
            continue;
        if (c->dictionary ? !readable || has_doubles(c)
                          : c->type == SCHEDC_COLUMN_F64 || c->type == SCHEDC_COLUMN_I32 ||
                                c->type == SCHEDC_COLUMN_I64 ||
                                c->type == SCHEDC_COLUMN_U32 || c->type == SCHEDC_COLUMN_U64)
            return SCHEDC_DTYPE_F64;
    }
    return SCHEDC_DTYPE_F32;
}

static bool bit_at(const uint8_t *bits, int64_t place)
{
    return bits[place >> 3] >> (place & 7) & 1;
}

/* Writes values to every `distance`-th element. Values may have any alignment, so they are copied before
 * they are read. */
#define CONVERT(from_type, to_type)                                                                          \
    do {                                                                                                     \
        if (step == (int64_t)sizeof(from_type) && distance == 1) {                                           \
            for (int64_t i = 0; i < n; i++) {                                                                \
                from_type x;                                                                                 \
                memcpy(&x, from + (size_t)i * sizeof x, sizeof x);                                           \
                to[i] = (to_type)x;                                                                          \
            }                                                                                                \
        } else {                                                                                             \
            for (int64_t i = 0; i < n; i++) {                                                                \
                from_type x;                                                                                 \
                memcpy(&x, from + i * step, sizeof x);                                                       \
                to[i * distance] = (to_type)x;                                                               \
            }                                                                                                \
        }                                                                                                    \
    } while (0)

/* Writes the numbers that indices select. Indices beyond the dictionary are missing values, also negative
 * ones, which become large numbers. */
#define TRANSLATE(from_type, to_type, nan)                                                                   \
    do {                                                                                                     \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            from_type x;                                                                                     \
            memcpy(&x, from + i * step, sizeof x);                                                           \
            uint64_t index = (uint64_t)x;                                                                    \
            to[i * distance] = index < (uint64_t)c->dictionary_size ? (to_type)c->dictionary[index] : nan;   \
        }                                                                                                    \
    } while (0)

#define READ(name, to_type, nan)                                                                             \
    static void name(const schedc_column *c, int64_t first, int64_t n, to_type missing,                      \
                     to_type *restrict to, int64_t distance)                                                 \
    {                                                                                                        \
        if (!c->values) {                                                                                    \
            for (int64_t i = 0; i < n; i++)                                                                  \
                to[i * distance] = nan;                                                                      \
            return;                                                                                          \
        }                                                                                                    \
        int64_t step = c->stride ? c->stride : (int64_t)bytes_of(c->type);                                   \
        const unsigned char *from = c->values;                                                               \
        from += c->type == SCHEDC_COLUMN_BIT ? 0 : first * step;                                             \
        switch (c->dictionary ? SCHEDC_COLUMN_BIT + 1 + c->type : c->type) {                                 \
        case SCHEDC_COLUMN_F32:                                                                              \
            CONVERT(float, to_type);                                                                         \
            break;                                                                                           \
        case SCHEDC_COLUMN_F64:                                                                              \
            CONVERT(double, to_type);                                                                        \
            break;                                                                                           \
        case SCHEDC_COLUMN_I8:                                                                               \
            CONVERT(int8_t, to_type);                                                                        \
            break;                                                                                           \
        case SCHEDC_COLUMN_I16:                                                                              \
            CONVERT(int16_t, to_type);                                                                       \
            break;                                                                                           \
        case SCHEDC_COLUMN_I32:                                                                              \
            CONVERT(int32_t, to_type);                                                                       \
            break;                                                                                           \
        case SCHEDC_COLUMN_I64:                                                                              \
            CONVERT(int64_t, to_type);                                                                       \
            break;                                                                                           \
        case SCHEDC_COLUMN_U8:                                                                               \
            CONVERT(uint8_t, to_type);                                                                       \
            break;                                                                                           \
        case SCHEDC_COLUMN_U16:                                                                              \
            CONVERT(uint16_t, to_type);                                                                      \
            break;                                                                                           \
        case SCHEDC_COLUMN_U32:                                                                              \
            CONVERT(uint32_t, to_type);                                                                      \
            break;                                                                                           \
        case SCHEDC_COLUMN_U64:                                                                              \
            CONVERT(uint64_t, to_type);                                                                      \
            break;                                                                                           \
        case SCHEDC_COLUMN_BOOL:                                                                             \
            for (int64_t i = 0; i < n; i++)                                                                  \
                to[i * distance] = from[i * step] != 0;                                                      \
            break;                                                                                           \
        case SCHEDC_COLUMN_BIT:                                                                              \
            for (int64_t i = 0; i < n; i++)                                                                  \
                to[i * distance] = bit_at(from, c->values_offset + first + i);                               \
            break;                                                                                           \
        case SCHEDC_COLUMN_BIT + 1 + SCHEDC_COLUMN_I8:                                                       \
            TRANSLATE(int8_t, to_type, nan);                                                                 \
            break;                                                                                           \
        case SCHEDC_COLUMN_BIT + 1 + SCHEDC_COLUMN_I16:                                                      \
            TRANSLATE(int16_t, to_type, nan);                                                                \
            break;                                                                                           \
        case SCHEDC_COLUMN_BIT + 1 + SCHEDC_COLUMN_I32:                                                      \
            TRANSLATE(int32_t, to_type, nan);                                                                \
            break;                                                                                           \
        case SCHEDC_COLUMN_BIT + 1 + SCHEDC_COLUMN_I64:                                                      \
            TRANSLATE(int64_t, to_type, nan);                                                                \
            break;                                                                                           \
        case SCHEDC_COLUMN_BIT + 1 + SCHEDC_COLUMN_U8:                                                       \
            TRANSLATE(uint8_t, to_type, nan);                                                                \
            break;                                                                                           \
        case SCHEDC_COLUMN_BIT + 1 + SCHEDC_COLUMN_U16:                                                      \
            TRANSLATE(uint16_t, to_type, nan);                                                               \
            break;                                                                                           \
        case SCHEDC_COLUMN_BIT + 1 + SCHEDC_COLUMN_U32:                                                      \
            TRANSLATE(uint32_t, to_type, nan);                                                               \
            break;                                                                                           \
        default:                                                                                             \
            TRANSLATE(uint64_t, to_type, nan);                                                               \
        }                                                                                                    \
        if (c->validity)                                                                                     \
            for (int64_t i = 0; i < n; i++)                                                                  \
                to[i * distance] = bit_at(c->validity, c->validity_offset + first + i) ? to[i * distance]    \
                    : nan;                                                                                   \
        if (missing == missing)                                                                              \
            for (int64_t i = 0; i < n; i++)                                                                  \
                to[i * distance] = to[i * distance] == missing ? nan : to[i * distance];                     \
    }

READ(read_floats, float, NAN)
READ(read_doubles, double, (double)NAN)

void schedc_read_column(const schedc_plan *p, int32_t feature, int64_t first, int64_t n, void *to,
                        int64_t distance)
{
    const schedc_column *c = &p->columns[feature];
    if (p->model->row_type == SCHEDC_DTYPE_F64)
        read_doubles(c, p->first_row + first, n, p->missing, to, distance);
    else
        read_floats(c, p->first_row + first, n, (float)p->missing, to, distance);
}

/* Whether kernels can read the caller's own values: packed, aligned, of their type, and missing only where
 * they are NaN. */
static bool reads_in_place(const schedc_plan *p, const schedc_column *c)
{
    int32_t type = p->model->row_type;
    size_t size = schedc_size_of(type);
    bool as_it_is = c->values && !c->validity && !c->dictionary && c->type == type &&
                    p->missing != p->missing;
    return as_it_is && (c->stride == 0 || c->stride == (int64_t)size) && (uintptr_t)c->values % size == 0;
}

/* All features that are missing in all rows share one column. */
int32_t schedc_count_converted(const schedc_plan *p)
{
    int32_t count = 0, absent = 0;
    for (int32_t i = 0; i < p->model->num_features; i++) {
        count += p->columns[i].values && !reads_in_place(p, &p->columns[i]);
        absent |= !p->columns[i].values;
    }
    return count + absent;
}

/* The list of the converted features follows the order. */
size_t schedc_order_bytes(const schedc_plan *p)
{
    size_t features = (size_t)p->model->num_features;
    return (features + 1) * sizeof(int64_t) + features * sizeof(int32_t);
}

enum { VALUES_AT_ONCE = 8192 }; /* values that a thread converts at a time */

typedef struct converting {
    const schedc_plan *plan;
    unsigned char *to;
    int64_t first, n_rows, room;
    const int32_t *features; /* of the converted columns */
    int64_t count, together; /* columns in all; `together`: columns of one iteration */
} converting;

static void convert_columns(void *env, int64_t i)
{
    const converting *all = env;
    size_t bytes = (size_t)all->room * schedc_size_of(all->plan->model->row_type);
    int64_t end = (i + 1) * all->together < all->count ? (i + 1) * all->together : all->count;
    for (int64_t column = i * all->together; column < end; column++)
        schedc_read_column(all->plan, all->features[column], all->first, all->n_rows,
                           all->to + (size_t)column * bytes, 1);
}

static int32_t list_converted(const schedc_plan *p, int32_t *features)
{
    int32_t count = 0;
    bool absent = false;
    for (int32_t i = 0; i < p->model->num_features; i++) {
        const schedc_column *c = &p->columns[i];
        if (reads_in_place(p, c) || (!c->values && absent))
            continue;
        absent |= !c->values;
        features[count++] = i;
    }
    return count;
}

/* Kernels find a column by its distance, in elements, from the lowest of all addresses. */
void schedc_hand_columns(const schedc_plan *p, schedc_ctx *ctx, int64_t first, int64_t room,
                         unsigned char *columns,
                         int64_t *order)
{
    size_t size = schedc_size_of(p->model->row_type);
    int32_t *features = (int32_t *)(void *)(order + p->model->num_features + 1);
    int64_t count = list_converted(p, features), together = VALUES_AT_ONCE / (ctx->n_rows + 1) + 1;
    converting all = {p, columns, first, ctx->n_rows, room, features, count, together};
    if (count)
        schedc_rt_parallel(ctx, convert_columns, &all, (count - 1) / together + 1);
    uintptr_t lowest = UINTPTR_MAX, absent = 0, next = (uintptr_t)columns;
    for (int32_t i = 0; i < p->model->num_features; i++) {
        const schedc_column *c = &p->columns[i];
        uintptr_t at;
        if (reads_in_place(p, c)) {
            at = (uintptr_t)c->values + (size_t)(p->first_row + first) * size;
        } else if (!c->values && absent) {
            at = absent;
        } else {
            at = next;
            next += (size_t)room * size;
            absent = c->values ? absent : at;
        }
        order[1 + i] = (int64_t)at;
        lowest = at < lowest ? at : lowest;
    }
    for (int32_t i = 0; i < p->model->num_features; i++)
        order[1 + i] = (int64_t)(((uintptr_t)order[1 + i] - lowest) / size);
    order[0] = 1;
    ctx->rows = (const void *)lowest;
    ctx->order = order;
}

enum { ROWS_AT_ONCE = 16 }; /* floats of a cache line: each line of a column is read once */

void schedc_gather_rows(const schedc_plan *p, int64_t first, int64_t n_rows, unsigned char *to)
{
    int32_t features = p->model->num_features;
    size_t element = schedc_size_of(p->model->row_type);
    for (int64_t done = 0; done < n_rows; done += ROWS_AT_ONCE) {
        int64_t n = n_rows - done < ROWS_AT_ONCE ? n_rows - done : ROWS_AT_ONCE;
        unsigned char *rows = to + (size_t)done * p->row_bytes;
        for (int32_t i = 0; i < features; i++)
            schedc_read_column(p, i, first + done, n, rows + (size_t)i * element, features);
    }
}
