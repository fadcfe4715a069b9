#include "CMessageBus.h"

#include <dlfcn.h>
#include <pthread.h>

// sd_bus_error of systemd/sd-bus.h.
struct bus_error {
  const char *name;
  const char *message;
  int need_free;
};

// Each function of the library: its result, its name behind `sd_bus_`, its arguments.
#define FUNCTIONS(each)                                                                                                     \
  each(int, new, (sd_bus **))                                                                                               \
  each(int, set_address, (sd_bus *, const char *))                                                                          \
  each(int, set_bus_client, (sd_bus *, int))                                                                                \
  each(int, negotiate_fds, (sd_bus *, int))                                                                                 \
  each(int, set_watch_bind, (sd_bus *, int))                                                                                \
  each(int, start, (sd_bus *))                                                                                              \
  each(sd_bus *, close_unref, (sd_bus *))                                                                                   \
  each(sd_bus *, flush_close_unref, (sd_bus *))                                                                             \
  each(int, is_open, (sd_bus *))                                                                                            \
  each(int, is_ready, (sd_bus *))                                                                                           \
  each(int, get_fd, (sd_bus *))                                                                                             \
  each(int, get_events, (sd_bus *))                                                                                         \
  each(int, get_timeout, (sd_bus *, uint64_t *))                                                                            \
  each(int, process, (sd_bus *, sd_bus_message **))                                                                         \
  each(int, get_n_queued_write, (sd_bus *, uint64_t *))                                                                     \
  each(int, get_unique_name, (sd_bus *, const char **))                                                                     \
  each(int, add_filter, (sd_bus *, sd_bus_slot **, cmessagebus_handler, void *))                                            \
  each(int, send, (sd_bus *, sd_bus_message *, uint64_t *))                                                                 \
  each(int, message_new_signal, (sd_bus *, sd_bus_message **, const char *, const char *, const char *))                    \
  each(int, message_new_method_call,                                                                                        \
       (sd_bus *, sd_bus_message **, const char *, const char *, const char *, const char *))                               \
  each(int, message_new_method_return, (sd_bus_message *, sd_bus_message **))                                               \
  each(int, message_new_method_error, (sd_bus_message *, sd_bus_message **, const struct bus_error *))                      \
  each(sd_bus_message *, message_ref, (sd_bus_message *))                                                                   \
  each(sd_bus_message *, message_unref, (sd_bus_message *))                                                                 \
  each(int, message_set_destination, (sd_bus_message *, const char *))                                                      \
  each(int, message_set_auto_start, (sd_bus_message *, int))                                                                \
  each(int, message_set_expect_reply, (sd_bus_message *, int))                                                              \
  each(int, message_set_allow_interactive_authorization, (sd_bus_message *, int))                                           \
  each(int, message_get_type, (sd_bus_message *, uint8_t *))                                                                \
  each(int, message_get_cookie, (sd_bus_message *, uint64_t *))                                                             \
  each(int, message_get_reply_cookie, (sd_bus_message *, uint64_t *))                                                       \
  each(int, message_get_expect_reply, (sd_bus_message *))                                                                   \
  each(int, message_get_allow_interactive_authorization, (sd_bus_message *))                                                \
  each(const char *, message_get_path, (sd_bus_message *))                                                                  \
  each(const char *, message_get_interface, (sd_bus_message *))                                                             \
  each(const char *, message_get_member, (sd_bus_message *))                                                                \
  each(const char *, message_get_sender, (sd_bus_message *))                                                                \
  each(const char *, message_get_signature, (sd_bus_message *, int))                                                        \
  each(const struct bus_error *, message_get_error, (sd_bus_message *))                                                     \
  each(int, message_append_basic, (sd_bus_message *, char, const void *))                                                   \
  each(int, message_append_array, (sd_bus_message *, char, const void *, size_t))                                           \
  each(int, message_open_container, (sd_bus_message *, char, const char *))                                                 \
  each(int, message_close_container, (sd_bus_message *))                                                                    \
  each(int, message_peek_type, (sd_bus_message *, char *, const char **))                                                   \
  each(int, message_read_basic, (sd_bus_message *, char, void *))                                                           \
  each(int, message_read_array, (sd_bus_message *, char, const void **, size_t *))                                          \
  each(int, message_enter_container, (sd_bus_message *, char, const char *))                                                \
  each(int, message_exit_container, (sd_bus_message *))

#define POINTER(result, name, arguments) result(*name) arguments;
static struct {
  FUNCTIONS(POINTER)
} library;

static const char *missing;

static void load(void) {
  // Never closed: libsystemd keeps state of its own for as long as the process lives.
  void *handle = dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == NULL) {
    missing = "libsystemd.so.0";
    return;
  }
#define FIND(result, name, arguments)                                                                                       \
  library.name = (result(*) arguments)dlsym(handle, "sd_bus_" #name);                                                       \
  if (library.name == NULL) missing = "sd_bus_" #name;
  FUNCTIONS(FIND)
}

int cmessagebus_load(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return missing == NULL ? 0 : -1;
}

const char *cmessagebus_missing(void) { return missing; }

