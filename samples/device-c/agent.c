/* A device agent that speaks the CSV protocol: it registers by row 61, registers its templates, sends measurements and
   an alarm by built-in rows, and holds a poll for operations (rows 80, 81 and 83). */
#define _POSIX_C_SOURCE 200809L
#include "credentials.h"
#include "link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { HOT = 80000, COOL = 70000 }; /* The alarm is raised above HOT and cleared below COOL. */
enum { WAITING = 64 * 1024 };       /* Bytes of rows that are kept while the server cannot be reached. */

enum { DONE = 256, ID = 24 };

/* The name of the set contains a version: an updated device registers another set, and older devices keep theirs.
   Lines 710 to 719 are operations of a poll, lines 720 to 729 the same of a list: a target, a restart, anything else. */
static const char X_ID[] = "acme_Heater_1";
static const char TEMPLATES[] =
    "10,700,GET,/identity/externalIds/plat_Serial/%%,,,%%,STRING\n"
    "11,701,,$.managedObject,$.managedObject.id\n"
    "10,702,GET,/devicecontrol/operations?deviceId=%%&status=%%&pageSize=100,,,%%,UNSIGNED STRING\n"
    "11,720,$.operations,$.acme_Target,$.id,$.acme_Target.celsius\n"
    "11,721,$.operations,$.plat_Restart,$.id\n"
    "11,729,$.operations,,$.id\n"
    "11,710,,$.acme_Target,$.id,$.acme_Target.celsius\n"
    "11,711,,$.plat_Restart,$.id\n"
    "11,719,,$.deviceId,$.id\n";

struct agent {
    const char *serial, *sensor;
    struct link *link;
    char **arguments;
    char device[LINE], client[LINE];
    char waiting[WAITING];
    char done[DONE][ID]; /* The last executed operations: one may arrive in the list and in a poll. */
    unsigned next_done;
    bool hot;
    int reported; /* The last reported state of the alarm: 1, 0, or -1 at the start. */
};

/* Describes the device, and reads the id of its object, which row 100 creates. */
static void describe(struct agent *agent) {
    char rows[LINE], *fields[FIELDS];
    char *lines = link_persist(agent->link, "");
    if (link_fields(&lines, fields) && !strcmp(fields[0], "40"))
        link_persist(agent->link, TEMPLATES);
    print(rows, sizeof rows, "100,%s,acme_CSample\n114,acme_Target,plat_Restart\n117,10\n700,%s\n", agent->serial,
             agent->serial);
    lines = link_persist(agent->link, rows);
    for (int count; (count = link_fields(&lines, fields));) {
        if (count >= 3 && !strcmp(fields[0], "701"))
            print(agent->device, sizeof agent->device, "%s", fields[2]);
        else if (strlen(fields[0]) == 2) /* Ids of errors have two digits. */
            fprintf(stderr, "agent: row %s: error %s: %s\n", fields[1], fields[0], fields[count - 1]);
    }
    if (!*agent->device)
        quit(agent->serial, "the server knows no such device");
    printf("%s is the object %s\n", agent->serial, agent->device);
}

/* Executes one operation. Its result is reported with its id, so the order of operations does not matter. */
static void carry_out(struct agent *agent, const char *kind, const char *id, const char *value) {
    char row[LINE];
    for (size_t index = 0; index < DONE; index++)
        if (!strcmp(agent->done[index], id))
            return;
    print(agent->done[agent->next_done++ % DONE], ID, "%s", id);
    print(row, sizeof row, "504,%s", id);
    link_persist(agent->link, row);
    if (kind[2] == '0' && value && atof(value) >= 5 && atof(value) <= 30) {
        printf("the target is %s C\n", value); /* A real device would set its heater here. */
        print(row, sizeof row, "506,%s", id);
    } else if (kind[2] == '0') {
        print(row, sizeof row, "505,%s,the target must be from 5 to 30 C", id);
    } else if (kind[2] == '1') {
        execv("/proc/self/exe", agent->arguments); /* The new process reports the end of this operation. */
        print(row, sizeof row, "505,%s,the agent cannot be started again", id);
    } else {
        print(row, sizeof row, "505,%s,supported are acme_Target and plat_Restart", id);
    }
    link_persist(agent->link, row);
    printf("operation %s ended\n", id);
}

