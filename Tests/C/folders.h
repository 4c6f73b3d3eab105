/* folders.h: a program whose folders cannot be written to the disk for a while.
 * Included once in a program: it replaces the system's fsync. */
#ifndef FOLDERS_H
#define FOLDERS_H

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static int loses_folders = 0;

/* The library's own calls come here. */
int fsync(int file) {
  struct stat status;
  if (!loses_folders || fstat(file, &status) != 0 || !S_ISDIR(status.st_mode))
    return fdatasync(file);
  errno = EIO;
  return -1;
}

#endif
