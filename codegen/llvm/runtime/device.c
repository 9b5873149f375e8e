/* Models on devices: loaded at the first call, and kept until the model is released. */
#include "device.h"

#include <stdlib.h>

enum { TABLE_ALIGN = 256 };

/* Held while a model is loaded to a device. Calls that find their device in the model's list do not need
 * it. */
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

static size_t rounded(int64_t bytes)
{
    return ((size_t)bytes + TABLE_ALIGN - 1) & ~(size_t)(TABLE_ALIGN - 1);
}

int32_t schedc_area_device(schedc_lane *lane, schedc_area *area, size_t bytes)
{
    if (bytes <= area->size)
        return SCHEDC_OK;
    const schedc_driver *driver = lane->device->driver;
    int32_t status = SCHEDC_OK;
    /* Kernels of this call, or of the previous one, may still use the memory, and drivers need not wait for
     * them. */
    if (area->device && !schedc_seeded(SCHEDC_GROWTH_NOT_AWAITED))
        status = schedc_driver_status(driver->stream_synchronize(lane->stream));
    if (status != SCHEDC_OK)
        return status;
    if (area->device)
        driver->free(area->device);
    *area = (schedc_area){0};
    lane->growths++;
    status = schedc_driver_status(driver->alloc(&area->device, bytes));
    if (status == SCHEDC_OK)
        area->size = bytes;
    return status;
}

int32_t schedc_area_pinned(schedc_lane *lane, schedc_area *area, size_t bytes)
{
    if (bytes <= area->size)
        return SCHEDC_OK;
    const schedc_driver *driver = lane->device->driver;
    if (area->pinned)
        driver->free_pinned(area->pinned);
    *area = (schedc_area){0};
    lane->growths++;
    int32_t error = driver->alloc_pinned(&area->pinned, bytes, 0);
    if (error == CU_OK)
        area->size = bytes;
    return error == CU_OUT_OF_MEMORY ? SCHEDC_ERR_MEMORY : schedc_driver_status(error);
}

/* Loads the first image that the device can run. */
static int32_t load_code(schedc_device *device, int32_t capability)
{
    const schedc_driver *driver = device->driver;
    const schedc_gpu *gpu = device->gpu;
    int32_t status = SCHEDC_ERR_DEVICE;
    for (int32_t i = 0; i < gpu->num_images && !device->module; i++) {
        const schedc_image *image = &gpu->images[i];
        bool same = image->capability / 10 == capability / 10;
        /* AMD's driver itself checks whether a GPU can run an image. */
        if (gpu->maker == SCHEDC_NVIDIA && (image->capability > capability || (image->is_final && !same)))
            continue;
        status = schedc_driver_status(driver->module_load(&device->module, image->bytes));
        if (status != SCHEDC_OK)
            device->module = NULL;
    }
    for (int32_t i = 0; i < gpu->num_launches && status == SCHEDC_OK; i++) {
        const schedc_launch *launch = &gpu->launches[i];
        cu_handle *function = &device->launches[i];
        status = schedc_driver_status(driver->function_get(function, device->module, launch->name));
        if (status == SCHEDC_OK && launch->shared &&
            driver->function_set(*function, CU_FUNC_DYNAMIC_SHARED, (int)launch->shared) != CU_OK)
            status = SCHEDC_ERR_DEVICE;
    }
    return status;
}

/* Starts copies of the tables in a stream, all to one piece of memory. */
static int32_t copy_tables(schedc_device *device, const void *const *tables, cu_handle stream)
{
    const schedc_gpu *gpu = device->gpu;
    int32_t status = SCHEDC_OK;
    cu_pointer to = device->memory;
    for (int32_t i = 0; i < gpu->num_tables && status == SCHEDC_OK; i++) {
        size_t bytes = (size_t)gpu->table_bytes[i];
        device->tables[i] = (const void *)(uintptr_t)to;
        if (bytes)
            status = schedc_driver_status(device->driver->upload_async(to, tables[i], bytes, stream));
        to += rounded(gpu->table_bytes[i]);
    }
    return status;
}

/* Copies the tables, which are in pageable memory. The driver's function may return before such a copy has
 * ended, and the streams of calls wait for no other stream. This function therefore waits for the stream of
 * the copies, also after a failure, since the caller then frees the memory. */
