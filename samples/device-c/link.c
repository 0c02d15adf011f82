#define _POSIX_C_SOURCE 200809L
#include "link.h"

#include <curl/curl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RESPONSE = 1 << 20 };
enum { CONNECT_SECONDS = 10, REQUEST_SECONDS = 60 };

struct request {
    CURL *curl;
    char url[LINE];
    char *rows; /* A copy, because a held request outlives its caller's text. */
    char *text;
    size_t length;
};

struct link {
    char base[LINE];
    struct curl_slist *headers;
    struct request now, held;
    CURLM *multi;
    long retry_after;
};

void quit(const char *what, const char *why) {
    fprintf(stderr, "agent: %s: %s\n", what, why);
    exit(1);
}

void nap(double seconds) {
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

void print(char *text, size_t size, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, size, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= size)
        quit(text, "the text is too long");
}

static size_t receive(char *bytes, size_t size, size_t count, void *user) {
    struct request *request = user;
    size_t more = size * count;
    if (request->length + more > RESPONSE)
        return 0; /* The response is too long; curl ends the transfer. */
    char *text = realloc(request->text, request->length + more + 1);
    if (!text)
        return 0;
    memcpy(text + request->length, bytes, more);
    request->text = text;
    request->length += more;
    text[request->length] = '\0';
    return more;
}

static void set_up(struct request *request, struct link *link, const char *user, const char *password) {
    CURL *curl = request->curl = curl_easy_init();
    if (!curl)
        quit("libcurl", "it cannot be used");
    curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
    curl_easy_setopt(curl, CURLOPT_USERNAME, user);
    curl_easy_setopt(curl, CURLOPT_PASSWORD, password);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, link->headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, request);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L); /* A held request is silent; this detects a lost peer. */
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
}

struct link *link_open(const char *url, const char *user, const char *password, const char *x_id) {
    struct link *link = calloc(1, sizeof *link);
    char header[LINE];
    if (!link || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK || !(link->multi = curl_multi_init()))
        quit("libcurl", "it cannot be used");
    print(link->base, sizeof link->base, "%s", url);
    link->headers = curl_slist_append(NULL, "Content-Type: text/csv");
    if (x_id) {
        print(header, sizeof header, "X-Id: %s", x_id);
        link->headers = curl_slist_append(link->headers, header);
    }
    set_up(&link->now, link, user, password);
    curl_easy_setopt(link->now.curl, CURLOPT_TIMEOUT, (long)REQUEST_SECONDS);
    set_up(&link->held, link, user, password);
    return link;
}

static void prepare(struct link *link, struct request *request, const char *path, const char *rows) {
    print(request->url, sizeof request->url, "%s%s", link->base, path);
    free(request->rows);
    if (!(request->rows = strdup(rows)))
        quit("agent", "out of memory");
    request->length = 0;
    curl_easy_setopt(request->curl, CURLOPT_URL, request->url);
    curl_easy_setopt(request->curl, CURLOPT_POSTFIELDS, request->rows);
}

static enum outcome judge(struct link *link, struct request *request, CURLcode code, char **lines) {
    static char nothing[] = "";
    long status = 0;
    curl_off_t after = 0;
    *lines = request->length ? request->text : nothing;
    link->retry_after = 0;
    if (code != CURLE_OK) {
        fprintf(stderr, "agent: %s: %s\n", request->url, curl_easy_strerror(code));
        return LATER;
    }
    curl_easy_getinfo(request->curl, CURLINFO_RESPONSE_CODE, &status);
    if (status == 200)
        return ANSWERED;
    fprintf(stderr, "agent: %s: status %ld\n", request->url, status);
    if (curl_easy_getinfo(request->curl, CURLINFO_RETRY_AFTER, &after) == CURLE_OK)
        link->retry_after = (long)after;
    return status == 429 || status >= 500 ? LATER : REFUSED;
}

enum outcome link_send(struct link *link, const char *path, const char *rows, char **lines) {
    prepare(link, &link->now, path, rows);
    return judge(link, &link->now, curl_easy_perform(link->now.curl), lines);
}

char *link_persist(struct link *link, const char *rows) {
    char *lines = NULL;
    for (unsigned failures = 0;; failures++) {
        enum outcome outcome = link_send(link, "/s", rows, &lines);
        if (outcome == ANSWERED)
            return lines;
        if (outcome == REFUSED)
            quit("the server refuses", rows);
        nap(link_pause(link, failures));
    }
}

void link_hold(struct link *link, const char *path, const char *rows) {
    prepare(link, &link->held, path, rows);
    curl_multi_add_handle(link->multi, link->held.curl);
}

bool link_wait(struct link *link, double seconds, enum outcome *outcome, char **lines) {
    int running = 0, left = 0;
    curl_multi_perform(link->multi, &running);
    CURLMsg *message = curl_multi_info_read(link->multi, &left);
    if (!message) {
        curl_multi_poll(link->multi, NULL, 0, (int)(seconds * 1000), NULL);
        curl_multi_perform(link->multi, &running);
        message = curl_multi_info_read(link->multi, &left);
    }
    if (!message || message->msg != CURLMSG_DONE)
        return false;
    CURLcode code = message->data.result;
    curl_multi_remove_handle(link->multi, link->held.curl);
    *outcome = judge(link, &link->held, code, lines);
    return true;
}

double link_pause(struct link *link, unsigned failures) {
    double most = 1u << (failures < 6 ? failures : 6); /* 1 s to 64 s */
    double pause = most * (0.5 + 0.5 * rand() / RAND_MAX);
    return link->retry_after > pause ? (double)link->retry_after : pause;
}

int link_fields(char **text, char *fields[FIELDS]) {
    char *from = *text + strspn(*text, " \r\n"); /* Spaces keep a held request alive; they precede its lines. */
    int count = 0;
    char end = ',';
    while (*from && end == ',' && count < FIELDS) {
        char *to = fields[count++] = from;
        bool quoted = *from == '"';
        from += quoted;
        while (*from && (quoted || !strchr(",\r\n", *from))) {
            if (quoted && *from == '"' && *++from != '"')
                quoted = false;
            else
                *to++ = *from++;
        }
        end = *from;
        *to = '\0';
        from += end != '\0';
    }
    if (end == ',') /* Further fields are ignored. */
        from += strcspn(from, "\n");
    *text = from;
    return count;
}
