/* The order of work on devices: the runtime with a model written by hand, over the driver of cuda.c. That
 * driver keeps only the order that CUDA's documents promise. The runtime may be compiled with a seeded
 * fault.
 *
 * - order IMAGE MAKER calls: calls of all kinds, none of which waits for another; then the model is
 *   released.
 * - order IMAGE MAKER fails: a call that fails after some of its work has begun, then a larger call. Needs
 *   FAKE_CUDA=launch:2.
 * - order IMAGE MAKER counted: the calls of `calls`, with a launch that counts its blocks.
 * - order IMAGE MAKER split: a call whose launch counts its blocks and fails in part, then another call.
 *   Needs FAKE_CUDA=launch:2.
 * - order IMAGE MAKER unrecorded: a call whose end cannot be recorded. Needs FAKE_CUDA=record:1.
 * - order IMAGE MAKER repeats: calls that repeat the same work, which becomes a graph where the driver has
 *   graphs. With FAKE_CUDA=capture:1 or instantiate:1 it cannot become one; with graph:1 the first
 *   launch of the graph fails.
 * - order IMAGE MAKER unloaded: a model whose first loading fails. Needs FAKE_CUDA=stream:1 or
 *   alloc:1. */
#include "../../runtime/device.h"
#include "condition.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows are wide enough that a piece of a call has PIECE_ROWS of them. Calls of up to HOST_ROWS rows, and
 * their pieces, stay on the host if the model says so. */
enum { FEATURES = 64, HOST_ROWS = 20000, MOST_ROWS = HOST_ROWS + 1 };

/* The model. */

static float table[FEATURES], rows[MOST_ROWS * FEATURES], wanted[MOST_ROWS];
static const void *const tables[] = {table};

static void on_host(schedc_ctx *ctx)
{
    const float *from = ctx->rows;
    for (int64_t row = 0; row < ctx->n_rows; row++) {
        float halves[2] = {0};
        for (int i = 0; i < FEATURES; i++)
            halves[2 * i / FEATURES] += table[i] * from[row * FEATURES + i];
        ((float *)ctx->out)[row] = halves[0] + halves[1];
    }
}

/* Blocks for each row of a launch that folds in its last blocks; 0: a second launch folds. */
static int64_t blocks_of_row;

static void raw(schedc_ctx *ctx)
{
    if (!ctx->team->lane) {
        on_host(ctx);
        return;
    }
    int64_t features = FEATURES;
    void *parts = schedc_rt_alloc(ctx, 8 * ctx->n_rows);
    if (!parts)
        return;
    if (blocks_of_row) {
        void *counters = schedc_rt_counters(ctx, 4 * ctx->n_rows);
        void *arguments[] = {&ctx->rows, (void *)&ctx->tables[0], &parts, &ctx->n_rows, &features, &counters,
                             &ctx->out, &blocks_of_row, NULL, NULL};
        if (counters)
            schedc_rt_launch(ctx, 3, ctx->n_rows, blocks_of_row, 1, arguments);
        schedc_rt_free(ctx, parts);
        return;
    }
    schedc_rt_launch(ctx, 0, ctx->n_rows, 1, 1, (void *[]){&ctx->rows, (void *)&ctx->tables[0], &parts,
                                                           &ctx->n_rows, &features});
    schedc_rt_launch(ctx, 1, ctx->n_rows, 1, 1, (void *[]){&parts, &ctx->out, &ctx->n_rows});
    schedc_rt_free(ctx, parts);
}

static void value(schedc_ctx *ctx)
{
    if (ctx->team->lane)
        schedc_rt_launch(ctx, 2, ctx->n_rows, 1, 1, (void *[]){&ctx->rows, &ctx->out, &ctx->n_rows});
    else
        for (int64_t row = 0; row < ctx->n_rows; row++)
            ((float *)ctx->out)[row] = ((const float *)ctx->rows)[row] + 1;
}

static schedc_image image = {.capability = 70};
static const schedc_launch launches[] = {
    {.name = "parts", .block = {1, 1, 1}, .num_arguments = 5},
    {.name = "fold", .block = {1, 1, 1}, .num_arguments = 3},
    {.name = "value", .block = {1, 1, 1}, .num_arguments = 3},
    {.name = "counted", .block = {1, 1, 1}, .num_arguments = 8, .is_split = 1},
};
static const int64_t table_bytes[] = {sizeof table};
static schedc_range ranges[] = {{INT64_MAX, 1}, {INT64_MAX, 1}};
static void *state;
static schedc_gpu gpu = {.num_images = 1,
                         .num_launches = 4,
                         .num_tables = 1,
                         .images = &image,
                         .launches = launches,
                         .table_bytes = table_bytes,
                         .ranges = ranges,
                         .execute = schedc_rt_execute_on_device,
                         .state = &state};
