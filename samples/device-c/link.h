/* Sends rows of CSV to the server and receives lines, over libcurl. One thread; besides, at most one held request. */
#ifndef LINK_H
#define LINK_H

#include <stdbool.h>
#include <stddef.h>

enum { LINE = 512, FIELDS = 8 };

/* The result of a request: lines, a failure that may be retried later, or a rejection that a retry does not change. */
enum outcome { ANSWERED, LATER, REFUSED };

struct link; /* A user at a server. */

struct link *link_open(const char *url, const char *user, const char *password, const char *x_id);

/* Sends rows to a path and waits for the lines of the response, which are valid until the next request. */
enum outcome link_send(struct link *link, const char *path, const char *rows, char **lines);

/* Sends rows to /s until the server responds, and returns the lines. */
char *link_persist(struct link *link, const char *rows);

/* Sends rows to which the server responds when it has operations, perhaps after an hour. */
void link_hold(struct link *link, const char *path, const char *rows);

/* Waits for the response, at most this long. Returns true when it has arrived, or when the request has failed. */
bool link_wait(struct link *link, double seconds, enum outcome *outcome, char **lines);

/* Pauses between attempts: they grow with each failure in a row, with a random part, so that a fleet does not
   return all at once. The server may request longer ones (Retry-After). Returns the next one in seconds. */
double link_pause(struct link *link, unsigned failures);

/* Takes the next line out of the text and splits it into fields. Returns their number, 0 at the end. */
int link_fields(char **text, char *fields[FIELDS]);

/* Prints the reason and ends the program. Its supervisor is expected to start it again. */
_Noreturn void quit(const char *what, const char *why);

void nap(double seconds);

/* Formats like snprintf, but a text that does not fit ends the program. */
void print(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
