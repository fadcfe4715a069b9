// Loads an HTTP server from one thread and discards what comes, without copying it where the kernel allows (MSG_TRUNC),
// so that the client costs the same whoever serves. `load --help` tells the options; one line of JSON tells the result.
// Any answer but the expected one ends it with exit code 1.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { scratch_length = 1 << 20, head_length = 16384, turn_events = 256 };
static const uint64_t long_wait = 1000000000;  // nanoseconds
enum state { handshake, idle, head, body };

struct connection {
  int descriptor;
  enum state state;
  SSL *tls;
  int64_t left;       // bytes of the body still to come
  uint64_t due;       // when the request was to be sent, nanoseconds
  uint64_t seed;
  const char *field;  // one more header field, with its end
  char *partial;      // a head that has come in part
  size_t filled;
};

static struct {
  uint16_t port;
  const char *path, *fields, *cold, *hold, *ciphers;
  int64_t connections, requests, length, range, rate, drip, status, depth;
  double seconds;
  bool tls, close;
} options = {.path = "/", .connections = 1, .length = 1, .drip = 4096, .depth = 100};

static struct connection *connections;
static struct connection **resting;  // connections without a request, when a rate is kept
static int64_t resting_count, issued, answered, body_bytes;
static uint64_t begun, deadline;
static uint32_t *latencies;  // tenths of a microsecond
static size_t latency_count, latency_room;
static int poll_descriptor, cold_descriptor = -1;
static SSL_CTX *tls_context;
static char scratch[scratch_length];

static void die(const char *what) {
  fprintf(stderr, "load: %s: %s\n", what, errno ? strerror(errno) : "failed");
  exit(1);
}

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static int64_t whole(const char *text) {
  char *end;
  errno = 0;
  long long number = strtoll(text, &end, 10);
  if (errno || *end || end == text || number < 0) {
    fprintf(stderr, "load: not a number: %s\n", text);
    exit(2);
  }
  return number;
}

static void watch(struct connection *connection, uint32_t events, int operation) {
  struct epoll_event event = {.events = events, .data.ptr = connection};
  if (epoll_ctl(poll_descriptor, operation, connection->descriptor, &event) < 0) die("epoll_ctl");
}

static void open_connection(struct connection *connection) {
  int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) die("socket");
  int on = 1, small = 16384;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // So that what a slow reader has not taken lies with the server.
  if (options.hold && options.drip < 1 << 20) setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(options.port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(descriptor, (struct sockaddr *)&address, sizeof address) < 0) die("connect");
  connection->descriptor = descriptor;
  connection->state = idle;
  if (tls_context) {
    connection->tls = SSL_new(tls_context);
    if (!connection->tls || !SSL_set_fd(connection->tls, descriptor) || SSL_connect(connection->tls) != 1)
      die("TLS handshake");
  }
  if (fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) < 0) die("fcntl");
}

// The next request of a connection, as text; returns its length.
static int make_request(struct connection *connection, char *text, size_t room) {
  int64_t slots = options.range ? options.length / options.range : 1;
  connection->seed = connection->seed * 6364136223846793005u + 1442695040888963407u;
  int64_t offset = (int64_t)((connection->seed >> 33) % (uint64_t)slots) * options.range;
  if (cold_descriptor >= 0 &&
      posix_fadvise(cold_descriptor, offset, options.range ? options.range : options.length, POSIX_FADV_DONTNEED))
    die("posix_fadvise");
  char range[80] = "";
  if (options.range)
    snprintf(range, sizeof range, "Range: bytes=%lld-%lld\r\n", (long long)offset,
             (long long)(offset + options.range - 1));
  int count = snprintf(text, room, "GET %s HTTP/1.1\r\nHost: localhost\r\n%s%s%s\r\n", options.path, range,
                       connection->field, options.close ? "Connection: close\r\n" : "");
  if (count < 0 || (size_t)count >= room) die("a request is too long");
  return count;
}

