/* CKVSystem: the system calls that Swift's Glibc module does not declare, and
 * the few that Swift cannot call as they stand. */
#ifndef CKVSYSTEM_H
#define CKVSYSTEM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/random.h>
#include <sys/statfs.h>

/* Writes an error number's text, in the C locale's words; 0 when it fits. */
int cs_error_text(int number, char *buffer, size_t size);

/* Nanoseconds of the monotonic clock, and of the time since 1970. */
int64_t cs_monotonic_nanoseconds(void);
int64_t cs_realtime_nanoseconds(void);

/* The f_type that fstatfs gives for the open file; 0 when it fails. */
int64_t cs_file_system_type(int descriptor);

/* Whether the file of this name in the folder is a mount point of its own; 0
 * where there is none, or the system cannot say. */
int cs_is_mount_point(int folder, const char *name);

/* Gives the device and the inode of a file in the folder, as stat() does, and
 * follows no link. Returns 0, or -1 with errno. Does not read the file's times:
 * after a read of them, the next fdatasync() writes the inode as well. */
int cs_identity(int folder, const char *name, uint64_t *device,
                uint64_t *inode);

/* renameat2 in a folder: two files exchange their names; and a file gets a name
 * that none has, EEXIST where one has it. */
int cs_rename_exchange(int folder, const char *one, const char *other);
int cs_rename_new(int folder, const char *old_name, const char *new_name);

/* Whether the program runs with rights that its caller does not have. */
int cs_is_privileged(void);

/* inotify_init1, epoll_create1 and eventfd with close-on-exec, not blocking. */
int cs_inotify_open(void);
int cs_epoll_open(void);
int cs_eventfd_open(void);

/* A timer that fires every so many seconds, as a descriptor; 0: not at all. */
int cs_timer_open(int seconds);

/* Has a timer fire once, after so many milliseconds. */
void cs_timer_arm(int timer, int milliseconds);

/* Waits until the descriptor is readable, at most for so many nanoseconds: 1
 * when it is, 0 when it is not, -1 where a signal or an error came. */
int cs_wait_readable(int descriptor, int64_t nanoseconds);

/* Makes `number` a close-on-exec duplicate of `fresh`, and closes `fresh`. */
void cs_replace_descriptor(int fresh, int number);

/* A number that the calling thread has, and no other thread of the process ever
 * has: pthread_self() gives the value of a thread that ended to a later one. */
uint64_t cs_thread_number(void);

/* Waits until no other thread of the process runs, each of them waiting for
 * something, but not for longer than so many milliseconds. */
void cs_wait_for_threads(int milliseconds);

/* fork, which Swift does not have under its name. */
int cs_fork(void);

#endif
