// What a C compiler adds to every shared library, as far as the runtime needs it.
#include <stddef.h>

extern void __cxa_finalize(void *);
extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *);

// The library's name for itself, by which the C library knows what belongs to it.
__attribute__((visibility("hidden"))) void *__dso_handle = &__dso_handle;

// As in the part of the C library that is linked into every program.
__attribute__((visibility("hidden"))) int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
    return __register_atfork(prepare, parent, child, __dso_handle);
}

// When the library is unloaded, nobody may call what was registered.
__attribute__((destructor, used)) static void unload(void) {
    __cxa_finalize(__dso_handle);
}
