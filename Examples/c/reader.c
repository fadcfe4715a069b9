/* A reader's program in C: shows the shop of this device's agent, buys an issue with --yes, follows it and prints where it lies.
 *     cc -std=c17 -o reader reader.c $(pkg-config --cflags --libs libcurl)
 *     ./reader /run/pullbox/agent.sock [PRODUCT [--yes]]
 * docs/agent.openapi.yaml has what is asked and answered here. The agent writes JSON without white space. */
#include <curl/curl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { longest = 4 << 20, shortest = 512 };
struct text { char *bytes; size_t length; };
struct purchase { const char *body; char id[shortest], event[shortest]; struct text line; enum { runs, finished, failed } step; };
static const char *socket_path;

static _Noreturn void end(const char *message) { fprintf(stderr, "reader: %s\n", message); exit(1); }

/* The place behind the JSON value that begins at `at`. */
static const char *skip(const char *at) {
  int depth = 0;
  do {
    if (*at == '"') for (at++; *at && *at != '"'; at++) if (*at == '\\' && at[1]) at++;
    if (!*at) return at;
    depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']'), at++;
  } while (depth > 0 || (*at && !strchr(",:}]", *at)));
  return at;
}

/* The value of a member of an object; NULL where there is none. */
static const char *member(const char *object, const char *name) {
  for (const char *at = object && *object == '{' ? object + 1 : ""; *at == '"';) {
    const char *behind = skip(at);
    if (*behind != ':') return NULL;
    if ((size_t)(behind - at) == strlen(name) + 2 && !strncmp(at + 1, name, strlen(name))) return behind + 1;
    at = skip(behind + 1), at += *at == ',';
  }
  return NULL;
}

/* The first element of an array, and the one behind an element; NULL at its end. */
static const char *first(const char *array) { return array && *array == '[' && array[1] != ']' ? array + 1 : NULL; }
static const char *next(const char *at) { return *(at = skip(at)) == ',' ? at + 1 : NULL; }

/* A text or a number as it is shown, as far as there is room; empty where there is none. */
static const char *copy(const char *value, char out[shortest]) {
  bool is_text = value && *value == '"';
  size_t length = 0;
  for (const char *at = value ? value + is_text : ""; length < shortest - 1 && *at && !strchr(is_text ? "\"" : ",}]", *at); at++)
    out[length++] = is_text && *at == '\\' && at[1] ? *++at : *at;
  out[length] = 0;
  return out;
}

static bool is(const char *value, const char *text) { char found[shortest]; return !strcmp(copy(value, found), text); }

static size_t append(char *bytes, size_t one, size_t count, void *into) {
  struct text *text = into;
  char *larger = text->length + one * count < longest ? realloc(text->bytes, text->length + one * count + 1) : NULL;
  if (!larger) return 0;
  memcpy(larger + text->length, bytes, one * count);
  text->bytes = larger, larger[text->length += one * count] = 0;
  return count;
}

/* Gives the body of an answer to `take`. The status is told, or without a place for it a refusal is an error. */
static CURLcode perform(const char *path, const char *body, curl_write_callback take, void *into, long *status) {
  char url[2 * shortest];
  struct curl_slist *fields = curl_slist_append(NULL, "Content-Type: application/json");
  CURL *handle = curl_easy_init();
  if (!handle || !fields || snprintf(url, sizeof url, "http://agent%s", path) >= (int)sizeof url) end("no memory");
  curl_easy_setopt(handle, CURLOPT_UNIX_SOCKET_PATH, socket_path), curl_easy_setopt(handle, CURLOPT_URL, url);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, take), curl_easy_setopt(handle, CURLOPT_WRITEDATA, into);
  curl_easy_setopt(handle, CURLOPT_FAILONERROR, status ? 0L : 1L);
  if (body) curl_easy_setopt(handle, CURLOPT_POSTFIELDS, body), curl_easy_setopt(handle, CURLOPT_HTTPHEADER, fields);
  CURLcode code = curl_easy_perform(handle);
  if (status) curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, status);
  curl_slist_free_all(fields), curl_easy_cleanup(handle);
  return code;
}

/* The document of an answer. A refusal ends the program with its words. */
static char *ask(const char *path, const char *body) {
  char title[shortest], detail[shortest], message[3 * shortest];
  struct text answer = {NULL, 0};
  long status = 0;
  CURLcode code = perform(path, body, append, &answer, &status);
  if (code != CURLE_OK) end(curl_easy_strerror(code));
  if (status < 400 && answer.bytes) return answer.bytes;
  snprintf(message, sizeof message, "%s: %s", copy(member(answer.bytes, "title"), title), copy(member(answer.bytes, "detail"), detail));
  end(message);
}

