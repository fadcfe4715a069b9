// Plays devices at a delivery server: each asks for a grant, fetches its package, reports it as placed. One thread; what a
// request says is written, and signed, before the clock runs.
//
// `gate --port N --devices FILE --phases first,repeat,content,completion` works phase after phase, each over all devices by
// `--connections` kept-alive connections. Before a phase it says its name and waits for a line on standard input; after it,
// it says a line of JSON: requests, seconds, latencies in microseconds. Any answer but the expected one ends it.
//
// `gate … --phases day` lets every device come at once, each on a connection of its own from an address of its own, and go
// through the three steps; `--address N` says how many addresses others of its kind have taken. A refusal (429, 503, a closed connection) is repeated when its Retry-After has passed, and told.
//
// A line of FILE is a device's name, a product and a receipt, apart by tabs. Devices have Ed25519 keys made of their names.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { answer_room = 16384, turn_events = 256, scratch_length = 1 << 18, most_repeats = 64 };
enum step { step_grant, step_content, step_completion, step_done };

struct device {
  char *name, *product, *receipt;
  EVP_PKEY *key;
  char *grant, *path, *ticket, *digest, *version;
  long long length;
  char *request;  // what is sent next
  size_t request_length;
  enum step step;
  int repeats;       // of the request that runs
  uint64_t due;      // when a refused request may be repeated; 0 when none waits
};

struct connection {
  int descriptor;
  bool is_connecting;
  struct device *device;
  size_t sent;
  size_t filled;
  long long left;  // bytes of a body that is not kept
  bool is_skipping;
  uint64_t begun;
  char answer[answer_room];
};

static struct {
  uint16_t port;
  const char *devices, *phases;
  long long connections, address;
} options = {.connections = 32};

static struct device *devices;
static size_t device_count;
static uint32_t *latencies;  // microseconds
static size_t latency_count;
static int poll_descriptor;
static char scratch[scratch_length];
static struct {
  long long refused, without_delay, dropped;
  int most_repeats;
} told;

static _Noreturn void die(const char *what) {
  fprintf(stderr, "gate: %s: %s\n", what, errno ? strerror(errno) : "failed");
  exit(1);
}

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000u + (uint64_t)time.tv_nsec / 1000;
}

// ---- what is sent

static char *base64url(const uint8_t *bytes, size_t count) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  char *text = malloc(count * 4 / 3 + 4), *next = text;
  if (!text) die("malloc");
  for (size_t position = 0; position < count; position += 3) {
    size_t rest = count - position;
    uint32_t word = (uint32_t)bytes[position] << 16 | (rest > 1 ? (uint32_t)bytes[position + 1] << 8 : 0) |
                    (rest > 2 ? bytes[position + 2] : 0);
    *next++ = digits[word >> 18];
    *next++ = digits[word >> 12 & 63];
    if (rest > 1) *next++ = digits[word >> 6 & 63];
    if (rest > 2) *next++ = digits[word & 63];
  }
  *next = 0;
  return text;
}

static void make_key(struct device *device) {
  uint8_t seed[32];
  unsigned length = sizeof seed;
  if (!EVP_Digest(device->name, strlen(device->name), seed, &length, EVP_sha256(), NULL)) die("EVP_Digest");
  if (!(device->key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, sizeof seed))) die("Ed25519");
}

// A compact JWS over `payload`.
static char *signed_by(struct device *device, const char *payload) {
  static const char header[] = "{\"alg\":\"EdDSA\"}";
  char *first = base64url((const uint8_t *)header, sizeof header - 1);
  char *second = base64url((const uint8_t *)payload, strlen(payload)), *input, *text;
  if (asprintf(&input, "%s.%s", first, second) < 0) die("asprintf");
  uint8_t signature[64];
  size_t length = sizeof signature;
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  if (!context || EVP_DigestSignInit(context, NULL, NULL, NULL, device->key) != 1 ||
      EVP_DigestSign(context, signature, &length, (const uint8_t *)input, strlen(input)) != 1)
    die("signing");
  EVP_MD_CTX_free(context);
  char *third = base64url(signature, length);
  if (asprintf(&text, "%s.%s", input, third) < 0) die("asprintf");
  free(first);
  free(second);
  free(third);
  free(input);
  return text;
}

