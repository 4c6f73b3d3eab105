/* A store on a server, beside a plain compare-and-set on the same server, etcd
 * through its HTTP gateway, and a store in a file. Prints rows (report.py).
 *
 *   fleet run SERVER PORT_OF_ETCD FOLDER    durable sets, watches and gets; waits
 *                                           for a line on standard input where
 *                                           the server is to be stopped; a role
 *                                           "device" has rights in a database
 *                                           "devices"
 *   fleet open SERVER FOLDER                microseconds of opening the store,
 *                                           and one in a file
 *
 * SERVER has the tables of a fleet; FOLDER is on the disk that the server
 * writes.
 */
#define _DEFAULT_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <kvcodable.h>
#include <libpq-fe.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { rounds = 15, each = 100, gets = 1000000 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void require(int good, const char *what) {
  if (good) return;
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *times, size_t count) {
  qsort(times, count, sizeof *times, ascending);
  return times[count / 2];
}

static kv_store *open_store(kv_str name, kv_engine engine, const char *server) {
  kv_store_options options = {
      .size = sizeof options, .engine = engine, .durability = KV_IMMEDIATE};
  kv_store *store;
  kv_error *error;
  if (server) options.server = kv_string(server);
  kv_status status = kv_store_open(name, &options, &store, &error);
  require(status >= 0,
          status < 0 ? (const char *)kv_error_message(error).data : "");
  return store;
}

/* ---- Durable sets: each writes a number. */

static kv_store *ours, *device;
static PGconn *plain;
static int etcd, file;
static long long plain_revision;

static void set_ours(int64_t number) {
  kv_step path = kv_key("number");
  require(kv_store_set_integer(ours, &path, 1, number, NULL) == KV_OK, "set");
}

/* The same by a role that has rights, for which the server asks at each row. */
static void set_device(int64_t number) {
  kv_step path = kv_key("number");
  require(kv_store_set_integer(device, &path, 1, number, NULL) == KV_OK,
          "set by a device");
}

/* One round trip, a prepared statement, one row: the least that a program which
 * must not overwrite another's change can do. */
static void set_plain(int64_t number) {
  char value[32], revision[32];
  const char *values[] = {value, revision};
  snprintf(value, sizeof value, "%lld", (long long)number);
  snprintf(revision, sizeof revision, "%lld", plain_revision++);
  PGresult *result = PQexecPrepared(plain, "cas", 2, values, NULL, NULL, 0);
  require(!strcmp(PQcmdTuples(result), "1"), PQerrorMessage(plain));
  PQclear(result);
}

static char answer[65536];

/* The body of etcd's answer to a request. */
static const char *ask_etcd(const char *path, const char *body) {
  char request[1000];
  int length = snprintf(request, sizeof request,
                        "POST %s HTTP/1.1\r\nHost: etcd\r\nContent-Length: "
                        "%zu\r\n\r\n%s",
                        path, strlen(body), body);
  require(write(etcd, request, (size_t)length) == length, "etcd: write");
  size_t found = 0;
  for (;;) {
    ssize_t more = read(etcd, answer + found, sizeof answer - 1 - found);
    require(more > 0, "etcd: read");
    found += (size_t)more;
    answer[found] = 0;
    char *end = strstr(answer, "\r\n\r\n"),
         *size = strstr(answer, "Content-Length: ");
    if (end && size &&
        found >= (size_t)(end + 4 - answer) + strtoul(size + 16, NULL, 10))
      break;
  }
  require(!strncmp(answer, "HTTP/1.1 200", 12), answer);
  return strstr(answer, "\r\n\r\n") + 4;
}

/* Base64 of a text. */
static void encode(const char *text, char *result) {
  static const char digits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  size_t length = strlen(text);
  for (size_t i = 0; i < length; i += 3) {
    uint32_t bits = 0;
    for (size_t j = 0; j < 3; j++)
      bits = bits << 8 | (i + j < length ? (unsigned char)text[i + j] : 0);
    for (int j = 0; j < 4; j++)
      *result++ =
          i + (size_t)j > length ? '=' : digits[bits >> (18 - 6 * j) & 63];
  }
  *result = 0;
}