static void ask(struct connection *connection, uint64_t due) {
  char text[4096];
  int count = make_request(connection, text, sizeof text);
  ssize_t sent = connection->tls ? SSL_write(connection->tls, text, count)
                                 : send(connection->descriptor, text, (size_t)count, MSG_NOSIGNAL);
  if (sent != count) die("send");
  connection->due = due;
  connection->state = head;
  connection->filled = 0;
  issued++;
}

static bool may_issue(uint64_t time) {
  return (!options.requests || issued < options.requests) && (!deadline || time < deadline);
}

static void complete(struct connection *connection) {
  uint64_t time = now();
  answered++;
  body_bytes += options.range ? options.range : options.length;
  if (latency_count == latency_room) {
    latency_room = latency_room ? latency_room * 2 : 1 << 16;
    latencies = realloc(latencies, latency_room * sizeof *latencies);
    if (!latencies) die("realloc");
  }
  uint64_t tenths = (time - connection->due) / 100;
  latencies[latency_count++] = tenths > UINT32_MAX ? UINT32_MAX : (uint32_t)tenths;
  connection->state = idle;
  if (options.close) {
    // The server ends it.
    char rest;
    fcntl(connection->descriptor, F_SETFL, fcntl(connection->descriptor, F_GETFL) & ~O_NONBLOCK);
    if (recv(connection->descriptor, &rest, 1, 0) != 0) die("recv: the server has not closed the connection");
    close(connection->descriptor);
    if (!may_issue(time)) return;
    open_connection(connection);
    watch(connection, EPOLLIN, EPOLL_CTL_ADD);
    return ask(connection, now());
  }
  if (options.rate) {
    resting[resting_count++] = connection;
  } else if (!options.hold && may_issue(time)) {
    ask(connection, time);
  }
}

// How many bytes came; zero when nothing is there now.
static size_t receive(struct connection *connection, char *target, size_t room, int flags) {
  if (connection->tls) {
    int count = SSL_read(connection->tls, target, room > INT32_MAX ? INT32_MAX : (int)room);
    if (count > 0) return (size_t)count;
    if (SSL_get_error(connection->tls, count) == SSL_ERROR_WANT_READ) return 0;
    die("SSL_read");
  }
  ssize_t count = recv(connection->descriptor, target, room, flags);
  if (count > 0) return (size_t)count;
  if (count < 0 && errno == EAGAIN) return 0;
  if (count == 0) errno = 0;
  die("recv: the server closed the connection");
  return 0;
}

// Reads the status and the length; returns the bytes of the body that lie behind the head already.
static void begin_body(struct connection *connection, const char *text, size_t filled, const char *end) {
  int64_t length = -1, expected = options.range ? options.range : options.length;
  for (const char *line = text; line && line < end; line = memmem(line, (size_t)(end - line), "\r\n", 2)) {
    if (*line == '\r') line += 2;
    if (!strncasecmp(line, "content-length:", 15)) length = strtoll(line + 15, NULL, 10);
  }
  int status = options.status ? (int)options.status : options.range ? 206 : 200;
  // An answer that has no body need not tell how long it is.
  if (status == 304 && length < 0) length = 0;
  if (status >= 300) expected = length;
  if (atoi(text + 9) != status || length != expected || length < 0) {
    fprintf(stderr, "load: not the expected answer: %.*s\n", (int)(end - text), text);
    exit(1);
  }
  connection->left = length - (int64_t)(filled - (size_t)(end + 4 - text));
  connection->state = body;
}

static bool read_head(struct connection *connection) {
  char *text = connection->filled ? connection->partial : scratch;
  size_t count = receive(connection, text + connection->filled, head_length - 1 - connection->filled, 0);
  if (count == 0) return false;
  size_t filled = connection->filled + count;
  text[filled] = 0;
  char *end = memmem(text, filled, "\r\n\r\n", 4);
  if (end) {
    begin_body(connection, text, filled, end);
    connection->filled = 0;
    return true;
  }
  if (filled >= head_length - 1) die("a head is too long");
  if (!connection->partial && !(connection->partial = malloc(head_length))) die("malloc");
  if (text == scratch) memcpy(connection->partial, scratch, filled);
  connection->filled = filled;
  return false;
}

