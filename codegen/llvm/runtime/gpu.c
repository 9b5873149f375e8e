/* Calls on a device. Rows are copied through pinned memory in pieces, so that one piece is copied, or
 * quantized, while another is computed. Two lanes alternate, each with a stream in which a piece is copied
 * in, computed, and copied out. */
#include "device.h"

#include <stdlib.h>
#include <string.h>

enum {
    PIECE_BYTES = 4 * 1024 * 1024, /* bytes of a piece's rows: a bus takes 100 microseconds, a launch 5 */
    PIECE_ROWS = 16 * 1024,        /* fewest rows of a piece: fewer leave most of a device idle */
    PACKED_BYTES = 64 * 1024 * 1024, /* bytes of rows that columns on a device are packed into at a time */
    MAX_GRID_YZ = 65535,           /* blocks of one launch in the directions y and z */
    COUNTER_BYTES = 4096,          /* fewest bytes of counters: enough for 1024 groups of blocks */
};

/* Temporary memory of kernels. */

static void *device_alloc(schedc_ctx *ctx, int64_t bytes)
{
    schedc_lane *lane = ctx->team->lane;
    size_t wanted = bytes > 0 ? (size_t)bytes : 1;
    schedc_scratch *best = NULL, *piece;
    for (piece = lane->scratch; piece; piece = piece->next)
        if (piece->is_free && (!best || (best->area.size < wanted ? piece->area.size > best->area.size
                                                                   : piece->area.size >= wanted &&
                                                                         piece->area.size < best->area.size)))
            best = piece;
    if (!best) {
        best = calloc(1, sizeof *best);
        if (!best) {
            schedc_rt_fail(ctx, SCHEDC_ERR_MEMORY);
            return NULL;
        }
        best->next = lane->scratch;
        lane->scratch = best;
    }
    int32_t status = bytes < 0 ? SCHEDC_ERR_DEVICE_MEMORY : schedc_area_device(lane, &best->area, wanted);
    best->is_free = status != SCHEDC_OK;
    if (status == SCHEDC_OK)
        return (void *)(uintptr_t)best->area.device;
    schedc_rt_fail(ctx, status);
    return NULL;
}

static void device_free(schedc_ctx *ctx, void *memory)
{
    for (schedc_scratch *piece = ctx->team->lane->scratch; piece; piece = piece->next)
        if (piece->area.device == (cu_pointer)(uintptr_t)memory)
            piece->is_free = true;
}

void *schedc_rt_counters(schedc_ctx *ctx, int64_t bytes)
{
    schedc_lane *lane = ctx->team->lane;
    schedc_area *counters = &lane->counters;
    size_t wanted = bytes > COUNTER_BYTES ? (size_t)bytes : COUNTER_BYTES;
    if (wanted > counters->size)
        lane->counters_are_zero = false;
    int32_t status = schedc_area_device(lane, counters, wanted);
    if (status == SCHEDC_OK && !lane->counters_are_zero && !schedc_seeded(SCHEDC_COUNTERS_NOT_CLEARED))
        status = schedc_driver_status(
            lane->device->driver->fill_async(counters->device, 0, counters->size, lane->stream));
    lane->counters_are_zero = status == SCHEDC_OK;
    if (status == SCHEDC_OK)
        return (void *)(uintptr_t)counters->device;
    schedc_rt_fail(ctx, status);
    return NULL;
}

void schedc_rt_launch(schedc_ctx *ctx, int32_t number, int64_t x, int64_t y, int64_t z, void **arguments)
{
    if (ctx->status != SCHEDC_OK || x <= 0 || y <= 0 || z <= 0)
        return;
    schedc_lane *lane = ctx->team->lane;
    schedc_device *device = lane->device;
    const schedc_launch *launch = &device->gpu->launches[number];
    /* Kernels for long grids get the first block in the directions y and z. */
    int32_t before_y = 0, before_z = 0;
    int64_t longest = launch->is_split ? MAX_GRID_YZ : INT32_MAX;
    if (launch->is_split) {
        arguments[launch->num_arguments] = &before_y;
        arguments[launch->num_arguments + 1] = &before_z;
    }
    if (x > INT32_MAX || y > INT32_MAX || z > INT32_MAX) {
        schedc_rt_fail(ctx, SCHEDC_ERR_LAUNCH);
        return;
    }
    for (int64_t at_z = 0; at_z < z && ctx->status == SCHEDC_OK; at_z += longest) {
        for (int64_t at_y = 0; at_y < y && ctx->status == SCHEDC_OK; at_y += longest) {
            before_y = (int32_t)at_y;
            before_z = (int32_t)at_z;
            unsigned blocks_y = (unsigned)(y - at_y < longest ? y - at_y : longest);
            unsigned blocks_z = (unsigned)(z - at_z < longest ? z - at_z : longest);
            int32_t error = device->driver->launch(device->launches[number], (unsigned)x, blocks_y, blocks_z,
                                                   launch->block[0], launch->block[1], launch->block[2],
                                                   launch->shared, lane->stream,
                                                   arguments, NULL);
            if (error != CU_OK) {
                schedc_rt_fail(ctx, schedc_driver_status(error));
                /* An earlier part of the launch may have counted. */
                if (!schedc_seeded(SCHEDC_FAILURE_KEEPS_COUNTERS))
                    lane->counters_are_zero = false;
            }
        }
    }
}