static void set_etcd(int64_t number) {
  char text[32], value[64], body[200];
  snprintf(text, sizeof text, "%lld", (long long)number);
  encode(text, value);
  snprintf(body, sizeof body, "{\"key\":\"bnVtYmVy\",\"value\":\"%s\"}", value);
  ask_etcd("/v3/kv/put", body);
}

static void synchronize(int64_t number) {
  char page[8192] = {0};
  memcpy(page, &number, sizeof number);
  require(pwrite(file, page, sizeof page, 0) == sizeof page && !fdatasync(file),
          "fdatasync");
}

static void check_sets(int64_t last) {
  char text[32], value[64];
  kv_step path = kv_key("number");
  int64_t found = 0;
  snprintf(text, sizeof text, "%lld", (long long)last);
  kv_store_get_integer(ours, &path, 1, &found, NULL);
  require(found == last, "ours is another number");
  PGresult *result = PQexec(
      plain,
      "SELECT p.value, kv_json(v.value) FROM plain p, kv_value v WHERE v.store "
      "= 'bench' AND v.key = 'number'");
  require(!strcmp(PQgetvalue(result, 0, 0), text), "plain is another number");
  require(!strcmp(PQgetvalue(result, 0, 1), text), "the server has another");
  PQclear(result);
  encode(text, value);
  require(
      strstr(ask_etcd("/v3/kv/range", "{\"key\":\"bnVtYmVy\"}"), value) != NULL,
      "etcd has another number");
}

static void measure_sets(void) {
  static void (*const ways[])(int64_t) = {set_ours, set_plain, set_etcd,
                                          synchronize, set_device};
  static double times[5][rounds * each];
  int64_t number = 0;
  for (int round = 0; round < rounds; round++)
    for (int way = 0; way < 5; way++)
      for (int i = 0; i < each; i++) {
        double start = now();
        ways[way](number = (int64_t)round * each + i);
        times[way][round * each + i] = now() - start;
      }
  check_sets(number);
  double found[5];
  for (int way = 0; way < 5; way++)
    found[way] = median(times[way], rounds * each) * 1e6;
  printf(
      "row\tdurable set\tµs\t%.1f\tplain compare-and-set=%.1f\tetcd=%.1f"
      "\tfdatasync=%.1f\n",
      found[0], found[1], found[2], found[3]);
  printf("row\tdurable set, over fdatasync\tµs\t%.1f\n", found[0] - found[3]);
  printf("row\tdurable set by a device\tµs\t%.1f\tthe tables' owner=%.1f\n",
         found[4], found[0]);
}

/* ---- Watches */

static double told;
static int64_t told_number;

static void note(void *context, const kv_step *path, size_t steps,
                 const kv_tree *old, const kv_tree *changed) {
  kv_cursor root = kv_tree_root(changed);
  (void)context, (void)path, (void)steps, (void)old;
  told = now();
  kv_cursor_integer(&root, &told_number);
}

/* From the commit's answer to the handler, and to a notification that a plain
 * client reads, which says that there is news, and not which. */
static void measure_watches(const char *server) {
  char other[1000];
  double times[500], theirs[500];
  struct pollfd pollers[2] = {{.events = POLLIN}, {.events = POLLIN}};
  kv_step path = kv_key("number");
  kv_watch *watch;
  PGconn *listener = PQconnectdb(server);
  snprintf(other, sizeof other, "%s application_name=watching", server);
  kv_store *reader =
      open_store(kv_string("bench"), KV_ENGINE_POSTGRESQL, other);
  PQclear(PQexec(listener,
                 "DO $$ BEGIN EXECUTE 'LISTEN ' || "
                 "kv_channel('bench'); END $$"));
  require(kv_store_watch(reader, &path, 1, KV_SCOPE_VALUE, note, NULL, &watch,
                         NULL) == KV_OK,
          "watch");
  kv_store_watch_descriptor(reader, &pollers[0].fd, NULL);
  pollers[1].fd = PQsocket(listener);
  sleep(1); /* until the reader listens */
  for (int i = 0; i < 500; i++) {
    double heard = 0;
    set_ours(1000000 + i);
    double committed = now();
    while (told_number != 1000000 + i || !heard) {
      require(poll(pollers, 2, 5000) > 0, "nothing comes");
      if (pollers[0].revents) kv_store_pump(reader, NULL, NULL);
      if (pollers[1].revents) {
        PQconsumeInput(listener);
        PGnotify *notification = PQnotifies(listener);
        if (notification) heard = now();
        PQfreemem(notification);
      }
    }
    times[i] = told > committed ? told - committed : 0;
    theirs[i] = heard > committed ? heard - committed : 0;
  }
  printf("row\ta change is told\tµs\t%.1f\tplain notification=%.1f\n",
         median(times, 500) * 1e6, median(theirs, 500) * 1e6);
  kv_watch_cancel(watch);
  kv_store_free(reader);
  PQfinish(listener);
}

