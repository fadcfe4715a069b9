// What the parts of Benchmarks/load/day.c share: the devices of a day, and the connections on which they ask.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "latencies.h"

// Requests of one kind, whose latencies are counted together.
enum route { feed, wait_in_feed, grant, renewal, manifest, ranges, opening, completion, metrics, routes };
enum role { polling, waiting, buying, reading, scraping };

struct job {  // a connection and its request
  int file;
  enum role role;
  enum route route;
  bool is_busy, is_skipping, is_slow, ends;  // a slow one takes its body by turns
  char *request, *answer;
  size_t length, sent, filled;
  int64_t left;  // bytes of a body that is not kept
  int status, tries;
  uint64_t planned, due, again;  // when it is to begin, began, is made again; 0 for none
  void *owner;
  struct job *next;  // of those that are made again
};

struct device {
  uint32_t number;
  bool waits;
  char *token, *cursor;
};

struct reader {
  char *grant, *secret, *ticket;
  int64_t offset;
  uint64_t begins, ends;
  struct job *job;
};

struct purchase {
  char *device, *product, *receipt, *grant, *secret, *ticket, *digest, *version, *content, *manifest;
  int64_t length, offset;
  int step;
};

extern struct settings {
  uint16_t port;
  const char *devices, *readers, *content;
  int64_t waiting, length, drip, session, ramp, clock, scrape;
} options;

extern struct counts {
  int64_t dropped, unexpected, lost, begun, ended, bytes, polling, streaming, cut, late;
} told;

extern struct latencies latencies[routes];
extern const char *const route_names[routes];
extern struct reader *readers;
extern struct job *delayed;  // what is made again later
extern int poll_file;
extern char scratch[1 << 18];

static const uint64_t second = 1000000;  // microseconds

_Noreturn void die(const char *what);
uint64_t now(void);  // microseconds

struct job *make_job(enum role role, void *owner);
void make_again(struct job *job, uint64_t microseconds);
void ask_again(struct job *job);
void ask_feed(struct job *job);
void ask_renewal(struct job *job, const char *name, const char *secret);
void ask_metrics(struct job *job);
void wake(struct job *job, uint32_t events);
void end_session(struct reader *reader, uint64_t pause);
