// The part that the runtime needs of the code that C compilers add to every shared library.
#include <stddef.h>

extern void __cxa_finalize(void *);
extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *);

// Handle of the library, by which the C library finds the functions that it has registered.
__attribute__((visibility("hidden"))) void *__dso_handle = &__dso_handle;

// As in `libc_nonshared.a`, the part of the C library that C compilers link statically.
__attribute__((visibility("hidden"))) int pthread_atfork(void (*prepare)(void), void (*parent)(void),
                                                         void (*child)(void)) {
    return __register_atfork(prepare, parent, child, __dso_handle);
}

// Removes all registered functions when the library is unloaded.
__attribute__((destructor, used)) static void unload(void) {
    __cxa_finalize(__dso_handle);
}