static schedc_model model = {.size = sizeof model,
                             .num_features = FEATURES,
                             .num_margins = 1,
                             .rows_per_run = INT64_MAX,
                             .ns_per_row = 1,
                             .tables = tables,
                             .info = "{}",
                             .gpu = &gpu,
                             .missing = __builtin_nanf(""),
                             .columns_from = INT64_MAX,
                             .outputs = {[SCHEDC_KIND_VALUE] = {value, 1, 0, SCHEDC_NEEDS_FINISH},
                                         [SCHEDC_KIND_RAW] = {raw, 1, 0, SCHEDC_NEEDS_MARGINS}}};

/* Calls on rows in the device's memory. */

static const schedc_driver *driver;
static void *library; /* the driver */

static int number(const char *function)
{
    int (*asked)(void);
    *(void **)&asked = dlsym(library, function);
    CHECK(asked);
    return asked();
}

static size_t bytes(const char *function)
{
    size_t (*asked)(void);
    *(void **)&asked = dlsym(library, function);
    CHECK(asked);
    return asked();
}

static void must(int32_t error)
{
    if (error != CU_OK)
        fprintf(stderr, "error %d\n", error);
    CHECK(error == CU_OK);
}

/* A call on rows from `first` on, in a separate stream, whose end has not been awaited. */
typedef struct pending {
    cu_handle stream;
    cu_pointer from, out;
    int64_t first, n_rows;
    int32_t status;
} pending;

static void put(pending *one)
{
    schedc_call call = {.size = sizeof call,
                        .rows = (const void *)(uintptr_t)one->from,
                        .n_rows = one->n_rows,
                        .out = (void *)(uintptr_t)one->out,
                        .memory = SCHEDC_MEMORY_DEVICE,
                        .stream = one->stream};
    one->status = schedc_rt_predict_ex(&model, &call);
}

static pending in_place(cu_handle stream, int64_t first, int64_t n_rows)
{
    pending one = {.stream = stream, .first = first, .n_rows = n_rows};
    size_t size = (size_t)n_rows * FEATURES * sizeof *rows;
    must(driver->alloc(&one.from, size));
    must(driver->alloc(&one.out, (size_t)n_rows * sizeof *rows));
    must(driver->upload_async(one.from, rows + first * FEATURES, size, stream));
    put(&one);
    return one;
}

static void ends_well(pending one)
{
    size_t size = (size_t)one.n_rows * sizeof *rows;
    float *found = calloc(1, size);
    CHECK(one.status == SCHEDC_OK);
    must(driver->download_async(found, one.out, size, one.stream));
    must(driver->stream_synchronize(one.stream));
    CHECK(memcmp(found, wanted + one.first, size) == 0);
    must(driver->free(one.from) | driver->free(one.out));
    free(found);
}

static int32_t call_from_host(int64_t first, int64_t n_rows)
{
    float *found = calloc((size_t)n_rows, sizeof *found);
    schedc_call call = {.size = sizeof call, .rows = rows + first * FEATURES, .n_rows = n_rows, .out = found};
    int32_t status = schedc_rt_predict_ex(&model, &call);
    if (status == SCHEDC_OK)
        CHECK(memcmp(found, wanted + first, (size_t)n_rows * sizeof *found) == 0);
    free(found);
    return status;
}

