/* The entry points: checks of calls, and the choice of a model's version. */
#include "modes.h"
#include "plan.h"

#include <string.h>

static const double WORTH_A_THREAD_NS = 10000.0; /* waking a thread costs a few microseconds */

/* Reading and checking a call. */

static const size_t CALL_MIN = offsetof(schedc_call, dtype);

/* Copies the caller's structure. If it is longer than that of this library, the fields that the library does
 * not know must be zero, that is, unused. */
static int32_t read_call(schedc_call *to, const schedc_call *from)
{
    uint32_t size;
    if (!from)
        return SCHEDC_ERR_ARGUMENT;
    memcpy(&size, from, sizeof size);
    if (size < CALL_MIN || size % 8 != 0 || size > 4096)
        return SCHEDC_ERR_ARGUMENT;
    const unsigned char *bytes = (const unsigned char *)from;
    for (size_t i = sizeof *to; i < size; i++)
        if (bytes[i] != 0)
            return SCHEDC_ERR_ARGUMENT;
    memset(to, 0, sizeof *to);
    memcpy(to, from, size < sizeof *to ? size : sizeof *to);
    return SCHEDC_OK;
}

/* Returns an output of a model; null for an unknown kind. */
static const schedc_output *output_of(const schedc_model *model, int32_t kind)
{
    return kind >= 0 && kind < SCHEDC_NUM_KINDS ? &model->outputs[kind] : NULL;
}

int32_t schedc_rt_num_outputs(const schedc_model *model, int32_t kind)
{
    const schedc_output *output = output_of(model, kind);
    return output ? output->columns : 0;
}

int32_t schedc_rt_output_type(const schedc_model *model, int32_t kind)
{
    const schedc_output *output = output_of(model, kind);
    return output ? output->type : SCHEDC_DTYPE_F32;
}

size_t schedc_size_of(int32_t dtype)
{
    return dtype == SCHEDC_DTYPE_F64 ? 8 : 4;
}

/* Selects the kernels that compute the output, and decides whether margins need memory between them. */
static int32_t plan_kernels(schedc_plan *p, int32_t kind)
{
    const schedc_model *model = p->model;
    const schedc_output *output = output_of(model, kind);
    if (!output)
        return SCHEDC_ERR_ARGUMENT;
    p->out_element = schedc_size_of(output->type);
    p->out_bytes = (size_t)output->columns * p->out_element;
    if (output->needs == SCHEDC_NEEDS_WALK) {
        p->walk = output->kernel;
        return p->walk ? SCHEDC_OK : SCHEDC_ERR_UNSUPPORTED;
    }
    p->walk = model->outputs[SCHEDC_KIND_RAW].kernel;
    p->finish = output->needs == SCHEDC_NEEDS_MARGINS ? NULL : output->kernel;
    if (!p->walk || (!p->finish && output->needs == SCHEDC_NEEDS_FINISH_OR_NONE))
        return SCHEDC_ERR_UNSUPPORTED;
    /* If margins have the output's element size and number of columns, they are finished in place, since
     * finishing kernels work row by row. */
    size_t margin = schedc_size_of(model->margin_type);
    if (margin != p->out_element || output->columns != model->num_margins)
        p->margin_bytes = (size_t)model->num_margins * margin;
    return SCHEDC_OK;
}

/* Reads the rows' address, type and stride; also refuses sizes beyond the address space. */
static int32_t plan_rows(schedc_plan *p, const schedc_call *call)
{
    int64_t features = p->model->num_features, stride = call->row_stride ? call->row_stride : features, bytes;
    bool is_float = call->dtype == SCHEDC_DTYPE_F32 || call->dtype == SCHEDC_DTYPE_F64;
    if (call->n_rows < 0 || stride < features || !is_float)
        return SCHEDC_ERR_ARGUMENT;
    p->n_rows = call->n_rows;
    p->missing = call->missing ? *call->missing : p->model->missing;
    if (call->n_rows == 0)
        return SCHEDC_OK;

    p->rows = call->rows;
    p->out = call->out;
    if (!p->rows || !p->out || (uintptr_t)p->out % p->out_element != 0)
        return SCHEDC_ERR_ARGUMENT;
    p->dtype = call->dtype;
    int64_t element = (int64_t)schedc_size_of(p->dtype);
    int64_t kernel_element = (int64_t)schedc_size_of(p->model->row_type);
    p->row_bytes = (size_t)(features * kernel_element);
    if (__builtin_mul_overflow(stride, element, &bytes))
        return SCHEDC_ERR_ARGUMENT;
    p->row_step = (size_t)bytes;
    if (__builtin_mul_overflow(call->n_rows, bytes, &bytes) ||
        __builtin_mul_overflow(call->n_rows, (int64_t)p->out_bytes, &bytes))
        return SCHEDC_ERR_ARGUMENT;
    p->convert = p->missing == p->missing || element != kernel_element ||
                 (uintptr_t)p->rows % (size_t)element != 0 ||
                 (p->row_step != p->row_bytes && p->n_rows > 1);
    return SCHEDC_OK;
}