static void wake(struct connection *connection) {
  while (connection->state == head || connection->state == body) {
    if (connection->state == head && !read_head(connection)) return;
    while (connection->left > 0) {
      size_t room = connection->left < scratch_length ? (size_t)connection->left : scratch_length;
      size_t count = receive(connection, scratch, room, MSG_TRUNC);
      if (count == 0) return;
      connection->left -= (int64_t)count;
      // The kernel has given what it had.
      if (!connection->tls && connection->left > 0 && count < room) return;
    }
    complete(connection);
    if (!connection->tls) return;
  }
}

static int compare(const void *left, const void *right) {
  uint32_t first = *(const uint32_t *)left, second = *(const uint32_t *)right;
  return first < second ? -1 : first > second;
}

static double percentile(double share) {
  if (latency_count == 0) return 0;
  size_t position = (size_t)(share * (double)latency_count);
  return latencies[position < latency_count ? position : latency_count - 1] / 10.0;
}

static void report(uint64_t end) {
  qsort(latencies, latency_count, sizeof *latencies, compare);
  printf("{\"requests\":%lld,\"bytes\":%lld,\"seconds\":%.6f,\"p50\":%.1f,\"p99\":%.1f,\"p999\":%.1f,\"max\":%.1f}\n",
         (long long)answered, (long long)body_bytes, (double)(end - begun) / 1e9, percentile(0.5), percentile(0.99),
         percentile(0.999), percentile(1));
}

// Keeps the rate: sends what has become due. Returns nanoseconds until there is more to send.
static uint64_t send_due(void) {
  uint64_t time = now();
  while (resting_count > 0 && may_issue(time)) {
    uint64_t due = begun + (uint64_t)((double)issued * 1e9 / (double)options.rate);
    if (due > time) return due - time;
    ask(resting[--resting_count], due);
  }
  return resting_count == 0 || issued > answered ? long_wait : 0;
}

static void run_load(void) {
  struct epoll_event events[turn_events];
  begun = now();
  deadline = options.seconds > 0 ? begun + (uint64_t)(options.seconds * 1e9) : 0;
  for (int64_t index = 0; index < options.connections; index++) {
    if (options.rate) {
      resting[resting_count++] = &connections[index];
    } else if (may_issue(begun)) {
      ask(&connections[index], now());
    }
  }
  while (issued > answered || may_issue(now())) {
    uint64_t wait = options.rate ? send_due() : long_wait;
    // To the nanosecond: a client that polled for the next request's time would take a processor from the server.
    struct timespec timeout = {.tv_sec = (time_t)(wait / 1000000000u), .tv_nsec = (long)(wait % 1000000000u)};
    int count = epoll_pwait2(poll_descriptor, events, turn_events, &timeout, NULL);
    for (int position = 0; position < count; position++) wake(events[position].data.ptr);
  }
  report(now());
}

// Takes up to `share` bytes; asks again when the answer is complete.
static void take(struct connection *connection, size_t share) {
  while (share > 0) {
    if (connection->state == head && !read_head(connection)) return;
    if (connection->left > 0) {
      size_t room = connection->left < (int64_t)share ? (size_t)connection->left : share;
      size_t count = receive(connection, scratch, room < scratch_length ? room : scratch_length, MSG_TRUNC);
      if (count == 0) return;
      connection->left -= (int64_t)count;
      share -= count;
    }
    if (connection->left == 0) ask(connection, 0);
  }
}

