/* invalid.c: each file of the corpus's invalid/ is done with in under 0.1 s of
 * the processor and 64 MB above its size. */
/* proves: G78 */
#define _DEFAULT_SOURCE
#include "cost.h"

#include <dirent.h>

static int files = 0;

static file contents(const char *path) {
  file result = {NULL, 0};
  FILE *source = fopen(path, "rb");
  if (!source) return result;
  fseek(source, 0, SEEK_END);
  result.length = (size_t)ftell(source);
  rewind(source);
  result.data = malloc(result.length + 1);
  if (!result.data ||
      fread(result.data, 1, result.length, source) != result.length)
    abort();
  fclose(source);
  return result;
}

/* The best of three: what else the machine does is not the reader's cost. */
static void check_file(const char *path, const char *name) {
  file bytes = contents(path);
  double best = 1e9;
  size_t most = 0;
  cost found = {0, 0, 0, 0};
  char what[300];
  for (int run = 0; run < 3; run++) {
    found = measure(&bytes, KV_FORMAT_ANY);
    if (found.seconds < best) best = found.seconds;
    if (found.memory > most) most = found.memory;
  }
  snprintf(what, sizeof what, "%.200s: status %d in %.4f s and %.1f MB", name,
           found.status, best, (double)most / 1e6);
  CHECK_NAMED(found.status <= 0 && best < 0.1 && most <= 64 * MEGABYTE, what);
  free(bytes.data);
  files++;
}

static void check_folder(const char *folder) {
  struct dirent *entry;
  DIR *names = opendir(folder);
  while (names && (entry = readdir(names)) != NULL) {
    char path[1024];
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%.700s/%.255s", folder, entry->d_name);
    if (entry->d_type == DT_DIR)
      check_folder(path);
    else
      check_file(path, entry->d_name);
  }
  if (names) closedir(names);
}

int main(void) {
  const char *corpus = getenv("KVCODABLE_CORPUS");
  char folder[800];
  if (!corpus) {
    printf(
        "ok 1 - the corpus's invalid files # SKIP KVCODABLE_CORPUS is not "
        "set\n1..1\n");
    return 0;
  }
  snprintf(folder, sizeof folder, "%.700s/invalid", corpus);
  check_folder(folder);
  CHECK(files >= 75);
  return finish_checks();
}
