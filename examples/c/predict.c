/* Predicts a few rows with a compiled model.
 *
 * In the folder of this file, with a model's file in place of MODEL:
 *
 *     schedc build MODEL -o libmodel.so
 *     cc -o predict predict.c -L. -lmodel -Wl,-rpath,'$ORIGIN'
 *     ./predict
 *
 * The first command writes libmodel.h, too. */
#include <stdio.h>
#include <stdlib.h>

#include "libmodel.h"

enum { ROWS = 4 };

static void fail(int32_t status)
{
    fprintf(stderr, "predict: %s\n", schedc_error(status));
    exit(1);
}

static void print_rows(const char *title, const float *numbers, int32_t columns)
{
    printf("%s\n", title);
    for (int row = 0; row < ROWS; row++) {
        for (int32_t column = 0; column < columns; column++)
            printf("%s%.9g", column ? " " : "", numbers[row * columns + column]);
        printf("\n");
    }
}

int main(void)
{
    /* Example rows for a model of any size: feature f of row r is (r + 1) * (f + 1) / 10. */
    static float rows[ROWS][SCHEDC_NUM_FEATURES];
    static double wide_rows[ROWS][SCHEDC_NUM_FEATURES + 1];
    for (int row = 0; row < ROWS; row++) {
        for (int feature = 0; feature < SCHEDC_NUM_FEATURES; feature++) {
            rows[row][feature] = (float)((row + 1) * (feature + 1)) / 10;
            wide_rows[row][feature] = rows[row][feature];
        }
    }

    /* The simple call: packed rows of floats. */
    static float values[ROWS * SCHEDC_NUM_VALUES];
    int32_t status = schedc_predict(&rows[0][0], ROWS, values);
    if (status != SCHEDC_OK)
        fail(status);
    print_rows("predictions", values, SCHEDC_NUM_VALUES);

    /* The general call: the same rows as doubles with an unused column, on one thread, for the
     * margins before the output transform. */
    static float margins[ROWS * SCHEDC_NUM_RAW];
    schedc_call call = {0};
    call.size = sizeof call;
    call.kind = SCHEDC_RAW;
    call.rows = wide_rows;
    call.n_rows = ROWS;
    call.out = margins;
    call.dtype = SCHEDC_F64;
    call.threads = 1;
    call.row_stride = SCHEDC_NUM_FEATURES + 1;
    status = schedc_predict_ex(&call);
    if (status != SCHEDC_OK)
        fail(status);
    print_rows("margins", margins, SCHEDC_NUM_RAW);
    return 0;
}
