// The limit: what the kernel alone costs. An edge-triggered epoll loop a thread, each with its own listening socket, that
// serves whole files and single ranges of them over kept connections and does nothing else: it checks no gate and hardly
// the request. Small ranges leave with their head in one send(2), larger ones by sendfile(2).
//
// limit PORT THREADS FIELDS FILE...   serves FILE n as /n, whatever follows; /none is a 204, for gates that ask. What is in
// FIELDS stands in each head, so that it is as long as the server's that it is the limit of.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef CORK
#define CORK 0
#endif

enum { slice_length = SLICE, small_length = SMALL, buffer_length = 1 << 16, turn_events = 128, maximum = 65536 };

struct connection {
  int file;  // -1 while nothing is being sent
  int64_t offset, end;
  bool is_corked;
};

static uint16_t port;
static char fields[4096];
static size_t fields_length;
static int files[16];
static int64_t lengths[16];
static int file_count;
// Addressed by descriptor; each belongs to the thread that accepted it.
static struct connection table[maximum];

static void die(const char *what) {
  perror(what);
  exit(1);
}

static void drop(int descriptor) {
  table[descriptor].file = -1;
  close(descriptor);
}

// Keeps back what fills no segment, so that only the last of a response is shorter than the others.
static void set_cork(int descriptor, int on) {
  setsockopt(descriptor, IPPROTO_TCP, TCP_CORK, &on, sizeof on);
}

static void send_file(int descriptor) {
  struct connection *connection = &table[descriptor];
  while (connection->offset < connection->end) {
    int64_t rest = connection->end - connection->offset;
    off_t offset = connection->offset;
    ssize_t count =
        sendfile(descriptor, connection->file, &offset, (size_t)(rest < slice_length ? rest : slice_length));
    if (count <= 0) {
      if (count < 0 && errno == EAGAIN) return;
      drop(descriptor);
      return;
    }
    connection->offset += count;
  }
  connection->file = -1;
  if (CORK && connection->is_corked) set_cork(descriptor, 0);
}

static char *put(char *target, const char *text, size_t length) {
  memcpy(target, text, length);
  return target + length;
}

#define PUT(target, text) put(target, text, sizeof text - 1)

static char *put_number(char *target, int64_t number) {
  char digits[20];
  int count = 0;
  do digits[count++] = (char)('0' + number % 10);
  while (number /= 10);
  while (count > 0) *target++ = digits[--count];
  return target;
}

static void answer(int descriptor, char *request) {
  static _Thread_local char response[512 + sizeof fields + small_length];
  unsigned index = (unsigned)(request[5] - '0');
  if (index >= (unsigned)file_count) {
    char *end = PUT(response, "HTTP/1.1 204 No Content\r\n\r\n");
    if (send(descriptor, response, (size_t)(end - response), MSG_NOSIGNAL) < 0) drop(descriptor);
    return;
  }
  int64_t first = 0, end = lengths[index];
  char *range = strstr(request, "\r\nRange: bytes="), *target;
  if (range) {
    char *dash;
    first = strtoll(range + 15, &dash, 10);
    end = strtoll(dash + 1, NULL, 10) + 1;
    target = PUT(response, "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes ");
    target = put_number(target, first);
    *target++ = '-';
    target = put_number(target, end - 1);
    *target++ = '/';
    target = put_number(target, lengths[index]);
    target = PUT(target, "\r\nContent-Length: ");
  } else {
    target = PUT(response, "HTTP/1.1 200 OK\r\nContent-Length: ");
  }
  target = put_number(target, end - first);
  target = PUT(target, "\r\n");
  target = put(target, fields, fields_length);
  target = PUT(target, "\r\n");
  int more = MSG_MORE;
  if (end - first <= small_length) {
    ssize_t count = pread(files[index], target, (size_t)(end - first), first);
    if (count > 0) {
      target += count;
      first += count;
    }
    if (first == end) more = 0;
  }
  if (send(descriptor, response, (size_t)(target - response), MSG_NOSIGNAL | more) != target - response) {
    drop(descriptor);
    return;
  }
  if (first == end) return;
  table[descriptor] =
      (struct connection){.file = files[index], .offset = first, .end = end, .is_corked = end - first > slice_length};
  if (CORK && table[descriptor].is_corked) set_cork(descriptor, 1);
  send_file(descriptor);
}

static void read_request(int descriptor) {
  static _Thread_local char buffer[buffer_length];
  ssize_t count = recv(descriptor, buffer, sizeof buffer - 1, 0);
  if (count <= 0) {
    if (count == 0 || errno != EAGAIN) drop(descriptor);
    return;
  }
  buffer[count] = 0;
  // The bench's clients send a request in one segment, and the next after the answer.
  if (count < 16 || memcmp(buffer + count - 4, "\r\n\r\n", 4)) {
    drop(descriptor);
    return;
  }
  answer(descriptor, buffer);
}

static int listen_loopback(void) {
  int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;
  if (descriptor < 0) die("socket");
  if (setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
      setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) ||
      setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on))
    die("setsockopt");
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(descriptor, (struct sockaddr *)&address, sizeof address) || listen(descriptor, 4096)) die("bind");
  return descriptor;
}

static void accept_all(int epoll, int listener) {
  for (;;) {
    int descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor < 0) return;
    if (descriptor >= maximum) {
      close(descriptor);
      continue;
    }
    table[descriptor].file = -1;
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.fd = descriptor};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event)) close(descriptor);
  }
}

static void *run(void *argument) {
  (void)argument;
  int epoll = epoll_create1(EPOLL_CLOEXEC), listener = listen_loopback();
  struct epoll_event events[turn_events];
  struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
  if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event)) die("epoll");
  for (;;) {
    int count = epoll_wait(epoll, events, turn_events, -1);
    for (int position = 0; position < count; position++) {
      int descriptor = events[position].data.fd;
      if (descriptor == listener) {
        accept_all(epoll, listener);
      } else if (table[descriptor].file >= 0) {
        send_file(descriptor);
      } else if (events[position].events & EPOLLIN) {
        read_request(descriptor);
      }
    }
  }
  return NULL;
}

int main(int count, char **words) {
  if (count < 5 || count > 20) {
    fprintf(stderr, "usage: limit PORT THREADS FIELDS FILE...\n");
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);
  port = (uint16_t)atoi(words[1]);
  FILE *lines = fopen(words[3], "r");
  if (!lines) die(words[3]);
  fields_length = fread(fields, 1, sizeof fields, lines);
  if (ferror(lines) || fields_length == sizeof fields) die(words[3]);
  fclose(lines);
  for (int index = 4; index < count; index++) {
    struct stat status;
    int descriptor = open(words[index], O_RDONLY | O_CLOEXEC);
    if (descriptor < 0 || fstat(descriptor, &status)) die(words[index]);
    files[file_count] = descriptor;
    lengths[file_count++] = status.st_size;
  }
  for (int thread = 1; thread < atoi(words[2]); thread++) {
    pthread_t identifier;
    if (pthread_create(&identifier, NULL, run, NULL)) die("pthread_create");
  }
  run(NULL);
}
