/* A model on a device: its code, its tables, and memory for calls. */
#ifndef SCHEDC_DEVICE_H
#define SCHEDC_DEVICE_H

#include <stdatomic.h>

#include "driver.h"
#include "fault.h"
#include "plan.h"

/* Memory that grows if a call needs more, and is kept for the next call. */
typedef struct schedc_area {
    cu_pointer device;
    void *pinned; /* memory of the host that the device reads and writes at full speed */
    size_t size;
} schedc_area;

/* Temporary memory of kernels. */
typedef struct schedc_scratch {
    struct schedc_scratch *next;
    schedc_area area;
    bool is_free; /* launches of one stream run in order, so the next one may use it at once */
} schedc_scratch;

typedef struct schedc_device schedc_device;

/* Everything that the work of a run on a device depends on, apart from the content of the lane's memory. Two
 * runs of a lane with the same description put the same work into its stream. */
typedef struct schedc_work {
    schedc_kernel walk, finish;
    const schedc_transfer *bins;
    int64_t n_rows;
    size_t result_bytes; /* of a row */
    bool has_base;
    int64_t growths; /* of the lane when the run began */
} schedc_work;

/* The work of a run that is repeated, as a graph of the driver. */
typedef struct schedc_graph {
    schedc_work work;     /* of the lane's last run that could be repeated */
    int32_t runs;         /* consecutive runs with this work */
    cu_handle executable; /* null: the work has not been captured */
    bool is_refused;      /* whether the driver has failed to make a graph */
} schedc_graph;

/* The stream and the memory of one run at a time: its rows are copied in, kernels run, and results are copied
 * out. */
struct schedc_lane {
    schedc_device *device;
    cu_handle own_stream, stream; /* the stream in use: own_stream or the caller's */
    cu_handle done;               /* event: the last run is done */
    schedc_area rows_in, base_in, results_out; /* pinned */
    schedc_area rows, margins, out;
    schedc_area counters; /* of launches: 0 between launches, from the call on that `counters_are_zero` */
    bool counters_are_zero;
    schedc_scratch *scratch;
    int64_t growths; /* number of times that memory of the lane was allocated */
    schedc_graph graph;
    int64_t first, n_rows; /* the run under way; n_rows is 0 if there is none */
};

/* Lanes of a call: one copies the next run while another computes. */
enum { SCHEDC_LANES = 2 };

/* The streams and memory of one call at a time. */
typedef struct schedc_session {
    struct schedc_session *next;
    schedc_lane lanes[SCHEDC_LANES];
    bool pending; /* an earlier call in its caller's stream may still run: lanes[0].done is its end */
    int64_t *order; /* words about the columns of a call; null before the first call with columns */
} schedc_session;

/* A model on one device. */
struct schedc_device {
    struct schedc_device *next;
    const schedc_driver *driver;
    const schedc_gpu *gpu;
    int32_t ordinal;
    cu_handle context, module;
    cu_handle *launches;
    const void **tables; /* addresses on the device */
    cu_pointer memory;   /* of the tables */
    pthread_mutex_t lock;
    _Atomic(schedc_session *) idle; /* a session that no call uses: taken and given without a lock */
    schedc_session *sessions;       /* further sessions that no call uses, behind the lock */
};

/* Returns the model on a device, and loads it at the first call. The device's context is current for the
 * thread until schedc_device_leave. Returns null, with a status, if that fails. */
schedc_device *schedc_device_enter(const schedc_model *model, int32_t ordinal, int32_t *status);
void schedc_device_leave(schedc_device *device);

/* Takes a session for one call, and gives it back for later calls. */
schedc_session *schedc_session_take(schedc_device *device, int32_t *status);
void schedc_session_give(schedc_device *device, schedc_session *session);

/* Makes an area of a lane at least `bytes` long; its old content is lost. Pinned memory must not be in
 * use. If memory of the device may be in use, the function waits for the lane's stream. */
int32_t schedc_area_device(schedc_lane *lane, schedc_area *area, size_t bytes);
int32_t schedc_area_pinned(schedc_lane *lane, schedc_area *area, size_t bytes);

/* Puts the work of a run into the lane's stream: by `enqueue` at first, as a graph if the work repeats.
 * Earlier runs of the lane are done. */
int32_t schedc_put_work(schedc_lane *lane, const schedc_work *work,
                        int32_t (*enqueue)(const schedc_plan *, schedc_lane *, const schedc_work *),
                        const schedc_plan *p);

/* Releases a lane's graph. */
void schedc_end_graph(schedc_lane *lane);

/* Packs the columns of a call in the caller's stream into rows on the device. */
int32_t schedc_pack_columns(const schedc_plan *p, schedc_session *session, cu_pointer rows);

/* Returns ten times the major number of a device's compute capability, plus the minor one; 0 without such
 * a device or a driver. */
int32_t schedc_rt_capability(int32_t ordinal);

/* Releases a model's memory and code on all devices, after the calls in their callers' streams. No other
 * call may be running. */
void schedc_rt_release_devices(const schedc_gpu *gpu);

#endif
