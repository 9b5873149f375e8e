/* The default number of threads of a call, and the largest one. */
#include "internal.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads a non-negative integer, and advances `*text` past it; returns -1 if there is none. Numbers
 * that are too large become INT64_MAX. (The symbol of strtol depends on the headers of the C library,
 * and newer symbols would keep the object from older systems.) */
static int64_t read_number(const char **text)
{
    int64_t number = -1;
    for (; **text >= '0' && **text <= '9'; ++*text) {
        int64_t before = number < 0 ? 0 : number;
        if (__builtin_mul_overflow(before, (int64_t)10, &number) ||
            __builtin_add_overflow(number, (int64_t)(**text - '0'), &number))
            number = INT64_MAX;
    }
    return number;
}

/* Reads a small text file; returns false if that fails. Longer text is truncated. */
static bool read_text(const char *path, char *text, size_t size)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    size_t length = 0;
    ssize_t got;
    while (length < size - 1 && (got = read(file, text + length, size - 1 - length)) > 0)
        length += (size_t)got;
    close(file);
    text[length] = '\0';
    return length > 0;
}

/* Returns the cores that a control group's cpu.max grants ("max 100000" or "150000 100000"); INT_MAX
 * without a limit. */
static int32_t group_quota(const char *group)
{
    char path[PATH_MAX], text[64];
    int length = snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
    if (length < 0 || (size_t)length >= sizeof path || !read_text(path, text, sizeof text))
        return INT_MAX;
    const char *at = text;
    int64_t quota = read_number(&at);
    at += *at == ' ';
    int64_t period = read_number(&at);
    if (quota <= 0 || period <= 0 || quota / period >= INT_MAX)
        return INT_MAX;
    return (int32_t)(quota / period + (quota % period != 0));
}

/* Returns the smallest quota of this process's control group and the groups around it. */
static int32_t quota_cores(void)
{
    char text[PATH_MAX];
    if (!read_text("/proc/self/cgroup", text, sizeof text))
        return INT_MAX;
    char *group = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
    if (!group)
        return INT_MAX;
    group += *group == '\n' ? 4 : 3;
    group[strcspn(group, "\n")] = '\0';

    int32_t cores = INT_MAX;
    for (;;) {
        int32_t here = group_quota(group);
        if (here < cores)
            cores = here;
        char *parent = strrchr(group, '/');
        if (!parent)
            return cores;
        *parent = '\0';
    }
}

static int32_t affinity_cores(void)
{
    cpu_set_t set;
    bool has_mask = sched_getaffinity(0, sizeof set, &set) == 0;
    long cores = has_mask ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores > SCHEDC_MAX_THREADS ? SCHEDC_MAX_THREADS : (int32_t)cores;
}

int32_t schedc_usable_cores(void)
{
    static _Atomic int32_t cache;
    int32_t cores = atomic_load_explicit(&cache, memory_order_relaxed);
    if (!cores) {
        int32_t affinity = affinity_cores(), quota = quota_cores();
        cores = quota < affinity ? quota : affinity;
        atomic_store_explicit(&cache, cores, memory_order_relaxed);
    }
    return cores;
}

int32_t schedc_most_threads(void)
{
    static _Atomic int32_t cache;
    int32_t most = atomic_load_explicit(&cache, memory_order_relaxed);
    if (!most) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        most = cores < 1                    ? schedc_usable_cores()
               : cores < SCHEDC_MAX_THREADS ? (int32_t)cores
                                            : SCHEDC_MAX_THREADS;
        atomic_store_explicit(&cache, most, memory_order_relaxed);
    }
    return most;
}

int32_t schedc_default_threads(void)
{
    static _Atomic int32_t cache;
    int32_t threads = atomic_load_explicit(&cache, memory_order_relaxed);
    if (!threads) {
        const char *text = getenv("SCHEDC_NUM_THREADS");
        int64_t wanted = text ? read_number(&text) : 0;
        if (wanted < 1 || *text != '\0')
            threads = schedc_usable_cores();
        else
            threads = wanted < SCHEDC_MAX_THREADS ? (int32_t)wanted : SCHEDC_MAX_THREADS;
        atomic_store_explicit(&cache, threads, memory_order_relaxed);
    }
    return threads;
}
