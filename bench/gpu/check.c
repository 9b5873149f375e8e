/* Compares the margins of an artefact for GPUs with those of one for CPUs: in calls of many sizes, from
 * several threads, and with rows in device memory. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "harness.h"

enum { THREADS = 8, CALLS = 4, GUARD = 64 };

/* Largest difference between sums in different orders, relative to the sum of all magnitudes. */
#define TOLERANCE 1e-6

unsigned char *expected;

static double number(const void *values, int64_t at)
{
    return work.wide_margins ? ((const double *)values)[at] : (double)((const float *)values)[at];
}

void compare(Outcome *outcome, const unsigned char *found, int64_t first, int64_t count)
{
    const unsigned char *wanted = expected + (size_t)first * work.margin_bytes;
    size_t width = work.wide_margins ? 8 : 4;
    outcome->values += count * work.margins;
    for (int64_t i = 0; i < count * work.margins; i++) {
        if (memcmp(found + (size_t)i * width, wanted + (size_t)i * width, width) == 0)
            continue;
        double value = number(wanted, i), difference = fabs(number(found, i) - value);
        outcome->different++;
        if (!(difference <= outcome->largest))
            outcome->largest = difference;
        /* The comparison is negated, so that NaN counts as wrong. */
        if (work.exact || !(difference <= TOLERANCE * (options.magnitude + fabs(value))))
            outcome->wrong++;
    }
    for (int i = 0; i < GUARD; i++)
        outcome->wrong += found[(size_t)count * work.margin_bytes + (size_t)i] != 0xff;
}

unsigned char *guarded_output(int64_t count)
{
    size_t bytes = (size_t)count * work.margin_bytes + GUARD;
    unsigned char *out = allocate(bytes);
    memset(out, 0xff, bytes);
    return out;
}

static void from_host(Outcome *outcome, int64_t first, int64_t count)
{
    unsigned char *out = guarded_output(count);
    predict(work.rows + (size_t)first * work.row_bytes, count, out, NULL);
    compare(outcome, out, first, count);
    free(out);
}

void check_on_device(Outcome *outcome, Handle stream, int64_t first, int64_t count)
{
    size_t row_bytes = (size_t)count * work.row_bytes, bytes = (size_t)count * work.margin_bytes + GUARD;
    unsigned char *out = guarded_output(count);
    Memory rows = device_memory(row_bytes), to = device_memory(bytes);
    upload(rows, work.rows + (size_t)first * work.row_bytes, row_bytes, stream);
    must(cu.fill_async(to, 0xff, bytes, stream), "a fill");
    predict((void *)(uintptr_t)rows, count, (void *)(uintptr_t)to, &stream);
    must(cu.download_async(out, to, bytes, stream), "a copy");
    must(cu.stream_synchronize(stream), "a call");
    compare(outcome, out, first, count);
    must(cu.free(rows) | cu.free(to), "memory of the GPU");
    free(out);
}

static bool all_right = true;

static void report(const char *what, int64_t batch, Outcome outcome)
{
    begin_line("check");
    printf(",\"what\":\"%s\",\"batch\":%lld,\"exact\":%s,\"values\":%lld,\"different\":%lld,\"wrong\":%lld,"
           "\"largest\":%.9g,\"ok\":%s}\n",
           what, (long long)batch, work.exact ? "true" : "false", (long long)outcome.values,
           (long long)outcome.different, (long long)outcome.wrong,
           isfinite(outcome.largest) ? outcome.largest : -1.0, outcome.wrong ? "false" : "true");
    fflush(stdout);
    all_right &= outcome.wrong == 0;
}

/* The first row of a call of a given size: pseudo-random, the same in each run. */
static int64_t start_of(int64_t count, int64_t number)
{
    return (number * 7919 + count * 31) % (work.n_rows - count + 1);
}

static void *many_calls(void *argument)
{
    const int64_t counts[CALLS] = {1, 333, 5000, 257};
    int64_t thread = (int64_t)(intptr_t)argument;
    Outcome *outcome = calloc(1, sizeof *outcome);
    enter_device();
    Handle stream = new_stream();
    for (int64_t i = 0; i < CALLS; i++) {
        int64_t count = counts[(i + thread) % CALLS];
        count = count < work.n_rows ? count : work.n_rows;
        int64_t first = start_of(count, CALLS * thread + i);
        if (thread % 2)
            check_on_device(outcome, stream, first, count);
        else
            from_host(outcome, first, count);
    }
    return outcome;
}

static void from_threads(void)
{
    pthread_t threads[THREADS];
    Outcome all = {0};
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, many_calls, (void *)(intptr_t)i) != 0)
            fail("no thread");
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        Outcome *one = result;
        all.values += one->values;
        all.different += one->different;
        all.wrong += one->wrong;
        all.largest = all.largest >= one->largest ? all.largest : one->largest;
        free(one);
    }
    report("threads", THREADS, all);
}

static void read_expected(void)
{
    size_t bytes = (size_t)work.n_rows * work.margin_bytes;
    expected = allocate(bytes);
    FILE *file = options.expected ? fopen(options.expected, "rb") : NULL;
    if (!file || fread(expected, 1, bytes, file) != bytes || fgetc(file) != EOF)
        fail("--expected has other rows than --sample, --rows and --seed give");
    fclose(file);
}

void check(void)
{
    const int64_t batches[] = {0, 1, 7, 31, 33, 127, 129, 1000, 4097, 65537, INT64_MAX};
    open_work(1);
    read_expected();
    start_driver();
    Handle stream = new_stream();
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        int64_t count = batches[i] == INT64_MAX ? work.n_rows : batches[i];
        if (count > work.n_rows || is_late()) {
            begin_line("check");
            printf(",\"batch\":%lld,\"left_out\":\"%s\"}\n", (long long)count,
                   is_late() ? "no time" : "too few rows");
            continue;
        }
        Outcome host = {0}, resident = {0};
        from_host(&host, start_of(count, 1), count);
        report("host", count, host);
        check_on_device(&resident, stream, start_of(count, 2), count);
        report("device", count, resident);
    }
    from_threads();
    if (!all_right)
        fail("margins are wrong");
}
