// The functions of sd-bus(3) that this project calls, found at run time: nothing links with libsystemd, and nothing needs its headers.
// Each has the name, the arguments and the results of the function of libsystemd behind its prefix; none may be called before
// cmessagebus_load has answered 0.
#ifndef PULLBOX_CMESSAGEBUS_H
#define PULLBOX_CMESSAGEBUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sd_bus sd_bus;
typedef struct sd_bus_message sd_bus_message;
typedef struct sd_bus_slot sd_bus_slot;

// sd_bus_message_handler_t. The third argument is a sd_bus_error, which no handler here sets.
typedef int (*cmessagebus_handler)(sd_bus_message *message, void *context, void *error);

// dlopen(3) of libsystemd.so.0, once in a process, and dlsym(3) of all functions below. 0, or -1 where the library or one of
// the functions is missing: cmessagebus_missing then says which. Any thread may call it.
int cmessagebus_load(void);
const char *cmessagebus_missing(void);

int cmessagebus_new(sd_bus **bus);
int cmessagebus_set_address(sd_bus *bus, const char *address);
int cmessagebus_set_bus_client(sd_bus *bus, int is_client);
int cmessagebus_negotiate_fds(sd_bus *bus, int passes_descriptors);
int cmessagebus_set_watch_bind(sd_bus *bus, int waits_for_socket);
int cmessagebus_start(sd_bus *bus);
// sd_bus_close_unref: nothing more is sent.
void cmessagebus_close_unref(sd_bus *bus);
// sd_bus_flush_close_unref: blocks until what is queued is sent.
void cmessagebus_flush_close_unref(sd_bus *bus);
int cmessagebus_is_open(sd_bus *bus);
int cmessagebus_is_ready(sd_bus *bus);
int cmessagebus_get_fd(sd_bus *bus);
int cmessagebus_get_events(sd_bus *bus);
int cmessagebus_get_timeout(sd_bus *bus, uint64_t *microseconds);
int cmessagebus_process(sd_bus *bus);
int cmessagebus_get_n_queued_write(sd_bus *bus, uint64_t *count);
int cmessagebus_get_unique_name(sd_bus *bus, const char **name);
int cmessagebus_add_filter(sd_bus *bus, cmessagebus_handler handler, void *context);
int cmessagebus_send(sd_bus *bus, sd_bus_message *message, uint64_t *cookie);

int cmessagebus_message_new_signal(sd_bus *bus, sd_bus_message **message, const char *path, const char *interface, const char *member);
int cmessagebus_message_new_method_call(sd_bus *bus, sd_bus_message **message, const char *destination, const char *path,
                                        const char *interface, const char *member);
int cmessagebus_message_new_method_return(sd_bus_message *call, sd_bus_message **message);
// sd_bus_message_new_method_error, which takes name and text as a sd_bus_error.
int cmessagebus_message_new_method_error(sd_bus_message *call, sd_bus_message **message, const char *name, const char *text);
sd_bus_message *cmessagebus_message_ref(sd_bus_message *message);
void cmessagebus_message_unref(sd_bus_message *message);
int cmessagebus_message_set_destination(sd_bus_message *message, const char *destination);
int cmessagebus_message_set_auto_start(sd_bus_message *message, int starts);
int cmessagebus_message_set_expect_reply(sd_bus_message *message, int expects);
int cmessagebus_message_set_interactive(sd_bus_message *message, int may_ask);

int cmessagebus_message_get_type(sd_bus_message *message, uint8_t *type);
int cmessagebus_message_get_cookie(sd_bus_message *message, uint64_t *cookie);
int cmessagebus_message_get_reply_cookie(sd_bus_message *message, uint64_t *cookie);
int cmessagebus_message_get_expect_reply(sd_bus_message *message);
int cmessagebus_message_get_interactive(sd_bus_message *message);
const char *cmessagebus_message_get_path(sd_bus_message *message);
const char *cmessagebus_message_get_interface(sd_bus_message *message);
const char *cmessagebus_message_get_member(sd_bus_message *message);
const char *cmessagebus_message_get_sender(sd_bus_message *message);
const char *cmessagebus_message_get_signature(sd_bus_message *message);
// Name and text of the error that a message is; null pointers for another message.
const char *cmessagebus_message_get_error_name(sd_bus_message *message);
const char *cmessagebus_message_get_error_text(sd_bus_message *message);

int cmessagebus_message_append_basic(sd_bus_message *message, char type, const void *value);
int cmessagebus_message_append_array(sd_bus_message *message, char type, const void *bytes, size_t size);
int cmessagebus_message_open_container(sd_bus_message *message, char type, const char *contents);
int cmessagebus_message_close_container(sd_bus_message *message);
int cmessagebus_message_peek_type(sd_bus_message *message, char *type, const char **contents);
int cmessagebus_message_read_basic(sd_bus_message *message, char type, void *value);
int cmessagebus_message_read_array(sd_bus_message *message, char type, const void **bytes, size_t *size);
int cmessagebus_message_enter_container(sd_bus_message *message, char type, const char *contents);
int cmessagebus_message_exit_container(sd_bus_message *message);

#endif
