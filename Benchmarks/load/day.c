// Plays the devices of a day at a delivery server, in one thread: devices that ask for their feed by the clock, each time on a
// connection of its own, devices that wait in it, readers that take a package slowly, buyers that go from a receipt to a completion,
// and one that scrapes the metrics. `day --help` tells the options.
//
// Standard input has what happens, a line each: `rate N` feeds asked for a second; `buy DEVICE PRODUCT RECEIPT`, apart by tabs;
// `tell`, which is answered by a line of JSON with what was measured since the last one. Its end ends the program.
//
// An answer that is none of those that a device can do with is counted, and the first are told on standard error. A refusal (429,
// 503) and a connection that ends early are counted as well, and what they were about is done again.
#define _GNU_SOURCE
#include "day.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { turn_events = 256, most_polling = 2000 };
static const uint64_t tick = 1000;  // microseconds

struct settings options = {.drip = 4096, .session = 300, .ramp = 60, .clock = 1, .scrape = 500, .length = 1};
struct reader *readers;
static struct device *devices;
static size_t device_count, reader_count;
static struct job *scraper;
static double poll_rate;
static uint64_t next_poll;
static uint64_t seed = 88172645463325252u;

void die(const char *what) {
  fprintf(stderr, "day: %s: %s\n", what, errno ? strerror(errno) : "failed");
  exit(1);
}

uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * second + (uint64_t)time.tv_nsec / 1000;
}

static uint64_t some(uint64_t bound) {
  seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
  return bound ? seed % bound : 0;
}

// ---- what is due

static void poll_due(uint64_t time) {
  static size_t next;
  while (poll_rate > 0 && next_poll <= time && told.polling < most_polling) {
    struct device *device = &devices[next++ % device_count];
    uint64_t due = next_poll;
    next_poll += (uint64_t)(1e6 / poll_rate);
    if (device->waits) continue;
    struct job *job = make_job(polling, device);
    job->planned = due;
    told.polling++;
    if ((int64_t)(time - due) > told.late) told.late = (int64_t)(time - due);
    ask_feed(job);
  }
}

// A turn of a reader, once a second: it begins, takes its share, or rests.
static void turn(struct reader *reader, uint64_t time) {
  if (!reader->job) {
    if (time < reader->begins) return;
    uint64_t session = (uint64_t)options.session * second;
    reader->ends = time + session / 2 + some(session);
    reader->job = make_job(reading, reader);
    return ask_renewal(reader->job, reader->grant, reader->secret);
  }
  struct job *job = reader->job;
  if (!job->is_slow) return;
  // Of nothing that is left recv would say that nothing has come, or that the peer has ended.
  if (job->left == 0) {
    reader->offset = 0;
    return end_session(reader, 0);
  }
  int64_t share = job->left < options.drip ? job->left : options.drip;
  ssize_t count = recv(job->file, scratch, (size_t)share, MSG_TRUNC);
  if (count == 0 || (count < 0 && errno != EAGAIN)) {
    told.cut++;
    return end_session(reader, second);
  }
  if (count > 0) job->left -= count, told.bytes += count, reader->offset += count;
  if (job->left == 0) reader->offset = 0;
  if (job->left == 0 || time >= reader->ends) end_session(reader, some((uint64_t)options.session * second / 20));
}

static void scrape_due(uint64_t time) {
  static uint64_t next;
  if (time < next || !options.scrape || scraper->is_busy) return;
  next = time + (uint64_t)options.scrape * 1000;
  ask_metrics(scraper);
}

static void run_delayed(uint64_t time) {
  struct job *job = delayed;
  delayed = NULL;
  while (job) {
    struct job *next = job->next;
    if (job->again <= time) {
      ask_again(job);
    } else {
      job->next = delayed;
      delayed = job;
    }
    job = next;
  }
}

// ---- standard input

static void buy(char *line) {
  struct purchase *purchase = calloc(1, sizeof *purchase);
  char *device = strsep(&line, "\t"), *product = strsep(&line, "\t");
  if (!purchase || !line) die("buy DEVICE PRODUCT RECEIPT");
  purchase->device = strdup(device), purchase->product = strdup(product), purchase->receipt = strdup(line);
  told.begun++;
  ask_again(make_job(buying, purchase));
}