static int32_t load_tables(schedc_device *device, const void *const *tables)
{
    const schedc_driver *driver = device->driver;
    size_t bytes = TABLE_ALIGN;
    for (int32_t i = 0; i < device->gpu->num_tables; i++)
        bytes += rounded(device->gpu->table_bytes[i]);
    cu_handle stream;
    int32_t error = driver->alloc(&device->memory, bytes);
    if (error == CU_OK)
        error = driver->stream_create(&stream, CU_STREAM_NON_BLOCKING);
    if (error != CU_OK)
        return schedc_driver_status(error);
    int32_t status = copy_tables(device, tables, stream);
    if (!schedc_seeded(SCHEDC_TABLES_NOT_AWAITED))
        error = driver->stream_synchronize(stream);
    driver->stream_destroy(stream);
    return status == SCHEDC_OK ? schedc_driver_status(error) : status;
}

/* Releases a model. If its code or tables are on the device, the caller has made the device's context
 * current. */
static void unload(schedc_device *device)
{
    if (device->memory)
        device->driver->free(device->memory);
    if (device->module)
        device->driver->module_unload(device->module);
    pthread_mutex_destroy(&device->lock);
    free(device->launches);
    free(device->tables);
    free(device);
}

/* Loads a model to a device whose context is current. */
static int32_t load(schedc_device *device, const void *const *tables)
{
    cu_device number;
    int major = 0, minor = 0;
    const schedc_driver *driver = device->driver;
    bool asks = device->gpu->maker == SCHEDC_NVIDIA;
    int32_t error = driver->device_get(&number, device->ordinal);
    if (error == CU_OK && asks)
        error = driver->device_attribute(&major, CU_MAJOR, number);
    if (error == CU_OK && asks)
        error = driver->device_attribute(&minor, CU_MINOR, number);
    int32_t status = schedc_driver_status(error);
    if (status == SCHEDC_OK)
        status = load_code(device, 10 * major + minor);
    return status == SCHEDC_OK ? load_tables(device, tables) : status;
}

static schedc_device *new_device(const schedc_gpu *gpu, const schedc_driver *driver, int32_t ordinal)
{
    schedc_device *device = calloc(1, sizeof *device);
    if (!device)
        return NULL;
    *device = (schedc_device){.driver = driver, .gpu = gpu, .ordinal = ordinal};
    pthread_mutex_init(&device->lock, NULL);
    device->launches = calloc((size_t)gpu->num_launches + 1, sizeof *device->launches);
    device->tables = calloc((size_t)gpu->num_tables + 1, sizeof *device->tables);
    if (device->launches && device->tables)
        return device;
    unload(device);
    return NULL;
}

/* Returns the context that all users of a device share. */
static int32_t context_of(const schedc_driver *driver, int32_t ordinal, cu_handle *context)
{
    cu_device number;
    int32_t error = driver->device_get(&number, ordinal);
    return schedc_driver_status(error == CU_OK ? driver->retain(context, number) : error);
}

/* Loads a model to a device for the first time. The caller holds the lock. */
static schedc_device *add(const schedc_gpu *gpu, const void *const *tables, int32_t ordinal, int32_t *status)
{
    const schedc_driver *driver = schedc_driver_get(gpu->maker, status);
    if (!driver)
        return NULL;
    schedc_device *device = new_device(gpu, driver, ordinal);
    if (!device) {
        *status = SCHEDC_ERR_MEMORY;
        return NULL;
    }
    *status = context_of(driver, ordinal, &device->context);
    if (*status == SCHEDC_OK)
        *status = schedc_driver_status(driver->push(device->context));
    bool is_current = *status == SCHEDC_OK;
    if (is_current)
        *status = load(device, tables);
    if (*status == SCHEDC_OK) {
        device->next = *gpu->state;
        __atomic_store_n(gpu->state, device, __ATOMIC_RELEASE);
        return device;
    }
    cu_handle context;
    if (is_current && schedc_seeded(SCHEDC_UNLOAD_WITHOUT_CONTEXT))
        driver->pop(&context);
    unload(device);
    if (is_current && !schedc_seeded(SCHEDC_UNLOAD_WITHOUT_CONTEXT))
        driver->pop(&context);
    return NULL;
}

int32_t schedc_rt_capability(int32_t ordinal)
{
    cu_device number;
    int major, minor;
    int32_t status;
    const schedc_driver *driver = schedc_driver_get(SCHEDC_NVIDIA, &status);
    if (!driver || driver->device_get(&number, ordinal) != CU_OK ||
        driver->device_attribute(&major, CU_MAJOR, number) != CU_OK ||
        driver->device_attribute(&minor, CU_MINOR, number) != CU_OK)
        return 0;
    return 10 * major + minor;
}

static schedc_device *find(const schedc_gpu *gpu, int32_t ordinal)
{
    schedc_device *device = __atomic_load_n(gpu->state, __ATOMIC_ACQUIRE);
    while (device && device->ordinal != ordinal)
        device = device->next;
    return device;
}

