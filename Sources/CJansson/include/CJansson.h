#ifndef CJansson_SHIM_H
#define CJansson_SHIM_H
#include <jansson.h>
#endif
