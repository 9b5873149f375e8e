/* Small calls allocate nothing, nor do calls with scratch memory. Linked with --wrap of the allocation functions. */
#include "check.h"

static int allocations;

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__real_aligned_alloc(size_t align, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
    allocations++;
    return __real_malloc(bytes);
}

void *__wrap_aligned_alloc(size_t align, size_t bytes)
{
    allocations++;
    return __real_aligned_alloc(align, bytes);
}

enum { ROWS = 10000 };
static float rows[3 * ROWS], out[2 * ROWS];
static double rows64[3 * ROWS];
static char scratch[64 * 1024];

int main(void)
{
    fill_rows(rows, ROWS);
    for (int i = 0; i < 3 * ROWS; i++)
        rows64[i] = rows[i];

    CHECK(m_predict(rows, 1, out) == M_OK && right_values(out, 1));
    CHECK(m_predict_raw(rows, 1, out) == M_OK);
    for (int32_t kind = M_VALUE; kind <= M_LEAF; kind++) {
        for (int32_t dtype = M_F32; dtype <= M_F64; dtype++) {
            m_call call = call_on(dtype == M_F64 ? (void *)rows64 : (void *)rows, 1, out, 4);
            call.kind = kind;
            call.dtype = dtype;
            call.row_stride = 5;
            CHECK(m_predict_ex(&call) == M_OK);
        }
    }
    CHECK(allocations == 0);

    m_call large = call_on(rows64, ROWS, out, 1);
    large.dtype = M_F64;
    CHECK(m_predict_ex(&large) == M_OK && right_values(out, ROWS));
    CHECK(allocations == 1);

    large.scratch = scratch + 1; /* at any address */
    large.scratch_size = sizeof scratch - 1;
    CHECK(m_predict_ex(&large) == M_OK && right_values(out, ROWS));
    CHECK(allocations == 1);

    large.scratch_size = 100; /* too small to be of use */
    CHECK(m_predict_ex(&large) == M_OK && right_values(out, ROWS));
    CHECK(allocations == 2);
    return 0;
}
