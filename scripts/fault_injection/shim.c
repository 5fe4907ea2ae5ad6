/* Makes system calls fail below one directory, or kills the process at one of them, and shifts the wall clock.
 *
 * Loaded with LD_PRELOAD. It does nothing until fault_arm() or fault_clock() is called, which a child process does after
 * a fork. Calls that change files are counted from 1; the nth one is met by the fault:
 *   action 0  none: only count
 *   action E  (an errno) fail with it. A failing write first writes half of its data, as a disk does that fills up.
 *             If `sticky`, every later call fails too.
 *   action -1 write half of the data, then SIGKILL.
 * With ENOSPC only calls that need space fail: creating, writing, growing, syncing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static char below[PATH_MAX];
static size_t below_length;
static atomic_long counted, target;
static atomic_int action, sticky, armed;
static atomic_long clock_shift;

enum { SPACE = 1, NO_SPACE_NEEDED = 0 };

#define REAL(name) \
    static __typeof__(&name) real_##name; \
    if (!real_##name) real_##name = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

void fault_arm(const char *directory, long nth, int what, int stays) {
    snprintf(below, sizeof below, "%s", directory);
    below_length = strlen(below);
    atomic_store(&counted, 0);
    atomic_store(&target, nth);
    atomic_store(&action, what);
    atomic_store(&sticky, stays);
    atomic_store(&armed, 1);
}

long fault_count(void) { return atomic_load(&counted); }
void fault_disarm(void) { atomic_store(&armed, 0); }
void fault_clock(long seconds) { atomic_store(&clock_shift, seconds); }

static int is_below(const char *path) {
    return strncmp(path, below, below_length) == 0 && (path[below_length] == '/' || path[below_length] == 0);
}

static int path_below(int directory, const char *path) {
    char whole[PATH_MAX * 2], place[64];
    ssize_t length;
    if (!path) return 0;
    if (path[0] == '/') return is_below(path);
    if (directory == AT_FDCWD) snprintf(place, sizeof place, "/proc/self/cwd");
    else snprintf(place, sizeof place, "/proc/self/fd/%d", directory);
    length = readlink(place, whole, PATH_MAX - 1);
    if (length < 0) return 0;
    whole[length] = 0;
    snprintf(whole + length, sizeof whole - (size_t)length, "/%s", path);
    return is_below(whole);
}

static int file_below(int handle) {
    char whole[PATH_MAX], place[64];
    ssize_t length;
    snprintf(place, sizeof place, "/proc/self/fd/%d", handle);
    length = readlink(place, whole, sizeof whole - 1);
    if (length < 0) return 0;
    whole[length] = 0;
    return is_below(whole);
}

/* Returns what this call is met by: 0 nothing, an errno, or -1. `*first` says that it is the nth call itself. */
static int met(int needs_space, int *first) {
    int what = atomic_load(&action);
    long number;
    *first = 0;
    if (what == ENOSPC && !needs_space) return 0;
    number = atomic_fetch_add(&counted, 1) + 1;
    if (what == 0 || number < atomic_load(&target)) return 0;
    *first = number == atomic_load(&target);
    if (!*first && !atomic_load(&sticky)) return 0;
    return what;
}

#define GUARD(watched, needs_space) \
    if (atomic_load(&armed)) { \
        int saved_ = errno, here_ = (watched), first_, fault_; \
        errno = saved_; \
        if (here_ && (fault_ = met(needs_space, &first_))) { \
            if (fault_ < 0) kill(getpid(), SIGKILL); \
            errno = fault_; \
            return -1; \
        } \
    }

static int changing(int flags) { return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)); }

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        mode_t mode = 0; \
        REAL(name); \
        if (flags & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); } \
        GUARD(changing(flags) && path_below(AT_FDCWD, path), !!(flags & O_CREAT)) \
        return real_##name(path, flags, mode); \
    }
#define OPENAT(name) \
    int name(int directory, const char *path, int flags, ...) { \
        mode_t mode = 0; \
        REAL(name); \
        if (flags & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); } \
        GUARD(changing(flags) && path_below(directory, path), !!(flags & O_CREAT)) \
        return real_##name(directory, path, flags, mode); \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

/* A failing write leaves half of its data behind. */
#define WRITE(call_half, call_whole) \
    if (atomic_load(&armed) && file_below(handle)) { \
        int first, fault = met(SPACE, &first); \
        if (fault) { \
            if (first && size > 1 && fault != EROFS) { \
                ssize_t done = call_half; \
                if (fault < 0) kill(getpid(), SIGKILL); \
                if (fault == ENOSPC && done > 0) return done; \
            } \
            if (fault < 0) kill(getpid(), SIGKILL); \
            errno = fault; \
            return -1; \
        } \
    } \
    return call_whole;

