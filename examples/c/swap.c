/* Predicts in several threads, and replaces the model while they run.
 *
 * In the folder of this file, with the files of two models with equal features in place of MODEL and OTHER:
 *
 *     schedc build MODEL -o first.so
 *     schedc build OTHER --name other -o second.so
 *     schedc build --emit loader
 *     cc -o swap swap.c -pthread -ldl
 *     ./swap ./first.so ./second.so
 *
 * The third command writes schedc.h, the header of the loader.
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "schedc.h"

enum { THREADS = 4, SWAPS = 200 };

/* A model and its reference count: each running call holds a reference, and so does the program while this is
 * the current model. The last one to release closes the model, so calls and replacements never wait. */
typedef struct served_model {
    schedc_model *model;
    long users;
} served_model;

static served_model *serving;
static int finished;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The row that all threads predict, and the only two valid answers. */
static float *row;
static double answers[2];

static schedc_model *open_model(const char *path)
{
    char error[512];
    schedc_model *model = schedc_open(path, error, sizeof error);
    if (!model) {
        fprintf(stderr, "swap: %s\n", error);
        exit(1);
    }
    return model;
}

/* The first number of the prediction, as a double. */
static double predict(const schedc_model *model)
{
    union {
        float single;
        double wide;
    } out[64];
    int32_t status;
    if (schedc_model_num_outputs(model, SCHEDC_VALUE) > 64) {
        fprintf(stderr, "swap: the model predicts more than 64 numbers\n");
        exit(1);
    }
    status = schedc_model_predict(model, row, 1, out);
    if (status != SCHEDC_OK) {
        fprintf(stderr, "swap: %s\n", schedc_model_error(model, status));
        exit(1);
    }
    return schedc_model_output_type(model, SCHEDC_VALUE) == SCHEDC_F64 ? out[0].wide : out[0].single;
}

static void give_back(served_model *served)
{
    long users;
    pthread_mutex_lock(&lock);
    users = --served->users;
    pthread_mutex_unlock(&lock);
    if (users == 0) {
        schedc_close(served->model);
        free(served);
    }
}

static void *serve(void *calls)
{
    int done = 0;
    while (!done) {
        served_model *served;
        double answer;
        pthread_mutex_lock(&lock);
        served = serving;
        served->users++;
        done = finished;
        pthread_mutex_unlock(&lock);
        answer = predict(served->model);
        give_back(served);
        if (answer != answers[0] && answer != answers[1]) {
            fprintf(stderr, "swap: %.9g is the answer of neither model\n", answer);
            exit(1);
        }
        ++*(long *)calls;
    }
    return NULL;
}

/* Makes later calls use the model at this path. */
static void swap_in(const char *path)
{
    served_model *old, *next = malloc(sizeof *next);
    if (!next)
        exit(1);
    next->model = open_model(path);
    next->users = 1;
    pthread_mutex_lock(&lock);
    old = serving;
    serving = next;
    pthread_mutex_unlock(&lock);
    if (old)
        give_back(old);
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    long calls[THREADS] = {0};
    int32_t features = 0;
    int i;
    if (argc != 3) {
        fprintf(stderr, "usage: swap LIBRARY LIBRARY\n");
        return 2;
    }
    for (i = 0; i < 2; i++) {
        schedc_model *model = open_model(argv[i + 1]);
        int32_t feature;
        if (i == 0) {
            features = schedc_model_num_features(model);
            row = malloc((size_t)features * sizeof *row);
            for (feature = 0; row && feature < features; feature++)
                row[feature] = (float)(feature + 1) / 10;
        }
        if (!row || schedc_model_num_features(model) != features) {
            fprintf(stderr, "swap: there is no memory, or the models have not equally many features\n");
            return 1;
        }
        answers[i] = predict(model);
        printf("%s: functions %s_..., %d features, %.6f\n", argv[i + 1], schedc_model_prefix(model),
               (int)features, answers[i]);
        schedc_close(model);
    }
    swap_in(argv[1]);
    for (i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, serve, &calls[i]) != 0)
            return 1;
    for (i = 1; i <= SWAPS; i++)
        swap_in(argv[1 + i % 2]);
    pthread_mutex_lock(&lock);
    finished = 1;
    pthread_mutex_unlock(&lock);
    for (i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        if (calls[i] == 0)
            return 1;
    }
    give_back(serving);
    free(row);
    printf("%d swaps; each thread was served, every answer was that of one of the models\n", SWAPS);
    return 0;
}
