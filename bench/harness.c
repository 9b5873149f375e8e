/*
 * A library, loaded by native.py, that calls programs through their C interfaces. It opens programs, computes
 * their results, and times series of calls; Python chooses the calls and the order of contenders (turns.py).
 *
 * One thread is measured in process CPU time, which other processes disturb less; more threads in wall time.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <time.h>

#include "contender.h"

enum { MAX_PROGRAMS = 6 };

Work work;

static const Program *const programs[MAX_PROGRAMS] = {&artefact,    &xgboost, &lightgbm,
                                                      &onnxruntime, &lleaves, &tl2cgen};
static const char *const options[MAX_PROGRAMS] = {"schedc",      "xgboost", "lightgbm",
                                                  "onnxruntime", "lleaves", "tl2cgen"};
static Contender contenders[MAX_PROGRAMS][MAX_WAYS];

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

/* Sets the rows of all calls, and whether predictions are computed instead of margins. */
void harness_rows(void *values, int64_t rows, int64_t columns, int64_t element, int32_t predictions)
{
    work = (Work){.rows = {values, rows, columns, (size_t)element},
                  .batch = rows,
                  .batches = 1,
                  .threads = 1,
                  .values = predictions != 0};
}

/* Opens a program with its library and model; returns its number. */
int32_t harness_open(const char *option, const char *library, const char *model)
{
    for (int32_t number = 0; number < MAX_PROGRAMS; number++) {
        if (strcmp(option, options[number]) == 0) {
            programs[number]->open(library, model);
            return number;
        }
    }
    fail("there is no program %s", option);
}

const char *harness_name(int32_t program)
{
    return programs[program]->name;
}

/* Writes the results of all rows. */
void harness_results(int32_t program, double *out, int64_t outputs)
{
    programs[program]->margins(out, outputs);
}

/* Prepares calls of `batch` rows on at most `threads` threads. Programs share these settings, so that all of
 * them begin before the first is timed. Returns the number of the program's ways. */
int32_t harness_begin(int32_t program, int64_t batch, int32_t threads, int64_t outputs)
{
    work.threads = threads;
    work.batch = batch;
    work.batches = work.rows.rows / batch;
    if (programs[program]->begin)
        programs[program]->begin(outputs);
    return programs[program]->ways(contenders[program]);
}

const char *harness_way(int32_t program, int32_t way)
{
    return contenders[program][way].way;
}

/* Whether a way always uses one thread. */
int32_t harness_single(int32_t program, int32_t way)
{
    return contenders[program][way].single;
}

/* The largest number of calls of a sample; 0 if unlimited. */
int64_t harness_most(int32_t program, int32_t way)
{
    return contenders[program][way].most;
}

static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Seconds of a sample of `calls` calls. */
double harness_sample(int32_t program, int32_t way, int64_t calls)
{
    Contender *contender = &contenders[program][way];
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
