/* ONNX Runtime's C library. Sessions and tensors are created beforehand; tensors refer to the caller's rows
 * and results. A measured call is one `Run`. If several threads are allowed, a session with one thread is
 * tried, too.
 *
 * The library's wheel has no header. Its table of functions only grows at the end, so the functions in use
 * are addressed by their indices.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "contender.h"

typedef void *Handle;
typedef void *Status; /* null: success */

enum {
    API_VERSION = 16,
    GET_ERROR_MESSAGE = 2,
    CREATE_ENV = 3,
    CREATE_SESSION = 7,
    RUN = 9,
    CREATE_SESSION_OPTIONS = 10,
    SET_OPTIMISATION = 23,
    SET_INTRA_THREADS = 24,
    SET_INTER_THREADS = 25,
    CREATE_TENSOR = 49,
    CREATE_CPU_MEMORY_INFO = 69,
    RELEASE_SESSION = 95,
    RELEASE_VALUE = 96,
};
enum {
    LOG_ERRORS = 3,
    ALL_OPTIMISATIONS = 99,
    ARENA_ALLOCATOR = 1,
    DEFAULT_MEMORY = 0,
    FLOAT = 1,
    DOUBLE = 11
};

/* The names that convert.py gives to the input and the output. */
static const char *const INPUT[] = {"rows"}, *const OUTPUT[] = {"margins"};

typedef struct {
    const void *(*get_api)(uint32_t version);
    const char *(*get_version)(void);
} ApiBase;

typedef Status (*RunFunction)(Handle session, Handle options, const char *const *input_names,
                              const Handle *inputs, size_t input_count, const char *const *output_names,
                              size_t output_count, Handle *outputs);

static void *const *api;
static RunFunction run_session;
static Handle environment, memory_info;
static const char *model_path; /* our copy: sessions are also opened later */

static Handle sessions[2]; /* with the allowed number of threads, and with one */
static int32_t session_threads;
static Handle *inputs; /* of each batch */
static int64_t input_count;
static Handle output;
static float *result;

static void check(Status status)
{
    if (status)
        fail("ONNX Runtime: %s", ((const char *(*)(Status))api[GET_ERROR_MESSAGE])(status));
}

static Handle open_session(int32_t threads)
{
    Handle options, session;
    check(((Status(*)(Handle *))api[CREATE_SESSION_OPTIONS])(&options));
    check(((Status(*)(Handle, int))api[SET_OPTIMISATION])(options, ALL_OPTIMISATIONS));
    check(((Status(*)(Handle, int))api[SET_INTRA_THREADS])(options, threads));
    check(((Status(*)(Handle, int))api[SET_INTER_THREADS])(options, 1));
    check(((Status(*)(Handle, const char *, Handle, Handle *))api[CREATE_SESSION])(environment, model_path,
                                                                                   options, &session));
    return session;
}

static void open_onnxruntime(const char *path, const char *model)
{
    const ApiBase *(*get_base)(void) = symbol(open_library(path), "OrtGetApiBase");
    api = get_base()->get_api(API_VERSION);
    if (!api)
        fail("ONNX Runtime %s has no interface of version %d", get_base()->get_version(), API_VERSION);
    run_session = (RunFunction)api[RUN];
    model_path = strdup(model);
    check(((Status(*)(int, const char *, Handle *))api[CREATE_ENV])(LOG_ERRORS, "bench", &environment));
    check(((Status(*)(int, int, Handle *))api[CREATE_CPU_MEMORY_INFO])(ARENA_ALLOCATOR, DEFAULT_MEMORY,
                                                                       &memory_info));
    sessions[1] = open_session(1);
}

static Handle tensor(const void *values, int64_t rows, int64_t columns, size_t element)
{
    int64_t shape[] = {rows, columns};
    Handle value;
    check(((Status(*)(Handle, const void *, size_t, const int64_t *, size_t, int,
                      Handle *))api[CREATE_TENSOR])(memory_info, values, (size_t)(rows * columns) * element,
                                                    shape, 2, element == 8 ? DOUBLE : FLOAT, &value));
    return value;
}

static void release(int function, Handle handle)
{
    if (handle)
        ((void (*)(Handle))api[function])(handle);
}

static void predict(Handle session, Handle input, Handle *out)
{
    check(run_session(session, NULL, INPUT, &input, 1, OUTPUT, 1, out));
}

static void margins(double *out, int64_t outputs)
{
    float *found = allocate((size_t)(work.rows.rows * outputs) * sizeof(float));
    Handle input = tensor(work.rows.values, work.rows.rows, work.rows.columns, work.rows.element);
    Handle results = tensor(found, work.rows.rows, outputs, sizeof(float));
    predict(sessions[1], input, &results);
    release(RELEASE_VALUE, input);
    release(RELEASE_VALUE, results);
    widen(out, found, work.rows.rows * outputs);
    free(found);
}

static void begin(int64_t outputs)
{
    for (int64_t batch = 0; batch < input_count; batch++)
        release(RELEASE_VALUE, inputs[batch]);
    release(RELEASE_VALUE, output);
    free(inputs);
    free(result);
    input_count = work.batches;
    inputs = allocate((size_t)input_count * sizeof *inputs);
    for (int64_t batch = 0; batch < input_count; batch++)
        inputs[batch] = tensor(rows_of(batch), work.batch, work.rows.columns, work.rows.element);
    result = allocate((size_t)(work.batch * outputs) * sizeof(float));
    output = tensor(result, work.batch, outputs, sizeof(float));
    if (work.threads > 1 && session_threads != work.threads) {
        release(RELEASE_SESSION, sessions[0]);
        sessions[0] = open_session(work.threads);
        session_threads = work.threads;
    }
}

static void run(Contender *self, int64_t first, int64_t calls)
{
    Handle session = sessions[self->single || work.threads == 1];
    for (int64_t call = 0; call < calls; call++)
        predict(session, inputs[(first + call) % work.batches], &output);
}

static int ways(Contender *ways)
{
    int count = 0;
    for (int single = 0; single <= (work.threads > 1); single++)
        ways[count++] = (Contender){.who = "ONNX Runtime", .way = "Run", .single = single, .run = run};
    return count;
}

const Program onnxruntime = {"ONNX Runtime", open_onnxruntime, margins, begin, ways};