// Requests on every connection until a signal ends it. Idle ones take one answer and rest; slow ones take `drip` bytes
// a second, in a hundred turns of which each serves every tenth connection.
static void run_hold(void) {
  bool slow = !strcmp(options.hold, "slow");
  for (int64_t index = 0; index < options.connections; index++) {
    struct connection *connection = &connections[index];
    ask(connection, 0);
    struct epoll_event event;
    while (!slow && connection->state != idle) {
      epoll_wait(poll_descriptor, &event, 1, 1000);
      wake(connection);
    }
  }
  printf("ready\n");
  fflush(stdout);
  size_t share = (size_t)options.drip / 10 + 1;
  for (int64_t turn = 0;; turn++) {
    usleep(10000);
    for (int64_t index = turn % 10; slow && index < options.connections; index += 10) take(&connections[index], share);
  }
}

// Keeps a batch of requests on its way on every connection, and throws away what comes, until a signal ends it.
static void run_pipeline(void) {
  size_t room = (size_t)options.depth * 1024, length = 0, *positions = calloc((size_t)options.connections, sizeof *positions);
  char *batch = malloc(room);
  if (!batch || !positions) die("malloc");
  for (int64_t index = 0; index < options.depth; index++)
    length += (size_t)make_request(&connections[0], batch + length, room - length);
  printf("ready\n");
  fflush(stdout);
  struct epoll_event events[turn_events];
  while (true) {
    for (int64_t index = 0; index < options.connections; index++) {
      struct connection *connection = &connections[index];
      ssize_t sent = send(connection->descriptor, batch + positions[index], length - positions[index], MSG_NOSIGNAL);
      if (sent < 0 && errno != EAGAIN) die("send");
      if (sent > 0) positions[index] = (positions[index] + (size_t)sent) % length;
      while (receive(connection, scratch, scratch_length, MSG_TRUNC) == scratch_length) {}
    }
    epoll_wait(poll_descriptor, events, turn_events, 10);
  }
}

static void read_fields(void) {
  if (!options.fields) {
    for (int64_t index = 0; index < options.connections; index++) connections[index].field = "";
    return;
  }
  FILE *file = fopen(options.fields, "r");
  if (!file) die(options.fields);
  char *lines[65536], *line = NULL;
  int64_t count = 0;
  size_t room = 0;
  while (count < 65536 && getline(&line, &room, file) > 0) {
    line[strcspn(line, "\n")] = 0;
    lines[count] = calloc(2 * strlen(line) + 3, 1);
    if (!lines[count]) die("calloc");
    char *end = lines[count++];
    for (char *field = strtok(line, "\t"); field; field = strtok(NULL, "\t")) end += sprintf(end, "%s\r\n", field);
  }
  fclose(file);
  if (!count) die("no fields");
  for (int64_t index = 0; index < options.connections; index++) connections[index].field = lines[index % count];
}

static void prepare_tls(void) {
  tls_context = SSL_CTX_new(TLS_client_method());
  if (!tls_context || !SSL_CTX_set_min_proto_version(tls_context, TLS1_3_VERSION) ||
      (options.ciphers && !SSL_CTX_set_ciphersuites(tls_context, options.ciphers)))
    die("TLS");
  // The certificate is made for the run; nothing secret is sent.
  SSL_CTX_set_verify(tls_context, SSL_VERIFY_NONE, NULL);
  SSL_CTX_set_mode(tls_context, SSL_MODE_AUTO_RETRY);
}

static const char usage[] =
    "usage: load --port N [OPTIONS]\n"
    "  --path PATH          what to ask for\n"
    "  --length N           its length in bytes\n"
    "  --range N            ask for parts of N bytes at pseudo-random multiples of N; 0, the default: for the whole\n"
    "  --fields FILE        more header fields, given to the connections in turn: a line each, with tabs between fields\n"
    "  --connections N      kept-alive connections (1)\n"
    "  --requests N, --seconds N   when to stop\n"
    "  --rate N             requests a second; without it, each connection asks again as soon as it is answered\n"
    "  --cold FILE          throw the part to be asked for out of the page cache before each request\n"
    "  --tls, --ciphers S   TLS 1.3, with these cipher suites\n"
    "  --status N           the status to be answered; of 300 and more, whatever the length (200, 206 for parts)\n"
    "  --close              each request on a connection of its own, which the server ends\n"
    "  --hold idle|slow     one request a connection, say 'ready', and keep the connections until a signal\n"
    "  --hold pipeline      say 'ready', and keep requests on their way on each connection until a signal\n"
    "  --depth N            requests that a pipelining connection has on their way (100)\n"
    "  --drip N             bytes a second that a slow connection takes (4096)\n";

