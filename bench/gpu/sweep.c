/* Checks and times artefacts of a model, one after the other. Draws and copies the rows only once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "harness.h"

enum { SAMPLES = 5, CHECKED = 4133, MOST_CALLS = 32 };
/* Approximate time of a sample, in microseconds. */
#define SAMPLE_US 400.0
/* An artefact that takes this many times as long as the fastest one, in calls of at least `TELLING` rows, is
 * not timed in larger calls. */
#define HOPELESS 5.0
#define TELLING 100000

static const int64_t batches[] = {1, 64, 1024, 16384, 131072, 1000000};
enum { BATCHES = sizeof batches / sizeof *batches };
static double fastest[BATCHES];

static void expect(int64_t count)
{
    expected = allocate((size_t)count * work.margin_bytes);
    predict(work.rows, count, expected, NULL);
}

/* Checks a call. If margins are wrong or the call fails, prints a line and returns false. */
static bool is_right(Handle stream, int64_t count)
{
    unsigned char *out = guarded_output(count);
    int32_t status = try_predict(work.rows, count, out, NULL);
    Outcome outcome = {0};
    if (!status) {
        compare(&outcome, out, 0, count);
        check_on_device(&outcome, stream, 0, count);
    }
    free(out);
    begin_line("sweep_check");
    if (status)
        printf(",\"status\":%d,\"ok\":false}\n", (int)status);
    else
        printf(",\"exact\":%s,\"values\":%lld,\"different\":%lld,\"wrong\":%lld,\"ok\":%s}\n",
               work.exact ? "true" : "false", (long long)outcome.values, (long long)outcome.different,
               (long long)outcome.wrong, outcome.wrong ? "false" : "true");
    fflush(stdout);
    return !status && !outcome.wrong;
}

static void time_artefact(Handle stream, Handle *events)
{
    for (int i = 0; i < BATCHES && !is_late(); i++) {
        int64_t batch = batches[i] < work.n_rows ? batches[i] : work.n_rows;
        if (i > 0 && batch <= batches[i - 1])
            return;
        double first = kernel_time(stream, events, batch, 1), samples[SAMPLES];
        first = kernel_time(stream, events, batch, 1);
        int calls = (int)(SAMPLE_US / first);
        calls = calls < 1 ? 1 : calls > MOST_CALLS ? MOST_CALLS : calls;
        for (int j = 0; j < SAMPLES; j++)
            samples[j] = kernel_time(stream, events, batch, calls);
        double us = median(samples, SAMPLES);
        begin_line("sweep");
        printf(",\"batch\":%lld,\"us\":%.4f,\"quartiles\":[%.4f,%.4f]}\n", (long long)batch, us,
               samples[SAMPLES / 4], samples[SAMPLES * 3 / 4]);
        fflush(stdout);
        if (fastest[i] == 0 || us < fastest[i])
            fastest[i] = us;
        if (batch >= TELLING && us > HOPELESS * fastest[i])
            return;
    }
}

void sweep(void)
{
    open_work(0);
    int64_t count = work.n_rows < CHECKED ? work.n_rows : CHECKED;
    expect(count);
    start_driver();
    Handle stream = new_stream(), events[2];
    make_resident(stream);
    for (int i = 0; i < 2; i++)
        must(cu.event_create(&events[i], 0), "an event");
    char name[256], path[2048];
    while (!is_late() && scanf("%255s %2047s", name, path) == 2) {
        options.schedule = name;
        open_artefact(path);
        if (is_right(stream, count))
            time_artefact(stream, events);
    }
}