static void set_request(struct device *device, char *text) {
  free(device->request);
  device->request = text;
  device->request_length = strlen(text);
  device->repeats = 0;
}

static void post(struct device *device, const char *path, const char *type, const char *fields, const char *body) {
  char *text;
  if (asprintf(&text, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\n%sContent-Length: %zu\r\n\r\n%s", path, type,
               fields, strlen(body), body) < 0)
    die("asprintf");
  set_request(device, text);
}

static void write_grant(struct device *device) {
  uint8_t key[32];
  size_t length = sizeof key;
  if (EVP_PKEY_get_raw_public_key(device->key, key, &length) != 1) die("a public key");
  char *encoded = base64url(key, length), *body;
  if (asprintf(&body, "{\"device\":{\"id\":\"%s\",\"publicKey\":\"%s\"},\"product\":\"%s\",\"receipt\":\"%s\"}", device->name,
               encoded, device->product, device->receipt) < 0)
    die("asprintf");
  post(device, "/v1/grants", "application/json", "", body);
  free(encoded);
  free(body);
}

static void write_content(struct device *device) {
  char *text;
  if (asprintf(&text, "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", device->path, device->ticket) < 0)
    die("asprintf");
  set_request(device, text);
}

static void write_completion(struct device *device) {
  char *payload, *path = NULL;
  if (asprintf(&payload,
               "{\"device\":\"%s\",\"digest\":\"%s\",\"grant\":\"%s\",\"length\":%lld,\"placedAt\":\"2026-01-01T00:00:00.000Z\","
               "\"version\":\"%s\"}",
               device->name, device->digest, device->grant, device->length, device->version) < 0 ||
      asprintf(&path, "/v1/grants/%s/completion", device->grant) < 0)
    die("asprintf");
  char *signature = signed_by(device, payload);
  post(device, path, "application/jose", "", signature);
  free(signature);
  free(payload);
  free(path);
}

// A fresh ticket: the device's key signs method, path and time.
static void write_renewal(struct device *device) {
  char *payload = NULL, *path, *fields;
  if (asprintf(&path, "/v1/grants/%s/tickets", device->grant) < 0 ||
      asprintf(&payload, "{\"iat\":%lld,\"method\":\"POST\",\"path\":\"%s\"}", (long long)time(NULL), path) < 0)
    die("asprintf");
  char *signature = signed_by(device, payload);
  if (asprintf(&fields, "Authorization: PullboxDevice %s\r\n", signature) < 0) die("asprintf");
  post(device, path, "application/json", fields, "");
  free(signature);
  free(payload);
  free(path);
  free(fields);
}

// ---- what comes

// The text of a member of the answer's JSON, wherever it stands.
static char *member(const char *body, const char *name) {
  char pattern[64];
  snprintf(pattern, sizeof pattern, "\"%s\":", name);
  const char *found = strstr(body, pattern);
  if (!found) {
    fprintf(stderr, "gate: the answer has no %s: %.400s\n", name, body);
    exit(1);
  }
  found += strlen(pattern);
  const char *end = *found == '"' ? strchr(++found, '"') : found + strcspn(found, ",}");
  return strndup(found, (size_t)(end - found));
}

static void keep_grant(struct device *device, const char *body) {
  free(device->grant), free(device->path), free(device->ticket), free(device->digest), free(device->version);
  device->grant = member(body, "grant");
  char *url = member(body, "contentURL"), *length = member(body, "length"), *host = strstr(url, "://");
  char *path = host ? strchr(host + 3, '/') : url;
  device->path = strdup(path ? path : url);
  device->ticket = member(body, "ticket");
  device->digest = member(body, "digest");
  device->version = member(body, "version");
  device->length = atoll(length);
  free(url);
  free(length);
}

// ---- connections

static void watch(struct connection *connection, uint32_t events, int operation) {
  struct epoll_event event = {.events = events, .data.ptr = connection};
  if (epoll_ctl(poll_descriptor, operation, connection->descriptor, &event) < 0) die("epoll_ctl");
}

