/* The worker threads of an artefact.
 *
 * One loop at a time owns the pool. Its caller opens a number of seats, each of which admits one worker.
 * Workers take seats, draw iterations from a counter that they share with the caller, and leave. When no
 * iterations are left, the caller closes the free seats and waits for the seated workers. If another call
 * or a surrounding loop owns the pool, the calling thread runs the loop alone: no loop waits for another
 * call. */
#include "internal.h"
#include "modes.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct job {
    void (*body)(void *env, int64_t i);
    void *env;
    uint64_t trip;
    uint64_t chunk; /* iterations drawn at a time */
} job;

/* Bits of the gate: free seats, seated workers, and whether the caller sleeps until they have left. */
#define SITTING_MASK 0xffffu
#define SEAT (1u << 16)
#define SEATS_MASK 0x7fff0000u
#define CALLER_SLEEPS (1u << 31)

/* Fields that are written by the same threads, at the same stage of a loop, share a cache line. */
static struct {
    _Alignas(64) _Atomic uint32_t owned; /* 1: a loop owns the pool, or the pool has stopped */
    uint32_t count;                      /* number of workers; this line belongs to the owner */
    uint32_t limit;                      /* most workers that the system permits */
    bool watches_fork;
    job job;
    _Alignas(64) _Atomic uint32_t gate;
    _Alignas(64) _Atomic uint64_t next;   /* first iteration that no thread has drawn */
    _Alignas(64) _Atomic uint32_t signal; /* changes when a loop opens its seats or the pool stops */
    _Atomic uint32_t sleepers;            /* workers that wait for the signal in the kernel */
    _Atomic bool stop;
    pthread_t workers[SCHEDC_MAX_THREADS];
} pool = {.limit = SCHEDC_MAX_THREADS - 1};

static void sleep_while(_Atomic uint32_t *word, uint32_t value)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake(_Atomic uint32_t *word, uint32_t count)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

/* Threads spin before they sleep in the kernel, so that loops in quick succession need no sleep. They spin
 * at most for the time that a sleep and a wake take together. */
#if defined(__x86_64__)
#define SPIN_TICKS 80000u /* 20 to 40 microseconds */

static uint64_t ticks(void)
{
    return __builtin_ia32_rdtsc();
}

static void relax(void)
{
    __builtin_ia32_pause();
}
#else
#define SPIN_TICKS 20000u /* nanoseconds */
#include <time.h>

