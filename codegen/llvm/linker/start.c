// The part of what C compilers add to every shared library that the runtime needs.
#include <stddef.h>

extern void __cxa_finalize(void *);
extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *);

// Handle of the library, by which the C library knows its registrations.
__attribute__((visibility("hidden"))) void *__dso_handle = &__dso_handle;

// As in the part of the C library that is linked into every program.
__attribute__((visibility("hidden"))) int pthread_atfork(void (*prepare)(void), void (*parent)(void),
                                                         void (*child)(void)) {
    return __register_atfork(prepare, parent, child, __dso_handle);
}

// Drops all registrations when the library is unloaded.
__attribute__((destructor, used)) static void unload(void) {
    __cxa_finalize(__dso_handle);
}