/* Runs. */

/* Whether one kernel computes predictions from rows. */
static bool is_direct(const schedc_plan *p)
{
    return p->model->gpu->direct && p->finish && p->finish == p->model->outputs[SCHEDC_KIND_VALUE].kernel;
}

/* Addresses on the device that the kernels of a run read and write. */
typedef struct device_buffers {
    cu_pointer rows, margins, out;
    const schedc_transfer *bins; /* the transfer of which `rows` are the bins; null: `rows` are values */
} device_buffers;

/* Returns the output of a run's first kernel. */
static cu_pointer first_output(const schedc_plan *p, device_buffers at)
{
    return p->finish && !is_direct(p) ? at.margins : at.out;
}

/* Whether the first kernel adds to initial margins in its output. */
static bool adds_to_output(const schedc_plan *p)
{
    return p->model->base && p->walk == p->model->outputs[SCHEDC_KIND_RAW].kernel;
}

/* Writes the model's own initial margins, if the caller gives none and the first kernel adds to them. */
static void begin_sums(const schedc_plan *p, schedc_ctx *ctx)
{
    if (adds_to_output(p) && !p->base_margin)
        p->model->gpu->base(ctx);
}

static int32_t run_kernels(const schedc_plan *p, schedc_lane *lane, int64_t n_rows, device_buffers at)
{
    schedc_team team = {.threads = 1, .lane = lane, .alloc = device_alloc, .free = device_free};
    schedc_ctx ctx = {.rows = (const void *)(uintptr_t)at.rows,
                      .n_rows = n_rows,
                      .out = (void *)(uintptr_t)first_output(p, at),
                      .tables = lane->device->tables,
                      .team = &team};
    if (is_direct(p)) {
        (at.bins ? at.bins->direct : p->model->gpu->direct)(&ctx);
        return (int32_t)ctx.status;
    }
    begin_sums(p, &ctx);
    if (ctx.status == SCHEDC_OK)
        (at.bins ? at.bins->raw : p->walk)(&ctx);
    if (p->finish && ctx.status == SCHEDC_OK) {
        ctx.rows = ctx.out;
        ctx.out = (void *)(uintptr_t)at.out;
        p->finish(&ctx);
    }
    return (int32_t)ctx.status;
}

/* Returns the bytes of a row of margins that a finishing kernel reads; 0 without such a kernel. */
static size_t margin_bytes(const schedc_plan *p)
{
    size_t bytes = (size_t)p->model->num_margins * schedc_size_of(p->model->margin_type);
    return p->finish && !is_direct(p) ? bytes : 0;
}

/* Returns the bytes of a row of results that are copied back. */
static size_t result_bytes(const schedc_plan *p)
{
    return p->margin_bytes && !p->finish ? p->margin_bytes : p->out_bytes;
}

/* Returns the bytes of the rows of a run in pinned memory. */
static size_t staged_bytes(const schedc_plan *p, const schedc_work *work)
{
    return work->bins ? schedc_transfer_bytes(work->bins, work->n_rows)
                      : (size_t)work->n_rows * p->row_bytes;
}

/* Writes the rows of a run to pinned memory, as bins or as values. */
static int32_t stage(const schedc_plan *p, const schedc_transfer *bins, int64_t first, int64_t n_rows,
                     void *pinned)
{
    if (bins)
        return schedc_quantize_rows(p, bins, first, n_rows, pinned);
    schedc_team team = {.threads = p->threads};
    schedc_ctx copying = {.n_rows = n_rows, .team = &team};
    schedc_pack_rows(p, &copying, first, n_rows, pinned);
    return SCHEDC_OK;
}

/* Puts the device's part of a run into the lane's stream: the copy of its rows, its kernels, and the copy of
 * its results. */
static int32_t enqueue(const schedc_plan *p, schedc_lane *lane, const schedc_work *work)
{
    const schedc_driver *driver = lane->device->driver;
    device_buffers at = {lane->rows.device, lane->margins.device, lane->out.device, work->bins};
    int32_t status = schedc_driver_status(driver->upload_async(
        lane->rows.device, lane->rows_in.pinned, staged_bytes(p, work), lane->stream));
    if (status == SCHEDC_OK && work->has_base)
        status = schedc_driver_status(driver->upload_async(first_output(p, at), lane->base_in.pinned,
                                                           (size_t)work->n_rows * p->base_bytes,
                                                           lane->stream));
    if (status == SCHEDC_OK)
        status = run_kernels(p, lane, work->n_rows, at);
    if (status == SCHEDC_OK)
        status = schedc_driver_status(driver->download_async(lane->results_out.pinned, lane->out.device,
                                                             (size_t)work->n_rows * work->result_bytes,
                                                             lane->stream));
    return status;
}

