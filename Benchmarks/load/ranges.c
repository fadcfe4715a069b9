// Loads an HTTP server with range requests over kept connections and discards what comes, without copying it
// (MSG_TRUNC), so that the client costs the same whoever serves.
//
// ranges PORT PATH CONNECTIONS REQUESTS LENGTH RANGE [FIELD]
//   REQUESTS of RANGE bytes at pseudo-random multiples of RANGE in a file of LENGTH bytes, spread over CONNECTIONS
//   threads; RANGE 0 asks for the whole file without a Range field. FIELD is one more header field.
// Prints the bytes of the bodies and the seconds it took. Any answer but the expected one ends it with exit code 1.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct load {
  uint16_t port;
  const char *path;
  int64_t requests, length, range;
  const char *field;
  uint64_t seed;
};

static void die(const char *what) {
  fprintf(stderr, "ranges: %s: %s\n", what, strerror(errno));
  exit(1);
}

static int64_t whole(const char *text) {
  char *end;
  errno = 0;
  long long number = strtoll(text, &end, 10);
  if (errno || *end || end == text || number < 0) {
    fprintf(stderr, "ranges: not a number: %s\n", text);
    exit(2);
  }
  return number;
}

static int connect_loopback(uint16_t port) {
  int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) die("socket");
  int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(descriptor, (struct sockaddr *)&address, sizeof address) < 0) die("connect");
  return descriptor;
}

// Reads a head and the beginning of the body; returns how many bytes of the body are still to come.
static int64_t read_head(int descriptor, int status, int64_t expected) {
  char head[16384];
  size_t filled = 0;
  char *end;
  for (;;) {
    ssize_t count = recv(descriptor, head + filled, sizeof head - 1 - filled, 0);
    if (count <= 0) die("recv of a head");
    filled += (size_t)count;
    head[filled] = 0;
    if ((end = memmem(head, filled, "\r\n\r\n", 4))) break;
    if (filled == sizeof head - 1) die("a head is too long");
  }
  int64_t length = -1;
  for (char *line = head; line && line < end; line = memmem(line, (size_t)(end - line), "\r\n", 2)) {
    if (*line == '\r') line += 2;
    if (!strncasecmp(line, "content-length:", 15)) length = strtoll(line + 15, NULL, 10);
  }
  if (atoi(head + 9) != status || length != expected) {
    fprintf(stderr, "ranges: not the expected answer: %.300s\n", head);
    exit(1);
  }
  return length - (int64_t)(filled - (size_t)(end + 4 - head));
}

static void *run(void *argument) {
  struct load *load = argument;
  int descriptor = connect_loopback(load->port);
  static char sink[1 << 20];
  uint64_t state = load->seed;
  int64_t slots = load->range ? load->length / load->range : 1;
  for (int64_t request = 0; request < load->requests; request++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    int64_t offset = (int64_t)((state >> 33) % (uint64_t)slots) * load->range;
    char text[4096], range[80] = "";
    if (load->range)
      snprintf(range, sizeof range, "Range: bytes=%lld-%lld\r\n", (long long)offset,
               (long long)(offset + load->range - 1));
    int count = snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: localhost\r\n%s%s%s\r\n", load->path, range,
                         load->field ? load->field : "", load->field ? "\r\n" : "");
    if (count < 0 || (size_t)count >= sizeof text) die("a request is too long");
    if (send(descriptor, text, (size_t)count, MSG_NOSIGNAL) != count) die("send");
    int64_t left = read_head(descriptor, load->range ? 206 : 200, load->range ? load->range : load->length);
    while (left > 0) {
      size_t limit = left < (int64_t)sizeof sink ? (size_t)left : sizeof sink;
      ssize_t got = recv(descriptor, sink, limit, MSG_TRUNC);
      if (got <= 0) die("recv of a body");
      left -= got;
    }
  }
  close(descriptor);
  return NULL;
}

int main(int count, char **words) {
  if (count < 7 || count > 8) {
    fprintf(stderr, "usage: ranges PORT PATH CONNECTIONS REQUESTS LENGTH RANGE [FIELD]\n");
    return 2;
  }
  int64_t connections = whole(words[3]), requests = whole(words[4]);
  struct load common = {
      .port = (uint16_t)whole(words[1]), .path = words[2], .length = whole(words[5]), .range = whole(words[6]),
      .field = count == 8 ? words[7] : NULL};
  if (connections < 1 || connections > 256 || requests % connections || common.range > common.length) {
    fprintf(stderr, "ranges: REQUESTS is a multiple of CONNECTIONS (1 to 256), RANGE at most LENGTH\n");
    return 2;
  }
  pthread_t threads[256];
  struct load loads[256];
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (int64_t index = 0; index < connections; index++) {
    loads[index] = common;
    loads[index].requests = requests / connections;
    loads[index].seed = (uint64_t)index * 7919 + 1;
    if (pthread_create(&threads[index], NULL, run, &loads[index])) die("pthread_create");
  }
  for (int64_t index = 0; index < connections; index++) pthread_join(threads[index], NULL);
  clock_gettime(CLOCK_MONOTONIC, &end);
  double seconds = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
  printf("%lld %.6f\n", (long long)(requests * (common.range ? common.range : common.length)), seconds);
  return 0;
}