static void read_options(int count, char **words) {
  static const struct option names[] = {
      {"port", 1, 0, 'p'},    {"path", 1, 0, 'P'},     {"fields", 1, 0, 'f'},  {"connections", 1, 0, 'c'},
      {"requests", 1, 0, 'r'}, {"seconds", 1, 0, 's'},  {"length", 1, 0, 'l'},  {"range", 1, 0, 'R'},
      {"rate", 1, 0, 'a'},    {"cold", 1, 0, 'C'},     {"tls", 0, 0, 't'},     {"ciphers", 1, 0, 'i'},
      {"hold", 1, 0, 'h'},    {"drip", 1, 0, 'd'},     {"help", 0, 0, 'H'},    {"status", 1, 0, 'u'},
      {"close", 0, 0, 'x'},   {"depth", 1, 0, 'D'},    {0}};
  int option;
  while ((option = getopt_long(count, words, "", names, NULL)) != -1) {
    switch (option) {
    case 'p': options.port = (uint16_t)whole(optarg); break;
    case 'P': options.path = optarg; break;
    case 'f': options.fields = optarg; break;
    case 'c': options.connections = whole(optarg); break;
    case 'r': options.requests = whole(optarg); break;
    case 's': options.seconds = atof(optarg); break;
    case 'l': options.length = whole(optarg); break;
    case 'R': options.range = whole(optarg); break;
    case 'a': options.rate = whole(optarg); break;
    case 'C': options.cold = optarg; break;
    case 't': options.tls = true; break;
    case 'i': options.ciphers = optarg; break;
    case 'h': options.hold = optarg; break;
    case 'd': options.drip = whole(optarg); break;
    case 'u': options.status = whole(optarg); break;
    case 'x': options.close = true; break;
    case 'D': options.depth = whole(optarg); break;
    case 'H': fputs(usage, stdout); exit(0);
    default: fputs(usage, stderr); exit(2);
    }
  }
  bool ends = options.requests || options.seconds > 0 || options.hold;
  if (!options.port || !ends || options.connections < 1 || options.range > options.length || options.length < 1 ||
      options.depth < 1) {
    fputs(usage, stderr);
    exit(2);
  }
}

int main(int count, char **words) {
  read_options(count, words);
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files)) die("getrlimit");
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  // Requests leave when they are due, not up to 50 microseconds later.
  prctl(PR_SET_TIMERSLACK, 1);
  poll_descriptor = epoll_create1(EPOLL_CLOEXEC);
  if (poll_descriptor < 0) die("epoll_create1");
  if (options.cold && (cold_descriptor = open(options.cold, O_RDONLY | O_CLOEXEC)) < 0) die(options.cold);
  if (options.tls) prepare_tls();
  connections = calloc((size_t)options.connections, sizeof *connections);
  resting = calloc((size_t)options.connections, sizeof(struct connection *));
  if (!connections || !resting) die("calloc");
  read_fields();
  for (int64_t index = 0; index < options.connections; index++) {
    connections[index].seed = (uint64_t)index * 7919 + 1;
    open_connection(&connections[index]);
    watch(&connections[index], EPOLLIN, EPOLL_CTL_ADD);
  }
  if (options.hold && !strcmp(options.hold, "pipeline")) run_pipeline();
  if (options.hold) run_hold();
  run_load();
  return 0;
}
