#define _POSIX_C_SOURCE 200809L
#include "credentials.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool load(const char *path, char user[LINE], char password[LINE]) {
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    if (!fgets(user, LINE, file) || !fgets(password, LINE, file))
        quit(path, "it has no user and password; delete it to register again");
    user[strcspn(user, "\n")] = password[strcspn(password, "\n")] = '\0';
    fclose(file);
    return true;
}

/* The server sends the same credentials again until their first use, so nothing is lost before the file is complete. */
static void store(const char *path, const char *user, const char *password) {
    char new[LINE];
    print(new, sizeof new, "%s.new", path);
    unlink(new);
    int descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
    if (descriptor < 0 || dprintf(descriptor, "%s\n%s\n", user, password) < 0 || fsync(descriptor) || close(descriptor) ||
        rename(new, path))
        quit(path, "it cannot be written");
}

/* Requests credentials with the bootstrap user, until a user has accepted the device. */
static void register_device(const char *url, const char *serial, char user[LINE], char password[LINE]) {
    const char *name = getenv("PLATFORM_BOOTSTRAP_USER"), *secret = getenv("PLATFORM_BOOTSTRAP_PASSWORD");
    if (!secret)
        quit("PLATFORM_BOOTSTRAP_PASSWORD", "it is not set");
    struct link *link = link_open(url, name ? name : "management/devicebootstrap", secret, NULL);
    char row[LINE], *fields[FIELDS];
    print(row, sizeof row, "61,%s", serial);
    for (;;) {
        char *lines = link_persist(link, row);
        int count = link_fields(&lines, fields);
        if (count >= 6 && !strcmp(fields[0], "70")) {
            print(user, LINE, "%s/%s", fields[3], fields[4]);
            print(password, LINE, "%s", fields[5]);
            return;
        }
        if (count < 3 || strcmp(fields[0], "50") || strcmp(fields[2], "404"))
            quit("the server responds to row 61 with", count ? fields[count - 1] : "nothing");
        printf("waiting until somebody registers and accepts %s\n", serial);
        nap(2 + 3.0 * rand() / RAND_MAX);
    }
}

void find_credentials(const char *path, const char *url, const char *serial, char user[LINE], char password[LINE]) {
    if (load(path, user, password))
        return;
    register_device(url, serial, user, password);
    store(path, user, password);
}
