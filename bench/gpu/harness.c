/* Runs the artefacts of a folder on a machine with a GPU, without a compiler or network.
 *
 *     harness pick --sample IN.npy --rows N --out OUT.npy    the first rows of an array
 *     harness device                                         properties and throughput of the GPU
 *     harness expect --artefact CPU.so --out FILE            writes the expected margins of the rows
 *     harness check --artefact GPU.so --expected FILE        compares margins with the expected ones
 *     harness time --artefact GPU.so                         measures the time of calls
 *     harness once --artefact GPU.so                         makes one call on the sample, in device memory
 *     harness sweep --artefact CPU.so                        checks and times artefacts of a model one by one
 *
 * All except the first two take --sample ROWS.npy, from which --rows rows are drawn with the seed --seed.
 * `sweep` reads lines with a schedule's name and an artefact's path from standard input. Standard output is
 * JSON, one object per line.
 */
#include "harness.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "input.h"

enum { KIND_RAW = 1, TYPE_F32 = 0, TYPE_F64 = 1, ON_DEVICE = 1 };
/* Maximum size of the drawn rows, in bytes. */
#define MOST_BYTES (256ll << 20)

Options options = {.rows = 1000000, .seed = 1};
Work work;

double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

bool is_late(void)
{
    return options.until > 0 && (double)time(NULL) >= options.until;
}

static int ascending(const void *left, const void *right)
{
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

double median(double *samples, int count)
{
    qsort(samples, (size_t)count, sizeof *samples, ascending);
    return samples[count / 2];
}

void begin_line(const char *part)
{
    printf("{\"part\":\"%s\"", part);
    if (options.model)
        printf(",\"model\":\"%s\"", options.model);
    if (options.schedule)
        printf(",\"schedule\":\"%s\"", options.schedule);
}

/* Rows. */

static uint64_t random_bits(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void put(int64_t at, float value)
{
    if (work.wide_rows)
        ((double *)work.rows)[at] = value;
    else
        ((float *)work.rows)[at] = value;
}

/* The rows of the sample, then mixed rows: rows of the sample with every eighth value from another of its
 * rows. */
static void draw(const Rows *sample)
{
    uint64_t state = options.seed * 0x9e3779b97f4a7c15u + 1;
    const float *values = sample->values;
    for (int64_t row = 0; row < work.n_rows; row++) {
        bool first = row < sample->rows;
        int64_t base = first ? row : (int64_t)(random_bits(&state) % (uint64_t)sample->rows);
        for (int64_t j = 0; j < work.features; j++) {
            uint64_t bits = first ? 1 : random_bits(&state);
            int64_t from = bits & 7 ? base : (int64_t)((bits >> 3) % (uint64_t)sample->rows);
            put(row * work.features + j, values[from * sample->columns + j]);
        }
    }
}

static void *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (!found)
        fail("%s", dlerror());
    return found;
}

void open_artefact(const char *path)
{
    /* Without a slash, dlopen searches the system's folders. */
    char place[4096];
    snprintf(place, sizeof place, "%s%s", strchr(path, '/') ? "" : "./", path);
    work.library = dlopen(place, RTLD_NOW | RTLD_LOCAL);
    if (!work.library)
        fail("%s", dlerror());
    int32_t (*num_outputs)(int32_t), (*output_type)(int32_t);
    const char *(*info)(void);
    *(void **)&work.predict = symbol(work.library, "schedc_predict_ex");
    *(void **)&work.explain = symbol(work.library, "schedc_error");
    *(void **)&num_outputs = symbol(work.library, "schedc_num_outputs");
    *(void **)&output_type = symbol(work.library, "schedc_output_type");
    *(void **)&info = symbol(work.library, "schedc_info");
    work.exact = strstr(info(), "\"order\":\"exact\"") != NULL;
    work.wide_rows = strstr(info(), "\"rows\":\"f64\"") != NULL;
    work.wide_margins = output_type(KIND_RAW) == TYPE_F64;
    work.margins = num_outputs(KIND_RAW);
    work.margin_bytes = (size_t)work.margins * (work.wide_margins ? 8 : 4);
}

void open_work(int64_t extra)
{
    if (!options.artefact || !options.sample)
        fail("name an --artefact and a --sample");
    open_artefact(options.artefact);
    Rows sample = read_npy(options.sample, 1);
    work.features = sample.columns;
    work.row_bytes = (size_t)work.features * (work.wide_rows ? 8 : 4);
    int64_t most = MOST_BYTES / (int64_t)work.row_bytes;
    work.n_rows = (options.rows < most ? options.rows : most) + extra;
    work.rows = allocate((size_t)work.n_rows * work.row_bytes + 1);
    draw(&sample);
    free(sample.values);
}

int32_t try_predict(const void *rows, int64_t count, void *out, const Handle *stream)
{
    Call call = {.size = sizeof call, .kind = KIND_RAW, .rows = rows, .n_rows = count, .out = out};
    call.dtype = work.wide_rows ? TYPE_F64 : TYPE_F32;
    if (stream) {
        call.memory = ON_DEVICE;
        call.stream = *stream;
    }
    return work.predict(&call);
}

void predict(const void *rows, int64_t count, void *out, const Handle *stream)
{
    int32_t status = try_predict(rows, count, out, stream);
    if (status)
        fail("%lld rows: status %d: %s", (long long)count, (int)status, work.explain(status));
}

/* The short subcommands. */

static void pick(void)
{
    Rows sample = read_npy(options.sample, 1);
    int64_t rows = sample.rows < options.rows ? sample.rows : options.rows;
    FILE *file = fopen(options.out, "wb");
    if (!file)
        fail("cannot write %s", options.out);
    char header[118]; /* 128 bytes with the magic string and the length */
    memset(header, ' ', sizeof header);
    int length =
        snprintf(header, sizeof header, "{'descr': '<f4', 'fortran_order': False, 'shape': (%lld, %lld), }",
                 (long long)rows, (long long)sample.columns);
    header[length] = ' ';
    header[sizeof header - 1] = '\n';
    fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, file);
    fwrite(header, 1, sizeof header, file);
    fwrite(sample.values, sizeof(float), (size_t)(rows * sample.columns), file);
    if (fclose(file) != 0)
        fail("cannot write %s", options.out);
}

