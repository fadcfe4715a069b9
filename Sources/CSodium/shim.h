#ifndef PULLBOX_CSODIUM_SHIM_H
#define PULLBOX_CSODIUM_SHIM_H

#include <sodium/core.h>
#include <sodium/crypto_sign.h>
#include <sodium/utils.h>

#endif
