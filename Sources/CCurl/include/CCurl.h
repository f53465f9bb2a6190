/// libcurl, and the variadic calls of it that Swift cannot make, one for each type of argument.
#ifndef CCurl_SHIM_H
#define CCurl_SHIM_H
#include <curl/curl.h>

CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value);
CURLcode ccurl_set_size(CURL *easy, CURLoption option, curl_off_t value);
/// Also for NULL, which puts an option back to nothing.
CURLcode ccurl_set_string(CURL *easy, CURLoption option, const char *value);
CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, void *value);
CURLcode ccurl_set_list(CURL *easy, CURLoption option, struct curl_slist *list);
/// CURLOPT_WRITEFUNCTION or CURLOPT_HEADERFUNCTION.
CURLcode ccurl_set_callback(CURL *easy, CURLoption option, size_t (*callback)(char *, size_t, size_t, void *));

/// Opens the connections with SOCK_CLOEXEC, which libcurl does not: no program started by the process may inherit them.
CURLcode ccurl_set_close_on_exec(CURL *easy);

CURLcode ccurl_get_long(CURL *easy, CURLINFO info, long *value);
CURLcode ccurl_get_size(CURL *easy, CURLINFO info, curl_off_t *value);
/// CURLINFO_PRIVATE.
CURLcode ccurl_get_pointer(CURL *easy, CURLINFO info, void **value);

CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value);
CURLMcode ccurl_multi_set_socket_callback(CURLM *multi, curl_socket_callback callback, void *context);
CURLMcode ccurl_multi_set_timer_callback(CURLM *multi, curl_multi_timer_callback callback, void *context);

/// The result of a message of curl_multi_info_read, which is a union.
CURLcode ccurl_message_result(const CURLMsg *message);
#endif
