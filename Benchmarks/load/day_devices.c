// The connections of a day's devices: what they ask, and what they do with the answers. See Benchmarks/load/day.c.
#define _GNU_SOURCE
#include "day.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { answer_room = 65536, slow_room = 4096, part = 65536, most_tries = 30, most_told = 20 };

const char *const route_names[routes] = {"feed", "feed-wait", "grants", "renewals", "manifest", "ranges", "openings", "completions",
                                         "metrics"};
struct latencies latencies[routes];
struct counts told;
struct job *delayed;
int poll_file;
char scratch[1 << 18];

// ---- connections

static void watch(struct job *job, uint32_t events, int operation) {
  struct epoll_event event = {.events = events, .data.ptr = job};
  if (epoll_ctl(poll_file, operation, job->file, &event) < 0) die("epoll_ctl");
}

// From an address of the device's own: the ports of one do not suffice, and no two devices share one.
static void open_connection(struct job *job, uint32_t address) {
  if ((job->file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) < 0) die("socket");
  int on = 1, small = 4096;
  setsockopt(job->file, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(job->file, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
  // So that what a slow reader has not taken lies with the server, which hears of each of its turns: with four times the room it took five
  // seconds at a time until a part was acknowledged, and the server, whose clock is quick, cut the connection for that.
  if (job->role == reading) setsockopt(job->file, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7F010000u + address)};
  struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons(options.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (bind(job->file, (struct sockaddr *)&here, sizeof here) < 0) die("bind");
  if (connect(job->file, (struct sockaddr *)&there, sizeof there) < 0 && errno != EINPROGRESS) die("connect");
  watch(job, EPOLLIN | EPOLLOUT, EPOLL_CTL_ADD);
}

static void close_connection(struct job *job) {
  if (job->file >= 0) close(job->file);
  job->file = -1;
}

static void end_job(struct job *job) {
  close_connection(job);
  free(job->request), free(job->answer), free(job);
}

struct job *make_job(enum role role, void *owner) {
  struct job *job = calloc(1, sizeof *job);
  if (!job) die("calloc");
  job->role = role, job->owner = owner, job->file = -1;
  return job;
}

static uint32_t address_of(const struct job *job) {
  switch (job->role) {
  case polling: case waiting: return 1 + ((struct device *)job->owner)->number % 0x1FFFF;
  case reading: return 0x20000 + (uint32_t)((struct reader *)job->owner - readers) % 0xFFFF;
  case buying: return 0x30000 + (uint32_t)(((uintptr_t)job->owner >> 6) % 0xFFFF);
  case scraping: break;
  }
  return 0x40001;
}

void make_again(struct job *job, uint64_t microseconds) {
  job->again = now() + microseconds;
  job->next = delayed;
  delayed = job;
}

static void failed(struct job *job);

// The other end has closed the connection in place of an answer.
static void dropped(struct job *job) {
  told.dropped++;
  failed(job);
}

static void send_rest(struct job *job) {
  while (job->sent < job->length) {
    ssize_t count = send(job->file, job->request + job->sent, job->length - job->sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) return dropped(job);
    job->sent += (size_t)count;
  }
  watch(job, EPOLLIN, EPOLL_CTL_MOD);
}

static void begin(struct job *job) {
  job->sent = job->filled = 0;
  job->is_skipping = job->is_slow = false;
  job->is_busy = true;
  job->left = 0;
  if (job->ends) close_connection(job);
  job->ends = false;
  if (job->file < 0) return open_connection(job, address_of(job));
  send_rest(job);
}

__attribute__((format(printf, 3, 4))) static void ask(struct job *job, enum route route, const char *format, ...) {
  va_list values;
  va_start(values, format);
  free(job->request);
  int count = vasprintf(&job->request, format, values);
  va_end(values);
  if (count < 0) die("vasprintf");
  job->length = (size_t)count, job->route = route, job->again = 0;
  job->due = job->planned ? job->planned : now();
  job->planned = 0;
  begin(job);
}

// ---- what is asked

void ask_feed(struct job *job) {
  struct device *device = job->owner;
  char after[80] = "";
  if (device->cursor) snprintf(after, sizeof after, "&after=%s", device->cursor);
  // An agent waits 59 seconds of its own clock. A first question is answered at once.
  ask(job, job->role == waiting ? wait_in_feed : feed,
      "GET /v1/feed?device=bench-%u%s&wait=%d HTTP/1.1\r\nHost: day\r\nAuthorization: Bearer %s\r\n\r\n", device->number, after,
      job->role == waiting && device->cursor ? 59 : 0, device->token);
}

void ask_renewal(struct job *job, const char *name, const char *secret) {
  ask(job, renewal, "POST /v1/grants/%s/tickets HTTP/1.1\r\nHost: day\r\nAuthorization: Bearer %s\r\nContent-Length: 0\r\n\r\n", name,
      secret);
}

static void ask_content(struct job *job, enum route route, const char *path, const char *ticket, int64_t first, int64_t last) {
  char range[80] = "";
  if (last >= 0) snprintf(range, sizeof range, "Range: bytes=%lld-%lld\r\n", (long long)first, (long long)last);
  ask(job, route, "GET %s HTTP/1.1\r\nHost: day\r\n%sAuthorization: Bearer %s\r\n\r\n", path, range, ticket);
}

static void post(struct job *job, enum route route, const char *path, const char *secret, const char *body) {
  char field[160] = "";
  if (secret) snprintf(field, sizeof field, "Authorization: Bearer %s\r\n", secret);
  ask(job, route, "POST %s HTTP/1.1\r\nHost: day\r\n%sContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s", path, field,
      strlen(body), body);
}

// The steps of a purchase, one after the other on one connection.
static void ask_step(struct job *job) {
  struct purchase *purchase = job->owner;
  char *body = NULL, path[160];
  switch (purchase->step) {
  case 0:
    if (asprintf(&body, "{\"device\":{\"id\":\"%s\"},\"product\":\"%s\",\"receipt\":\"%s\"}", purchase->device, purchase->product,
                 purchase->receipt) < 0)
      die("asprintf");
    post(job, grant, "/v1/grants", NULL, body);
    break;
  case 1: ask_content(job, manifest, purchase->manifest, purchase->ticket, 0, -1); break;
  case 2: ask_renewal(job, purchase->grant, purchase->secret); break;
  case 3: {
    int64_t last = purchase->offset + part < purchase->length ? purchase->offset + part - 1 : purchase->length - 1;
    ask_content(job, ranges, purchase->content, purchase->ticket, purchase->offset, last);
    break;
  }
  default:
    if (asprintf(&body, "{\"digest\":\"%s\",\"length\":%lld,\"placedAt\":\"2026-01-01T00:00:00.000Z\",\"version\":\"%s\"}",
                 purchase->digest, (long long)purchase->length, purchase->version) < 0)
      die("asprintf");
    snprintf(path, sizeof path, "/v1/grants/%s/completion", purchase->grant);
    post(job, completion, path, purchase->secret, body);
  }
  free(body);
}

void ask_again(struct job *job) {
  job->again = 0;
  switch (job->role) {
  case polling: case waiting: return ask_feed(job);
  case buying: return ask_step(job);
  case reading: case scraping: return;
  }
}

void ask_metrics(struct job *job) { ask(job, metrics, "GET /metrics HTTP/1.1\r\nHost: day\r\n\r\n"); }

// ---- what comes

// The text of a member of the answer's JSON, wherever it stands; nil where there is none.
static char *member(const char *body, const char *name) {
  char pattern[64];
  snprintf(pattern, sizeof pattern, "\"%s\":", name);
  const char *found = strstr(body, pattern);
  if (!found) return NULL;
  found += strlen(pattern);
  const char *end = *found == '"' ? strchr(++found, '"') : found + strcspn(found, ",}");
  return end ? strndup(found, (size_t)(end - found)) : NULL;
}

static void keep(char **place, const char *body, const char *name) {
  char *text = member(body, name);
  if (!text) return;
  free(*place);
  *place = text;
}

// The path of an address, which may name its host.
static void keep_path(char **place, const char *body, const char *name) {
  char *text = member(body, name), *host = text ? strstr(text, "://") : NULL, *path = host ? strchr(host + 3, '/') : text;
  if (!path) return;
  free(*place);
  *place = strdup(path);
  free(text);
}

static void end_purchase(struct job *job) {
  struct purchase *purchase = job->owner;
  char *texts[] = {purchase->device, purchase->product, purchase->receipt, purchase->grant, purchase->secret, purchase->ticket,
                   purchase->digest, purchase->version, purchase->content, purchase->manifest};
  for (size_t index = 0; index < sizeof texts / sizeof *texts; index++) free(texts[index]);
  free(purchase);
  end_job(job);
}

// A reader rests for a moment, and begins again where it was.
void end_session(struct reader *reader, uint64_t pause) {
  if (reader->job->is_slow) told.streaming--;
  end_job(reader->job);
  reader->job = NULL;
  reader->begins = now() + pause;
}

// The connection has ended, or the answer is none that the device can do with.
static void failed(struct job *job) {
  close_connection(job);
  job->is_busy = false;
  switch (job->role) {
  case polling: told.polling--; return end_job(job);
  case reading: return end_session(job->owner, second);
  case scraping: return;
  case waiting: return make_again(job, second);
  case buying:
    if (++job->tries <= most_tries) return make_again(job, second);
    told.lost++;
    return end_purchase(job);
  }
}

static void unexpected(struct job *job) {
  if (told.unexpected++ < most_told)
    fprintf(stderr, "day: %s: %d %.300s\n", route_names[job->route], job->status, job->is_skipping ? "" : job->answer);
  failed(job);
}

static void took_feed(struct job *job, const char *body) {
  struct device *device = job->owner;
  if (job->status == 200) keep(&device->cursor, body, "cursor"), keep(&device->token, body, "token");
  if (job->role == waiting) return ask_feed(job);
  told.polling--;
  end_job(job);
}

static void took_step(struct job *job, const char *body) {
  struct purchase *purchase = job->owner;
  if (purchase->step == 0) {
    char *length = member(body, "length");
    purchase->length = length ? atoll(length) : 0;
    free(length);
    keep(&purchase->grant, body, "grant"), keep(&purchase->secret, body, "renewalSecret"), keep(&purchase->digest, body, "digest");
    keep(&purchase->version, body, "version"), keep(&purchase->ticket, body, "ticket");
    keep_path(&purchase->content, body, "contentURL"), keep_path(&purchase->manifest, body, "manifestURL");
    if (!purchase->grant || !purchase->secret || !purchase->digest || !purchase->ticket || !purchase->content ||
        !purchase->manifest || !purchase->version || purchase->length < 1)
      return unexpected(job);
  } else if (purchase->step == 2) {
    keep(&purchase->ticket, body, "ticket");
  } else if (purchase->step == 3 && (purchase->offset += part) < purchase->length) {
    return ask_step(job);
  } else if (purchase->step == 4) {
    told.ended++;
    return end_purchase(job);
  }
  purchase->step++;
  ask_step(job);
}

static bool is_expected(const struct job *job) {
  static const int first[routes] = {200, 200, 201, 201, 200, 206, 206, 200, 200};
  static const int other[routes] = {304, 304, 200, 201, 200, 206, 206, 202, 200};
  return job->status == first[job->route] || job->status == other[job->route];
}

// The answer is whole, or of a slow reader's package its head.
static void answered(struct job *job, const char *body, int64_t retry_after) {
  if (job->status == 429 || job->status == 503) {
    latencies[job->route].refused++;
    if (job->role != buying && job->role != waiting) return failed(job);
    close_connection(job);
    return make_again(job, (uint64_t)(retry_after > 0 ? retry_after : 1) * second / (uint64_t)options.clock);
  }
  if (!is_expected(job)) return unexpected(job);
  job->is_busy = false;
  // How long one waits says nothing.
  if (job->route == wait_in_feed) {
    latencies[job->route].count++;
  } else {
    add_latency(&latencies[job->route], now() - job->due);
  }
  job->tries = 0;
  switch (job->role) {
  case polling: case waiting: return took_feed(job, body);
  case buying: return took_step(job, body);
  case scraping: return;
  case reading: break;
  }
  struct reader *reader = job->owner;
  if (job->route == renewal) {
    keep(&reader->ticket, body, "ticket");
    return ask_content(job, opening, options.content, reader->ticket, reader->offset, options.length - 1);
  }
  job->is_slow = true;
  told.streaming++;
  // Its end is seen at its turn.
  watch(job, 0, EPOLL_CTL_DEL);
}

// Reads what is there; goes on with the job when its answer is whole.
static void receive(struct job *job) {
  while (job->is_skipping) {
    if (job->left == 0) return answered(job, "", -1);
    size_t room = job->left < (int64_t)sizeof scratch ? (size_t)job->left : sizeof scratch;
    ssize_t count = recv(job->file, scratch, room, MSG_TRUNC);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return dropped(job);
    job->left -= count;
  }
  size_t room = job->role == reading ? slow_room : answer_room;
  if (!job->answer && !(job->answer = malloc(room))) die("malloc");
  for (;;) {
    ssize_t count = recv(job->file, job->answer + job->filled, room - 1 - job->filled, 0);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return dropped(job);
    job->filled += (size_t)count;
    job->answer[job->filled] = 0;
    char *end = memmem(job->answer, job->filled, "\r\n\r\n", 4);
    if (!end && job->filled < room - 1) continue;
    if (!end) return unexpected(job);
    *end = 0;
    job->ends = strcasestr(job->answer, "\r\nconnection: close") != NULL;
    char *length = strcasestr(job->answer, "\r\ncontent-length:"), *later = strcasestr(job->answer, "\r\nretry-after:");
    *end = '\r';
    job->status = atoi(job->answer + 9);
    int64_t body = length && job->status != 304 ? atoll(length + 17) : 0, here = (int64_t)job->filled - (end + 4 - job->answer);
    if (job->route == opening && job->status == 206) {
      job->left = body - here;
      ((struct reader *)job->owner)->offset += here;
      return answered(job, "", -1);
    }
    if (here >= body) return answered(job, end + 4, later ? atoll(later + 14) : -1);
    if (body + (end + 4 - job->answer) < (int64_t)room) continue;
    job->is_skipping = true;
    job->left = body - here;
    return receive(job);
  }
}

void wake(struct job *job, uint32_t events) {
  if (job->is_slow) return;
  if (job->sent < job->length) {
    if (events & EPOLLERR) return dropped(job);
    return send_rest(job);
  }
  receive(job);
}