schedc_device *schedc_device_enter(const schedc_model *model, int32_t ordinal, int32_t *status)
{
    const schedc_gpu *gpu = model->gpu;
    schedc_device *device = find(gpu, ordinal);
    if (!device) {
        pthread_mutex_lock(&loading);
        device = find(gpu, ordinal);
        schedc_device *added = device ? NULL : add(gpu, model->tables, ordinal, status);
        pthread_mutex_unlock(&loading);
        if (!device)
            return added;
    }
    *status = schedc_driver_status(device->driver->push(device->context));
    return *status == SCHEDC_OK ? device : NULL;
}

void schedc_device_leave(schedc_device *device)
{
    cu_handle context;
    device->driver->pop(&context);
}

/* Sessions. */

static void end_area(schedc_device *device, schedc_area *area)
{
    if (area->device)
        device->driver->free(area->device);
    if (area->pinned)
        device->driver->free_pinned(area->pinned);
    *area = (schedc_area){0};
}

static void end_session(schedc_device *device, schedc_session *session)
{
    const schedc_driver *driver = device->driver;
    if (session->pending && !schedc_seeded(SCHEDC_RELEASE_NOT_AWAITED))
        driver->event_synchronize(session->lanes[0].done);
    for (schedc_lane *lane = session->lanes; lane < session->lanes + SCHEDC_LANES; lane++) {
        schedc_end_graph(lane);
        schedc_area *areas[] = {&lane->rows_in, &lane->base_in, &lane->results_out,
                                &lane->rows,    &lane->margins, &lane->out,
                                &lane->counters};
        for (size_t i = 0; i < sizeof areas / sizeof *areas; i++)
            end_area(device, areas[i]);
        while (lane->scratch) {
            schedc_scratch *piece = lane->scratch;
            lane->scratch = piece->next;
            end_area(device, &piece->area);
            free(piece);
        }
        if (lane->done)
            driver->event_destroy(lane->done);
        if (lane->own_stream)
            driver->stream_destroy(lane->own_stream);
    }
    free(session->order);
    free(session);
}

static schedc_session *new_session(schedc_device *device, int32_t *status)
{
    schedc_session *session = calloc(1, sizeof *session);
    *status = session ? SCHEDC_OK : SCHEDC_ERR_MEMORY;
    for (int32_t i = 0; i < SCHEDC_LANES && *status == SCHEDC_OK; i++) {
        schedc_lane *lane = &session->lanes[i];
        lane->device = device;
        int32_t error = device->driver->stream_create(&lane->own_stream, CU_STREAM_NON_BLOCKING);
        if (error == CU_OK)
            error = device->driver->event_create(&lane->done, CU_EVENT_NO_TIMING);
        *status = schedc_driver_status(error);
    }
    if (session && *status != SCHEDC_OK) {
        end_session(device, session);
        session = NULL;
    }
    return session;
}

schedc_session *schedc_session_take(schedc_device *device, int32_t *status)
{
    schedc_session *session = atomic_exchange_explicit(&device->idle, NULL, memory_order_acquire);
    if (!session) {
        pthread_mutex_lock(&device->lock);
        session = device->sessions;
        if (session)
            device->sessions = session->next;
        pthread_mutex_unlock(&device->lock);
    }
    *status = SCHEDC_OK;
    return session ? session : new_session(device, status);
}

void schedc_session_give(schedc_device *device, schedc_session *session)
{
    schedc_session *none = NULL;
    if (atomic_compare_exchange_strong_explicit(&device->idle, &none, session, memory_order_release,
                                                memory_order_relaxed))
        return;
    pthread_mutex_lock(&device->lock);
    session->next = device->sessions;
    device->sessions = session;
    pthread_mutex_unlock(&device->lock);
}

void schedc_rt_release_devices(const schedc_gpu *gpu)
{
    pthread_mutex_lock(&loading);
    schedc_device *device = *gpu->state;
    *gpu->state = NULL;
    pthread_mutex_unlock(&loading);
    while (device) {
        schedc_device *next = device->next;
        bool current = device->driver->push(device->context) == CU_OK;
        const schedc_driver *driver = device->driver;
        schedc_session *idle = atomic_exchange_explicit(&device->idle, NULL, memory_order_acquire);
        if (idle)
            end_session(device, idle);
        while (device->sessions) {
            schedc_session *session = device->sessions;
            device->sessions = session->next;
            end_session(device, session);
        }
        unload(device);
        cu_handle context;
        if (current)
            driver->pop(&context);
        device = next;
    }
}