/* Makes the lane's memory large enough for a run. */
static int32_t grow(const schedc_plan *p, schedc_lane *lane, const schedc_work *work)
{
    size_t n_rows = (size_t)work->n_rows, rows = staged_bytes(p, work);
    size_t results = n_rows * work->result_bytes, base = work->has_base ? n_rows * p->base_bytes : 0;
    struct {
        schedc_area *area;
        size_t bytes;
        int32_t (*grow)(schedc_lane *, schedc_area *, size_t);
    } areas[] = {{&lane->rows_in, rows, schedc_area_pinned},
                 {&lane->base_in, base, schedc_area_pinned},
                 {&lane->results_out, results, schedc_area_pinned},
                 {&lane->rows, rows, schedc_area_device},
                 {&lane->margins, n_rows * margin_bytes(p), schedc_area_device},
                 {&lane->out, results, schedc_area_device}};
    int32_t status = SCHEDC_OK;
    for (size_t i = 0; i < sizeof areas / sizeof *areas && status == SCHEDC_OK; i++)
        status = areas[i].grow(lane, areas[i].area, areas[i].bytes);
    return status;
}

/* Starts a run on rows in the host's memory. */
static int32_t start(const schedc_plan *p, schedc_lane *lane, int64_t first, int64_t n_rows)
{
    schedc_work work = {.walk = p->walk,
                        .finish = p->finish,
                        .bins = schedc_transfer_of(p, n_rows),
                        .n_rows = n_rows,
                        .result_bytes = result_bytes(p),
                        .has_base = p->base_margin != NULL};
    int32_t status = grow(p, lane, &work);
    if (status != SCHEDC_OK)
        return status;
    work.growths = lane->growths;
    status = stage(p, work.bins, first, n_rows, lane->rows_in.pinned);
    if (status != SCHEDC_OK)
        return status;
    if (work.has_base)
        schedc_begin_sums(p, first, n_rows, lane->base_in.pinned);
    /* Runs of longer calls are copied while others are computed, so nothing waits for the driver. */
    bool is_whole_call = n_rows == p->n_rows;
    status = is_whole_call ? schedc_put_work(lane, &work, enqueue, p) : enqueue(p, lane, &work);
    if (status == SCHEDC_OK)
        status = schedc_driver_status(lane->device->driver->event_record(lane->done, lane->stream));
    lane->first = first;
    lane->n_rows = n_rows;
    return status;
}

/* Waits for the run of a lane, and copies its results to the caller. */
static int32_t finish(const schedc_plan *p, schedc_lane *lane)
{
    if (lane->n_rows == 0)
        return SCHEDC_OK;
    int32_t status = SCHEDC_OK;
    if (!schedc_seeded(SCHEDC_RESULTS_NOT_AWAITED))
        status = schedc_driver_status(lane->device->driver->event_synchronize(lane->done));
    unsigned char *out = p->out + (size_t)lane->first * p->out_bytes;
    if (status == SCHEDC_OK && p->margin_bytes && !p->finish)
        schedc_convert_margins(p, lane->results_out.pinned, lane->n_rows, out);
    else if (status == SCHEDC_OK)
        memcpy(out, lane->results_out.pinned, (size_t)lane->n_rows * p->out_bytes);
    lane->n_rows = 0;
    return status;
}

static int64_t piece_rows(const schedc_plan *p)
{
    int64_t rows = p->row_bytes ? (int64_t)(PIECE_BYTES / p->row_bytes) : PIECE_BYTES;
    rows = rows > PIECE_ROWS ? rows : PIECE_ROWS;
    return rows < p->model->rows_per_run ? rows : p->model->rows_per_run;
}