/* Executes the operations in some lines. Of several lines about one operation, the first one determines its kind. */
static void carry_out_all(struct agent *agent, const char *text) {
    char *copy = strdup(text), *lines = copy, *fields[FIELDS];
    for (int count; lines && (count = link_fields(&lines, fields));)
        if (count >= 3 && strlen(fields[0]) == 3 && (fields[0][1] == '1' || fields[0][1] == '2'))
            carry_out(agent, fields[0], fields[2], count > 3 ? fields[3] : NULL);
    free(copy);
}

/* Ends the operation of an earlier run of this program: a restart has succeeded, any other has failed. */
static void finish_interrupted(struct agent *agent) {
    char row[LINE], last[LINE] = "", *fields[FIELDS];
    print(row, sizeof row, "702,%s,EXECUTING", agent->device);
    char *copy = strdup(link_persist(agent->link, row)), *lines = copy;
    while (lines && link_fields(&lines, fields) >= 3) {
        if (!strcmp(fields[2], last))
            continue;
        print(last, sizeof last, "%s", fields[2]);
        bool is_restart = !strcmp(fields[0], "721");
        print(row, sizeof row, is_restart ? "506,%s" : "505,%s,the agent was interrupted", last);
        link_persist(agent->link, row);
    }
    free(copy);
}

/* Opens a session if there is none, executes pending operations, and holds a poll. Returns false if the server cannot
   be reached. The subscription comes before the list, so each operation is in the list, in a poll, or both. */
static bool listen_for_operations(struct agent *agent) {
    static const char PATH[] = "/notification/operations";
    char rows[LINE], *lines, *fields[FIELDS];
    if (!*agent->client) {
        if (link_send(agent->link, PATH, "80", &lines) != ANSWERED || link_fields(&lines, fields) != 1)
            return false;
        print(agent->client, sizeof agent->client, "%s", fields[0]);
        print(rows, sizeof rows, "81,%s,/%s", agent->client, agent->device);
        if (link_send(agent->link, PATH, rows, &lines) != ANSWERED || link_fields(&lines, fields)) {
            *agent->client = '\0';
            return false;
        }
    }
    print(rows, sizeof rows, "702,%s,PENDING", agent->device);
    carry_out_all(agent, link_persist(agent->link, rows));
    print(rows, sizeof rows, "83,%s", agent->client);
    link_hold(agent->link, PATH, rows);
    return true;
}

/* Executes the operations of a poll, and follows its advice. Returns the pause before the next poll in seconds. */
static double obey(struct agent *agent, char *text) {
    char *copy = strdup(text), *lines = copy, *fields[FIELDS];
    double pause = 0;
    for (int count; lines && (count = link_fields(&lines, fields));) {
        if (strcmp(fields[0], "86"))
            continue;
        pause = count > 2 ? atof(fields[2]) / 1000 : 0;
        if (count > 3 && !strcmp(fields[3], "handshake"))
            *agent->client = '\0';
        if (count > 3 && !strcmp(fields[3], "none"))
            quit("the server wants no polls", text);
    }
    free(copy);
    carry_out_all(agent, text);
    return pause;
}