ssize_t write(int handle, const void *data, size_t size) {
    REAL(write);
    WRITE(real_write(handle, data, size / 2), real_write(handle, data, size))
}
ssize_t pwrite(int handle, const void *data, size_t size, off_t place) {
    REAL(pwrite);
    WRITE(real_pwrite(handle, data, size / 2, place), real_pwrite(handle, data, size, place))
}
ssize_t pwrite64(int handle, const void *data, size_t size, off64_t place) {
    REAL(pwrite64);
    WRITE(real_pwrite64(handle, data, size / 2, place), real_pwrite64(handle, data, size, place))
}
ssize_t writev(int handle, const struct iovec *parts, int count) {
    REAL(writev);
    size_t size = count > 0 ? parts[0].iov_len : 0;
    WRITE(real_writev(handle, parts, 1), real_writev(handle, parts, count))
}
ssize_t sendfile(int handle, int source, off_t *place, size_t size) {
    static ssize_t (*real)(int, int, off_t *, size_t);
    if (!real) real = (ssize_t (*)(int, int, off_t *, size_t))dlsym(RTLD_NEXT, "sendfile");
    WRITE(real(handle, source, place, size / 2), real(handle, source, place, size))
}
ssize_t sendfile64(int handle, int source, off64_t *place, size_t size) {
    static ssize_t (*real)(int, int, off64_t *, size_t);
    if (!real) real = (ssize_t (*)(int, int, off64_t *, size_t))dlsym(RTLD_NEXT, "sendfile64");
    WRITE(real(handle, source, place, size / 2), real(handle, source, place, size))
}
ssize_t copy_file_range(int source, off64_t *from, int handle, off64_t *place, size_t size, unsigned flags) {
    REAL(copy_file_range);
    WRITE(real_copy_file_range(source, from, handle, place, size / 2, flags),
          real_copy_file_range(source, from, handle, place, size, flags))
}

int fsync(int handle) { REAL(fsync); GUARD(file_below(handle), SPACE) return real_fsync(handle); }
int fdatasync(int handle) { REAL(fdatasync); GUARD(file_below(handle), SPACE) return real_fdatasync(handle); }
int ftruncate(int handle, off_t size) {
    REAL(ftruncate); GUARD(file_below(handle), SPACE) return real_ftruncate(handle, size);
}
int ftruncate64(int handle, off64_t size) {
    REAL(ftruncate64); GUARD(file_below(handle), SPACE) return real_ftruncate64(handle, size);
}
int fallocate(int handle, int mode, off_t place, off_t size) {
    REAL(fallocate); GUARD(file_below(handle), SPACE) return real_fallocate(handle, mode, place, size);
}
int fallocate64(int handle, int mode, off64_t place, off64_t size) {
    REAL(fallocate64); GUARD(file_below(handle), SPACE) return real_fallocate64(handle, mode, place, size);
}
int rename(const char *from, const char *to) {
    REAL(rename); GUARD(path_below(AT_FDCWD, to), NO_SPACE_NEEDED) return real_rename(from, to);
}
int renameat(int one, const char *from, int other, const char *to) {
    REAL(renameat); GUARD(path_below(other, to), NO_SPACE_NEEDED) return real_renameat(one, from, other, to);
}
int renameat2(int one, const char *from, int other, const char *to, unsigned flags) {
    REAL(renameat2); GUARD(path_below(other, to), NO_SPACE_NEEDED) return real_renameat2(one, from, other, to, flags);
}
int link(const char *from, const char *to) {
    REAL(link); GUARD(path_below(AT_FDCWD, to), SPACE) return real_link(from, to);
}
int linkat(int one, const char *from, int other, const char *to, int flags) {
    REAL(linkat); GUARD(path_below(other, to), SPACE) return real_linkat(one, from, other, to, flags);
}
int symlink(const char *to, const char *path) {
    REAL(symlink); GUARD(path_below(AT_FDCWD, path), SPACE) return real_symlink(to, path);
}
int mkdir(const char *path, mode_t mode) {
    REAL(mkdir); GUARD(path_below(AT_FDCWD, path), SPACE) return real_mkdir(path, mode);
}
int mkdirat(int directory, const char *path, mode_t mode) {
    REAL(mkdirat); GUARD(path_below(directory, path), SPACE) return real_mkdirat(directory, path, mode);
}
int unlink(const char *path) {
    REAL(unlink); GUARD(path_below(AT_FDCWD, path), NO_SPACE_NEEDED) return real_unlink(path);
}
int unlinkat(int directory, const char *path, int flags) {
    REAL(unlinkat); GUARD(path_below(directory, path), NO_SPACE_NEEDED) return real_unlinkat(directory, path, flags);
}
int rmdir(const char *path) {
    REAL(rmdir); GUARD(path_below(AT_FDCWD, path), NO_SPACE_NEEDED) return real_rmdir(path);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    REAL(clock_gettime);
    int failed = real_clock_gettime(clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += atomic_load(&clock_shift);
    return failed;
}
int gettimeofday(struct timeval *now, void *zone) {
    static int (*real)(struct timeval *, void *);
    if (!real) real = (int (*)(struct timeval *, void *))dlsym(RTLD_NEXT, "gettimeofday");
    int failed = real(now, zone);
    if (!failed) now->tv_sec += atomic_load(&clock_shift);
    return failed;
}
time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}
