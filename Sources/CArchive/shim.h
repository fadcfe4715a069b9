#ifndef PULLBOX_CARCHIVE_SHIM_H
#define PULLBOX_CARCHIVE_SHIM_H

#include <archive.h>
#include <archive_entry.h>

#endif
