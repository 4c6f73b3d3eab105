#define _GNU_SOURCE
#include "CKVSystem.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

int cs_error_text(int number, char *buffer, size_t size) {
  const char *text = strerrordesc_np(number);
  if (text == NULL || strlen(text) >= size) return 1;
  strcpy(buffer, text);
  return 0;
}

static int64_t nanoseconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t cs_monotonic_nanoseconds(void) { return nanoseconds(CLOCK_MONOTONIC); }

int64_t cs_realtime_nanoseconds(void) { return nanoseconds(CLOCK_REALTIME); }

int64_t cs_file_system_type(int descriptor) {
  struct statfs information;
  if (fstatfs(descriptor, &information) != 0) return 0;
  return information.f_type;
}

int cs_is_mount_point(int folder, const char *name) {
  struct statx status;
  if (statx(folder, name, AT_SYMLINK_NOFOLLOW, 0, &status) != 0) return 0;
  return (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

int cs_identity(int folder, const char *name, uint64_t *device,
                uint64_t *inode) {
  struct statx status;
  if (statx(folder, name, AT_SYMLINK_NOFOLLOW, STATX_INO, &status) != 0)
    return -1;
  *device = makedev(status.stx_dev_major, status.stx_dev_minor);
  *inode = status.stx_ino;
  return 0;
}

int cs_rename_exchange(int folder, const char *one, const char *other) {
  return renameat2(folder, one, folder, other, RENAME_EXCHANGE);
}

int cs_rename_new(int folder, const char *old_name, const char *new_name) {
  return renameat2(folder, old_name, folder, new_name, RENAME_NOREPLACE);
}

int cs_is_privileged(void) { return getauxval(AT_SECURE) != 0; }

int cs_inotify_open(void) { return inotify_init1(IN_NONBLOCK | IN_CLOEXEC); }

int cs_epoll_open(void) { return epoll_create1(EPOLL_CLOEXEC); }

int cs_eventfd_open(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

int cs_timer_open(int seconds) {
  int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  struct itimerspec interval = {{seconds, 0}, {seconds, 0}};
  if (timer >= 0 && timerfd_settime(timer, 0, &interval, NULL) != 0) {
    close(timer);
    return -1;
  }
  return timer;
}

void cs_timer_arm(int timer, int milliseconds) {
  struct itimerspec once = {
      {0, 0}, {milliseconds / 1000, milliseconds % 1000 * 1000000L}};
  timerfd_settime(timer, 0, &once, NULL);
}

int cs_wait_readable(int descriptor, int64_t nanoseconds) {
  struct pollfd entry = {descriptor, POLLIN, 0};
  struct timespec time = {nanoseconds / 1000000000, nanoseconds % 1000000000};
  return ppoll(&entry, 1, &time, NULL);
}

void cs_replace_descriptor(int fresh, int number) {
  dup3(fresh, number, O_CLOEXEC);
  close(fresh);
}

/* Whether the thread runs, or would if it had a processor. */
static int runs(int folder, const char *thread) {
  char path[32], text[256];
  snprintf(path, sizeof path, "%.20s/stat", thread);
  int file = openat(folder, path, O_RDONLY | O_CLOEXEC);
  ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);
  if (file >= 0) close(file);
  text[length > 0 ? length : 0] = 0;
  /* The state stands behind the thread's name, which may have any character. */
  const char *end = strrchr(text, ')');
  return end && end[1] == ' ' && (end[2] == 'R' || end[2] == 'D');
}

static int others_run(DIR *threads) {
  struct dirent *entry;
  rewinddir(threads);
  while ((entry = readdir(threads)))
    if (entry->d_name[0] != '.' && atoi(entry->d_name) != gettid() &&
        runs(dirfd(threads), entry->d_name))
      return 1;
  return 0;
}

void cs_wait_for_threads(int milliseconds) {
  struct timespec pause = {.tv_nsec = 100000};
  int64_t end = cs_monotonic_nanoseconds() + milliseconds * (int64_t)1000000;
  DIR *threads = opendir("/proc/self/task");
  if (!threads) return;
  while (others_run(threads) && cs_monotonic_nanoseconds() < end)
    nanosleep(&pause, NULL);
  closedir(threads);
}

int cs_fork(void) { return fork(); }

uint64_t cs_thread_number(void) {
  static atomic_uint_fast64_t last;
  static _Thread_local uint64_t number;
  if (number == 0) number = atomic_fetch_add(&last, 1) + 1;
  return number;
}
