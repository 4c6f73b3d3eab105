/*
 * interpose.c: stands between a program and the system calls that change
 * files, to make them fail or to write down what they did. Loaded with
 * LD_PRELOAD; looks only at files below the folder INTERPOSE_FOLDER.
 *
 *   INTERPOSE_FAIL=INDEX:ERRNO:HOW  the INDEXth call (from 1) fails with the
 *       error number; HOW is `once` or `ever` (that call and all later ones).
 *       ERRNO `short` makes a write write half of what it was given.
 *   INTERPOSE_CALLS=FILE   each call that was counted, a line each: how many
 *       times the program had written to its standard output before, what the
 *       call is, and the file's name; what it makes fail included.
 *   INTERPOSE_WRITER=INDEX:FILE  before the INDEXth call, FILE is changed in
 *       place, as by a program that knows of no lock: the dictionary that ends
 *       first in its XML gets the entry `theirs`.
 *   INTERPOSE_MOVE=INDEX:FILE  before the INDEXth call, FILE takes the place of
 *       the file whose name it has but for its end, `.new`.
 *   INTERPOSE_RENAMER=INDEX,...:FILE  the same before each of some calls, by a
 *       new file that is renamed over FILE; the entry of the second is
 *       `theirs2`, and so on. The first has no entry `gone`.
 *   INTERPOSE_KILL=INDEX   right after the INDEXth call, which has succeeded,
 *       the program is killed; where it is a rename of any kind.
 *   INTERPOSE_PLAIN=ERRNO  renameat2 with flags fails so.
 *   INTERPOSE_RECORD=FILE  each call that succeeded, a line each, with the
 *       file's inode and, for a write, the bytes in hexadecimal.
 *   INTERPOSE_UNREADABLE=FILE  as long as FILE exists, reading fails with EIO.
 *   INTERPOSE_UNSYNCED=FILE  as long as FILE exists, fsync and fdatasync fail
 *       with EIO.
 *   INTERPOSE_TIMES=1      before each write and rename that is recorded, a
 *       line `time` with the monotonic clock's nanoseconds.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char *folder, *unreadable, *unsynced;
static long failing, calls;
static int failure, for_ever, is_short, has_times;
static int record = -1, listed = -1;
static long said, writing, moving, killing;
static long renaming[8];
static int plain;
static char written[PATH_MAX], moved[PATH_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int open_log(const char *variable) {
  const char *path = getenv(variable);
  if (path == NULL) return -1;
  return syscall(SYS_openat, AT_FDCWD, path,
                 O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

__attribute__((constructor)) static void begin(void) {
  folder = getenv("INTERPOSE_FOLDER");
  unreadable = getenv("INTERPOSE_UNREADABLE");
  unsynced = getenv("INTERPOSE_UNSYNCED");
  const char *fail = getenv("INTERPOSE_FAIL");
  if (fail != NULL) {
    char kind[16] = "", how[16] = "";
    sscanf(fail, "%ld:%15[^:]:%15s", &failing, kind, how);
    is_short = strcmp(kind, "short") == 0;
    failure = atoi(kind);
    for_ever = strcmp(how, "ever") == 0;
  }
  record = open_log("INTERPOSE_RECORD");
  listed = open_log("INTERPOSE_CALLS");
  const char *writer = getenv("INTERPOSE_WRITER");
  if (writer != NULL) sscanf(writer, "%ld:%4095s", &writing, written);
  const char *mover = getenv("INTERPOSE_MOVE");
  if (mover != NULL) sscanf(mover, "%ld:%4095s", &moving, moved);
  const char *renamer = getenv("INTERPOSE_RENAMER");
  for (int i = 0; renamer != NULL && i < 8; i++) {
    renaming[i] = strtol(renamer, (char **)&renamer, 10);
    if (*renamer++ != ':') continue;
    snprintf(written, sizeof written, "%s", renamer);
    break;
  }
  const char *kill_after = getenv("INTERPOSE_KILL");
  if (kill_after != NULL) killing = atol(kill_after);
  const char *without = getenv("INTERPOSE_PLAIN");
  if (without != NULL) plain = atoi(without);
  has_times = getenv("INTERPOSE_TIMES") != NULL;
}

static const char *base(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? path : slash + 1;
}

/* The name of the file that is_ours looked at last. */
static __thread char subject[NAME_MAX + 1];

