/* The device's own user and password, in a file that only its owner can read. */
#ifndef CREDENTIALS_H
#define CREDENTIALS_H

#include "link.h"

/* Reads the stored credentials. At the first start it registers the device with the bootstrap user, whose password
   is in PLATFORM_BOOTSTRAP_PASSWORD, waits until somebody has accepted the device, and stores the credentials. */
void find_credentials(const char *path, const char *url, const char *serial, char user[LINE], char password[LINE]);

#endif