/* Reads the temperature into a row, which waits until it can be sent. */
static void measure(struct agent *agent) {
    char row[LINE], time_of_row[32];
    long value;
    FILE *file = fopen(agent->sensor, "r");
    bool is_read = file && fscanf(file, "%ld", &value) == 1;
    if (file)
        fclose(file);
    if (!is_read) {
        fprintf(stderr, "agent: %s cannot be read\n", agent->sensor);
        return;
    }
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    strftime(time_of_row, sizeof time_of_row, "%Y-%m-%dT%H:%M:%S", gmtime(&now.tv_sec));
    agent->hot = value > (agent->hot ? COOL : HOT);
    print(row, sizeof row, "200,acme_Climate,T,%.3f,C,%s.%03ldZ\n", value / 1000.0, time_of_row,
          now.tv_nsec / 1000000);
    size_t length = strlen(row), used = strlen(agent->waiting);
    while (used + length + 1 > WAITING) { /* The oldest row is dropped first. */
        char *second = strchr(agent->waiting, '\n') + 1;
        used -= (size_t)(second - agent->waiting);
        memmove(agent->waiting, second, used + 1);
    }
    memcpy(agent->waiting + used, row, length + 1);
}

/* Sends the waiting rows. The server counts repetitions of an open alarm, so sending it twice does no harm. */
static bool report(struct agent *agent) {
    char *lines, *fields[FIELDS];
    if (*agent->waiting) {
        if (link_send(agent->link, "/s", agent->waiting, &lines) != ANSWERED)
            return false;
        *agent->waiting = '\0';
        while (link_fields(&lines, fields))
            fprintf(stderr, "agent: row %s: error %s\n", fields[1], fields[0]);
    }
    if (agent->reported != agent->hot) {
        if (link_send(agent->link, "/s", agent->hot ? "302,acme_Hot,Above 80 C" : "306,acme_Hot", &lines) != ANSWERED)
            return false;
        agent->reported = agent->hot;
    }
    return true;
}

static double clock_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void run(struct agent *agent, double interval) {
    double measure_at = 0, report_at = 0, poll_at = 0;
    unsigned report_failures = 0, poll_failures = 0;
    bool held = false;
    for (;;) {
        double now = clock_now();
        if (now >= measure_at) {
            measure(agent);
            measure_at = now + interval;
            if (now >= report_at) {
                bool done = report(agent);
                report_at = done ? 0 : now + link_pause(agent->link, report_failures);
                report_failures = done ? 0 : report_failures + 1;
            }
        }
        if (!held && now >= poll_at) {
            held = listen_for_operations(agent);
            if (!held)
                poll_at = clock_now() + link_pause(agent->link, poll_failures++);
        }
        double wait = measure_at - clock_now(), until_poll = held ? wait : poll_at - clock_now();
        wait = until_poll < wait ? until_poll : wait;
        enum outcome outcome;
        char *lines;
        if (!held) {
            nap(wait > 0 ? wait : 0);
        } else if (link_wait(agent->link, wait > 0 ? wait : 0, &outcome, &lines)) {
            held = false;
            if (outcome == REFUSED)
                quit("operations", "the server refuses the poll");
            poll_at = clock_now();
            if (outcome == ANSWERED)
                poll_at += obey(agent, lines), poll_failures = 0;
            else
                poll_at += link_pause(agent->link, poll_failures++);
        }
    }
}

int main(int count, char **arguments) {
    static struct agent agent = {.reported = -1};
    char user[LINE], password[LINE];
    if (count != 6 || strpbrk(arguments[2], ",\"\n:")) {
        fprintf(stderr, "usage: agent URL SERIAL CREDENTIALS SENSOR SECONDS\n"
                        "SENSOR is a file with a temperature in 1/1000 C, such as /sys/class/thermal/thermal_zone0/temp\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    srand((unsigned)time(NULL) ^ (unsigned)getpid());
    agent.serial = arguments[2];
    agent.sensor = arguments[4];
    agent.arguments = arguments;
    find_credentials(arguments[3], arguments[1], agent.serial, user, password);
    agent.link = link_open(arguments[1], user, password, X_ID);
    describe(&agent);
    finish_interrupted(&agent);
    run(&agent, atof(arguments[5]));
}
