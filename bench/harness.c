/*
 * Compares a compiled artefact with peers on one model.
 *
 *     harness [--batches 1,64] [--threads 1,2] [--repetitions 21] [--doubles yes] [--values yes] --outputs 1
 *             --rows X.npy --artefact MODEL.so --xgboost LIBRARY MODEL.json | --lightgbm LIBRARY MODEL.txt |
 *             --onnxruntime LIBRARY MODEL.onnx
 *             [--lleaves LIBRARY] [--tl2cgen LIBRARY TYPE]
 *
 * The first peer is the trainer: XGBoost, LightGBM, or ONNX Runtime where there is neither of them. First the
 * margins of all rows are compared with its own. Then, for each batch size and number of threads, samples of
 * the contenders are taken in turn (A B C A B C ...), so that a change in the machine's speed meets all of
 * them. A sample is as many calls, one after the other through the rows, as take SAMPLE_SECONDS. One thread
 * is measured in process CPU time, which other processes disturb less; more threads in wall time.
 *
 * Standard output has one JSON object a line: one for each other program's margins, then one for each way of
 * each program at each point, with quartiles in microseconds per row.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "contender.h"

#define SAMPLE_SECONDS 4e-3
#define PAUSE_SECONDS 2e-3
#define MAX_CALLS (1 << 20)

enum { MAX_LIST = 16, MAX_PROGRAMS = 6 };

Work work;

void *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (!found)
        fail("%s", dlerror());
    return found;
}

void *open_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail("%s", dlerror());
    return library;
}

static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Seconds of a sample of `calls` calls. */
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

/* Doubles the calls of a sample until it is long enough. This also warms up caches and threads. */
static void calibrate(Contender *contender)
{
    int64_t most = contender->most ? contender->most : MAX_CALLS;
    contender->calls = 1;
    sample(contender, 1);
    while (sample(contender, contender->calls) < SAMPLE_SECONDS && contender->calls < most)
        contender->calls *= 2;
}

/* Threads of the last contender may spin for a while. Waits until they sleep, then wakes this contender's
 * own. */
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

static void measure(Contender *contenders, int count, int repetitions)
{
    for (int number = 0; number < count; number++)
        calibrate(&contenders[number]);
    for (int repetition = 0; repetition < repetitions; repetition++) {
        for (int number = 0; number < count; number++) {
            Contender *contender = &contenders[number];
            settle(contender);
            double rows = (double)(contender->calls * work.batch);
            contender->samples[repetition] = sample(contender, contender->calls) / rows;
        }
    }
}

/* The quantile of the sorted samples at this share, in microseconds. */
static double quantile(const Contender *contender, int repetitions, double share)
{
    return contender->samples[(int)(share * (repetitions - 1) + 0.5)] * 1e6;
}

/* Measures all programs at one batch size and number of threads. */
static void compare_speed(const Program *const *programs, int count, int64_t outputs, int repetitions)
{
    static Contender contenders[MAX_PROGRAMS * MAX_WAYS];
    int ways = 0;
    for (int number = 0; number < count; number++) {
        if (programs[number]->begin)
            programs[number]->begin(outputs);
        ways += programs[number]->ways(contenders + ways);
    }
    measure(contenders, ways, repetitions);
    for (int number = 0; number < ways; number++) {
        Contender *contender = &contenders[number];
        qsort(contender->samples, (size_t)repetitions, sizeof(double), ascending);
        printf("{\"who\":\"%s\",\"way\":\"%s\",\"used_threads\":%d,\"threads\":%d,\"batch\":%lld,\"us_per_"
               "row\":%.6g,"
               "\"spread\":[%.6g,%.6g]}\n",
               contender->who, contender->way, contender->single ? 1 : work.threads, work.threads,
               (long long)work.batch, quantile(contender, repetitions, 0.5),
               quantile(contender, repetitions, 0.25), quantile(contender, repetitions, 0.75));
        fflush(stdout);
    }
}

