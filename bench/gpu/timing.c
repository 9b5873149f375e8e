/* Times calls: kernels by the device's clock, on rows in device memory, and whole calls from the host. */
#include <stdio.h>
#include <stdlib.h>

#include "input.h"
#include "harness.h"

enum { SAMPLES = 9, MANY = 100000 };
/* Memory for copies of the rows in bytes, larger than the caches of devices, so that rows are not cached. */
#define BEYOND_CACHES (256ll << 20)
#define HOLD_FILLS 8

static Memory rows_on_device, out_on_device;
static int64_t num_resident, next_row;

static int64_t hold_bytes(void)
{
    return options.rows < MANY ? 4096 : BEYOND_CACHES;
}

void hold(Handle stream)
{
    static Memory filled;
    if (!filled)
        filled = device_memory((size_t)hold_bytes());
    for (int i = 0; i < HOLD_FILLS; i++)
        must(cu.fill_async(filled, (unsigned char)i, (size_t)hold_bytes(), stream), "a fill");
}

void make_resident(Handle stream)
{
    int64_t copies = 1, bytes = work.n_rows * (int64_t)work.row_bytes;
    if (options.rows >= MANY && bytes < BEYOND_CACHES)
        copies = (BEYOND_CACHES + bytes - 1) / bytes;
    num_resident = copies * work.n_rows;
    rows_on_device = device_memory((size_t)num_resident * work.row_bytes);
    out_on_device = device_memory((size_t)num_resident * work.margin_bytes);
    for (int64_t i = 0; i < copies; i++)
        upload(rows_on_device + (uint64_t)(i * bytes), work.rows, (size_t)bytes, stream);
    must(cu.stream_synchronize(stream), "a copy");
}

/* A call on the next rows, which are not cached. */
static void call_on_device(Handle stream, int64_t batch)
{
    if (next_row + batch > num_resident)
        next_row = 0;
    Memory rows = rows_on_device + (uint64_t)next_row * work.row_bytes;
    Memory out = out_on_device + (uint64_t)next_row * work.margin_bytes;
    predict((void *)(uintptr_t)rows, batch, (void *)(uintptr_t)out, &stream);
    next_row += batch;
}

double kernel_time(Handle stream, Handle *events, int64_t batch, int calls)
{
    hold(stream);
    must(cu.event_record(events[0], stream), "an event");
    for (int i = 0; i < calls; i++)
        call_on_device(stream, batch);
    must(cu.event_record(events[1], stream), "an event");
    must(cu.event_synchronize(events[1]), "a call");
    return micros_between(events[0], events[1]) / calls;
}

/* Microseconds of a call in device memory, including the wait for it. */
static double resident_time(Handle stream, int64_t batch, int calls)
{
    double start = now();
    for (int i = 0; i < calls; i++) {
        call_on_device(stream, batch);
        must(cu.stream_synchronize(stream), "a call");
    }
    return (now() - start) * 1e6 / calls;
}

/* Microseconds of a call with rows and results in host memory. */
static double host_time(unsigned char *out, int64_t batch, int calls)
{
    static int64_t next;
    double start = now();
    for (int i = 0; i < calls; i++) {
        if (next + batch > work.n_rows)
            next = 0;
        predict(work.rows + (size_t)next * work.row_bytes, batch, out, NULL);
        next += batch;
    }
    return (now() - start) * 1e6 / calls;
}

/* Takes samples in one of the three ways, and prints a line about them. */
static void sampled(const char *what, int64_t batch, double *samples)
{
    double middle = median(samples, SAMPLES);
    begin_line("time");
    printf(",\"what\":\"%s\",\"batch\":%lld,\"us\":%.4f,\"quartiles\":[%.4f,%.4f],\"ns_per_row\":%.4f}\n",
           what, (long long)batch, middle, samples[SAMPLES / 4], samples[SAMPLES * 3 / 4],
           middle * 1e3 / (double)batch);
    fflush(stdout);
}

static void time_batch(Handle stream, Handle *events, unsigned char *out, int64_t batch)
{
    double samples[SAMPLES];
    int calls = options.rows < MANY ? 2 : batch <= 1024 ? 32 : batch <= 16384 ? 16 : 2;
    kernel_time(stream, events, batch, 1); /* all memory is allocated after this call */
    for (int i = 0; i < SAMPLES; i++)
        samples[i] = kernel_time(stream, events, batch, calls);
    sampled("kernel", batch, samples);
    for (int i = 0; i < SAMPLES; i++)
        samples[i] = resident_time(stream, batch, calls);
    sampled("resident", batch, samples);
    host_time(out, batch, 1);
    for (int i = 0; i < SAMPLES; i++)
        samples[i] = host_time(out, batch, calls);
    sampled("host", batch, samples);
}

void time_calls(void)
{
    const int64_t batches[] = {1, 64, 1024, 16384, 1000000};
    open_work(0);
    start_driver();
    Handle stream = new_stream(), events[2];
    make_resident(stream);
    unsigned char *out = allocate((size_t)work.n_rows * work.margin_bytes);
    for (int i = 0; i < 2; i++)
        must(cu.event_create(&events[i], 0), "an event");
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        int64_t batch = batches[i];
        if (batch == 1000000 && options.rows >= batch && work.n_rows < batch)
            batch = work.n_rows; /* the drawn rows */
        if (batch > work.n_rows || is_late()) {
            begin_line("time");
            printf(",\"batch\":%lld,\"left_out\":\"%s\"}\n", (long long)batch,
                   is_late() ? "no time" : "too few rows");
            continue;
        }
        time_batch(stream, events, out, batch);
    }
    free(out);
}
