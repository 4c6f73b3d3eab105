/* cost.h: the time and memory that reading or writing takes, each measured in a
 * process of its own. */
#ifndef COST_H
#define COST_H

#include "check.h"

#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define MEGABYTE ((size_t)1 << 20)

typedef struct file {
  char *data;
  size_t length;
} file;

typedef struct cost {
  int status;
  size_t count;   /* of the root's elements or bytes */
  size_t memory;  /* bytes above what was there before */
  double seconds; /* of the processor */
} cost;

/* A line of the process's status, in bytes (Linux, proc(5)). */
static inline size_t memory(const char *name) {
  char line[256];
  size_t kilobytes = 0;
  FILE *status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status))
    if (strncmp(line, name, strlen(name)) == 0)
      kilobytes = strtoul(line + strlen(name) + 1, NULL, 10);
  if (status) fclose(status);
  return kilobytes * 1024;
}

/* Makes the memory in use now the peak, and gives it. */
static inline size_t reset_peak(void) {
  FILE *references = fopen("/proc/self/clear_refs", "w");
  if (references) fputs("5", references);
  if (references) fclose(references);
  return memory("VmRSS");
}

static inline double used_seconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
         ((double)usage.ru_utime.tv_usec + (double)usage.ru_stime.tv_usec) /
             1e6;
}

/* Has the library's code and tables in memory before anything is measured. */
static inline void warm_up(void) {
  kv_tree *tree = NULL, *again = NULL;
  kv_bytes bytes = {NULL, 0};
  kv_str file;
  kv_decode(kv_string("{\"a\": [1, \"b\", 2.5], \"c\": {}}"), NULL, NULL, &tree,
            NULL, NULL);
  for (int format = KV_FORMAT_XML; format <= KV_FORMAT_JSON; format++) {
    if (kv_encode(tree, (kv_format)format, NULL, &bytes, NULL) != KV_OK)
      continue;
    file.data = bytes.data;
    file.length = bytes.length;
    kv_decode(file, NULL, NULL, &again, NULL, NULL);
    kv_tree_free(again);
    again = NULL;
    kv_bytes_free(&bytes);
  }
  kv_tree_free(tree);
}

static inline cost encode(const kv_tree *tree, kv_format format) {
  cost result = {0, 0, 0, 0};
  kv_bytes bytes = {NULL, 0};
  size_t before = reset_peak();
  double start = used_seconds();
  result.status = kv_encode(tree, format, NULL, &bytes, NULL);
  result.seconds = used_seconds() - start;
  result.memory = memory("VmHWM") - before;
  result.count = bytes.length;
  kv_bytes_free(&bytes);
  return result;
}

static inline cost decode(const file *bytes, kv_format format) {
  cost result = {0, 0, 0, 0};
  kv_decode_options options = {0};
  kv_tree *tree = NULL;
  kv_str text;
  size_t before = reset_peak();
  double start = used_seconds();
  options.size = sizeof options;
  options.format = format;
  text.data = bytes->data;
  text.length = bytes->length;
  result.status = kv_decode(text, &options, NULL, &tree, NULL, NULL);
  result.seconds = used_seconds() - start;
  result.memory = memory("VmHWM") - before;
  if (tree) {
    kv_cursor root = kv_tree_root(tree);
    result.count = kv_cursor_count(&root);
  }
  kv_tree_free(tree);
  return result;
}

/* Reads a file, or writes a tree where there is one, in a process that does
 * nothing else, so that the peak is its own. */
static inline cost measure_apart(const file *bytes, const kv_tree *tree,
                                 kv_format format) {
  cost result = {1000, 0, 0, 0};
  int channel[2];
  pid_t child;
  fflush(stdout);
  if (pipe(channel) != 0) return result;
  child = fork();
  if (child == 0) {
    warm_up();
    result = tree ? encode(tree, format) : decode(bytes, format);
    _exit(write(channel[1], &result, sizeof result) != sizeof result);
  }
  close(channel[1]);
  if (read(channel[0], &result, sizeof result) != sizeof result)
    result.status = 1000;
  close(channel[0]);
  waitpid(child, NULL, 0);
  return result;
}

static inline cost measure(const file *bytes, kv_format format) {
  return measure_apart(bytes, NULL, format);
}

#endif