void write_expected(void)
{
    open_work(1);
    size_t bytes = (size_t)work.n_rows * work.margin_bytes;
    void *margins = allocate(bytes);
    predict(work.rows, work.n_rows, margins, NULL);
    FILE *file = fopen(options.out, "wb");
    if (!file || fwrite(margins, 1, bytes, file) != bytes || fclose(file) != 0)
        fail("cannot write %s", options.out);
}

static void once(void)
{
    open_work(0);
    start_driver();
    Memory rows = device_memory((size_t)work.n_rows * work.row_bytes);
    Memory out = device_memory((size_t)work.n_rows * work.margin_bytes);
    Handle stream = new_stream();
    upload(rows, work.rows, (size_t)work.n_rows * work.row_bytes, stream);
    predict((void *)(uintptr_t)rows, work.n_rows, (void *)(uintptr_t)out, &stream);
    must(cu.stream_synchronize(stream), "a call");
    begin_line("once");
    printf(",\"rows\":%lld}\n", (long long)work.n_rows);
}

static void read_options(int count, char **words)
{
    for (int i = 0; i + 1 < count; i += 2) {
        const char *name = words[i], *value = words[i + 1];
        const struct {
            const char *name, **value;
        } texts[] = {
            {"--artefact", &options.artefact}, {"--sample", &options.sample},
            {"--expected", &options.expected}, {"--out", &options.out},
            {"--model", &options.model},       {"--schedule", &options.schedule},
        };
        bool known = false;
        for (size_t j = 0; j < sizeof texts / sizeof *texts; j++)
            if (strcmp(name, texts[j].name) == 0) {
                *texts[j].value = value;
                known = true;
            }
        if (strcmp(name, "--rows") == 0)
            options.rows = atoll(value);
        else if (strcmp(name, "--seed") == 0)
            options.seed = strtoull(value, NULL, 10);
        else if (strcmp(name, "--magnitude") == 0)
            options.magnitude = atof(value);
        else if (strcmp(name, "--until") == 0)
            options.until = atof(value);
        else if (!known)
            fail("there is no option %s", name);
    }
    if (count % 2 || options.rows < 1)
        fail("an option without a value, or too few --rows");
}

int main(int argc, char **argv)
{
    const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {{"pick", pick},   {"device", measure_device}, {"expect", write_expected},
                 {"check", check}, {"time", time_calls},       {"once", once},
                 {"sweep", sweep}};
    read_options(argc > 2 ? argc - 2 : 0, argv + 2);
    for (size_t i = 0; argc > 1 && i < sizeof parts / sizeof *parts; i++)
        if (strcmp(argv[1], parts[i].name) == 0) {
            parts[i].run();
            return 0;
        }
    fail("name a subcommand: pick, device, expect, check, time, once or sweep");
}