static void tell(void) {
  printf("{\"routes\":{");
  for (int route = 0; route < routes; route++) {
    if (route) printf(",");
    tell_latencies(&latencies[route], route_names[route]);
  }
  printf("},\"dropped\":%lld,\"unexpected\":%lld,\"lost\":%lld,\"begun\":%lld,\"ended\":%lld,\"bytes\":%lld,\"polling\":%lld,"
         "\"streaming\":%lld,\"cut\":%lld,\"late\":%lld}\n",
         (long long)told.dropped, (long long)told.unexpected, (long long)told.lost, (long long)told.begun, (long long)told.ended,
         (long long)told.bytes, (long long)told.polling, (long long)told.streaming, (long long)told.cut, (long long)told.late);
  told.late = 0;
  fflush(stdout);
}

static void obey(char *line) {
  if (!strncmp(line, "rate ", 5)) {
    double rate = atof(line + 5);
    if (poll_rate <= 0) next_poll = now();
    poll_rate = rate;
  } else if (!strncmp(line, "buy ", 4)) {
    buy(line + 4);
  } else if (!strcmp(line, "tell")) {
    tell();
  } else {
    fprintf(stderr, "day: not a command: %.40s\n", line);
    exit(2);
  }
}

static void read_commands(void) {
  static char *text;
  static size_t filled, room;
  if (filled + 65536 > room && !(text = realloc(text, room = filled + 262144))) die("realloc");
  ssize_t count = read(STDIN_FILENO, text + filled, room - filled - 1);
  if (count == 0) exit(0);
  if (count < 0) die("standard input");
  filled += (size_t)count;
  text[filled] = 0;
  char *line = text, *end;
  while ((end = strchr(line, '\n'))) {
    *end = 0;
    obey(line);
    line = end + 1;
  }
  filled -= (size_t)(line - text);
  memmove(text, line, filled);
}

// ---- what there is

// The words of a line, apart by tabs.
static size_t read_lines(const char *path, size_t words, void (*take)(size_t, char **)) {
  FILE *file = fopen(path, "r");
  if (!file) die(path);
  char *line = NULL, *parts[3];
  size_t room = 0, count = 0;
  while (getline(&line, &room, file) > 0) {
    line[strcspn(line, "\n")] = 0;
    char *rest = line;
    for (size_t index = 0; index < words; index++)
      if (!(parts[index] = strsep(&rest, "\t"))) die(path);
    take(count++, parts);
  }
  free(line);
  fclose(file);
  return count;
}

static void take_device(size_t index, char **words) {
  if (index % 4096 == 0 && !(devices = realloc(devices, (index + 4096) * sizeof *devices))) die("realloc");
  devices[index] = (struct device){.number = (uint32_t)atoll(words[0]), .token = strdup(words[1])};
}

static void take_reader(size_t index, char **words) {
  if (index % 4096 == 0 && !(readers = realloc(readers, (index + 4096) * sizeof *readers))) die("realloc");
  readers[index] = (struct reader){.grant = strdup(words[0]), .secret = strdup(words[1])};
}

// Nothing begins at one moment that takes the server's time.
static void begin_day(uint64_t begun) {
  uint64_t ramp = (uint64_t)options.ramp * second;
  for (size_t index = 0; index < reader_count; index++) {
    readers[index].begins = begun + index * ramp / reader_count;
    readers[index].offset = (int64_t)some((uint64_t)options.length);
  }
  for (size_t index = 0; index < device_count && index < (size_t)options.waiting; index++) {
    devices[index].waits = true;
    make_again(make_job(waiting, &devices[index]), index * ramp / (size_t)options.waiting);
  }
  scraper = make_job(scraping, NULL);
}

