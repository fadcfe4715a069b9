// Latencies of a route, counted in classes that are a thirty-second of an octave wide, so that hours can be added up: what a class
// holds differs by 3 % at most.
#pragma once
#include <stdint.h>
#include <stdio.h>

enum { latency_classes = 32 * 32 };

struct latencies {
  uint32_t counts[latency_classes];
  int64_t count, refused;
};

// Below 32 microseconds a class is a microsecond; Benchmarks/day_judging.py has the way back.
static inline unsigned latency_class(uint64_t microseconds) {
  if (microseconds < 32) return (unsigned)microseconds;
  unsigned exponent = 63u - (unsigned)__builtin_clzll(microseconds);
  unsigned class = (exponent - 4) * 32 + (unsigned)(microseconds >> (exponent - 5) & 31);
  return class < latency_classes ? class : latency_classes - 1;
}

static inline void add_latency(struct latencies *latencies, uint64_t microseconds) {
  latencies->counts[latency_class(microseconds)]++;
  latencies->count++;
}

// As JSON; what was counted is forgotten.
static inline void tell_latencies(struct latencies *latencies, const char *name) {
  printf("\"%s\":{\"count\":%lld,\"refused\":%lld,\"classes\":{", name, (long long)latencies->count, (long long)latencies->refused);
  const char *comma = "";
  for (unsigned class = 0; class < latency_classes; class++) {
    if (!latencies->counts[class]) continue;
    printf("%s\"%u\":%u", comma, class, latencies->counts[class]);
    comma = ",";
    latencies->counts[class] = 0;
  }
  printf("}}");
  latencies->count = latencies->refused = 0;
}
