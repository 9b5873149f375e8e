/* Many threads call one model at once, each with several threads. Sizes vary, so that pools open and close
 * often. The program is linked with the model; it is also built with -fsanitize=thread. */
#include <pthread.h>

#include "check.h"

enum { CALLERS = 8, ROWS = 4000, CALLS = 150 };
static float rows[3 * ROWS];

static void *caller(void *arg)
{
    unsigned seed = (unsigned)(size_t)arg;
    float *out = malloc(sizeof(float) * 2 * ROWS);
    CHECK(out);
    for (int i = 0; i < CALLS; i++) {
        seed = seed * 1664525u + 1013904223u;
        int64_t n = seed % 4 == 0 ? 1 : (int64_t)(seed >> 8) % ROWS + 1;
        m_call call = call_on(rows, n, out, (int32_t)(seed >> 4) % 5);
        CHECK(m_predict_ex(&call) == M_OK);
        CHECK(right_values(out, n));
    }
    free(out);
    return NULL;
}

int main(void)
{
    fill_rows(rows, ROWS);
    pthread_t threads[CALLERS];
    for (size_t i = 0; i < CALLERS; i++)
        CHECK(pthread_create(&threads[i], NULL, caller, (void *)i) == 0);
    for (size_t i = 0; i < CALLERS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 3000; i++) { /* short loops in quick succession */
        float out[2 * 40];
        m_call call = call_on(rows, 40, out, 3);
        CHECK(m_predict_ex(&call) == M_OK && right_values(out, 40));
    }
    return 0;
}
