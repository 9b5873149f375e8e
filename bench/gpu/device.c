/* Properties and throughput of the GPU, to which other figures are compared. */
#include <stdio.h>

#include "input.h"
#include "harness.h"

enum { SAMPLES = 9, LAUNCHES = 64 };
enum {
    MULTIPROCESSORS = 16,
    CLOCK = 13,
    MEMORY_CLOCK = 36,
    BUS_WIDTH = 37,
    L2_BYTES = 38,
    MAJOR = 75,
    MINOR = 76
};
#define COPIED (256ll << 20)

/* An empty kernel. */
static const char nothing[] = ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry nothing() "
                              "{ ret; }\n";

static int attribute(int number)
{
    int value = 0;
    must(cu.device_attribute(&value, number, device), "an attribute of the GPU");
    return value;
}

typedef enum { WITHIN, UP, DOWN, FILL } Way;

/* Bytes per microsecond, divided by 1000: gigabytes per second. */
static double bandwidth(Way way, size_t bytes)
{
    Memory from = device_memory(bytes), to = device_memory(bytes);
    Handle stream = new_stream(), events[2];
    void *pinned = NULL;
    double samples[SAMPLES];
    must(cu.alloc_pinned(&pinned, bytes, 0), "pinned memory");
    for (int i = 0; i < 2; i++)
        must(cu.event_create(&events[i], 0), "an event");
    for (int i = 0; i < SAMPLES; i++) {
        must(cu.event_record(events[0], stream), "an event");
        int error = way == WITHIN ? cu.copy_async(to, from, bytes, stream)
                    : way == UP   ? cu.upload_async(to, pinned, bytes, stream)
                    : way == DOWN ? cu.download_async(pinned, from, bytes, stream)
                                  : cu.fill_async(to, 1, bytes, stream);
        must(error, "a copy");
        must(cu.event_record(events[1], stream), "an event");
        must(cu.event_synchronize(events[1]), "a copy");
        samples[i] = micros_between(events[0], events[1]);
    }
    must(cu.free(from) | cu.free(to) | cu.free_pinned(pinned), "memory");
    return (way == WITHIN ? 2.0 : 1.0) * (double)bytes / median(samples, SAMPLES) / 1e3;
}

static void measure_launches(void)
{
    Handle module, function, stream = new_stream(), events[2];
    int error = cu.module_load(&module, nothing);
    begin_line("launch");
    if (error) {
        printf(",\"left_out\":\"the driver does not take PTX: error %d\"}\n", error);
        return;
    }
    must(cu.function_get(&function, module, "nothing"), "a kernel");
    for (int i = 0; i < 2; i++)
        must(cu.event_create(&events[i], 0), "an event");
    double back_to_back[SAMPLES], with_wait[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) {
        hold(stream);
        must(cu.event_record(events[0], stream), "an event");
        for (int j = 0; j < LAUNCHES; j++)
            must(cu.launch(function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL), "a launch");
        must(cu.event_record(events[1], stream), "an event");
        must(cu.event_synchronize(events[1]), "a launch");
        back_to_back[i] = micros_between(events[0], events[1]) / LAUNCHES;
        double start = now();
        must(cu.launch(function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL), "a launch");
        must(cu.stream_synchronize(stream), "a launch");
        with_wait[i] = (now() - start) * 1e6;
    }
    printf(",\"us_back_to_back\":%.3f,\"us_with_wait\":%.3f}\n", median(back_to_back, SAMPLES),
           median(with_wait, SAMPLES));
}

void measure_device(void)
{
    char name[256] = "";
    size_t memory = 0, bytes = options.rows < 100000 ? 1 << 16 : COPIED;
    int version = 0;
    start_driver();
    must(cu.device_name(name, sizeof name - 1, device), "the name of the GPU");
    must(cu.device_memory(&memory, device), "the memory of the GPU");
    must(cu.version(&version), "the version of the driver");
    begin_line("device");
    printf(",\"name\":\"%s\",\"capability\":\"%d.%d\",\"memory\":%zu,\"driver\":%d,\"multiprocessors\":%d,"
           "\"clock_khz\":%d,\"memory_clock_khz\":%d,\"bus_bits\":%d,\"l2_bytes\":%d}\n",
           name, attribute(MAJOR), attribute(MINOR), memory, version, attribute(MULTIPROCESSORS),
           attribute(CLOCK), attribute(MEMORY_CLOCK), attribute(BUS_WIDTH), attribute(L2_BYTES));
    begin_line("bandwidth");
    printf(",\"device_gb_s\":%.1f,\"fill_gb_s\":%.1f,\"up_gb_s\":%.1f,\"down_gb_s\":%.1f}\n",
           bandwidth(WITHIN, bytes), bandwidth(FILL, bytes), bandwidth(UP, bytes), bandwidth(DOWN, bytes));
    measure_launches();
}
