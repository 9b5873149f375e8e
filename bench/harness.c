/* Compares a compiled artefact with XGBoost's C library on one model.
 *
 *     harness [--json] [--name NAME] [--batches 1,64] [--threads 1,2] [--repetitions 21]
 *             LIBXGBOOST MODEL.json X_test.npy ARTEFACT.so
 *     harness --header
 *
 * First the margins of all rows are compared. Then, for each batch size and number of threads, samples of the
 * contenders are taken in turn (A B C A B C ...), so that a change in the machine's speed meets all of them, and the
 * medians are printed. A sample is as many calls, one after the other through the rows, as take SAMPLE_SECONDS. One
 * thread is measured in process CPU time, which other processes disturb less; more threads in wall time.
 *
 * XGBoost is measured in two ways, and the faster one counts:
 *   inplace   XGBoosterPredictFromDense on the caller's rows;
 *   dmatrix   XGBoosterPredict on a DMatrix built beforehand, outside the measured time, which is more than fair.
 *             Each is predicted once: XGBoost remembers the predictions of a DMatrix and would only copy them the
 *             second time.
 * Where several threads are allowed, each way is also tried with one: small batches are faster with it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "input.h"

#define SAMPLE_SECONDS 4e-3
#define PAUSE_SECONDS 2e-3
#define MAX_LIST 16
#define MAX_REPETITIONS 1001
#define MAX_CALLS (1 << 20)
#define MAX_MATRICES 256

typedef void *Handle;

/* The part of XGBoost's C interface that is used here; all functions return 0 on success. */
static struct {
    const char *(*last_error)(void);
    int (*booster_create)(const Handle *matrices, uint64_t count, Handle *booster);
    int (*load_model)(Handle booster, const char *path);
    int (*set_param)(Handle booster, const char *name, const char *value);
    int (*predict_dense)(Handle booster, const char *array, const char *config, Handle proxy,
                         const uint64_t **shape, uint64_t *dimensions, const float **result);
    int (*predict)(Handle booster, Handle matrix, int options, unsigned trees, int training, uint64_t *length,
                   const float **result);
    int (*proxy_create)(Handle *proxy);
    int (*matrix_create)(const char *array, const char *config, Handle *matrix);
    int (*matrix_free)(Handle matrix);
} xgb;

/* A call to an artefact, as its generated header declares it. */
typedef struct {
    uint32_t size;
    int32_t kind;
    const void *rows;
    int64_t n_rows;
    void *out;
    int32_t dtype;
    int32_t threads;
    int64_t row_stride;
    void *scratch;
    int64_t scratch_size;
} Call;

enum { KIND_RAW = 1, DTYPE_F32 = 0 };

static int32_t (*schedc_predict_ex)(const Call *call);

static void *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (!found)
        fail("%s", dlerror());
    return found;
}

static void *open_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail("%s", dlerror());
    return library;
}

static void open_libraries(const char *xgboost, const char *artefact)
{
    void *library = open_library(xgboost);
    xgb.last_error = symbol(library, "XGBGetLastError");
    xgb.booster_create = symbol(library, "XGBoosterCreate");
    xgb.load_model = symbol(library, "XGBoosterLoadModel");
    xgb.set_param = symbol(library, "XGBoosterSetParam");
    xgb.predict_dense = symbol(library, "XGBoosterPredictFromDense");
    xgb.predict = symbol(library, "XGBoosterPredict");
    xgb.proxy_create = symbol(library, "XGProxyDMatrixCreate");
    xgb.matrix_create = symbol(library, "XGDMatrixCreateFromDense");
    xgb.matrix_free = symbol(library, "XGDMatrixFree");
    schedc_predict_ex = symbol(open_library(artefact), "schedc_predict_ex");
}

static void check(int failed)
{
    if (failed)
        fail("XGBoost: %s", xgb.last_error());
}

/* One way of predicting the same rows. */
typedef struct Contender Contender;
struct Contender {
    const char *name;
    /* Makes ready `calls` calls from batch `first` on, outside the measured time; null: nothing to do. */
    void (*prepare)(Contender *self, int64_t first, int64_t calls);
    /* The measured work. */
    void (*run)(Contender *self, int64_t first, int64_t calls);
    /* Undoes `prepare`. */
    void (*clean)(Contender *self, int64_t calls);
    bool single;                     /* of XGBoost: uses one thread, however many are allowed */
    int64_t calls;                   /* per sample */
    int64_t next;                    /* the batch that the next sample starts with */
    double samples[MAX_REPETITIONS]; /* seconds per row */
};