static int is_below(const char *path) {
  snprintf(subject, sizeof subject, "%s", base(path));
  return strncmp(path, folder, strlen(folder)) == 0;
}

/* The path of a descriptor, or of a name in a folder's descriptor. */
static int is_ours(int descriptor, const char *name) {
  char link[64], path[PATH_MAX];
  if (folder == NULL) return 0;
  if (name != NULL && name[0] == '/') return is_below(name);
  if (descriptor == AT_FDCWD) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  int result = is_below(path);
  if (name != NULL) snprintf(subject, sizeof subject, "%s", name);
  return result;
}

/* Takes an entry with a whole number out of the XML. */
static void remove_entry(char *text, const char *key, const char *end) {
  char *start = strstr(text, key), *after = start ? strstr(start, end) : NULL;
  if (after == NULL) return;
  after += strlen(end);
  memmove(start, after, strlen(after) + 1);
}

/* Acts as a program that reads `written` and writes it with one entry more: in
 * place, or by a rename. */
static void write_too(int number, int renames) {
  static char text[1 << 20];
  char entry[64] = "<key>theirs</key><true/>", name[PATH_MAX + 8];
  if (number > 1)
    snprintf(entry, sizeof entry, "<key>theirs%d</key><true/>", number);
  int file = syscall(SYS_openat, AT_FDCWD, written, O_RDWR, 0);
  ssize_t length =
      file < 0 ? -1 : syscall(SYS_read, file, text, sizeof text - 1);
  if (length > 0) {
    text[length] = 0;
    if (renames && number == 1)
      remove_entry(text, "<key>gone</key>", "</integer>");
    char *end = strstr(text, "</dict>");
    if (end != NULL) {
      if (renames) {
        snprintf(name, sizeof name, "%s.theirs", written);
        syscall(SYS_close, file);
        file = syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CREAT, 0600);
      } else {
        syscall(SYS_ftruncate, file, 0);
      }
      syscall(SYS_pwrite64, file, text, end - text, 0);
      syscall(SYS_pwrite64, file, entry, strlen(entry), end - text);
      syscall(SYS_pwrite64, file, end, strlen(end), end - text + strlen(entry));
      if (renames) syscall(SYS_renameat2, AT_FDCWD, name, AT_FDCWD, written, 0);
    }
  }
  if (file >= 0) syscall(SYS_close, file);
}

/* Acts as a program that restores a copy. */
static void move_in_place(void) {
  char name[PATH_MAX];
  snprintf(name, sizeof name, "%.*s", (int)strlen(moved) - 4, moved);
  syscall(SYS_renameat2, AT_FDCWD, moved, AT_FDCWD, name, 0);
}

/* Counts a call on the subject; true where the call has to fail. */
static int must_fail(const char *call) {
  long number = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
  if (listed >= 0) {
    char line[NAME_MAX + 64];
    int length =
        snprintf(line, sizeof line, "%ld %s %s\n", said, call, subject);
    syscall(SYS_write, listed, line, length);
  }
  if (number == writing) write_too(1, 0);
  if (number == moving) move_in_place();
  for (int i = 0; i < 8; i++)
    if (number == renaming[i] && number > 0) write_too(i + 1, 1);
  return failing > 0 && (number == failing || (for_ever && number > failing));
}

#define FAIL_IF_TOLD(call)              \
  do {                                  \
    if (must_fail(call) && !is_short) { \
      errno = failure;                  \
      return -1;                        \
    }                                   \
  } while (0)

static unsigned long inode_of(int descriptor) {
  struct stat status;
  return fstat(descriptor, &status) == 0 ? (unsigned long)status.st_ino : 0;
}

static unsigned long inode_at(int descriptor, const char *name) {
  struct stat status;
  return fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0
             ? (unsigned long)status.st_ino
             : 0;
}