// From 127.x.y.z, a number for each device, where `number` is not zero.
static void connect_to_server(struct connection *connection, uint32_t number) {
  connection->descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (connection->descriptor < 0) die("socket");
  int on = 1;
  setsockopt(connection->descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // What answers cost does not depend on the machine's default pacing.
  setsockopt(connection->descriptor, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
  struct sockaddr_in address = {.sin_family = AF_INET};
  if (number) {
    setsockopt(connection->descriptor, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    address.sin_addr.s_addr = htonl(0x7F010000u + number);
    if (bind(connection->descriptor, (struct sockaddr *)&address, sizeof address)) die("bind");
  }
  address.sin_port = htons(options.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(connection->descriptor, (struct sockaddr *)&address, sizeof address) < 0 && errno != EINPROGRESS) die("connect");
  connection->is_connecting = true;
  connection->filled = 0;
  watch(connection, EPOLLIN | EPOLLOUT, EPOLL_CTL_ADD);
}

static bool send_rest(struct connection *connection) {
  struct device *device = connection->device;
  while (connection->sent < device->request_length) {
    ssize_t count = send(connection->descriptor, device->request + connection->sent, device->request_length - connection->sent,
                         MSG_NOSIGNAL);
    if (count < 0) {
      if (errno == EAGAIN) return true;
      return false;
    }
    connection->sent += (size_t)count;
  }
  watch(connection, EPOLLIN, EPOLL_CTL_MOD);
  return true;
}

static bool ask(struct connection *connection, struct device *device) {
  connection->device = device;
  connection->sent = connection->filled = 0;
  connection->is_skipping = false;
  connection->left = 0;
  connection->begun = now();
  return connection->is_connecting || send_rest(connection);
}

struct reply {
  int status;
  long long retry_after;  // seconds, -1 without
  char *body;
};

// True when an answer is whole; `failed` when the connection has ended before.
static bool receive(struct connection *connection, struct reply *reply, bool *failed) {
  for (;;) {
    if (connection->is_skipping) {
      while (connection->left > 0) {
        size_t room = connection->left < scratch_length ? (size_t)connection->left : scratch_length;
        ssize_t count = recv(connection->descriptor, scratch, room, MSG_TRUNC);
        if (count < 0 && errno == EAGAIN) return false;
        if (count <= 0) return *failed = true, false;
        connection->left -= count;
      }
      reply->status = 200;
      reply->body = "";
      return true;
    }
    ssize_t count = recv(connection->descriptor, connection->answer + connection->filled, answer_room - 1 - connection->filled, 0);
    if (count < 0 && errno == EAGAIN) return false;
    if (count <= 0) return *failed = true, false;
    connection->filled += (size_t)count;
    connection->answer[connection->filled] = 0;
    char *end = memmem(connection->answer, connection->filled, "\r\n\r\n", 4);
    if (!end) {
      if (connection->filled == answer_room - 1) die("a head is too long");
      continue;
    }
    *end = 0;
    char *length = strcasestr(connection->answer, "\r\ncontent-length:");
    char *later = strcasestr(connection->answer, "\r\nretry-after:");
    *end = '\r';
    long long body = length ? atoll(length + 17) : 0;
    size_t here = connection->filled - (size_t)(end + 4 - connection->answer);
    reply->status = atoi(connection->answer + 9);
    reply->retry_after = later ? atoll(later + 14) : -1;
    reply->body = end + 4;
    if ((long long)here >= body) return true;
    if (body > answer_room / 2) {
      if (reply->status != 200) die("a long refusal");
      connection->is_skipping = true;
      connection->left = body - (long long)here;
    }
  }
}

// ---- measuring

static int compare(const void *left, const void *right) {
  uint32_t first = *(const uint32_t *)left, second = *(const uint32_t *)right;
  return first < second ? -1 : first > second;
}

static double percentile(double share) {
  if (latency_count == 0) return 0;
  size_t position = (size_t)(share * (double)latency_count);
  return latencies[position < latency_count ? position : latency_count - 1];
}

static void say_result(const char *phase, uint64_t begun) {
  double seconds = (double)(now() - begun) / 1e6;
  qsort(latencies, latency_count, sizeof *latencies, compare);
  printf("{\"phase\":\"%s\",\"requests\":%zu,\"seconds\":%.6f,\"p50\":%.0f,\"p99\":%.0f,\"max\":%.0f,\"refused\":%lld,"
         "\"withoutRetryAfter\":%lld,\"dropped\":%lld,\"mostRepeats\":%d}\n",
         phase, latency_count, seconds, percentile(0.5), percentile(0.99), percentile(1), told.refused, told.without_delay,
         told.dropped, told.most_repeats);
  fflush(stdout);
}

static void wait_for_word(const char *phase) {
  printf("%s\n", phase);
  fflush(stdout);
  char line[16];
  if (!fgets(line, sizeof line, stdin)) exit(0);
}

static void expect(const struct reply *reply, int first, int second) {
  if (reply->status == first || reply->status == second) return;
  fprintf(stderr, "gate: not the expected answer: %d %.600s\n", reply->status, reply->body);
  exit(1);
}

// ---- phases

static void run_phase(const char *phase) {
  bool is_grant = !strcmp(phase, "first") || !strcmp(phase, "repeat"), is_content = !strcmp(phase, "content");
  for (size_t index = 0; index < device_count; index++) {
    if (is_grant) write_grant(&devices[index]);
    else if (is_content) write_content(&devices[index]);
    else if (!strcmp(phase, "renewal")) write_renewal(&devices[index]);
    else write_completion(&devices[index]);
  }
  wait_for_word(phase);
  latency_count = 0;
  memset(&told, 0, sizeof told);
  uint64_t begun = now();
  size_t next = 0, open = 0;
  struct connection *connections = calloc((size_t)options.connections, sizeof *connections);
  if (!connections) die("calloc");
  for (long long index = 0; index < options.connections && next < device_count; index++, open++) {
    connect_to_server(&connections[index], 0);
    ask(&connections[index], &devices[next++]);
  }
  struct epoll_event events[turn_events];
  while (open > 0) {
    int count = epoll_wait(poll_descriptor, events, turn_events, -1);
    for (int position = 0; position < count; position++) {
      struct connection *connection = events[position].data.ptr;
      struct reply reply;
      bool failed = false;
      connection->is_connecting = false;
      if (connection->sent < connection->device->request_length && !send_rest(connection)) die("send");
      if (!receive(connection, &reply, &failed)) {
        if (failed) die("the server closed a connection");
        continue;
      }
      latencies[latency_count++] = (uint32_t)(now() - connection->begun);
      if (!strcmp(phase, "first")) expect(&reply, 201, 201);
      else if (!strcmp(phase, "renewal")) expect(&reply, 201, 201);
      else if (!strcmp(phase, "completion")) expect(&reply, 200, 202);
      else expect(&reply, 200, 200);
      if (is_grant) keep_grant(connection->device, reply.body);
      if (next < device_count) {
        if (!ask(connection, &devices[next++])) die("send");
      } else {
        close(connection->descriptor);
        open--;
      }
    }
  }
  say_result(phase, begun);
  free(connections);
}

// A refusal: the request waits as long as it was told, or a second where nothing was said.
static void put_off(struct connection *connection, long long seconds) {
  struct device *device = connection->device;
  told.refused++;
  if (seconds < 0) told.without_delay++, seconds = 1;
  if (++device->repeats > told.most_repeats) told.most_repeats = device->repeats;
  if (device->repeats > most_repeats) die("a request was refused again and again");
  device->due = now() + (uint64_t)seconds * 1000000u;
}

static void go_on(struct device *device, const struct reply *reply) {
  switch (device->step) {
  case step_grant:
    expect(reply, 201, 200);
    keep_grant(device, reply->body);
    device->step = step_content;
    write_content(device);
    break;
  case step_content:
    expect(reply, 200, 200);
    device->step = step_completion;
    write_completion(device);
    break;
  case step_completion:
    expect(reply, 200, 202);
    device->step = step_done;
    break;
  case step_done: break;
  }
}

static void run_day(void) {
  for (size_t index = 0; index < device_count; index++) {
    write_grant(&devices[index]);
    devices[index].step = step_grant;
  }
  struct connection *connections = calloc(device_count, sizeof *connections);
  if (!connections) die("calloc");
  wait_for_word("day");
  latency_count = 0;
  memset(&told, 0, sizeof told);
  uint64_t begun = now(), looked = begun;
  for (size_t index = 0; index < device_count; index++) {
    connect_to_server(&connections[index], (uint32_t)(options.address + (long long)index) + 1);
    ask(&connections[index], &devices[index]);
  }
  size_t done = 0;
  struct epoll_event events[turn_events];
  while (done < device_count) {
    int count = epoll_wait(poll_descriptor, events, turn_events, 10);
    for (int position = 0; position < count; position++) {
      struct connection *connection = events[position].data.ptr;
      struct device *device = connection->device;
      struct reply reply;
      bool failed = false;
      if (device->step == step_done || device->due) {
        // The server has closed a connection that rests.
        if (recv(connection->descriptor, scratch, 1, MSG_PEEK | MSG_DONTWAIT) <= 0) {
          close(connection->descriptor);
          connection->descriptor = -1;
        }
        continue;
      }
      connection->is_connecting = false;
      if (connection->sent < device->request_length && !send_rest(connection)) failed = true;
      if (!failed && !receive(connection, &reply, &failed) && !failed) continue;
      if (failed) {
        told.dropped++;
        close(connection->descriptor);
        connection->descriptor = -1;
        put_off(connection, -1);
      } else if (reply.status == 429 || reply.status == 503) {
        put_off(connection, reply.retry_after);
      } else {
        go_on(device, &reply);
        if (device->step == step_done) {
          latencies[latency_count++] = (uint32_t)(now() - begun);
          close(connection->descriptor);
          connection->descriptor = -1;
          done++;
        } else if (!ask(connection, device)) {
          die("send");
        }
      }
    }
    uint64_t time = now();
    if (time - looked < 20000) continue;
    looked = time;
    for (size_t index = 0; index < device_count; index++) {
      struct device *device = &devices[index];
      if (!device->due || device->due > time) continue;
      device->due = 0;
      if (connections[index].descriptor < 0) connect_to_server(&connections[index], (uint32_t)(options.address + (long long)index) + 1);
      if (!ask(&connections[index], device)) die("send");
    }
  }
  say_result("day", begun);
  free(connections);
}

static void read_devices(void) {
  FILE *file = fopen(options.devices, "r");
  if (!file) die(options.devices);
  char *line = NULL;
  size_t room = 0, space = 0;
  while (getline(&line, &room, file) > 0) {
    line[strcspn(line, "\n")] = 0;
    if (device_count == space && !(devices = realloc(devices, (space = space ? space * 2 : 4096) * sizeof *devices)))
      die("realloc");
    struct device *device = &devices[device_count++];
    memset(device, 0, sizeof *device);
    char *rest = line;
    device->name = strdup(strsep(&rest, "\t"));
    device->product = rest ? strdup(strsep(&rest, "\t")) : NULL;
    device->receipt = rest ? strdup(rest) : NULL;
    if (!device->receipt) die("a device without a receipt");
    make_key(device);
  }
  free(line);
  fclose(file);
  if (!device_count || !(latencies = malloc(device_count * sizeof *latencies))) die("no devices");
}

int main(int count, char **words) {
  static const struct option names[] = {{"port", 1, 0, 'p'},        {"devices", 1, 0, 'd'}, {"phases", 1, 0, 'P'},
                                        {"connections", 1, 0, 'c'}, {"address", 1, 0, 'a'}, {0}};
  int option;
  while ((option = getopt_long(count, words, "", names, NULL)) != -1) {
    switch (option) {
    case 'p': options.port = (uint16_t)atoi(optarg); break;
    case 'd': options.devices = optarg; break;
    case 'P': options.phases = optarg; break;
    case 'c': options.connections = atoll(optarg); break;
    case 'a': options.address = atoll(optarg); break;
    default: return 2;
    }
  }
  if (!options.port || !options.devices || !options.phases || options.connections < 1) {
    fprintf(stderr, "usage: gate --port N --devices FILE --phases PHASE,... [--connections N] [--address N]\n");
    return 2;
  }
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files)) die("getrlimit");
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  if ((poll_descriptor = epoll_create1(EPOLL_CLOEXEC)) < 0) die("epoll_create1");
  read_devices();
  char *phases = strdup(options.phases), *phase;
  while ((phase = strsep(&phases, ","))) {
    if (!strcmp(phase, "day")) run_day();
    else run_phase(phase);
  }
  return 0;
}
