/*
 * refuse.c: makes calls of the system fail, or lie, for a program that is
 * loaded with LD_PRELOAD. Each refusal writes a line to REFUSE_LOG.
 *
 *   REFUSE=inotify   inotify_init1 fails with EMFILE
 *   REFUSE=folders   inotify_add_watch fails with ENOSPC for a folder
 *   REFUSE=place     behind each inotify_add_watch of a file, one with the end
 *                    `.new`, where it is there, takes its place
 *   REFUSE=read      before pread, one with the end `.new`, where it is there,
 *                    takes the place of the file that is read
 *   REFUSE=rename    renameat and renameat2 fail with EIO
 *   REFUSE=link      linkat fails with EPERM, as where there are no hard links
 *   REFUSE=late      renames take three thousandths of a second longer
 *   REFUSE=haste     fsync and fdatasync take a tenth of a second longer
 *   REFUSE=sqlite    dlopen does not find libsqlite3
 *   REFUSE=threads   pthread_create fails with EAGAIN
 *   REFUSE=statfs    fstatfs says that the file system's type is REFUSE_TYPE
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

static int refuses(const char *what) {
  const char *wanted = getenv("REFUSE"), *log = getenv("REFUSE_LOG");
  if (!wanted || strcmp(wanted, what) != 0) return 0;
  if (!log) return 1;
  int file = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file >= 0 && write(file, "refused\n", 8) == 8) close(file);
  return 1;
}

int inotify_init1(int flags) {
  if (!refuses("inotify")) return (int)syscall(SYS_inotify_init1, flags);
  errno = EMFILE;
  return -1;
}

int inotify_add_watch(int number, const char *path, uint32_t events) {
  struct stat status;
  char new[4096];
  if (stat(path, &status) == 0 && S_ISDIR(status.st_mode) &&
      refuses("folders")) {
    errno = ENOSPC;
    return -1;
  }
  int result = (int)syscall(SYS_inotify_add_watch, number, path, events);
  snprintf(new, sizeof(new), "%s.new", path);
  if (access(new, F_OK) == 0 && refuses("place"))
    syscall(SYS_renameat2, AT_FDCWD, new, AT_FDCWD, path, 0);
  return result;
}

ssize_t pread(int file, void *bytes, size_t size, off_t start) {
  char link[64], path[4000], new[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length > 0) {
    path[length] = 0;
    snprintf(new, sizeof new, "%s.new", path);
    if (access(new, F_OK) == 0 && refuses("read"))
      syscall(SYS_renameat2, AT_FDCWD, new, AT_FDCWD, path, 0);
  }
  return (ssize_t)syscall(SYS_pread64, file, bytes, size, start);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                   void *(*start)(void *), void *argument) {
  int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
                void *) = dlsym(RTLD_NEXT, "pthread_create");
  return refuses("threads") ? EAGAIN
                            : create(thread, attributes, start, argument);
}

int renameat2(int old_folder, const char *old, int new_folder, const char *new,
              unsigned flags) {
  if (refuses("late")) usleep(3000);
  if (!refuses("rename"))
    return (int)syscall(SYS_renameat2, old_folder, old, new_folder, new, flags);
  errno = EIO;
  return -1;
}

int renameat(int old_folder, const char *old, int new_folder, const char *new) {
  return renameat2(old_folder, old, new_folder, new, 0);
}

int linkat(int old_folder, const char *old, int new_folder, const char *new,
           int flags) {
  if (!refuses("link"))
    return (int)syscall(SYS_linkat, old_folder, old, new_folder, new, flags);
  errno = EPERM;
  return -1;
}

static int synchronize(int file, long call) {
  if (refuses("haste")) usleep(100000);
  return (int)syscall(call, file);
}

int fsync(int file) { return synchronize(file, SYS_fsync); }
int fdatasync(int file) { return synchronize(file, SYS_fdatasync); }

int fstatfs(int descriptor, struct statfs *information) {
  int status = (int)syscall(SYS_fstatfs, descriptor, information);
  if (status == 0 && refuses("statfs"))
    information->f_type = (__typeof__(information->f_type))strtoul(
        getenv("REFUSE_TYPE"), NULL, 0);
  return status;
}

void *dlopen(const char *name, int flags) {
  if (name && strstr(name, "sqlite") && refuses("sqlite")) return NULL;
  void *(*real)(const char *, int);
  *(void **)&real = dlsym(RTLD_NEXT, "dlopen");
  return real(name, flags);
}