static void note(const char *format, ...) {
  char line[512];
  va_list arguments;
  if (record < 0) return;
  int saved = errno;
  va_start(arguments, format);
  int length = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  pthread_mutex_lock(&lock);
  syscall(SYS_write, record, line, length);
  pthread_mutex_unlock(&lock);
  errno = saved;
}

static void note_time(void) {
  struct timespec time;
  if (!has_times) return;
  clock_gettime(CLOCK_MONOTONIC, &time);
  note("time %lld\n", time.tv_sec * 1000000000LL + time.tv_nsec);
}

static void note_bytes(const char *what, unsigned long inode, long offset,
                       const unsigned char *bytes, size_t count) {
  if (record < 0) return;
  int saved = errno;
  char *line = malloc(count * 2 + 128);
  int length = sprintf(line, "%s %lu %ld ", what, inode, offset);
  for (size_t index = 0; index < count; index++)
    length += sprintf(line + length, "%02x", bytes[index]);
  line[length++] = '\n';
  pthread_mutex_lock(&lock);
  syscall(SYS_write, record, line, length);
  pthread_mutex_unlock(&lock);
  free(line);
  errno = saved;
}

static int open_file(int descriptor, const char *name, int flags, mode_t mode) {
  int ours = is_ours(descriptor, name);
  if (ours) FAIL_IF_TOLD("open");
  int is_new = ours && (flags & O_CREAT) && inode_at(descriptor, name) == 0;
  if (is_new || (ours && (flags & O_TRUNC))) note_time();
  int file = syscall(SYS_openat, descriptor, name, flags, mode);
  if (file >= 0 && is_new) note("create %lu %s\n", inode_of(file), base(name));
  if (file >= 0 && ours && (flags & O_TRUNC))
    note("truncate %lu 0\n", inode_of(file));
  return file;
}

#define MODE_OF(flags, mode)             \
  mode_t mode = 0;                       \
  if ((flags) & (O_CREAT | O_TMPFILE)) { \
    va_list arguments;                   \
    va_start(arguments, flags);          \
    mode = va_arg(arguments, mode_t);    \
    va_end(arguments);                   \
  }

int open(const char *name, int flags, ...) {
  MODE_OF(flags, mode) return open_file(AT_FDCWD, name, flags, mode);
}
int open64(const char *name, int flags, ...) {
  MODE_OF(flags, mode) return open_file(AT_FDCWD, name, flags, mode);
}
int openat(int at, const char *name, int flags, ...) {
  MODE_OF(flags, mode) return open_file(at, name, flags, mode);
}
int openat64(int at, const char *name, int flags, ...) {
  MODE_OF(flags, mode) return open_file(at, name, flags, mode);
}

/* Whether a call has to fail as long as there is a file of the name. */
static int must_fail_now(const char *while_there, int file) {
  struct stat status;
  if (while_there == NULL || !is_ours(file, NULL) ||
      stat(while_there, &status) != 0)
    return 0;
  errno = EIO;
  return 1;
}

static ssize_t read_at(int file, void *bytes, size_t count, off_t offset) {
  if (must_fail_now(unreadable, file)) return -1;
  return syscall(SYS_pread64, file, bytes, count, offset);
}

ssize_t pread(int file, void *bytes, size_t count, off_t offset) {
  return read_at(file, bytes, count, offset);
}
ssize_t pread64(int file, void *bytes, size_t count, off64_t offset) {
  return read_at(file, bytes, count, offset);
}

ssize_t write(int file, const void *bytes, size_t count) {
  if (!is_ours(file, NULL)) {
    /* Before the output: another process may act on it at once. */
    if (file == 1) {
      said++;
      note_bytes("say", 0, 0, bytes, count);
    }
    return syscall(SYS_write, file, bytes, count);
  }
  if (must_fail("write")) {
    if (!is_short) {
      errno = failure;
      return -1;
    }
    if (count > 1) count /= 2;
  }
  long offset = syscall(SYS_lseek, file, 0, SEEK_CUR);
  note_time();
  ssize_t done = syscall(SYS_write, file, bytes, count);
  if (done > 0) note_bytes("write", inode_of(file), offset, bytes, done);
  return done;
}

