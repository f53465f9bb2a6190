#include "CTOML.h"
#include <cstring>
#include <exception>
#include <new>
#include <string_view>
#include <toml++/toml.h>
#include <vector>

struct ctoml_document {
    toml::table root;
    std::vector<ctoml_record> records;
};

namespace {

ctoml_position position(const toml::source_position &at) { return {at.line, at.column}; }

void report(ctoml_error *error, ctoml_position at, std::string_view words) {
    error->at = at;
    const size_t length = std::min(words.size(), sizeof error->words - 1);
    std::memcpy(error->words, words.data(), length);
    error->words[length] = 0;
}

/// Follows strings and comments as far as is needed to count what nests. On text that is not TOML it may lose the thread, but only
/// behind the place where the parser stops.
class NestingCheck {
public:
    explicit NestingCheck(std::string_view text) : text(text) {}

    bool passes(ctoml_error *error) {
        size_t dots = 0, open = 0;
        while (at < text.size()) {
            switch (text[at]) {
            case '#': skipComment(); continue;
            case '"': case '\'': skipString(text[at]); continue;
            case '[': case '{': open++; dots = 0; break;
            case ']': case '}': open = open > 0 ? open - 1 : 0; dots = 0; break;
            case '.': dots++; break;
            case '=': case ',': dots = 0; break;
            case '\n': dots = 0; line++; lineStart = at + 1; break;
            default: break;
            }
            if (dots >= CTOML_NESTING_LIMIT || open > CTOML_NESTING_LIMIT) {
                report(error, {line, column()}, "nested deeper than 16 levels");
                return false;
            }
            at++;
        }
        return true;
    }

private:
    std::string_view text;
    size_t at = 0, lineStart = 0;
    uint32_t line = 1;

    uint32_t column() const {
        uint32_t characters = 1;
        for (size_t i = lineStart; i < at; i++) characters += (text[i] & 0xC0) != 0x80;
        return characters;
    }

    bool follows(std::string_view what) const { return text.substr(at, what.size()) == what; }

    void skipComment() {
        while (at < text.size() && text[at] != '\n') at++;
    }

    void skipString(char quote) {
        const char three[3] = {quote, quote, quote};
        const std::string_view fence(three, 3);
        const bool multiline = follows(fence);
        at += multiline ? 3 : 1;
        while (at < text.size()) {
            if (multiline && follows(fence)) {
                // Up to two quotes may stand right before the closing three.
                at += 3;
                while (at < text.size() && text[at] == quote) at++;
                return;
            }
            if (text[at] == '\n') {
                if (!multiline) return;
                line++;
                lineStart = at + 1;
            } else if (!multiline && text[at] == quote) {
                at++;
                return;
            } else if (quote == '"' && text[at] == '\\' && at + 1 < text.size() && text[at + 1] != '\n') {
                at++;
            }
            at++;
        }
    }
};

void flatten(const toml::node &node, const toml::key *key, std::vector<ctoml_record> &records) {
    ctoml_record record{};
    if (key) {
        record.key = key->str().data();
        record.key_length = key->str().size();
        record.key_begin = position(key->source().begin);
    }
    record.begin = position(node.source().begin);
    record.end = position(node.source().end);
    if (auto *text = node.as_string()) {
        record.kind = CTOML_STRING;
        record.text = text->get().data();
        record.text_length = text->get().size();
    } else if (auto *integer = node.as_integer()) {
        record.kind = CTOML_INTEGER;
        record.integer = integer->get();
    } else if (auto *real = node.as_floating_point()) {
        record.kind = CTOML_FLOAT;
        record.real = real->get();
    } else if (auto *boolean = node.as_boolean()) {
        record.kind = CTOML_BOOLEAN;
        record.boolean = boolean->get();
    } else if (auto *array = node.as_array()) {
        record.kind = CTOML_ARRAY;
        record.children = static_cast<uint32_t>(array->size());
        records.push_back(record);
        for (const toml::node &element : *array) flatten(element, nullptr, records);
        return;
    } else if (auto *table = node.as_table()) {
        record.kind = CTOML_TABLE;
        record.children = static_cast<uint32_t>(table->size());
        records.push_back(record);
        for (auto &&[name, value] : *table) flatten(value, &name, records);
        return;
    } else {
        record.kind = CTOML_DATE_OR_TIME;
    }
    records.push_back(record);
}

} // namespace

extern "C" ctoml_document *ctoml_parse(const char *bytes, size_t count, ctoml_error *error) {
    if (count > CTOML_SIZE_LIMIT) {
        report(error, {1, 1}, "longer than 1 MiB");
        return nullptr;
    }
    const std::string_view text(bytes, count);
    if (!NestingCheck(text).passes(error)) return nullptr;
    ctoml_document *document = nullptr;
    // No exception may leave C++: Swift has no frame that could catch it.
    try {
        document = new ctoml_document{toml::parse(text), {}};
        flatten(document->root, nullptr, document->records);
        return document;
    } catch (const toml::parse_error &failure) {
        report(error, position(failure.source().begin), failure.description());
    } catch (const std::exception &failure) {
        report(error, {1, 1}, failure.what());
    } catch (...) {
        report(error, {1, 1}, "the parser failed");
    }
    delete document;
    return nullptr;
}

extern "C" const ctoml_record *ctoml_records(const ctoml_document *document) { return document->records.data(); }

extern "C" void ctoml_free(ctoml_document *document) { delete document; }

#define CTOML_WORDS(value) #value
#define CTOML_NUMBER(value) CTOML_WORDS(value)
extern "C" const char *ctoml_version(void) {
    return CTOML_NUMBER(TOML_LIB_MAJOR) "." CTOML_NUMBER(TOML_LIB_MINOR) "." CTOML_NUMBER(TOML_LIB_PATCH);
}
