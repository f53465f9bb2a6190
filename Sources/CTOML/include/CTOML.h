#ifndef CTOML_SHIM_H
#define CTOML_SHIM_H
#endif