/* Reads columns. */
static int32_t plan_columns(schedc_plan *p, const schedc_call *call)
{
    const schedc_model *model = p->model;
    size_t element = schedc_size_of(model->row_type);
    int64_t bytes;
    p->n_rows = call->n_rows;
    p->missing = call->missing ? *call->missing : model->missing;
    p->columns = call->columns;
    p->out = call->out;
    p->row_bytes = (size_t)model->num_features * element;
    p->dtype = model->row_type;
    p->convert = true;
    if (call->n_rows == 0)
        return SCHEDC_OK;
    bool fits = !__builtin_mul_overflow(call->n_rows, (int64_t)p->row_bytes, &bytes) &&
                !__builtin_mul_overflow(call->n_rows, (int64_t)p->out_bytes, &bytes);
    return p->out && fits && (uintptr_t)p->out % p->out_element == 0 ? SCHEDC_OK : SCHEDC_ERR_ARGUMENT;
}

/* Reads the base margin, which only models accept that were built with --base-margin. */
static int32_t plan_base(schedc_plan *p, const schedc_call *call)
{
    if (!call->base_margin)
        return SCHEDC_OK;
    bool another_type = p->model->margin_type != p->model->result_type;
    if (!p->model->base || p->walk != p->model->outputs[SCHEDC_KIND_RAW].kernel || another_type)
        return SCHEDC_ERR_UNSUPPORTED;
    p->base_margin = call->base_margin;
    p->base_bytes = (size_t)p->model->num_margins * schedc_size_of(p->model->margin_type);
    int64_t bytes;
    bool fits = !__builtin_mul_overflow(p->n_rows, (int64_t)p->base_bytes, &bytes);
    return fits ? SCHEDC_OK : SCHEDC_ERR_ARGUMENT;
}

/* Reads whether rows and output are in the host's memory or a device's. Rows in a device's memory are not
 * converted, but columns are. */
static int32_t plan_place(schedc_plan *p, const schedc_call *call)
{
    if (call->device < 0 || (call->memory != SCHEDC_MEMORY_HOST && call->memory != SCHEDC_MEMORY_DEVICE))
        return SCHEDC_ERR_ARGUMENT;
    p->device = call->device;
    p->on_device = call->memory == SCHEDC_MEMORY_DEVICE;
    p->stream = call->stream;
    if (!p->on_device)
        return SCHEDC_OK;
    bool another_type = p->margin_bytes && !p->finish;
    if (!p->model->gpu || another_type || p->missing == p->missing)
        return SCHEDC_ERR_UNSUPPORTED;
    bool is_wrong = p->columns ? !schedc_are_aligned(p->columns, p->model->num_features) : p->convert;
    return is_wrong ? SCHEDC_ERR_ARGUMENT : SCHEDC_OK;
}

/* Returns the number of threads: at most `wanted`, and fewer if the work is too short to wake that many. */
static int32_t plan_threads(const schedc_plan *p, int32_t wanted)
{
    double worth = (double)p->n_rows * p->model->ns_per_row / WORTH_A_THREAD_NS;
    if (!(worth >= 2.0))
        return 1;
    if (wanted == 0)
        wanted = schedc_default_threads();
    if (wanted > schedc_most_threads())
        wanted = schedc_most_threads();
    return worth < wanted ? (int32_t)worth : wanted;
}

/* Entry points. */

/* Returns the first version of a model that this processor can run, or else the last version. */
static const schedc_model *usable(const schedc_model *model)
{
    while (model->otherwise && schedc_cpu_lacks(model->cpu_needs))
        model = model->otherwise;
    return model;
}

/* Returns the version of a model for rows of a type; null if its kernels would have to round these rows. */
static const schedc_model *for_rows(const schedc_model *model, int32_t dtype)
{
    if (model->other_rows && model->other_rows->row_type == dtype)
        return model->other_rows;
    bool rounds = dtype == SCHEDC_DTYPE_F64 && model->row_type == SCHEDC_DTYPE_F32;
    return rounds && model->own_row_type == SCHEDC_DTYPE_F64 ? NULL : model;
}

/* Reads the type of the caller's rows; returns SCHEDC_ERR_ARGUMENT for malformed columns. */
static int32_t dtype_of(const schedc_model *versions, const schedc_call *call, int32_t *dtype)
{
    *dtype = call->dtype;
    if (!call->columns)
        return SCHEDC_OK;
    if (call->n_rows < 0 || call->rows || call->dtype || call->row_stride ||
        !schedc_are_columns(call->columns, versions->num_features, call->n_rows))
        return SCHEDC_ERR_ARGUMENT;
    *dtype = schedc_dtype_of_columns(call->columns, versions->num_features,
                                     call->memory != SCHEDC_MEMORY_DEVICE);
    return SCHEDC_OK;
}

