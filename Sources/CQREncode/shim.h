#ifndef PULLBOX_CQRENCODE_SHIM_H
#define PULLBOX_CQRENCODE_SHIM_H

#include <qrencode.h>

#endif
