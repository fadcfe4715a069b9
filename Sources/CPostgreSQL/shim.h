#ifndef PULLBOX_CPOSTGRESQL_SHIM_H
#define PULLBOX_CPOSTGRESQL_SHIM_H

#include <libpq-fe.h>

#endif
