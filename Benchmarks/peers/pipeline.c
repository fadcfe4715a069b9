// What PostgreSQL alone takes for the statements of first grants, and its client: `pipeline --database URL --recording FILE --warm N
// --waits M` runs them again as they were recorded, those of one grant in one pipeline, prepared once and with M waits (one, at the
// end, unless given). It says `ready` behind the first N grants and `done` behind the others, each time with the microseconds of a
// processor that it has used itself, and waits for a line on standard input, so that the time of its server can be read while the
// connection is there.
//
// FILE, in numbers of 32 bits in the machine's order, with texts as a length and bytes that end with zero: the texts of statements
// that are run once before; the texts of those that are prepared; the grants, each with its statements, each with its text's place
// and its values, each with a length (-1 for none), whether it is binary, and its bytes, a zero behind them.
#define _GNU_SOURCE
#include <fcntl.h>
#include <getopt.h>
#include <libpq-fe.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { most_values = 64 };

static PGconn *connection;
static const char *next, *end;

static _Noreturn void die(const char *what) {
  fprintf(stderr, "pipeline: %s: %s\n", what, connection ? PQerrorMessage(connection) : "failed");
  exit(1);
}

static const char *take(size_t length) {
  if ((size_t)(end - next) < length) die("the recording ends early");
  const char *taken = next;
  next += length;
  return taken;
}

static int32_t take_number(void) {
  int32_t number;
  memcpy(&number, take(sizeof number), sizeof number);
  return number;
}

static const char *take_text(void) { return take((size_t)take_number() + 1); }

static void open_recording(const char *path) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (file < 0 || fstat(file, &status)) die(path);
  void *start = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  if (start == MAP_FAILED) die(path);
  next = start;
  end = next + status.st_size;
}

static void must_succeed(PGresult *result, const char *what) {
  ExecStatusType status = PQresultStatus(result);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    fprintf(stderr, "pipeline: %s: %s\n", what, PQresultErrorMessage(result));
    exit(1);
  }
  PQclear(result);
}

static void name_of(int32_t place, char name[16]) { snprintf(name, 16, "s%d", place); }

static void send_statement(void) {
  char name[16];
  const char *values[most_values];
  int lengths[most_values], formats[most_values];
  name_of(take_number(), name);
  int32_t count = take_number();
  if (count < 0 || count > most_values) die("too many values");
  for (int32_t place = 0; place < count; place++) {
    lengths[place] = take_number();
    formats[place] = take_number();
    values[place] = lengths[place] < 0 ? NULL : take((size_t)lengths[place] + 1);
  }
  if (!PQsendQueryPrepared(connection, name, count, values, lengths, formats, 1)) die("a statement is not sent");
}

static void take_answers(int32_t count) {
  for (int32_t place = 0; place < count; place++) {
    PGresult *result = PQgetResult(connection);
    if (!result) die("an answer is missing");
    must_succeed(result, "a statement");
    // Behind each answer there is its end.
    if (PQgetResult(connection)) die("an answer more");
  }
}

// In `waits` parts of as many statements as can be, each of which is sent once the one before is answered.
static void run_grant(int32_t waits) {
  int32_t count = take_number(), sent = 0;
  for (int32_t part = 1; part <= waits; part++) {
    int32_t first = sent, last = (int32_t)((int64_t)count * part / waits);
    for (; sent < last; sent++) send_statement();
    if (part == waits && !PQpipelineSync(connection)) die("a pipeline is not ended");
    if (part < waits && (!PQsendFlushRequest(connection) || PQflush(connection))) die("a part is not sent");
    take_answers(last - first);
  }
  PGresult *result = PQgetResult(connection);
  if (PQresultStatus(result) != PGRES_PIPELINE_SYNC) die("a pipeline has no end");
  PQclear(result);
}

static void wait_for_word(const char *word) {
  char line[16];
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  printf("%s %lld\n", word,
         (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000LL + used.ru_utime.tv_usec + used.ru_stime.tv_usec);
  fflush(stdout);
  if (!fgets(line, sizeof line, stdin)) exit(0);
}

int main(int count, char **words) {
  static const struct option names[] = {{"database", 1, 0, 'd'}, {"recording", 1, 0, 'r'}, {"warm", 1, 0, 'w'}, {"waits", 1, 0, 'p'}, {0}};
  const char *database = NULL, *recording = NULL;
  int option, warm = 0, waits = 1;
  while ((option = getopt_long(count, words, "", names, NULL)) != -1) {
    if (option == 'd') database = optarg;
    else if (option == 'r') recording = optarg;
    else if (option == 'w') warm = atoi(optarg);
    else if (option == 'p') waits = atoi(optarg);
    else return 2;
  }
  if (!database || !recording || waits < 1) {
    fprintf(stderr, "usage: pipeline --database URL --recording FILE [--warm N] [--waits N]\n");
    return 2;
  }
  open_recording(recording);
  connection = PQconnectdb(database);
  if (PQstatus(connection) != CONNECTION_OK) die("connecting");
  for (int32_t left = take_number(); left > 0; left--) must_succeed(PQexec(connection, take_text()), "a statement before");
  int32_t prepared = take_number();
  for (int32_t place = 0; place < prepared; place++) {
    char name[16];
    name_of(place, name);
    must_succeed(PQprepare(connection, name, take_text(), 0, NULL), "a statement's preparation");
  }
  if (!PQenterPipelineMode(connection)) die("a pipeline");
  int32_t grants = take_number();
  for (int32_t place = 0; place < grants; place++) {
    if (place == warm) wait_for_word("ready");
    run_grant(waits);
  }
  wait_for_word("done");
  PQfinish(connection);
  return 0;
}