/* What all contenders work on. */
static struct {
    Rows rows;
    Handle boosters[2]; /* the model twice: with the allowed number of threads, with one */
    Handle proxy;     /* XGBoost is a little faster if it need not make one in each call */
    int64_t batch;    /* rows per call */
    int64_t batches;  /* that the rows are cut into; calls go through them in turn */
    int32_t threads;
    char (*arrays)[160]; /* each batch, described for XGBoost */
    Handle *matrices; /* of the sample being taken */
    float *out;       /* ours */
} work;

static const float *rows_of(int64_t batch)
{
    return work.rows.values + batch % work.batches * work.batch * work.rows.columns;
}

static const char *array_of(int64_t batch)
{
    return work.arrays[batch % work.batches];
}

static void describe_array(char *text, size_t size, const float *rows, int64_t count)
{
    snprintf(text, size, "{\"data\":[%llu,true],\"shape\":[%lld,%lld],\"typestr\":\"<f4\",\"version\":3}",
             (unsigned long long)(uintptr_t)rows, (long long)count, (long long)work.rows.columns);
}

/* Margins of all trees. */
static const char *const INPLACE_CONFIG = "{\"type\":1,\"training\":false,\"iteration_begin\":0,\"iteration_end\":0,"
                                          "\"strict_shape\":false,\"missing\":NaN,\"cache_id\":0}";
enum { OPTION_MARGIN = 1 };

static const float *predict_inplace(Handle booster, const char *array, uint64_t *length)
{
    const uint64_t *shape;
    uint64_t dimensions;
    const float *result;
    check(xgb.predict_dense(booster, array, INPLACE_CONFIG, work.proxy, &shape, &dimensions, &result));
    *length = 1;
    for (uint64_t dimension = 0; dimension < dimensions; dimension++)
        *length *= shape[dimension];
    return result;
}

static void run_inplace(Contender *self, int64_t first, int64_t calls)
{
    uint64_t length;
    for (int64_t call = 0; call < calls; call++)
        predict_inplace(work.boosters[self->single], array_of(first + call), &length);
}

static void prepare_dmatrix(Contender *self, int64_t first, int64_t calls)
{
    (void)self;
    /* One thread: helpers of a parallel build would still be spinning while the sample is taken. */
    for (int64_t call = 0; call < calls; call++)
        check(xgb.matrix_create(array_of(first + call), "{\"missing\":NaN,\"nthread\":1}", &work.matrices[call]));
}

static void run_dmatrix(Contender *self, int64_t first, int64_t calls)
{
    (void)first;
    uint64_t length;
    const float *result;
    for (int64_t call = 0; call < calls; call++)
        check(xgb.predict(work.boosters[self->single], work.matrices[call], OPTION_MARGIN, 0, 0, &length, &result));
}

static void clean_dmatrix(Contender *self, int64_t calls)
{
    (void)self;
    for (int64_t call = 0; call < calls; call++)
        check(xgb.matrix_free(work.matrices[call]));
}

static void predict_ours(const float *rows, int64_t count)
{
    Call call = {.size = sizeof call, .kind = KIND_RAW, .rows = rows, .n_rows = count, .out = work.out,
                 .dtype = DTYPE_F32, .threads = work.threads};
    int32_t status = schedc_predict_ex(&call);
    if (status)
        fail("the artefact returns status %d", status);
}

static void run_ours(Contender *self, int64_t first, int64_t calls)
{
    (void)self;
    for (int64_t call = 0; call < calls; call++)
        predict_ours(rows_of(first + call), work.batch);
}

static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Seconds that one sample of `calls` calls takes. */
static double sample(Contender *contender, int64_t calls)
{
    clockid_t clock = work.threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
    int64_t first = contender->next;
    contender->next = (first + calls) % work.batches;
    if (contender->prepare)
        contender->prepare(contender, first, calls);
    double start = now(clock);
    contender->run(contender, first, calls);
    double seconds = now(clock) - start;
    if (contender->clean)
        contender->clean(contender, calls);
    return seconds;
}

/* Doubles the calls of a sample until it is long enough. Warms everything up on the way. */
static void calibrate(Contender *contender, int64_t most)
{
    contender->calls = 1;
    sample(contender, 1);
    while (sample(contender, contender->calls) < SAMPLE_SECONDS && contender->calls < most)
        contender->calls *= 2;
}

/* Threads of the last contender may spin for a while in hope of work: let them go to sleep, then wake our own. */
static void settle(Contender *contender)
{
    struct timespec pause = {.tv_nsec = (long)(PAUSE_SECONDS * 1e9)};
    if (work.threads > 1)
        nanosleep(&pause, NULL);
    sample(contender, 1);
}

