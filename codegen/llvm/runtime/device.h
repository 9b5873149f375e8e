/* What a model has on a device: its code, its tables, and memory for calls. */
#ifndef SCHEDC_DEVICE_H
#define SCHEDC_DEVICE_H

#include "driver.h"
#include "fault.h"
#include "plan.h"

/* Memory that grows, and is kept for the next call. */
typedef struct schedc_area {
    cu_pointer device;
    void *pinned; /* of the host, which the device reads and writes at full speed */
    size_t size;
} schedc_area;

/* A piece of memory of kernels. */
typedef struct schedc_scratch {
    struct schedc_scratch *next;
    schedc_area area;
    bool is_free; /* launches of one stream run one after the other, so the next one may have it at once */
} schedc_scratch;

typedef struct schedc_device schedc_device;

/* A run of a call on its way: copied in, computed, copied out. */
struct schedc_lane {
    schedc_device *device;
    cu_handle own_stream, stream; /* the stream in use is the lane's own or the caller's */
    cu_handle done;               /* event: all work of the last run is done */
    schedc_area rows_in, results_out; /* pinned */
    schedc_area rows, margins, out;
    schedc_scratch *scratch;
    int64_t first, n_rows; /* the run that is on its way; none if there are no rows */
};

/* What one call has: while one run is computed, the next one is copied. */
enum { SCHEDC_LANES = 2 };

typedef struct schedc_session {
    struct schedc_session *next;
    schedc_lane lanes[SCHEDC_LANES];
    bool pending; /* a call before has been put into a stream of its caller, and may not be done: lanes[0].done tells */
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
    schedc_session *sessions; /* that no call has */
};

/* The model on the device of this number, where it is put when it is first asked for. Its context is current for the
 * thread, until schedc_device_leave. Null if that fails, with a status. */
schedc_device *schedc_device_enter(const schedc_model *model, int32_t ordinal, int32_t *status);
void schedc_device_leave(schedc_device *device);

/* Streams and memory for one call. */
schedc_session *schedc_session_take(schedc_device *device, int32_t *status);
void schedc_session_give(schedc_device *device, schedc_session *session);

/* Makes an area of a lane at least so large; what it held is lost. Pinned memory must not be in use. Where memory of the
 * device may be, the lane's stream is waited for. */
int32_t schedc_area_device(schedc_lane *lane, schedc_area *area, size_t bytes);
int32_t schedc_area_pinned(schedc_lane *lane, schedc_area *area, size_t bytes);

/* The compute capability of a device, ten times the major number plus the minor one; 0 if there is no such device, or no
 * driver. */
int32_t schedc_rt_capability(int32_t ordinal);

/* Gives back all that a model has on devices, after the calls that have been put into streams. No other may be running. */
void schedc_rt_release_devices(const schedc_gpu *gpu);

#endif
