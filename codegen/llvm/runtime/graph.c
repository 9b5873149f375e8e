/* Repeated runs as graphs. A small call waits longer for the driver to put its copies and kernels into a
 * stream than for the device. If a lane's runs repeat the same work, the driver captures it once, and later
 * runs launch all of it with one call. Rows and results are in memory of the lane, whose addresses stay the
 * same until it grows. */
#include "device.h"

/* Equal runs before the work is captured, which takes as long as several small calls. */
enum { RUNS_BEFORE_CAPTURE = 8 };

void schedc_end_graph(schedc_lane *lane)
{
    if (lane->graph.executable)
        lane->device->driver->executable_destroy(lane->graph.executable);
    lane->graph = (schedc_graph){.is_refused = lane->graph.is_refused};
}

static bool is_same(const schedc_work *a, const schedc_work *b)
{
    bool in_same_memory = a->growths == b->growths || schedc_seeded(SCHEDC_GRAPH_OUTLIVES_MEMORY);
    return a->walk == b->walk && a->finish == b->finish && a->bins == b->bins && a->n_rows == b->n_rows &&
           a->result_bytes == b->result_bytes && a->has_base == b->has_base && in_same_memory;
}

/* Captures the work of a run, which is not executed. If that fails, the lane never tries again. */
static void capture(schedc_lane *lane,
                    int32_t (*enqueue)(const schedc_plan *, schedc_lane *, const schedc_work *),
                    const schedc_plan *p)
{
    const schedc_driver *driver = lane->device->driver;
    schedc_graph *graph = &lane->graph;
    cu_handle captured = NULL, executable = NULL;
    graph->is_refused = true;
    if (driver->begin_capture(lane->stream, CU_CAPTURE_THREAD_LOCAL) != CU_OK)
        return;
    int32_t status = enqueue(p, lane, &graph->work);
    /* A capture that has failed must be ended, too. */
    int32_t error = driver->end_capture(lane->stream, &captured);
    bool is_whole = status == SCHEDC_OK && error == CU_OK && captured;
    if (is_whole && driver->instantiate(&executable, captured, 0) == CU_OK) {
        graph->executable = executable;
        graph->is_refused = false;
    }
    if (captured)
        driver->graph_destroy(captured);
}

int32_t schedc_put_work(schedc_lane *lane, const schedc_work *work,
                        int32_t (*enqueue)(const schedc_plan *, schedc_lane *, const schedc_work *),
                        const schedc_plan *p)
{
    const schedc_driver *driver = lane->device->driver;
    schedc_graph *graph = &lane->graph;
    if (!driver->has_graphs || graph->is_refused)
        return enqueue(p, lane, work);
    /* A graph does not clear counters that a failed launch has left. */
    bool must_clear = lane->counters.size > 0 && !lane->counters_are_zero;
    if (graph->runs == 0 || must_clear || !is_same(&graph->work, work)) {
        schedc_end_graph(lane);
        graph->work = *work;
    }
    if (!graph->executable && graph->runs++ >= RUNS_BEFORE_CAPTURE)
        capture(lane, enqueue, p);
    if (!graph->executable)
        return enqueue(p, lane, work);
    int32_t status = schedc_driver_status(driver->graph_launch(graph->executable, lane->stream));
    if (status != SCHEDC_OK) {
        schedc_end_graph(lane);
        lane->counters_are_zero = false;
    }
    return status;
}
