// Asks an HTTP server for made-up locales and with wrong operator keys, each at an even rate, until standard input ends: so that
// what it costs the clients beside it is the server's part, and not this program's. `attack --port N --product NAME --locales N
// --keys N`, the last two a second. Locales are asked for from ten addresses, keys from one. A line of JSON tells how often
// the server answered what, and how many of its 503 did not say when to come back.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { locale_count = 10, connection_count = locale_count + 1, room = 1 << 16 };

struct connection {
  int descriptor;
  const char *address;
  bool asked;
  size_t filled;
  char answer[room];
};

static struct connection connections[connection_count];
static uint64_t statuses[1000], without_retry_after;
static uint16_t port;
static int poll_descriptor;

static _Noreturn void die(const char *what) {
  fprintf(stderr, "attack: %s: %s\n", what, errno ? strerror(errno) : "failed");
  exit(1);
}

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void open_connection(struct connection *connection) {
  connection->descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection->descriptor < 0) die("socket");
  struct sockaddr_in from = {.sin_family = AF_INET}, to = {.sin_family = AF_INET, .sin_port = htons(port)};
  if (inet_pton(AF_INET, connection->address, &from.sin_addr) != 1) die("inet_pton");
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int on = 1;
  setsockopt(connection->descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (bind(connection->descriptor, (struct sockaddr *)&from, sizeof from) < 0) die("bind");
  if (connect(connection->descriptor, (struct sockaddr *)&to, sizeof to) < 0) die("connect");
  if (fcntl(connection->descriptor, F_SETFL, O_NONBLOCK) < 0) die("fcntl");
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
  if (epoll_ctl(poll_descriptor, EPOLL_CTL_ADD, connection->descriptor, &event) < 0) die("epoll_ctl");
  connection->asked = false;
  connection->filled = 0;
}

static void reopen(struct connection *connection) {
  close(connection->descriptor);
  open_connection(connection);
}

static void ask(struct connection *connection, const char *request, int count) {
  connection->asked = send(connection->descriptor, request, (size_t)count, MSG_NOSIGNAL) == count;
  if (!connection->asked) reopen(connection);
}

// Counts the answer if it is whole.
static void read_answer(struct connection *connection) {
  ssize_t count = recv(connection->descriptor, connection->answer + connection->filled, room - 1 - connection->filled, 0);
  if (count < 0 && errno == EAGAIN) return;
  if (count <= 0) {
    reopen(connection);
    return;
  }
  connection->filled += (size_t)count;
  connection->answer[connection->filled] = 0;
  char *end = strstr(connection->answer, "\r\n\r\n"), *length = strcasestr(connection->answer, "\r\ncontent-length:");
  if (!end) return;
  size_t whole = (size_t)(end + 4 - connection->answer) + (length && length < end ? strtoul(length + 17, NULL, 10) : 0);
  if (connection->filled < whole) return;
  int status = atoi(connection->answer + 9);
  if (status < 100 || status > 999) die("not an answer");
  statuses[status]++;
  *end = 0;
  if (status == 503 && !strcasestr(connection->answer, "\r\nretry-after:")) without_retry_after++;
  bool closes = strcasestr(connection->answer, "\r\nconnection: close") != NULL;
  connection->asked = false;
  connection->filled = 0;
  if (closes) reopen(connection);
}

static void tell(void) {
  printf("{\"statuses\":{");
  for (int status = 100, first = 1; status < 1000; status++)
    if (statuses[status]) {
      printf("%s\"%d\":%llu", first ? "" : ",", status, (unsigned long long)statuses[status]);
      first = 0;
    }
  printf("},\"withoutRetryAfter\":%llu}\n", (unsigned long long)without_retry_after);
}

int main(int count, char **words) {
  static const struct option names[] = {{"port", 1, 0, 'p'}, {"product", 1, 0, 'n'}, {"locales", 1, 0, 'l'}, {"keys", 1, 0, 'k'}, {0}};
  const char *product = "";
  double locales = 0, keys = 0;
  for (int option; (option = getopt_long(count, words, "", names, NULL)) != -1;) {
    switch (option) {
    case 'p': port = (uint16_t)atoi(optarg); break;
    case 'n': product = optarg; break;
    case 'l': locales = atof(optarg); break;
    case 'k': keys = atof(optarg); break;
    default: return 2;
    }
  }
  if (port == 0 || locales <= 0 || keys <= 0) return 2;
  // Woken when a request is due, and not some time later together with others.
  prctl(PR_SET_TIMERSLACK, 1);
  poll_descriptor = epoll_create1(EPOLL_CLOEXEC);
  int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  if (poll_descriptor < 0 || timer < 0) die("epoll_create1");
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = &timer};
  if (epoll_ctl(poll_descriptor, EPOLL_CTL_ADD, timer, &event) < 0) die("epoll_ctl");
  event = (struct epoll_event){.events = EPOLLIN, .data.ptr = NULL};
  if (epoll_ctl(poll_descriptor, EPOLL_CTL_ADD, STDIN_FILENO, &event) < 0) die("epoll_ctl");
  static char addresses[connection_count][16];
  for (int index = 0; index < connection_count; index++) {
    snprintf(addresses[index], sizeof addresses[index], index < locale_count ? "127.68.0.%d" : "127.69.0.%d", index % locale_count + 1);
    connections[index].address = addresses[index];
    open_connection(&connections[index]);
  }
  uint64_t begun = now(), asked_locales = 0, asked_keys = 0;
  while (true) {
    uint64_t locale_due = begun + (uint64_t)((double)asked_locales / locales * 1e9);
    uint64_t key_due = begun + (uint64_t)((double)asked_keys / keys * 1e9);
    uint64_t due = locale_due < key_due ? locale_due : key_due;
    struct itimerspec when = {.it_value = {.tv_sec = (time_t)(due / 1000000000u), .tv_nsec = (long)(due % 1000000000u)}};
    if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL) < 0) die("timerfd_settime");
    struct epoll_event events[connection_count + 2];
    int ready = epoll_wait(poll_descriptor, events, connection_count + 2, -1);
    for (int index = 0; index < ready; index++) {
      uint64_t times;
      if (!events[index].data.ptr) {
        tell();
        return 0;
      }
      if (events[index].data.ptr == &timer) {
        if (read(timer, &times, sizeof times) < 0 && errno != EAGAIN) die("read");
      } else {
        read_answer(events[index].data.ptr);
      }
    }
    uint64_t time = now();
    char request[512];
    if (locale_due <= time) {
      // Where the server has not answered the last one, it is spared this one.
      struct connection *connection = &connections[asked_locales % locale_count];
      if (!connection->asked)
        ask(connection, request, snprintf(request, sizeof request, "GET /v1/products?id=%s&locale=x%llu HTTP/1.1\r\nHost: a\r\n\r\n",
                                          product, (unsigned long long)asked_locales));
      asked_locales++;
    }
    if (key_due <= time) {
      struct connection *connection = &connections[locale_count];
      if (!connection->asked)
        ask(connection, request, snprintf(request, sizeof request,
                                          "GET /v1/operator/products HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %032llu\r\n\r\n",
                                          (unsigned long long)asked_keys));
      asked_keys++;
    }
  }
}
