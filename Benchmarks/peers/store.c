// Says what a payment store would say, and costs next to nothing, so that a benchmark of the gate measures the server.
// `store --port N --answers FILE`: each line of FILE is a receipt in base 64, a tab, and the JSON that `POST /verifyReceipt`
// answers about it; of any other receipt it says 21002. `POST /store/v1/transactions/ID/finish` is always accepted.
// `GET /counts` tells how often it was asked. One thread, kept-alive connections, until a signal ends it.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { request_length = 1 << 20, turn_events = 256 };

struct answer {
  uint64_t hash;
  char *text;
  size_t length;
};

struct connection {
  int descriptor;
  size_t filled;
  size_t room;
  char *text;
};

static struct answer *answers;  // open addressing
static size_t answer_room;
static long long questions, finishes, unknown;
static int poll_descriptor;

static _Noreturn void die(const char *what) {
  fprintf(stderr, "store: %s: %s\n", what, errno ? strerror(errno) : "failed");
  exit(1);
}

// FNV-1a over the text up to `end`; JSON may write each slash of base 64 behind a backslash.
static uint64_t hash_of(const char *text, const char *end) {
  uint64_t hash = 14695981039346656037u;
  for (; text < end; text++) {
    if (*text == '\\') continue;
    hash = (hash ^ (uint8_t)*text) * 1099511628211u;
  }
  return hash ? hash : 1;
}

static struct answer *slot(uint64_t hash) {
  size_t position = hash % answer_room;
  while (answers[position].hash && answers[position].hash != hash) position = (position + 1) % answer_room;
  return &answers[position];
}

static void read_answers(const char *path) {
  FILE *file = fopen(path, "r");
  if (!file) die(path);
  char *line = NULL;
  size_t room = 0, count = 0;
  while (getline(&line, &room, file) > 0) count++;
  rewind(file);
  answer_room = count * 2 + 1;
  if (!(answers = calloc(answer_room, sizeof *answers))) die("calloc");
  ssize_t length;
  while ((length = getline(&line, &room, file)) > 0) {
    char *tab = memchr(line, '\t', (size_t)length);
    if (!tab) die("a line without an answer");
    if (line[length - 1] == '\n') line[--length] = 0;
    struct answer *answer = slot(hash_of(line, tab));
    answer->hash = hash_of(line, tab);
    answer->length = (size_t)(line + length - tab - 1);
    if (!(answer->text = strdup(tab + 1))) die("strdup");
  }
  free(line);
  fclose(file);
}

static void reply(struct connection *connection, const char *body, size_t length) {
  char head[160];
  int count = snprintf(head, sizeof head,
                       "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n", length);
  struct iovec parts[2] = {{head, (size_t)count}, {(char *)body, length}};
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
  // Answers are small beside the socket's buffer: what does not go at once is a connection that nobody reads.
  if (sendmsg(connection->descriptor, &message, MSG_NOSIGNAL) != (ssize_t)((size_t)count + length)) errno = 0;
}

static void answer(struct connection *connection, const char *head, const char *body, size_t length) {
  static const char not_readable[] = "{\"status\":21002}", done[] = "{}";
  if (!strncmp(head, "POST /verifyReceipt ", 20)) {
    questions++;
    const char *member = memmem(body, length, "\"receipt-data\":\"", 16);
    const char *end = member ? memchr(member + 16, '"', length - (size_t)(member + 16 - body)) : NULL;
    struct answer *known = end ? slot(hash_of(member + 16, end)) : NULL;
    if (known && known->hash) return reply(connection, known->text, known->length);
    unknown++;
    return reply(connection, not_readable, sizeof not_readable - 1);
  }
  if (!strncmp(head, "POST /store/v1/transactions/", 28)) {
    finishes++;
    return reply(connection, done, sizeof done - 1);
  }
  char counts[120];
  int count = snprintf(counts, sizeof counts, "{\"questions\":%lld,\"finishes\":%lld,\"unknown\":%lld}", questions, finishes,
                       unknown);
  reply(connection, counts, (size_t)count);
}

static void end(struct connection *connection) {
  close(connection->descriptor);
  free(connection->text);
  free(connection);
}

// Answers every request that is there whole; false when the connection has ended.
static bool serve(struct connection *connection) {
  if (connection->room - connection->filled < 65536) {
    connection->room = connection->room ? connection->room * 2 : 131072;
    if (connection->room > 8 * request_length) return false;
    if (!(connection->text = realloc(connection->text, connection->room))) die("realloc");
  }
  ssize_t count = recv(connection->descriptor, connection->text + connection->filled,
                       connection->room - connection->filled - 1, MSG_DONTWAIT);
  if (count < 0) return errno == EAGAIN;
  if (count == 0) return false;
  connection->filled += (size_t)count;
  connection->text[connection->filled] = 0;
  for (;;) {
    char *head_end = memmem(connection->text, connection->filled, "\r\n\r\n", 4);
    if (!head_end) return true;
    char *field = strcasestr(connection->text, "\r\ncontent-length:");
    size_t length = field && field < head_end ? (size_t)strtoull(field + 17, NULL, 10) : 0;
    size_t whole = (size_t)(head_end + 4 - connection->text) + length;
    if (connection->filled < whole) return true;
    answer(connection, connection->text, head_end + 4, length);
    memmove(connection->text, connection->text + whole, connection->filled - whole);
    connection->filled -= whole;
    connection->text[connection->filled] = 0;
  }
}

int main(int count, char **words) {
  static const struct option names[] = {{"port", 1, 0, 'p'}, {"answers", 1, 0, 'a'}, {0}};
  int option, port = 0;
  const char *path = NULL;
  while ((option = getopt_long(count, words, "", names, NULL)) != -1) {
    if (option == 'p') port = atoi(optarg);
    else if (option == 'a') path = optarg;
    else return 2;
  }
  if (!port || !path) {
    fprintf(stderr, "usage: store --port N --answers FILE\n");
    return 2;
  }
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files)) die("getrlimit");
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  read_answers(path);
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 1024)) die("listen");
  if ((poll_descriptor = epoll_create1(EPOLL_CLOEXEC)) < 0) die("epoll_create1");
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL}, events[turn_events];
  if (epoll_ctl(poll_descriptor, EPOLL_CTL_ADD, listener, &event)) die("epoll_ctl");
  printf("ready\n");
  fflush(stdout);
  for (;;) {
    int ready = epoll_wait(poll_descriptor, events, turn_events, -1);
    for (int position = 0; position < ready; position++) {
      struct connection *connection = events[position].data.ptr;
      if (connection) {
        if (!serve(connection)) end(connection);
        continue;
      }
      int descriptor;
      while ((descriptor = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (!(connection = calloc(1, sizeof *connection))) die("calloc");
        connection->descriptor = descriptor;
        event.data.ptr = connection;
        if (epoll_ctl(poll_descriptor, EPOLL_CTL_ADD, descriptor, &event)) die("epoll_ctl");
      }
    }
  }
}