/* Prints what is for sale of a publication, or what belongs to none. */
static void show(const char *path) {
  char id[shortest], title[shortest], price[shortest], *page = ask(path, NULL);
  for (const char *at = first(member(page, "issues")); at; at = next(at)) {
    const char *listing = member(at, "listing");
    printf("%-40s %-8s %s%s\n", copy(member(listing, "id"), id), *copy(member(member(listing, "price"), "formatted"), price) ? price : "free",
           copy(member(listing, "title"), title), is(member(at, "owned"), "true") ? " (yours)" : "");
  }
  free(page);
}

/* Buys at the first line of the event stream, which is open then: no change of the transaction is missed. */
static bool take_line(struct purchase *purchase, const char *line) {
  char reason[shortest], progress[shortest], *bought = *purchase->id ? NULL : ask("/v1/purchases", purchase->body);
  if (bought && !*copy(member(bought, "id"), purchase->id)) end("the purchase has no name");
  free(bought);
  if (!strncmp(line, "event: ", 7)) snprintf(purchase->event, shortest, "%s", line + 7);
  const char *data = strncmp(line, "data: ", 6) ? NULL : line + 6, *step = member(data, "step");
  if (!strcmp(purchase->event, "download") && is(member(data, "transaction"), purchase->id) && !member(data, "section"))
    printf("%3.0f %%  %s\n", 100 * strtod(copy(member(data, "progress"), progress), NULL), copy(member(data, "reason"), reason));
  if (!strcmp(purchase->event, "transaction") && is(member(data, "id"), purchase->id))
    purchase->step = is(step, "finished") ? finished : is(step, "failed") ? failed : runs;
  return purchase->step == runs;
}

static size_t take_stream(char *bytes, size_t one, size_t count, void *into) {
  struct purchase *purchase = into;
  for (char *at = bytes, *behind = bytes + one * count, *feed; at < behind; at = feed + 1) {
    feed = memchr(at, '\n', (size_t)(behind - at));
    size_t length = (size_t)((feed ? feed : behind) - at);
    if (append(at, 1, length, &purchase->line) != length || (feed && !take_line(purchase, purchase->line.bytes))) return 0;
    if (!feed) break;
    purchase->line.length = 0;
  }
  return count;
}

static void buy(const char *product) {
  char path[2 * shortest], body[3 * shortest], amount[shortest], currency[shortest];
  struct purchase purchase = {.body = body};
  snprintf(path, sizeof path, "/v1/products?id=%s", product);
  char *found = ask(path, NULL), *library;
  const char *offered = first(member(found, "products")), *price = member(member(offered, "listing"), "price"), *last = NULL;
  if (!offered) end("this is not for sale here");
  /* If the price is another by now, nothing is bought. The price of a subscription is shown with its offer: docs/agent.md. */
  snprintf(body, sizeof body, "{\"product\":\"%s\",\"shown\":\"%s%s%s\"}", product, price ? copy(member(price, "amount"), amount) : "free",
           price ? " " : "", price ? copy(member(price, "currency"), currency) : "");
  CURLcode code = perform("/v1/events", NULL, take_stream, &purchase, NULL);
  if (purchase.step == runs) end(code == CURLE_OK ? "the agent stopped before it was delivered" : curl_easy_strerror(code));
  if (purchase.step == failed) end("the payment failed");
  library = ask("/v1/library", NULL);
  for (const char *at = first(member(library, "items")); at; at = next(at)) if (is(member(at, "product"), product)) last = at;
  if (!member(last, "path")) end("the library has it no more");
  printf("%s\n", copy(member(last, "path"), path));
  free(found), free(library), free(purchase.line.bytes);
}

int main(int count, char **arguments) {
  const char *letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  char path[2 * shortest], id[shortest], *page;
  if (count < 2 || count > 4 || (count == 4 && strcmp(arguments[3], "--yes"))) end("usage: reader SOCKET [PRODUCT [--yes]]");
  if (count > 2 && (strlen(arguments[2]) > 255 || strspn(arguments[2], letters) != strlen(arguments[2]))) end("this is no product");
  socket_path = arguments[1];
  curl_global_init(CURL_GLOBAL_DEFAULT);
  page = ask("/v1/publications", NULL);
  for (const char *at = first(member(page, "publications")); at; at = next(at)) {
    snprintf(path, sizeof path, "/v1/publications/%s", copy(member(at, "id"), id));
    show(path);
  }
  show("/v1/singles"), free(page);
  if (count == 3) printf("To buy %s, give --yes.\n", arguments[2]);
  if (count == 4) buy(arguments[2]);
  curl_global_cleanup();
}