static cu_handle new_stream(void)
{
    cu_handle stream;
    must(driver->stream_create(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

static void release(void)
{
    schedc_rt_release_devices(&gpu);
    CHECK(bytes("fake_memory") == 0 && number("fake_modules") == 0);
}

/* Cases. */

static void calls(void)
{
    CHECK(call_from_host(3, 50) == SCHEDC_OK);
    CHECK(call_from_host(0, MOST_ROWS) == SCHEDC_OK);
    release();
    cu_handle one = new_stream(), other = new_stream();
    /* In one stream, with growing numbers of rows: memory for kernels grows. */
    pending few = in_place(one, 9, 5), more = in_place(one, 1, 70), many = in_place(one, 0, 300);
    ends_well(few);
    ends_well(more);
    ends_well(many);
    /* In several streams: a call uses the memory of the previous call. */
    pending first = in_place(one, 0, 40), second = in_place(other, 100, 40), third = in_place(NULL, 50, 40);
    ends_well(third);
    ends_well(second);
    ends_well(first);
    /* A call on rows of the host that needs more memory, after a call that has not ended. */
    first = in_place(one, 0, 40);
    CHECK(call_from_host(7, 900) == SCHEDC_OK);
    ends_well(first);
    /* A call that takes the memory of calls that have not ended, but runs on the host. */
    first = in_place(one, 20, 40);
    third = in_place(one, 90, 40);
    few = in_place(one, 120, 40);
    ranges[0] = (schedc_range){HOST_ROWS, 0};
    bytes("fake_uploaded");
    CHECK(call_from_host(0, MOST_ROWS) == SCHEDC_OK && bytes("fake_uploaded") == 0);
    ranges[0] = ranges[1];
    second = in_place(other, 60, 40);
    ends_well(second);
    ends_well(few);
    ends_well(third);
    ends_well(first);
    /* The caller may destroy its stream before the work in it is done. */
    first = in_place(other, 10, 40);
    must(driver->stream_destroy(other));
    second = in_place(one, 30, 60);
    ends_well(second);
    first.stream = one;
    ends_well(first);
    /* The caller may also release the model before that. */
    first = in_place(one, 30, 40);
    schedc_rt_release_devices(&gpu);
    CHECK(number("fake_modules") == 0);
    ends_well(first);
    CHECK(bytes("fake_memory") == 0);
}

static void counted(void)
{
    blocks_of_row = 2;
    calls();
}

static void split(void)
{
    blocks_of_row = 65537;
    CHECK(call_from_host(0, 1) == SCHEDC_ERR_LAUNCH);
    blocks_of_row = 2;
    CHECK(call_from_host(0, 50) == SCHEDC_OK);
    release();
}

static void fails(void)
{
    CHECK(call_from_host(0, 50) == SCHEDC_ERR_LAUNCH);
    CHECK(call_from_host(0, 100) == SCHEDC_OK);
    release();
}

static void unrecorded(void)
{
    cu_handle stream = new_stream();
    pending one = in_place(stream, 0, 40);
    CHECK(one.status == SCHEDC_ERR_LAUNCH);
    pending other = in_place(new_stream(), 50, 400);
    ends_well(other);
    one.status = SCHEDC_OK;
    ends_well(one);
    release();
}

/* Calls for as many rows, each for other ones. Returns the number of failed calls. */
static int repeated(int64_t n_rows, int count)
{
    int failed = 0;
    for (int i = 0; i < count; i++)
        failed += call_from_host(7 * i, n_rows) != SCHEDC_OK;
    return failed;
}

static void repeats(void)
{
    enum { CALLS = 20 };
    const char *mode = getenv("FAKE_CUDA");
    bool without = gpu.maker == SCHEDC_AMD || strcmp(mode, "capture:1") == 0
        || strcmp(mode, "instantiate:1") == 0;
    int failed = repeated(50, CALLS);
    CHECK(failed == (gpu.maker == SCHEDC_NVIDIA && strcmp(mode, "graph:1") == 0));
    int launched = number("fake_graph_launches");
    CHECK(without || (launched > 0 && launched < CALLS));
    /* Another kind of call. */
    CHECK(repeated(30, 2) == 0 && number("fake_graph_launches") == launched);
    CHECK(repeated(50, CALLS) == 0);
    int again = number("fake_graph_launches");
    CHECK(without || again > launched);
    /* A call in its caller's stream, which has not ended, and makes the memory of later calls grow. */
    cu_handle stream = new_stream();
    pending one = in_place(stream, 0, 4000);
    CHECK(repeated(50, CALLS) == 0);
    ends_well(one);
    CHECK(without || number("fake_graph_launches") > again);
    /* Memory grows between two runs that are otherwise equal. */
    CHECK(repeated(900, 1) == 0 && repeated(50, CALLS) == 0);
    release();
    CHECK(number("fake_graphs") == 0);
}

static void unloaded(void)
{
    cu_handle context;
    must(driver->pop(&context));
    CHECK(call_from_host(0, 50) == SCHEDC_ERR_DEVICE_MEMORY);
    CHECK(bytes("fake_memory") == 0 && number("fake_modules") == 0);
    CHECK(call_from_host(0, 50) == SCHEDC_OK);
    must(driver->retain(&context, 0));
    must(driver->push(context));
    release();
}

static void read_image(const char *path)
{
    FILE *file = fopen(path, "rb");
    CHECK(file && fseek(file, 0, SEEK_END) == 0);
    size_t size = (size_t)ftell(file);
    rewind(file);
    void *read = malloc(size);
    CHECK(fread(read, 1, size, file) == size);
    fclose(file);
    image.bytes = read;
}

int main(int argc, char **argv)
{
    CHECK(argc == 4);
    read_image(argv[1]);
    gpu.maker = strcmp(argv[2], "amd") == 0 ? SCHEDC_AMD : SCHEDC_NVIDIA;
    for (int i = 0; i < FEATURES; i++)
        table[i] = (float)(i % 5 + 1);
    for (int i = 0; i < MOST_ROWS * FEATURES; i++)
        rows[i] = (float)(i % 23);
    schedc_team team = {.threads = 1};
    schedc_ctx ctx = {.rows = rows, .n_rows = MOST_ROWS, .out = wanted, .team = &team};
    on_host(&ctx);
    for (int i = 0; i < MOST_ROWS; i++)
        wanted[i] += 1;

    int32_t status;
    library = dlopen(getenv("SCHEDC_CUDA_DRIVER"), RTLD_NOW);
    driver = schedc_driver_get(gpu.maker, &status);
    CHECK(library && driver && status == SCHEDC_OK);
    cu_handle context, popped;
    must(driver->retain(&context, 0));
    must(driver->push(context));
    const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"calls", calls}, {"counted", counted},       {"split", split},     {"repeats", repeats},
                 {"fails", fails}, {"unrecorded", unrecorded}, {"unloaded", unloaded}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(argv[3], cases[i].name) == 0)
            cases[i].run();
    must(driver->pop(&popped));
    CHECK(number("fake_contexts") == 0);
    return 0;
}
