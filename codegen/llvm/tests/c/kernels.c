/* Kernels of the model of order.c, as a module of the driver of cuda.c. */
#include <stdint.h>

typedef struct thread {
    uint32_t block[3], number[3];
} thread;

#define ARGUMENT(type, i) (*(type const *)arguments[i])

/* parts[2 * row + part] = the sum of table * value over a half of the row's values */
static void add_up(int64_t row, int64_t part, void *const *arguments)
{
    const float *rows = ARGUMENT(float *, 0), *table = ARGUMENT(float *, 1);
    int64_t features = ARGUMENT(int64_t, 4);
    float sum = 0;
    for (int64_t i = part * features / 2; i < (part + 1) * features / 2; i++)
        sum += table[i] * rows[row * features + i];
    ARGUMENT(float *, 2)[2 * row + part] = sum;
}

/* Both parts of a row. */
const int parts_arguments = 5;
void parts(const thread *self, void *const *arguments)
{
    int64_t row = self->block[0];
    for (int64_t part = 0; part < 2 && row < ARGUMENT(int64_t, 3); part++)
        add_up(row, part, arguments);
}

/* A part of a row, or nothing. The last block of a row writes margins[row]. */
const int counted_arguments = 10;
void counted(const thread *self, void *const *arguments)
{
    const float *from = ARGUMENT(float *, 2);
    int32_t *counter = ARGUMENT(int32_t *, 5) + self->block[0];
    int64_t row = self->block[0], part = self->block[1] + ARGUMENT(int32_t, 8);
    if (part < 2)
        add_up(row, part, arguments);
    if (++*counter < ARGUMENT(int64_t, 7))
        return;
    ARGUMENT(float *, 6)[row] = from[2 * row] + from[2 * row + 1];
    *counter = 0;
}

/* margins[row] = the sum of its parts */
const int fold_arguments = 3;
void fold(const thread *self, void *const *arguments)
{
    const float *from = ARGUMENT(float *, 0);
    float *margins = ARGUMENT(float *, 1);
    int64_t row = self->block[0];
    if (row < ARGUMENT(int64_t, 2))
        margins[row] = from[2 * row] + from[2 * row + 1];
}

/* values[row] = margins[row] + 1 */
const int value_arguments = 3;
void value(const thread *self, void *const *arguments)
{
    const float *margins = ARGUMENT(float *, 0);
    float *values = ARGUMENT(float *, 1);
    int64_t row = self->block[0];
    if (row < ARGUMENT(int64_t, 2))
        values[row] = margins[row] + 1;
}