int cmessagebus_new(sd_bus **bus) { return library.new(bus); }
int cmessagebus_set_address(sd_bus *bus, const char *address) { return library.set_address(bus, address); }
int cmessagebus_set_bus_client(sd_bus *bus, int is_client) { return library.set_bus_client(bus, is_client); }
int cmessagebus_negotiate_fds(sd_bus *bus, int passes_descriptors) { return library.negotiate_fds(bus, passes_descriptors); }
int cmessagebus_set_watch_bind(sd_bus *bus, int waits_for_socket) { return library.set_watch_bind(bus, waits_for_socket); }
int cmessagebus_start(sd_bus *bus) { return library.start(bus); }
void cmessagebus_close_unref(sd_bus *bus) { library.close_unref(bus); }
void cmessagebus_flush_close_unref(sd_bus *bus) { library.flush_close_unref(bus); }
int cmessagebus_is_open(sd_bus *bus) { return library.is_open(bus); }
int cmessagebus_is_ready(sd_bus *bus) { return library.is_ready(bus); }
int cmessagebus_get_fd(sd_bus *bus) { return library.get_fd(bus); }
int cmessagebus_get_events(sd_bus *bus) { return library.get_events(bus); }
int cmessagebus_get_timeout(sd_bus *bus, uint64_t *microseconds) { return library.get_timeout(bus, microseconds); }
int cmessagebus_process(sd_bus *bus) { return library.process(bus, NULL); }
int cmessagebus_get_n_queued_write(sd_bus *bus, uint64_t *count) { return library.get_n_queued_write(bus, count); }
int cmessagebus_get_unique_name(sd_bus *bus, const char **name) { return library.get_unique_name(bus, name); }
int cmessagebus_add_filter(sd_bus *bus, cmessagebus_handler handler, void *context) {
  return library.add_filter(bus, NULL, handler, context);
}
int cmessagebus_send(sd_bus *bus, sd_bus_message *message, uint64_t *cookie) { return library.send(bus, message, cookie); }

int cmessagebus_message_new_signal(sd_bus *bus, sd_bus_message **message, const char *path, const char *interface,
                                   const char *member) {
  return library.message_new_signal(bus, message, path, interface, member);
}
int cmessagebus_message_new_method_call(sd_bus *bus, sd_bus_message **message, const char *destination, const char *path,
                                        const char *interface, const char *member) {
  return library.message_new_method_call(bus, message, destination, path, interface, member);
}
int cmessagebus_message_new_method_return(sd_bus_message *call, sd_bus_message **message) {
  return library.message_new_method_return(call, message);
}
int cmessagebus_message_new_method_error(sd_bus_message *call, sd_bus_message **message, const char *name, const char *text) {
  struct bus_error error = {name, text, 0};
  return library.message_new_method_error(call, message, &error);
}
sd_bus_message *cmessagebus_message_ref(sd_bus_message *message) { return library.message_ref(message); }
void cmessagebus_message_unref(sd_bus_message *message) { library.message_unref(message); }
int cmessagebus_message_set_destination(sd_bus_message *message, const char *destination) {
  return library.message_set_destination(message, destination);
}
int cmessagebus_message_set_auto_start(sd_bus_message *message, int starts) {
  return library.message_set_auto_start(message, starts);
}
int cmessagebus_message_set_expect_reply(sd_bus_message *message, int expects) {
  return library.message_set_expect_reply(message, expects);
}
int cmessagebus_message_set_interactive(sd_bus_message *message, int may_ask) {
  return library.message_set_allow_interactive_authorization(message, may_ask);
}

int cmessagebus_message_get_type(sd_bus_message *message, uint8_t *type) { return library.message_get_type(message, type); }
int cmessagebus_message_get_cookie(sd_bus_message *message, uint64_t *cookie) {
  return library.message_get_cookie(message, cookie);
}
int cmessagebus_message_get_reply_cookie(sd_bus_message *message, uint64_t *cookie) {
  return library.message_get_reply_cookie(message, cookie);
}
int cmessagebus_message_get_expect_reply(sd_bus_message *message) { return library.message_get_expect_reply(message); }
int cmessagebus_message_get_interactive(sd_bus_message *message) {
  return library.message_get_allow_interactive_authorization(message);
}
const char *cmessagebus_message_get_path(sd_bus_message *message) { return library.message_get_path(message); }
const char *cmessagebus_message_get_interface(sd_bus_message *message) { return library.message_get_interface(message); }
const char *cmessagebus_message_get_member(sd_bus_message *message) { return library.message_get_member(message); }
const char *cmessagebus_message_get_sender(sd_bus_message *message) { return library.message_get_sender(message); }
const char *cmessagebus_message_get_signature(sd_bus_message *message) { return library.message_get_signature(message, 1); }
const char *cmessagebus_message_get_error_name(sd_bus_message *message) {
  const struct bus_error *error = library.message_get_error(message);
  return error == NULL ? NULL : error->name;
}
const char *cmessagebus_message_get_error_text(sd_bus_message *message) {
  const struct bus_error *error = library.message_get_error(message);
  return error == NULL ? NULL : error->message;
}

int cmessagebus_message_append_basic(sd_bus_message *message, char type, const void *value) {
  return library.message_append_basic(message, type, value);
}
int cmessagebus_message_append_array(sd_bus_message *message, char type, const void *bytes, size_t size) {
  return library.message_append_array(message, type, bytes, size);
}
int cmessagebus_message_open_container(sd_bus_message *message, char type, const char *contents) {
  return library.message_open_container(message, type, contents);
}
int cmessagebus_message_close_container(sd_bus_message *message) { return library.message_close_container(message); }
int cmessagebus_message_peek_type(sd_bus_message *message, char *type, const char **contents) {
  return library.message_peek_type(message, type, contents);
}
int cmessagebus_message_read_basic(sd_bus_message *message, char type, void *value) {
  return library.message_read_basic(message, type, value);
}
int cmessagebus_message_read_array(sd_bus_message *message, char type, const void **bytes, size_t *size) {
  return library.message_read_array(message, type, bytes, size);
}
int cmessagebus_message_enter_container(sd_bus_message *message, char type, const char *contents) {
  return library.message_enter_container(message, type, contents);
}
int cmessagebus_message_exit_container(sd_bus_message *message) { return library.message_exit_container(message); }
