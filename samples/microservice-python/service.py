#!/usr/bin/env python3
"""A microservice: it counts the open alarms of the calling tenant, at /service/open-alarms/count."""

import base64
import http.server
import json
import os
import signal
import threading
import time
import urllib.error
import urllib.request

SEVERITIES = ("CRITICAL", "MAJOR", "MINOR", "WARNING")
FRESH = 60.0  # Seconds for which the list of service users is cached.
TIMEOUT = 10.0


class Unavailable(Exception):
    """The server cannot be reached or is overloaded; the caller may try again later."""


class Platform:
    """The server as seen by a microservice: its address and the bootstrap user come from the environment."""

    def __init__(self, environment):
        self.base = environment["PLAT_BASEURL"].rstrip("/")
        self.bootstrap = (
            f"{environment['PLAT_BOOTSTRAP_TENANT']}/{environment['PLAT_BOOTSTRAP_USER']}",
            environment["PLAT_BOOTSTRAP_PASSWORD"],
        )
        self.lock = threading.Lock()
        self.users, self.asked = {}, float("-inf")

    def get(self, user, path):
        credentials = base64.b64encode(":".join(user).encode()).decode()
        headers = {"Authorization": f"Basic {credentials}", "Accept": "application/json"}
        try:
            with urllib.request.urlopen(urllib.request.Request(self.base + path, headers=headers), timeout=TIMEOUT) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            if error.code == 429 or error.code >= 500:
                raise Unavailable(f"{path}: {error.code}") from error
            raise
        except (OSError, ValueError) as error:
            raise Unavailable(f"{path}: {error}") from error

    def user_of(self, tenant, fresh=False):
        """Return the service user in a tenant, None if the tenant does not subscribe."""
        with self.lock:
            age = time.monotonic() - self.asked
            # A tenant that has just subscribed is not known yet, but requests of unknown tenants must not each cause a
            # request to the server.
            if age > FRESH or (age > 1 and (fresh or tenant not in self.users)):
                subscribed = self.get(self.bootstrap, "/application/currentApplication/subscriptions")["users"]
                self.users = {user["tenant"]: (f"{user['tenant']}/{user['name']}", user["password"]) for user in subscribed}
                self.asked = time.monotonic()
            return self.users.get(tenant)

    def get_in(self, tenant, path):
        """Send a GET request as the service user of a tenant."""
        for fresh in (False, True):
            user = self.user_of(tenant, fresh)
            if user is None:
                raise LookupError(tenant)
            try:
                return self.get(user, path)
            except urllib.error.HTTPError as error:
                # A tenant that ends a subscription and subscribes again gives the user another password.
                if error.code != 401 or fresh:
                    raise
        raise AssertionError("the second attempt returns or raises")


def count(platform, tenant):
    """Return the number of open alarms of a tenant by severity."""
    counts = {}
    for severity in SEVERITIES:
        query = f"/alarm/alarms?resolved=false&severity={severity}&pageSize=1&withTotalPages=true"
        counts[severity] = platform.get_in(tenant, query)["statistics"]["totalPages"]
    return counts


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 75  # Seconds until an idle connection is closed.
    platform = None

    def do_GET(self):
        path = self.path.split("?")[0]
        if path == "/health":
            return self.answer(200, {"status": "UP"})
        if path != "/count":
            return self.answer(404, {"message": f"There is no {path}; there is /count"})
        # The server has authenticated the caller, and replaces headers of this name that a client sends.
        tenant = self.headers.get("X-Platform-Tenant", "")
        try:
            return self.answer(200, {"tenant": tenant, "open": count(self.platform, tenant)})
        except LookupError:
            return self.answer(403, {"message": f"The tenant {tenant} does not subscribe to this application"})
        except Unavailable as failure:
            self.log_error("%s", failure)
            return self.answer(503, {"message": "The platform cannot be reached"}, {"Retry-After": "2"})
        except Exception as error:
            self.log_error("%r", error)
            return self.answer(500, {"message": "The microservice failed; its log says why"})

    def answer(self, status, body, headers={}):
        content = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_request(self, code="-", size="-"):
        pass  # The server logs requests.


def main():
    Handler.platform = Platform(os.environ)
    # Every client that reaches this port can claim to be any tenant, so only the server may reach it.
    address = (os.environ.get("SERVER_HOST", "127.0.0.1"), int(os.environ.get("SERVER_PORT", "8000")))
    server = http.server.ThreadingHTTPServer(address, Handler)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    print(f"listening on http://{address[0]}:{server.server_address[1]}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