static _Noreturn void run_day(void) {
  struct epoll_event events[turn_events];
  uint64_t ticked = now();
  size_t served = 0;  // turns of readers
  double owed = 0;
  begin_day(ticked);
  for (;;) {
    uint64_t time = now(), wanted = ticked + tick;
    if (poll_rate > 0 && told.polling < most_polling && next_poll < wanted) wanted = next_poll;
    uint64_t pause = wanted > time ? wanted - time : 0;
    struct timespec timeout = {.tv_nsec = (long)pause * 1000};
    int count = epoll_pwait2(poll_file, events, turn_events, &timeout, NULL);
    for (int index = 0; index < count; index++) {
      if (events[index].data.ptr) wake(events[index].data.ptr, events[index].events);
      else read_commands();
    }
    time = now();
    if (device_count) poll_due(time);
    if (time < ticked + tick) continue;
    // Each reader has a turn a second, however long the last one took.
    for (owed += (double)(time - ticked) / (double)second * (double)reader_count; owed >= 1; owed--)
      turn(&readers[served++ % reader_count], time);
    ticked = time;
    run_delayed(time);
    scrape_due(time);
  }
}

static int64_t whole(const char *text) {
  char *end;
  errno = 0;
  long long number = strtoll(text, &end, 10);
  if (errno || *end || end == text || number < 0) {
    fprintf(stderr, "day: not a number: %s\n", text);
    exit(2);
  }
  return number;
}

static const char usage[] =
    "usage: day --port N --devices FILE --readers FILE --content PATH --length N [OPTIONS]\n"
    "  --devices FILE   a line a device: its number, a token of its feed\n"
    "  --readers FILE   a line a slow reader: the name of a grant, its secret\n"
    "  --content PATH   what the readers take, of --length N bytes\n"
    "  --waiting N      so many of the devices wait in their feeds (0)\n"
    "  --drip N         bytes a second that a reader takes (4096)\n"
    "  --session N      seconds after which a reader begins anew with a new ticket, half more or less (300)\n"
    "  --ramp N         seconds in which readers and waiting devices come (60)\n"
    "  --clock N        how fast the server's clock goes: a Retry-After is of that clock (1)\n"
    "  --scrape N       milliseconds between two looks at the metrics; 0 for none (500)\n";

static void read_options(int count, char **words) {
  static const struct option names[] = {
      {"port", 1, 0, 'p'}, {"devices", 1, 0, 'd'}, {"readers", 1, 0, 'r'}, {"content", 1, 0, 'c'}, {"length", 1, 0, 'l'},
      {"waiting", 1, 0, 'w'}, {"drip", 1, 0, 'D'}, {"session", 1, 0, 's'}, {"ramp", 1, 0, 'R'}, {"clock", 1, 0, 'k'},
      {"scrape", 1, 0, 'm'}, {"help", 0, 0, 'h'}, {0}};
  int option;
  while ((option = getopt_long(count, words, "", names, NULL)) != -1) {
    switch (option) {
    case 'p': options.port = (uint16_t)whole(optarg); break;
    case 'd': options.devices = optarg; break;
    case 'r': options.readers = optarg; break;
    case 'c': options.content = optarg; break;
    case 'l': options.length = whole(optarg); break;
    case 'w': options.waiting = whole(optarg); break;
    case 'D': options.drip = whole(optarg); break;
    case 's': options.session = whole(optarg); break;
    case 'R': options.ramp = whole(optarg); break;
    case 'k': options.clock = whole(optarg); break;
    case 'm': options.scrape = whole(optarg); break;
    case 'h': fputs(usage, stdout); exit(0);
    default: fputs(usage, stderr); exit(2);
    }
  }
  if (!options.port || !options.devices || !options.readers || !options.content || options.length < 1 || options.clock < 1 ||
      options.drip < 1 || options.drip > (int64_t)sizeof scratch) {
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
  if ((poll_file = epoll_create1(EPOLL_CLOEXEC)) < 0) die("epoll_create1");
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
  if (epoll_ctl(poll_file, EPOLL_CTL_ADD, STDIN_FILENO, &event) < 0) die("standard input is no pipe");
  device_count = read_lines(options.devices, 2, take_device);
  reader_count = read_lines(options.readers, 2, take_reader);
  run_day();
}
