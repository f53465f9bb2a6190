/// TOML 1.0 by toml++, behind C: a document is parsed whole into a flat list of records, each with its place in the text.
#ifndef CTOML_SHIM_H
#define CTOML_SHIM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The most bytes a document may have: 1 MiB.
#define CTOML_SIZE_LIMIT 1048576
/// The most names in one dotted key, and the most brackets and braces open at once. Trees are built and freed by recursion,
/// so that what a file can nest must be bounded before it is parsed.
#define CTOML_NESTING_LIMIT 16

/// A place in the text: both count from 1; columns count characters, not bytes.
typedef struct {
    uint32_t line;
    uint32_t column;
} ctoml_position;

typedef enum {
    CTOML_STRING,
    CTOML_INTEGER,
    CTOML_FLOAT,
    CTOML_BOOLEAN,
    CTOML_DATE_OR_TIME,
    CTOML_ARRAY,
    CTOML_TABLE,
} ctoml_kind;

/// One value of the document. Strings belong to the document, are UTF-8, and may contain NUL.
typedef struct {
    ctoml_kind kind;
    /// How many values an array or table has. They follow it, each with all of its own.
    uint32_t children;
    /// The name under which a table holds the value; NULL for an array's elements and for the document itself.
    const char *key;
    size_t key_length;
    ctoml_position key_begin;
    ctoml_position begin;
    /// Where the value ends.
    ctoml_position end;
    /// The text of a string.
    const char *text;
    size_t text_length;
    int64_t integer;
    double real;
    bool boolean;
} ctoml_record;

/// Why a text is no document.
typedef struct {
    ctoml_position at;
    /// Words, cut to what fits, ended by NUL.
    char words[256];
} ctoml_error;

typedef struct ctoml_document ctoml_document;

/// Parses `count` bytes. The document, which the caller frees; or NULL, with the reason in `error`.
ctoml_document *ctoml_parse(const char *bytes, size_t count, ctoml_error *error);
/// The records, the document's own table first, then depth first.
const ctoml_record *ctoml_records(const ctoml_document *document);
void ctoml_free(ctoml_document *document);

/// The version of toml++, e.g. "3.3.0".
const char *ctoml_version(void);

#ifdef __cplusplus
}
#endif
#endif
