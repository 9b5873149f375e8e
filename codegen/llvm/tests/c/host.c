/* Loads an artefact, uses it, and unloads it. Threads must start only for enough work, work in the child of a
 * fork, and end when the library is unloaded. */
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>

#include "check.h"

enum { ROWS = 20000 };
static float rows[3 * ROWS], out[2 * ROWS];

static void *library;
static int32_t (*predict)(const float *, int64_t, float *);
static int32_t (*predict_ex)(const m_call *);

static int tasks(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/task");
    CHECK(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

/* Linux lists a thread for a moment after it has been joined. */
static int tasks_become(int wanted)
{
    for (int i = 0; i < 2000 && tasks() != wanted; i++)
        usleep(1000);
    return tasks() == wanted;
}

static void load(const char *path)
{
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fprintf(stderr, "%s\n", dlerror());
    CHECK(library);
    *(void **)&predict = dlsym(library, "m_predict");
    *(void **)&predict_ex = dlsym(library, "m_predict_ex");
    CHECK(predict && predict_ex);
    CHECK(!dlsym(library, "schedc_rt_predict"));
}

static void unload(const char *path)
{
    CHECK(dlclose(library) == 0);
    CHECK(!dlopen(path, RTLD_NOW | RTLD_NOLOAD));
}

static void predict_with(int threads)
{
    memset(out, 0, sizeof out);
    m_call call = call_on(rows, ROWS, out, threads);
    CHECK(predict_ex(&call) == M_OK);
    CHECK(right_values(out, ROWS));
}

static void in_child(void (*body)(const char *), const char *path)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(20); /* a hang is a failure */
        body(path);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void child_uses_threads(const char *path)
{
    CHECK(tasks() == 1);
    predict_with(4);
    CHECK(tasks() == 4);
    unload(path);
    CHECK(tasks_become(1));
}

static void child_exits(const char *path)
{
    (void)path;
    predict_with(3);
    exit(0); /* with the library loaded and its threads asleep */
}

static void child_predicts(const char *path)
{
    (void)path;
    predict_with(2);
}

static atomic_int busy = 1;

static void *keep_predicting(void *unused)
{
    (void)unused;
    static float mine[2 * ROWS];
    while (busy) {
        m_call call = call_on(rows, ROWS, mine, 3);
        CHECK(predict_ex(&call) == M_OK && right_values(mine, ROWS));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    const char *path = argv[1];
    fill_rows(rows, ROWS);
    CHECK(tasks() == 1);

    load(path);
    CHECK(predict(rows, 1, out) == M_OK && right_values(out, 1));
    m_call small = call_on(rows, 10, out, 8);
    CHECK(predict_ex(&small) == M_OK && right_values(out, 10));
    CHECK(tasks() == 1); /* little work */
    predict_with(1);
    CHECK(tasks() == 1);
    predict_with(4);
    CHECK(tasks() == 4);
    predict_with(2);
    CHECK(tasks() == 4); /* workers stay after a call */
    predict_with(1000);
    CHECK(tasks() == PROCESSORS); /* no more threads than processors */

    in_child(child_uses_threads, path);
    in_child(child_exits, path);
    predict_with(6);
    CHECK(tasks() == PROCESSORS);
    unload(path);
    CHECK(tasks_become(1));

    setenv("SCHEDC_NUM_THREADS", "3", 1);
    load(path);
    predict_with(0);
    CHECK(tasks() == 3);
    unload(path);
    setenv("SCHEDC_NUM_THREADS", "1000", 1);
    load(path);
    predict_with(0);
    CHECK(tasks() == PROCESSORS);
    unload(path);
    unsetenv("SCHEDC_NUM_THREADS");
    load(path);
    predict_with(0);
    int usual = tasks();
    unload(path);
    static const char *const no_numbers[] = {"many", "", "0", "-2", "3 ", "3x", "0x3", "3.5"};
    for (size_t i = 0; i < sizeof no_numbers / sizeof *no_numbers; i++) {
        setenv("SCHEDC_NUM_THREADS", no_numbers[i], 1);
        load(path);
        predict_with(0); /* as if it were not set */
        CHECK(tasks() == usual);
        unload(path);
    }

    for (int i = 0; i < 20; i++) {
        load(path);
        predict_with(4);
        unload(path);
    }
    CHECK(tasks_become(1));

    load(path);
    pthread_t other;
    CHECK(pthread_create(&other, NULL, keep_predicting, NULL) == 0);
    for (int i = 0; i < 20; i++)
        in_child(child_predicts, path);
    busy = 0;
    pthread_join(other, NULL);
    unload(path);
    CHECK(tasks_become(1));
    return 0;
}
