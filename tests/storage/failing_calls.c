/* Lets locks or reads of files whose names contain $FAILING_FILE fail, as a file system or a disk does.

   The file $FAILING_LOCKS or $FAILING_READS has the number of the error, 0 for none; and for reads, the offset
   from which on they fail. To be loaded with LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int failing(int descriptor, const char *kind, long long offset) {
    char link[64], path[4096];
    const char *name = getenv("FAILING_FILE"), *told = getenv(kind);
    int number = 0;
    long long from = 0;
    if (!name || !told) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    if (!strstr(path, name)) return 0;
    FILE *file = fopen(told, "r");
    if (!file) return 0;
    if (fscanf(file, "%d %lld", &number, &from) < 1) number = 0;
    fclose(file);
    return offset >= from ? number : 0;
}

#define LOCKS(NAME) \
    int NAME(int descriptor, int command, ...) { \
        va_list rest; \
        va_start(rest, command); \
        void *argument = va_arg(rest, void *); \
        va_end(rest); \
        if (command == F_SETLK || command == F_SETLKW) { \
            int number = failing(descriptor, "FAILING_LOCKS", 0); \
            if (number) { errno = number; return -1; } \
        } \
        return ((int (*)(int, int, void *))dlsym(RTLD_NEXT, #NAME))(descriptor, command, argument); \
    }
LOCKS(fcntl)
LOCKS(fcntl64)

#define READS(NAME, OFFSET) \
    ssize_t NAME(int descriptor, void *data, size_t size, OFFSET offset) { \
        int number = failing(descriptor, "FAILING_READS", offset); \
        if (number) { errno = number; return -1; } \
        return ((ssize_t (*)(int, void *, size_t, OFFSET))dlsym(RTLD_NEXT, #NAME))( \
            descriptor, data, size, offset); \
    }
READS(pread, off_t)
READS(pread64, off64_t)

ssize_t read(int descriptor, void *data, size_t size) {
    int number = failing(descriptor, "FAILING_READS", lseek(descriptor, 0, SEEK_CUR));
    if (number) { errno = number; return -1; }
    return ((ssize_t (*)(int, void *, size_t))dlsym(RTLD_NEXT, "read"))(descriptor, data, size);
}