/* Prints the difference of a program's margins from the expected ones. */
static void compare_margins(const Program *program, const double *expected, int64_t outputs)
{
    int64_t length = work.rows.rows * outputs, equal = 0;
    double *found = allocate((size_t)length * sizeof(double));
    program->margins(found, outputs);
    double largest = 0;
    for (int64_t index = 0; index < length; index++) {
        equal += memcmp(&expected[index], &found[index], sizeof(double)) == 0;
        double difference = fabs(expected[index] - found[index]) / fmax(1, fabs(expected[index]));
        /* Negated so that a NaN counts as a difference. */
        if (!(difference <= largest))
            largest = isnan(difference) ? HUGE_VAL : difference;
    }
    printf("{\"who\":\"%s\",\"margins\":%lld,\"bit_equal\":%lld,\"largest_relative_difference\":%.3g}\n",
           program->name, (long long)length, (long long)equal, fmin(largest, 1e300));
    fflush(stdout);
    free(found);
}

/* Parses positive numbers, separated by commas; returns their number. */
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

/* A program with its library and its model file. */
typedef struct {
    const char *option;
    const Program *program;
    int values;
    const char *library, *model;
} Choice;

int main(int count, char **arguments)
{
    Choice choices[MAX_PROGRAMS] = {{"--artefact", &artefact, 1, NULL, NULL},
                                    {"--xgboost", &xgboost, 2, NULL, NULL},
                                    {"--lightgbm", &lightgbm, 2, NULL, NULL},
                                    {"--onnxruntime", &onnxruntime, 2, NULL, NULL},
                                    {"--lleaves", &lleaves, 1, NULL, NULL},
                                    {"--tl2cgen", &tl2cgen, 2, NULL, NULL}};
    int64_t batches[MAX_LIST] = {1, 64, 1024, 16384}, threads[MAX_LIST] = {1}, repetitions[MAX_LIST] = {21};
    int64_t outputs[MAX_LIST] = {1};
    int batch_count = 4, thread_count = 1;
    const char *rows = NULL;
    bool doubles = false, values = false;
    for (int next = 1; next < count; next += 2) {
        const char *option = arguments[next];
        if (next + 1 == count)
            fail("%s needs a value", option);
        const char *value = arguments[next + 1];
        Choice *choice = NULL;
        for (int number = 0; number < MAX_PROGRAMS; number++)
            if (strcmp(option, choices[number].option) == 0)
                choice = &choices[number];
        if (choice) {
            choice->library = value;
            if (choice->values == 2 && ++next + 1 < count)
                choice->model = arguments[next + 1];
        } else if (strcmp(option, "--batches") == 0)
            batch_count = parse_list(value, batches);
        else if (strcmp(option, "--threads") == 0)
            thread_count = parse_list(value, threads);
        else if (strcmp(option, "--repetitions") == 0)
            parse_list(value, repetitions);
        else if (strcmp(option, "--outputs") == 0)
            parse_list(value, outputs);
        else if (strcmp(option, "--rows") == 0)
            rows = value;
        else if (strcmp(option, "--doubles") == 0)
            doubles = strcmp(value, "yes") == 0;
        else if (strcmp(option, "--values") == 0)
            values = strcmp(value, "yes") == 0;
        else
            fail("%s %s is not understood", option, value);
    }
    if (!rows || !choices[0].library || repetitions[0] > MAX_REPETITIONS)
        fail("--rows and --artefact are needed, and at most %d repetitions", MAX_REPETITIONS);

    int64_t largest = 1;
    for (int index = 0; index < batch_count; index++)
        largest = batches[index] > largest ? batches[index] : largest;
    work = (Work){.rows = read_npy(rows, largest), .threads = 1, .values = values};
    if (doubles)
        work.rows = widened(work.rows);
    const Program *programs[MAX_PROGRAMS];
    int program_count = 0;
    for (int number = 0; number < MAX_PROGRAMS; number++) {
        if (choices[number].library) {
            choices[number].program->open(choices[number].library, choices[number].model);
            programs[program_count++] = choices[number].program;
        }
    }
    if (program_count < 2)
        fail("a peer is needed");
    double *expected = allocate((size_t)(work.rows.rows * outputs[0]) * sizeof(double));
    programs[1]->margins(expected, outputs[0]);
    for (int number = 0; number < program_count; number++)
        if (number != 1)
            compare_margins(programs[number], expected, outputs[0]);
    /* One thread first: so far no library has started threads, whose spinning would count as CPU time. */
    for (int thread = 0; thread < thread_count; thread++) {
        for (int batch = 0; batch < batch_count; batch++) {
            work.threads = (int32_t)threads[thread];
            work.batch = batches[batch];
            work.batches = work.rows.rows / work.batch;
            compare_speed(programs, program_count, outputs[0], (int)repetitions[0]);
        }
    }
    return 0;
}
