/* Columns of kernels that read columns made of features instead of features: values, values whose zeros
 * are missing, and bits. A bit tells whether a value equals another, or whether its category is in a set. */
#include "plan.h"

#include <math.h>
#include <string.h>

/* The tables of columns that schedc_columns names. */
typedef struct column_tables {
    const schedc_columns *of;
    const schedc_column_part *parts;
    const double *values;
    const uint32_t *classes;
    const uint64_t *bits;
} column_tables;

static column_tables tables_of(const schedc_model *model)
{
    const schedc_columns *of = &model->columns;
    const void *const *tables = model->tables + of->first_table;
    return (column_tables){of, tables[0], tables[1], tables[2], tables[3]};
}

/* Returns the class of a value's category; 0 for values in no set. */
static uint32_t class_of(const column_tables *all, const schedc_column_part *part, double x)
{
    double whole = trunc(x);
    bool is_one = false;
    switch (all->of->rule) {
    case SCHEDC_CATEGORY_TRUNCATED:
        is_one = whole >= 0.0;
        break;
    case SCHEDC_CATEGORY_POSITIVE:
        is_one = x >= 0.0 && x < all->of->below;
        break;
    case SCHEDC_CATEGORY_WHOLE:
        is_one = x == whole && x >= 0.0;
        break;
    }
    return is_one && whole < part->categories ? all->classes[part->first_class + (uint32_t)whole] : 0;
}

/* Makes the columns of one row, for a type of the caller's rows and one of the kernels'. Values are first
 * converted to the narrower type. */
#define COLUMNS_OF_ROW(name, from_type, to_type, nan, size)                                                  \
    static void name(const column_tables *all, void *restrict columns_of_row,                                \
                     const unsigned char *restrict row, double called_missing)                               \
    {                                                                                                        \
        const to_type missing = (to_type)called_missing;                                                     \
        to_type *restrict to = columns_of_row;                                                               \
        for (int32_t i = 0; i < all->of->num_parts; i++) {                                                   \
            const schedc_column_part *part = &all->parts[i];                                                 \
            const unsigned char *restrict from = row + (size_t)part->feature * sizeof(from_type);            \
            uint32_t count = part->count;                                                                    \
            from_type given;                                                                                 \
            memcpy(&given, from, sizeof given);                                                              \
            to_type x = (to_type)given == missing ? nan : (to_type)given;                                    \
            switch (part->kind) {                                                                            \
            case SCHEDC_PART_VALUE:                                                                          \
                for (uint32_t k = 0; k < count; k++) {                                                       \
                    memcpy(&given, from + (size_t)k * sizeof given, sizeof given);                           \
                    to[k] = (to_type)given == missing ? nan : (to_type)given;                                \
                }                                                                                            \
                break;                                                                                       \
            case SCHEDC_PART_ZERO_IS_MISSING:                                                                \
                for (uint32_t k = 0; k < count; k++) {                                                       \
                    memcpy(&given, from + (size_t)k * sizeof given, sizeof given);                           \
                    x = (to_type)given;                                                                      \
                    to[k] = size(x) <= (to_type)1e-35f || x == missing ? nan : x;                            \
                }                                                                                            \
                break;                                                                                       \
            case SCHEDC_PART_EQUAL:                                                                          \
                for (uint32_t k = 0; k < count; k++)                                                         \
                    to[k] = x != x ? nan : (to_type)((double)x != all->values[part->first + k]);             \
                break;                                                                                       \
            case SCHEDC_PART_CLASS: {                                                                        \
                uint32_t number = x != x ? 0 : 1 + class_of(all, part, (double)x);                           \
                to[0] = (to_type)(int32_t)(number / 8);                                                      \
                to[1] = (to_type)(1 << number % 8);                                                          \
                break;                                                                                       \
            }                                                                                                \
            default: {                                                                                       \
                uint64_t words = ((uint64_t)count + 63) / 64;                                                \
                const uint64_t *bits = all->bits + part->first + words * class_of(all, part, (double)x);     \
                for (uint32_t k = 0; k < count; k++)                                                         \
                    to[k] = (to_type)(int32_t)(bits[k / 64] >> k % 64 & 1);                                  \
                if (x != x)                                                                                  \
                    for (uint32_t k = 0; k < count; k++)                                                     \
                        to[k] = nan;                                                                         \
            }                                                                                                \
            }                                                                                                \
            to += count;                                                                                     \
        }                                                                                                    \
    }

COLUMNS_OF_ROW(floats_of_floats, float, float, NAN, fabsf)
COLUMNS_OF_ROW(floats_of_doubles, double, float, NAN, fabsf)
COLUMNS_OF_ROW(doubles_of_floats, float, double, (double)NAN, fabs)
COLUMNS_OF_ROW(doubles_of_doubles, double, double, (double)NAN, fabs)

void schedc_make_columns(const schedc_plan *p, void *to, const unsigned char *row)
{
    column_tables all = tables_of(p->model);
    bool from_doubles = p->dtype == SCHEDC_DTYPE_F64;
    if (p->model->row_type == SCHEDC_DTYPE_F64)
        (from_doubles ? doubles_of_doubles : doubles_of_floats)(&all, to, row, p->missing);
    else
        (from_doubles ? floats_of_doubles : floats_of_floats)(&all, to, row, p->missing);
}

/* Makes one part at a time, and of values one feature at a time, because each reads one column. */
void schedc_make_columns_of_columns(const schedc_plan *p, int64_t first, int64_t n_rows, unsigned char *to)
{
    column_tables all = tables_of(p->model);
    schedc_columns one = *all.of;
    schedc_column_part part;
    one.num_parts = 1;
    column_tables table = all;
    table.of = &one;
    table.parts = &part;
    bool is_double = p->model->row_type == SCHEDC_DTYPE_F64;
    size_t element = schedc_size_of(p->model->row_type);
    for (int32_t i = 0; i < all.of->num_parts; i++) {
        uint32_t kind = all.parts[i].kind;
        bool are_values = kind == SCHEDC_PART_VALUE || kind == SCHEDC_PART_ZERO_IS_MISSING;
        uint32_t features = are_values ? all.parts[i].count : 1;
        for (uint32_t k = 0; k < features; k++) {
            double values[16];
            part = all.parts[i];
            schedc_read_column(p, (int32_t)(part.feature + k), first, n_rows, values, 1);
            part.feature = 0;
            part.count = are_values ? 1 : part.count;
            for (int64_t row = 0; row < n_rows; row++) {
                unsigned char *columns = to + (size_t)row * p->row_bytes;
                const unsigned char *value = (unsigned char *)values + (size_t)row * element;
                (is_double ? doubles_of_doubles : floats_of_floats)(&table, columns, value, p->missing);
            }
            to += part.count * element;
        }
    }
}