static uint64_t ticks(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void relax(void)
{
}
#endif

/* Returns the time, in ticks, until which a thread spins from now on: the present time on a single core. */
static uint64_t spin_end(void)
{
    return ticks() + (schedc_usable_cores() > 1 ? SPIN_TICKS : 0);
}

static bool before(uint64_t end)
{
    return (int64_t)(end - ticks()) > 0;
}

/* Draws and runs iterations until none are left. */
static void work(void)
{
    const job now = pool.job;
    for (;;) {
        uint64_t i = atomic_fetch_add_explicit(&pool.next, now.chunk, memory_order_relaxed);
        if (i >= now.trip)
            return;
        uint64_t end = now.trip - i < now.chunk ? now.trip : i + now.chunk;
        for (; i < end; i++)
            now.body(now.env, (int64_t)i);
    }
}

static bool take_seat(void)
{
    uint32_t gate = atomic_load_explicit(&pool.gate, memory_order_relaxed);
    while (gate & SEATS_MASK) {
        /* acquire: opening the gate publishes the job */
        if (atomic_compare_exchange_weak_explicit(&pool.gate, &gate, gate - SEAT + 1, memory_order_acquire,
                                                  memory_order_relaxed))
            return true;
    }
    return false;
}

static void leave_seat(void)
{
    uint32_t gate = atomic_fetch_sub_explicit(&pool.gate, 1, memory_order_release);
    if (gate == (CALLER_SLEEPS | 1))
        wake(&pool.gate, 1);
}

static void *worker(void *unused)
{
    (void)unused;
    schedc_enter_modes(); /* a thread inherits the modes of its creator */
    uint64_t awake_until = spin_end();
    for (;;) {
        /* Read before the gate is checked: a loop that opens seats after the check changes the signal. */
        uint32_t seen = atomic_load_explicit(&pool.signal, memory_order_acquire);
        if (take_seat()) {
            work();
            leave_seat();
            awake_until = spin_end(); /* only work prolongs the spin, not signals of smaller loops */
            continue;
        }
        if (atomic_load_explicit(&pool.stop, memory_order_relaxed))
            return NULL;
        while (before(awake_until) && atomic_load_explicit(&pool.signal, memory_order_relaxed) == seen)
            relax();
        if (atomic_load_explicit(&pool.signal, memory_order_relaxed) != seen)
            continue;
        atomic_fetch_add(&pool.sleepers, 1);
        sleep_while(&pool.signal, seen);
        atomic_fetch_sub(&pool.sleepers, 1);
    }
}

/* Resets the pool in the child of a fork, where only the forking thread exists and the pool's owner is
 * gone. */
static void forget_workers(void)
{
    pool.count = 0;
    pool.limit = SCHEDC_MAX_THREADS - 1;
    atomic_store(&pool.gate, 0);
    atomic_store(&pool.sleepers, 0);
    atomic_store(&pool.owned, atomic_load(&pool.stop) ? 1 : 0);
}

/* Returns the number of workers for a loop that wants `wanted`, and starts missing ones. The caller owns
 * the pool. */
static uint32_t have_workers(uint32_t wanted)
{
    if (wanted > pool.limit)
        wanted = pool.limit;
    if (pool.count >= wanted)
        return wanted;
    if (!pool.watches_fork && pthread_atfork(NULL, NULL, forget_workers) != 0)
        return 0;
    pool.watches_fork = true;

    /* Workers block all signals, which are for the program's own threads, except those that a thread
     * raises itself. */
    sigset_t blocked, before_blocked;
    sigfillset(&blocked);
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&blocked, own[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before_blocked);
    while (pool.count < wanted && pthread_create(&pool.workers[pool.count], NULL, worker, NULL) == 0)
        pool.count++;
    pthread_sigmask(SIG_SETMASK, &before_blocked, NULL);

    if (pool.count < wanted)
        pool.limit = pool.count; /* trying again in every loop would take too long */
    return pool.count;
}

static void open_seats(uint32_t seats)
{
    atomic_store_explicit(&pool.gate, seats * SEAT, memory_order_release);
    atomic_fetch_add(&pool.signal, 1);
    /* A worker that is not yet counted as a sleeper sees the new signal before it sleeps. */
    uint32_t sleepers = atomic_load(&pool.sleepers);
    uint32_t awake = pool.count > sleepers ? pool.count - sleepers : 0;
    if (seats > awake)
        wake(&pool.signal, seats - awake);
}

static void close_seats(void)
{
    uint32_t gate = atomic_fetch_and_explicit(&pool.gate, SITTING_MASK, memory_order_acquire) & SITTING_MASK;
    if (gate == 0)
        return;
    uint64_t end = spin_end();
    while ((gate = atomic_load_explicit(&pool.gate, memory_order_acquire)) != 0 && before(end))
        relax();
    if (gate == 0)
        return;
    atomic_fetch_or_explicit(&pool.gate, CALLER_SLEEPS, memory_order_relaxed);
    while ((gate = atomic_load_explicit(&pool.gate, memory_order_acquire)) & SITTING_MASK)
        sleep_while(&pool.gate, gate);
    atomic_store_explicit(&pool.gate, 0, memory_order_relaxed);
}

/* Runs a loop in the pool; returns false, without running anything, if the pool is owned. */
static bool run_shared(void (*body)(void *env, int64_t i), void *env, uint64_t trip, uint32_t threads)
{
    enum { CHUNKS = 16 }; /* per thread: balances uneven iterations to a few percent */
    uint32_t free_pool = 0;
    if (!atomic_compare_exchange_strong_explicit(&pool.owned, &free_pool, 1, memory_order_acquire,
                                                 memory_order_relaxed))
        return false;
    uint32_t seats = have_workers(threads - 1);
    uint64_t chunk = trip / ((uint64_t)CHUNKS * (seats + 1));
    pool.job = (job){.body = body, .env = env, .trip = trip, .chunk = chunk ? chunk : 1};
    atomic_store_explicit(&pool.next, 0, memory_order_relaxed);
    if (seats)
        open_seats(seats);
    work();
    if (seats)
        close_seats();
    atomic_store_explicit(&pool.owned, 0, memory_order_release);
    return true;
}

void schedc_rt_parallel(schedc_ctx *ctx, void (*body)(void *env, int64_t i), void *env, int64_t trip)
{
    int64_t threads = ctx && ctx->team ? ctx->team->threads : 1;
    if (threads > trip)
        threads = trip;
    if (threads > SCHEDC_MAX_THREADS)
        threads = SCHEDC_MAX_THREADS;
    if (threads > 1 && run_shared(body, env, (uint64_t)trip, (uint32_t)threads))
        return;
    for (int64_t i = 0; i < trip; i++)
        body(env, i);
}

/* Runs when the library is unloaded or the process exits. If a thread owns the pool at that moment, the
 * exit does not wait for it, and the workers stay until the process ends. */
__attribute__((destructor)) static void stop_workers(void)
{
    uint32_t free_pool = 0;
    atomic_store(&pool.stop, true);
    if (!atomic_compare_exchange_strong(&pool.owned, &free_pool, 1))
        return;
    atomic_fetch_add(&pool.signal, 1);
    wake(&pool.signal, SCHEDC_MAX_THREADS);
    for (uint32_t i = 0; i < pool.count; i++)
        pthread_join(pool.workers[i], NULL);
    pool.count = 0;
}
