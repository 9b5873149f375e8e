/* Small calls allocate nothing, nor do calls with enough scratch memory. The program is linked with --wrap
 * for the allocation functions, which fail when the test wants them to. */
#include "check.h"

static int allocations;
static int none_left;
extern int m_temporary;

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__real_aligned_alloc(size_t align, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
    allocations++;
    return none_left ? NULL : __real_malloc(bytes);
}

void *__wrap_aligned_alloc(size_t align, size_t bytes)
{
    allocations++;
    return none_left ? NULL : __real_aligned_alloc(align, bytes);
}

enum { ROWS = 10000 };
static float rows[3 * ROWS], out[2 * ROWS];
static double rows64[3 * ROWS];
static char scratch[512 * 1024];

/* Makes calls with scratch, while each block of the kernel allocates `bytes` bytes and no other memory is
 * available. */
static void in_scratch(int temporary, int64_t scratch_size)
{
    int before = allocations;
    m_temporary = temporary;
    none_left = 1;
    for (int32_t dtype = M_F32; dtype <= M_F64; dtype++) {
        for (int32_t threads = 1; threads <= PROCESSORS; threads++) {
            for (int64_t n = 1; n <= ROWS; n = n * 3 + 1) {
                m_call call = call_on(dtype == M_F64 ? (void *)rows64 : (void *)rows, n, out, threads);
                call.dtype = dtype;
                call.scratch = scratch + 1; /* with any alignment */
                call.scratch_size = scratch_size - 1;
                CHECK(m_predict_ex(&call) == M_OK && right_values(out, n));
            }
        }
    }
    CHECK(allocations == before);
    none_left = 0;
    m_temporary = 2048;
}

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

    m_call threaded = call_on(rows, ROWS, out, PROCESSORS);
    CHECK(m_predict_ex(&threaded) == M_OK); /* the pool's threads have their own memory */
    in_scratch(2048, 64 * 1024);
    in_scratch(20000, 64 * 1024); /* memory for three blocks at a time, so fewer threads */
    in_scratch(20000, sizeof scratch);
    in_scratch(100, 17 * 1024);

    none_left = 1;
    m_temporary = 20000;
    int before = allocations;
    large.scratch = scratch;
    large.scratch_size = 20000; /* half is for rows, so no block fits */
    CHECK(m_predict_ex(&large) == M_ERR_MEMORY);
    none_left = 0;
    CHECK(m_predict_ex(&large) == M_OK && right_values(out, ROWS));
    CHECK(allocations > before);
    m_temporary = 2048;

    before = allocations;
    large.scratch_size = 100; /* too small to be useful */
    CHECK(m_predict_ex(&large) == M_OK && right_values(out, ROWS));
    CHECK(allocations == before + 1);
    return 0;
}