static int ascending(const void *left, const void *right)
{
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

/* The value below which this share of the samples lies; sorts them. */
static double quantile(Contender *contender, int repetitions, double share)
{
    qsort(contender->samples, (size_t)repetitions, sizeof(double), ascending);
    return contender->samples[(int)(share * (repetitions - 1) + 0.5)];
}

static void measure(Contender *contenders, int count, int repetitions)
{
    for (int number = 0; number < count; number++)
        calibrate(&contenders[number], contenders[number].prepare ? MAX_MATRICES : MAX_CALLS);
    for (int repetition = 0; repetition < repetitions; repetition++) {
        for (int number = 0; number < count; number++) {
            Contender *contender = &contenders[number];
            settle(contender);
            double rows = (double)(contender->calls * work.batch);
            contender->samples[repetition] = sample(contender, contender->calls) / rows;
        }
    }
}

typedef struct {
    const char *name;
    long trees;
    bool json;
    int repetitions;
} Options;

/* Compares margins of all rows and fails if they disagree. Returns the number of margins per row. */
static int64_t compare_margins(const Options *options)
{
    char array[160];
    uint64_t length;
    describe_array(array, sizeof array, work.rows.values, work.rows.rows);
    const float *theirs = predict_inplace(work.boosters[0], array, &length);
    work.out = allocate(length * sizeof(float));
    predict_ours(work.rows.values, work.rows.rows);
    uint64_t equal = 0;
    double largest = 0, largest_relative = 0;
    for (uint64_t index = 0; index < length; index++) {
        equal += memcmp(&theirs[index], &work.out[index], sizeof(float)) == 0;
        double difference = fabs((double)theirs[index] - work.out[index]);
        /* Written so that a NaN counts as a difference. */
        if (!(difference <= largest))
            largest = difference;
        double relative = difference / fmax(1, fabs((double)theirs[index]));
        if (!(relative <= largest_relative))
            largest_relative = relative;
    }
    fprintf(stderr, "%s: %ld trees, %lld features; %llu of %llu margins bit-equal, largest difference %.3g\n",
            options->name, options->trees, (long long)work.rows.columns, (unsigned long long)equal,
            (unsigned long long)length, largest);
    /* Sums of thousands of floats in another order differ by less. */
    if (!(largest_relative <= 1e-4))
        fail("the margins of %s disagree", options->name);
    return (int64_t)length / work.rows.rows;
}

static void print_header(void)
{
    printf("%-14s %6s %7s %14s %-10s %12s %8s %8s\n", "model", "batch", "threads", "XGBoost us/row", "through",
           "ours us/row", "ratio", "ns/walk");
}

/* Prints one line of results; times are quartiles in seconds per row. */
static void print_result(const Options *options, const Contender *best, const double theirs[3], const double ours[3])
{
    double ratio = theirs[1] / ours[1], walk = ours[1] * 1e9 / (double)options->trees;
    int32_t used = best->single ? 1 : work.threads;
    if (!options->json) {
        printf("%-14s %6lld %7d %14.3f %s x%d %12.4f %8.2f %8.2f\n", options->name, (long long)work.batch,
               work.threads, theirs[1] * 1e6, best->name, used, ours[1] * 1e6, ratio, walk);
    } else {
        printf("{\"model\":\"%s\",\"batch\":%lld,\"threads\":%d,\"clock\":\"%s\",", options->name,
               (long long)work.batch, work.threads, work.threads == 1 ? "cpu" : "wall");
        printf("\"xgboost_through\":\"%s\",\"xgboost_threads\":%d,", best->name, used);
        printf("\"xgboost_us_per_row\":%.6g,\"xgboost_quartiles\":[%.6g,%.6g],", theirs[1] * 1e6, theirs[0] * 1e6,
               theirs[2] * 1e6);
        printf("\"ours_us_per_row\":%.6g,\"ours_quartiles\":[%.6g,%.6g],", ours[1] * 1e6, ours[0] * 1e6,
               ours[2] * 1e6);
        printf("\"ratio\":%.6g,\"ns_per_walk\":%.6g}\n", ratio, walk);
    }
    fflush(stdout);
}

/* Measures one batch size with one number of threads. */
static void compare_speed(const Options *options, int64_t batch, int32_t threads)
{
    static Contender contenders[] = {
        {.name = "ours", .run = run_ours},
        {.name = "inplace", .run = run_inplace},
        {.name = "dmatrix", .prepare = prepare_dmatrix, .run = run_dmatrix, .clean = clean_dmatrix},
        {.name = "inplace", .single = true, .run = run_inplace},
        {.name = "dmatrix", .single = true, .prepare = prepare_dmatrix, .run = run_dmatrix, .clean = clean_dmatrix},
    };
    enum { ALL = sizeof contenders / sizeof *contenders };
    int count = threads > 1 ? ALL : ALL - 2;
    char number[16];
    snprintf(number, sizeof number, "%d", threads);
    check(xgb.set_param(work.boosters[0], "nthread", number));
    work.batch = batch;
    work.batches = work.rows.rows / batch;
    work.threads = threads;
    work.arrays = allocate((size_t)work.batches * sizeof *work.arrays);
    for (int64_t index = 0; index < work.batches; index++)
        describe_array(work.arrays[index], sizeof *work.arrays, rows_of(index), batch);
    for (int index = 0; index < count; index++)
        contenders[index].next = 0;

    measure(contenders, count, options->repetitions);

    double quartiles[ALL][3];
    int best = 1;
    for (int index = 0; index < count; index++) {
        for (int quarter = 0; quarter < 3; quarter++)
            quartiles[index][quarter] = quantile(&contenders[index], options->repetitions, 0.25 * (quarter + 1));
        if (index > 0 && quartiles[index][1] < quartiles[best][1])
            best = index;
    }
    print_result(options, &contenders[best], quartiles[best], quartiles[0]);
    free(work.arrays);
}

/* Numbers from 1 on, separated by commas; returns how many. */
static int parse_list(const char *text, int64_t *numbers)
{
    int count = 0;
    for (const char *rest = text; count < MAX_LIST;) {
        char *end;
        numbers[count] = strtoll(rest, &end, 10);
        if (end == rest || numbers[count] < 1 || (*end && *end != ','))
            break;
        count++;
        if (!*end)
            return count;
        rest = end + 1;
    }
    fail("'%s' is no list of at most %d numbers", text, MAX_LIST);
}

int main(int count, char **arguments)
{
    Options options = {.name = "model", .repetitions = 21};
    int64_t batches[MAX_LIST] = {1, 64, 1024, 16384}, threads[MAX_LIST] = {1, 2}, number[MAX_LIST];
    int batch_count = 4, thread_count = 2, next = 1;
    for (; next < count && strncmp(arguments[next], "--", 2) == 0; next++) {
        const char *option = arguments[next], *value = next + 1 < count ? arguments[next + 1] : "";
        if (strcmp(option, "--header") == 0)
            return print_header(), 0;
        if (strcmp(option, "--json") == 0) {
            options.json = true;
            continue;
        }
        next++;
        if (strcmp(option, "--name") == 0)
            options.name = value;
        else if (strcmp(option, "--batches") == 0)
            batch_count = parse_list(value, batches);
        else if (strcmp(option, "--threads") == 0)
            thread_count = parse_list(value, threads);
        else if (strcmp(option, "--repetitions") == 0 && parse_list(value, number) == 1 &&
                 number[0] <= MAX_REPETITIONS)
            options.repetitions = (int)number[0];
        else
            fail("%s %s is not understood", option, value);
    }
    if (count - next != 4)
        fail("usage: harness [options] LIBXGBOOST MODEL.json X_test.npy ARTEFACT.so");
    char **paths = arguments + next;

    double load;
    if (getloadavg(&load, 1) == 1 && load > 0.5)
        fprintf(stderr, "harness: the machine is busy (load %.1f): do not trust results of several threads\n", load);

    int64_t largest = 1;
    for (int index = 0; index < batch_count; index++)
        largest = batches[index] > largest ? batches[index] : largest;
    work.rows = read_npy(paths[2], largest);
    work.matrices = allocate(MAX_MATRICES * sizeof *work.matrices);
    work.threads = 1;
    options.trees = count_trees(paths[1]);
    open_libraries(paths[0], paths[3]);
    check(xgb.proxy_create(&work.proxy));
    for (int index = 0; index < 2; index++) {
        check(xgb.booster_create(NULL, 0, &work.boosters[index]));
        check(xgb.load_model(work.boosters[index], paths[1]));
        check(xgb.set_param(work.boosters[index], "nthread", "1"));
    }
    compare_margins(&options);
    /* One thread first: until then no library has started helpers whose spinning would count as CPU time. */
    for (int thread = 0; thread < thread_count; thread++)
        for (int batch = 0; batch < batch_count; batch++)
            compare_speed(&options, batches[batch], (int32_t)threads[thread]);
    return 0;
}