/* Runs a call on rows in the host's memory. */
static int32_t execute_from_host(const schedc_plan *p, schedc_session *session)
{
    int64_t piece = piece_rows(p), n_rows;
    int32_t status = SCHEDC_OK;
    int turn = 0;
    bool is_used = false; /* whether a run took place on the device */
    for (int64_t first = 0; first < p->n_rows && status == SCHEDC_OK; first += n_rows, turn ^= 1) {
        schedc_lane *lane = &session->lanes[turn];
        n_rows = p->n_rows - first < piece ? p->n_rows - first : piece;
        status = finish(p, lane);
        if (status == SCHEDC_OK && schedc_on_device(p, n_rows)) {
            is_used = true;
            status = start(p, lane, first, n_rows);
        } else if (status == SCHEDC_OK) {
            schedc_plan part = schedc_part(p, first, n_rows);
            status = schedc_execute(&part);
        }
    }
    for (int i = 0; i < SCHEDC_LANES; i++, turn ^= 1) {
        schedc_lane *lane = &session->lanes[turn];
        if (status == SCHEDC_OK)
            status = finish(p, lane);
        else if (!schedc_seeded(SCHEDC_FAILURE_NOT_AWAITED))
            lane->device->driver->stream_synchronize(lane->stream);
        lane->n_rows = 0;
    }
    /* If a run took place on the device, its lane waited for the earlier call, and this call has waited for
     * the lane. */
    if (is_used || schedc_seeded(SCHEDC_LAST_CALL_DROPPED))
        session->pending = false;
    return status;
}

/* Returns the rows of a run of a call on rows in the device's memory. All runs have nearly as many. */
static int64_t rows_in_place(const schedc_plan *p)
{
    int64_t longest = p->model->rows_per_run;
    int64_t packed = p->columns && p->row_bytes ? (int64_t)(PACKED_BYTES / p->row_bytes) + 1 : INT64_MAX;
    longest = longest < packed ? longest : packed;
    int64_t runs = (p->n_rows - 1) / longest + 1;
    return (p->n_rows - 1) / runs + 1;
}

/* Runs a call on rows or columns in the device's memory. All work goes into the caller's stream, and nothing
 * waits for it. */
static int32_t execute_in_place(const schedc_plan *p, schedc_session *session)
{
    schedc_lane *lane = &session->lanes[0];
    const schedc_driver *driver = lane->device->driver;
    int64_t longest = rows_in_place(p), n_rows;
    int32_t status = SCHEDC_OK;
    lane->stream = p->stream;
    for (int64_t first = 0; first < p->n_rows && status == SCHEDC_OK; first += n_rows) {
        n_rows = p->n_rows - first < longest ? p->n_rows - first : longest;
        schedc_plan part = schedc_part(p, first, n_rows);
        if (!schedc_on_device(p, n_rows)) {
            status = SCHEDC_ERR_UNSUPPORTED;
            break;
        }
        status = schedc_area_device(lane, &lane->margins, (size_t)n_rows * margin_bytes(p));
        if (status == SCHEDC_OK && p->columns)
            status = schedc_area_device(lane, &lane->rows, (size_t)n_rows * p->row_bytes);
        if (status == SCHEDC_OK && p->columns)
            status = schedc_pack_columns(&part, session, lane->rows.device);
        cu_pointer rows = p->columns ? lane->rows.device : (uintptr_t)part.rows;
        device_buffers at = {rows, lane->margins.device, (uintptr_t)part.out, NULL};
        if (status == SCHEDC_OK && p->base_margin)
            status = schedc_driver_status(driver->copy_async(first_output(p, at),
                                                             (uintptr_t)part.base_margin,
                                                             (size_t)n_rows * p->base_bytes, lane->stream));
        if (status == SCHEDC_OK)
            status = run_kernels(p, lane, n_rows, at);
    }
    int32_t recorded = schedc_driver_status(driver->event_record(lane->done, lane->stream));
    session->pending = recorded == SCHEDC_OK;
    /* Without a recorded event, no later call could wait for this one. */
    if (recorded != SCHEDC_OK && !schedc_seeded(SCHEDC_RECORD_NOT_CHECKED))
        driver->stream_synchronize(lane->stream);
    return status == SCHEDC_OK ? recorded : status;
}

/* Makes the streams of a session wait for the previous call that used it. */
static int32_t after_the_last_call(const schedc_plan *p, schedc_session *session)
{
    const schedc_driver *driver = session->lanes[0].device->driver;
    int32_t error = CU_OK;
    for (int i = 0; i < SCHEDC_LANES && error == CU_OK; i++) {
        schedc_lane *lane = &session->lanes[i];
        lane->stream = p->on_device ? p->stream : lane->own_stream;
        if (session->pending && !schedc_seeded(SCHEDC_LAST_CALL_FORGOTTEN))
            error = driver->stream_wait(lane->stream, session->lanes[0].done, 0);
    }
    return schedc_driver_status(error);
}

int32_t schedc_rt_execute_on_device(const schedc_plan *p)
{
    int32_t status;
    schedc_device *device = schedc_device_enter(p->model, p->device, &status);
    if (!device)
        return status;
    schedc_session *session = schedc_session_take(device, &status);
    if (session) {
        status = after_the_last_call(p, session);
        if (status == SCHEDC_OK)
            status = p->on_device ? execute_in_place(p, session) : execute_from_host(p, session);
        schedc_session_give(device, session);
    }
    schedc_device_leave(device);
    return status;
}