static int32_t predict_by_default_modes(const schedc_model *versions, const schedc_call *call)
{
    int32_t dtype, status = dtype_of(versions, call, &dtype);
    if (status != SCHEDC_OK)
        return status;
    const schedc_model *model = for_rows(usable(versions), dtype);
    if (!model)
        return SCHEDC_ERR_ROWS;
    schedc_plan p = {.model = model};
    status = plan_kernels(&p, call->kind);
    if (status == SCHEDC_OK)
        status = call->columns ? plan_columns(&p, call) : plan_rows(&p, call);
    if (status == SCHEDC_OK)
        status = plan_base(&p, call);
    if (status == SCHEDC_OK)
        status = plan_place(&p, call);
    if (status != SCHEDC_OK)
        return status;
    if (call->threads < 0 || call->scratch_size < 0)
        return SCHEDC_ERR_ARGUMENT;
    if (schedc_cpu_lacks(model->cpu_needs))
        return SCHEDC_ERR_CPU;
    if (p.n_rows == 0)
        return SCHEDC_OK;
    p.scratch = call->scratch;
    p.scratch_bytes = call->scratch ? (size_t)call->scratch_size : 0;
    p.threads = plan_threads(&p, call->threads);
    return p.on_device ? model->gpu->execute(&p) : schedc_execute(&p);
}

static int32_t predict(const schedc_model *versions, const schedc_call *call)
{
    schedc_modes callers = schedc_enter_modes();
    int32_t status = predict_by_default_modes(versions, call);
    schedc_leave_modes(callers);
    return status;
}

int32_t schedc_rt_predict_ex(const schedc_model *model, const schedc_call *call)
{
    schedc_call known;
    int32_t status = read_call(&known, call);
    return status == SCHEDC_OK ? predict(model, &known) : status;
}

int32_t schedc_rt_predict(const schedc_model *model, const float *rows, int64_t n_rows, void *out)
{
    schedc_call call = {.kind = SCHEDC_KIND_VALUE, .rows = rows, .n_rows = n_rows, .out = out};
    return predict(model, &call);
}

int32_t schedc_rt_predict_raw(const schedc_model *model, const float *rows, int64_t n_rows, void *out)
{
    schedc_call call = {.kind = SCHEDC_KIND_RAW, .rows = rows, .n_rows = n_rows, .out = out};
    return predict(model, &call);
}

const char *schedc_rt_error(const schedc_model *model, int32_t status)
{
    switch (status) {
    case SCHEDC_OK:
        return "no error";
    case SCHEDC_ERR_ARGUMENT:
        return "an argument is wrong: a null pointer, a negative count, an output that is not aligned to "
               "its elements, an unknown kind or dtype, a row stride below the number of features, a column "
               "of an unknown type or with a stride below its size, a column in memory of a GPU that is not "
               "aligned to its values, or a call structure of the wrong size";
    case SCHEDC_ERR_CPU:
        return schedc_cpu_message(model ? schedc_cpu_lacks(usable(model)->cpu_needs) : 0);
    case SCHEDC_ERR_MEMORY:
        return "there is not enough memory for temporary data; predict fewer rows at a time or pass scratch "
               "memory";
    case SCHEDC_ERR_UNSUPPORTED:
        return "the model has no output of this kind, for example the class of a regression; or a base "
               "margin is given to a model that was not built with --base-margin; or a number that counts "
               "as missing is given for rows in memory of a GPU";
    case SCHEDC_ERR_DRIVER:
        return model && usable(model)->gpu && usable(model)->gpu->maker == SCHEDC_AMD
                   ? "the model runs on a GPU of AMD, and there is no driver for one (libamdhip64.so); "
                     "install it, or compile the model for the processor"
                   : "the model runs on a GPU, and there is no driver for one (libcuda.so.1); install it, "
                     "or compile the model for the processor";
    case SCHEDC_ERR_DEVICE:
        return "there is no GPU of this number, or it is too old or has too little shared memory for the "
               "compiled code; compile the model for the GPU of this machine";
    case SCHEDC_ERR_DEVICE_MEMORY:
        return "the GPU has too little memory for the model's tables and the rows; predict fewer rows at a "
               "time";
    case SCHEDC_ERR_LAUNCH:
        return "the GPU failed, for example because it has a fault, or because rows or results are in memory "
               "that it cannot access";
    case SCHEDC_ERR_ROWS:
        return "the rows are 64-bit floats, or columns that need these, and the model is compiled for "
               "32-bit floats only; after rounding, rows could end in other leaves: build it with "
               "--row-type both, or pass 32-bit floats, to which a forest of scikit-learn rounds its rows "
               "itself (in Python, X.astype(\"float32\"))";
    default:
        return "unknown status";
    }
}

const char *schedc_rt_info(const schedc_model *model)
{
    return usable(model)->info;
}