/* ---- Gets */

static double get(kv_store *store, int64_t expected) {
  kv_step path = kv_key("number");
  int64_t value = 0, sum = 0;
  double start = now();
  for (int i = 0; i < gets; i++) {
    kv_store_get_integer(store, &path, 1, &value, NULL);
    sum += value;
  }
  double took = now() - start;
  require(sum == expected * gets, "gets give another number");
  return took / gets * 1e9;
}

static void measure_gets(const char *when, kv_store *local) {
  double times[2][9];
  for (int i = 0; i < 9; i++) {
    times[0][i] = get(ours, 7);
    times[1][i] = get(local, 7);
  }
  printf("row\tget, %s\tns\t%.1f\ta file's store=%.1f\n", when,
         median(times[0], 9), median(times[1], 9));
}

static int connect_to(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port)};
  int one = 1, descriptor = socket(AF_INET, SOCK_STREAM, 0);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  require(!connect(descriptor, (struct sockaddr *)&address, sizeof address),
          "etcd: connect");
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return descriptor;
}

static int run(char **arguments) {
  const char *server = arguments[0];
  char path[1000];
  kv_step number = kv_key("number");
  ours = open_store(kv_string("bench"), KV_ENGINE_POSTGRESQL, server);
  /* The last of two options counts. */
  snprintf(path, sizeof path, "%s dbname=devices user=device", server);
  device = open_store(kv_string("device"), KV_ENGINE_POSTGRESQL, path);
  plain = PQconnectdb(server);
  PQclear(PQexec(plain,
                 "CREATE TABLE plain (key text PRIMARY KEY, value text, "
                 "revision bigint); "
                 "INSERT INTO plain VALUES ('number', '', 0)"));
  PQclear(PQprepare(plain, "cas",
                    "UPDATE plain SET value = $1, revision = revision + 1 "
                    "WHERE key = 'number' AND revision = $2",
                    0, NULL));
  etcd = connect_to(atoi(arguments[1]));
  snprintf(path, sizeof path, "%s/page", arguments[2]);
  file = open(path, O_RDWR | O_CREAT, 0600);
  measure_sets();
  measure_watches(server);
  snprintf(path, sizeof path, "%s/local.plist", arguments[2]);
  kv_store_options options = {.size = sizeof options};
  kv_store *local;
  require(kv_store_open_file(kv_string(path), &options, &local, NULL) == KV_OK,
          "file");
  kv_store_set_integer(local, &number, 1, 7, NULL);
  kv_store_sync(local, NULL);
  set_ours(7);
  measure_gets("connected", local);
  puts("stop");
  fflush(stdout);
  getchar();
  measure_gets("while the server is away", local);
  kv_store_free(local);
  kv_store_free(device);
  kv_store_free(ours);
  return 0;
}

static int open_once(char **arguments) {
  char path[1000];
  kv_store_options options = {.size = sizeof options};
  kv_store *local;
  kv_step number = kv_key("number");
  int64_t value = 0;
  snprintf(path, sizeof path, "%s/local.plist", arguments[1]);
  double start = now();
  require(kv_store_open_file(kv_string(path), &options, &local, NULL) == KV_OK,
          "file");
  double middle = now();
  ours = open_store(kv_string("bench"), KV_ENGINE_POSTGRESQL, arguments[0]);
  double end = now();
  kv_store_get_integer(ours, &number, 1, &value, NULL);
  require(value == 7, "the cache has another number");
  printf("%.1f %.1f\n", (end - middle) * 1e6, (middle - start) * 1e6);
  fflush(stdout);
  _exit(0);
}

int main(int count, char **arguments) {
  if (count == 5 && !strcmp(arguments[1], "run")) return run(arguments + 2);
  if (count == 4 && !strcmp(arguments[1], "open"))
    return open_once(arguments + 2);
  return 2;
}