static ssize_t write_at(int file, const void *bytes, size_t count,
                        off_t offset) {
  if (is_ours(file, NULL) && must_fail("write")) {
    if (!is_short) {
      errno = failure;
      return -1;
    }
    if (count > 1) count /= 2;
  }
  if (is_ours(file, NULL)) note_time();
  ssize_t done = syscall(SYS_pwrite64, file, bytes, count, offset);
  if (done > 0 && is_ours(file, NULL))
    note_bytes("write", inode_of(file), offset, bytes, done);
  return done;
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
  return write_at(file, bytes, count, offset);
}
ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
  return write_at(file, bytes, count, offset);
}

static int synchronize(int file, long call) {
  if (!is_ours(file, NULL)) return syscall(call, file);
  FAIL_IF_TOLD("sync");
  if (must_fail_now(unsynced, file)) return -1;
  int result = syscall(call, file);
  struct stat status;
  if (result == 0 && fstat(file, &status) == 0)
    note(S_ISDIR(status.st_mode) ? "syncfolder\n" : "sync %lu\n",
         (unsigned long)status.st_ino);
  return result;
}

int fsync(int file) { return synchronize(file, SYS_fsync); }
int fdatasync(int file) { return synchronize(file, SYS_fdatasync); }

static int truncate_file(int file, off_t size) {
  if (!is_ours(file, NULL)) return syscall(SYS_ftruncate, file, size);
  FAIL_IF_TOLD("truncate");
  note_time();
  int result = syscall(SYS_ftruncate, file, size);
  if (result == 0) note("truncate %lu %ld\n", inode_of(file), (long)size);
  return result;
}

int ftruncate(int file, off_t size) { return truncate_file(file, size); }
int ftruncate64(int file, off64_t size) { return truncate_file(file, size); }

int close(int file) {
  if (is_ours(file, NULL) && must_fail("close") && !is_short) {
    syscall(SYS_close, file);
    errno = failure;
    return -1;
  }
  return syscall(SYS_close, file);
}

static int rename_file(int from, const char *old, int to, const char *new,
                       unsigned flags) {
  int ours = is_ours(to, new), is_exchange = flags & RENAME_EXCHANGE;
  if (ours) FAIL_IF_TOLD("rename");
  int is_last = ours && killing > 0 && calls == killing;
  if (plain > 0 && flags != 0) {
    errno = plain;
    return -1;
  }
  unsigned long inode = ours ? inode_at(from, old) : 0;
  unsigned long other = ours && is_exchange ? inode_at(to, new) : 0;
  if (ours) note_time();
  int result = syscall(SYS_renameat2, from, old, to, new, flags);
  if (result == 0 && ours && is_exchange)
    note("exchange %lu %s %s %lu\n", inode, base(old), base(new), other);
  else if (result == 0 && ours)
    note("rename %lu %s %s\n", inode, base(old), base(new));
  if (is_last) kill(getpid(), SIGKILL);
  return result;
}

int renameat(int from, const char *old, int to, const char *new) {
  return rename_file(from, old, to, new, 0);
}

int renameat2(int from, const char *old, int to, const char *new,
              unsigned flags) {
  return rename_file(from, old, to, new, flags);
}

int linkat(int from, const char *old, int to, const char *new, int flags) {
  int ours = is_ours(to, new);
  if (ours) FAIL_IF_TOLD("link");
  int result = syscall(SYS_linkat, from, old, to, new, flags);
  if (result == 0 && ours) note("link %lu %s\n", inode_at(to, new), base(new));
  return result;
}

int unlinkat(int at, const char *name, int flags) {
  int result = syscall(SYS_unlinkat, at, name, flags);
  if (result == 0 && is_ours(at, name)) note("unlink 0 %s\n", base(name));
  return result;
}

int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }

int flock(int file, int operation) {
  if (is_ours(file, NULL) && operation != LOCK_UN) FAIL_IF_TOLD("lock");
  return syscall(SYS_flock, file, operation);
}
