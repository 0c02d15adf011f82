#!/usr/bin/env python3
"""A device agent: it registers, sends measurements, raises and clears an alarm, and executes operations."""

import argparse
import collections
import datetime
import json
import os
import random
import sys
import threading
import time
import urllib.parse

from connection import Backoff, Connection, Refused, Unavailable
from operations import Operations

HOT, COOL = 80.0, 70.0  # The alarm is raised above HOT and cleared below COOL.
KEPT = 10_000  # Measurements that wait while the server cannot be reached.
BATCH = 500


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")


def register(url, device):
    """Request credentials with the bootstrap user, until a user has accepted the device."""
    user = os.environ.get("PLATFORM_BOOTSTRAP_USER", "management/devicebootstrap")
    connection = Connection(url, user, os.environ["PLATFORM_BOOTSTRAP_PASSWORD"])
    while True:
        try:
            given = connection.persist("POST", "/devicecontrol/deviceCredentials", {"id": device})
            return {"user": f"{given['tenantId']}/{given['username']}", "password": given["password"]}
        except Refused as refused:
            if refused.status != 404:
                raise
        print(f"waiting until somebody registers and accepts {device}", flush=True)
        time.sleep(random.uniform(2, 5))


def credentials(path, url, device):
    """Return the stored credentials; at the first start, register and store them."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        pass
    given = register(url, device)
    # The server sends the same credentials again until their first use, so nothing is lost before the file is complete.
    new = f"{path}.{os.getpid()}.new"
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump(given, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)
    return given


def find_or_create(connection, serial):
    """Return the id of the device's object, which is found by its serial number."""
    external = f"/identity/externalIds/plat_Serial/{urllib.parse.quote(serial, safe='')}"
    try:
        device = connection.persist("GET", external)["managedObject"]["id"]
    except Refused as refused:
        if refused.status != 404:
            raise
        body = {"name": serial, "type": "acme_PythonSample", "plat_IsDevice": {}, "com_platform_model_Agent": {}}
        device = connection.persist("POST", "/inventory/managedObjects", body)["id"]
        identity = {"type": "plat_Serial", "externalId": serial}
        connection.persist("POST", f"/identity/globalIds/{device}/externalIds", identity)
    # The description replaces that of an earlier version of this program, which may have supported other operations.
    described = {"plat_SupportedOperations": Operations.SUPPORTED, "plat_RequiredAvailability": {"responseInterval": 10}}
    connection.persist("PUT", f"/inventory/managedObjects/{device}", described)
    return device


class Sensor:
    """Reads the temperature and reports it. Unsent measurements are kept, so an outage leaves no gap."""

    def __init__(self, connection, device, path):
        self.connection, self.device, self.path = connection, device, path
        self.waiting = collections.deque(maxlen=KEPT)
        self.hot = False
        self.reported = None  # The last reported state of the alarm, which is unknown at the start.

    def read(self):
        with open(self.path, encoding="ascii") as file:
            celsius = int(file.read()) / 1000
        self.hot = celsius > (COOL if self.hot else HOT)
        series = {"T": {"value": celsius, "unit": "C"}}
        source = {"id": self.device}
        self.waiting.append({"type": "acme_Climate", "time": now(), "source": source, "acme_Climate": series})

    def report(self):
        while self.waiting:
            batch = [self.waiting[index] for index in range(min(BATCH, len(self.waiting)))]
            self.connection.send("POST", "/measurement/measurements", {"measurements": batch})
            for _ in batch:
                self.waiting.popleft()
        if self.reported != self.hot:
            (self.raise_alarm if self.hot else self.clear_alarm)()
            self.reported = self.hot

    def raise_alarm(self):
        # The server counts repetitions of an open alarm, so sending it twice does no harm.
        alarm = {"type": "acme_Hot", "text": f"Above {HOT} C", "severity": "MAJOR", "time": now()}
        self.connection.send("POST", "/alarm/alarms", {**alarm, "source": {"id": self.device}})

    def clear_alarm(self):
        query = f"/alarm/alarms?source={self.device}&type=acme_Hot&resolved=false"
        for alarm in self.connection.send("GET", query)["alarms"]:
            self.connection.send("PUT", f"/alarm/alarms/{alarm['id']}", {"status": "CLEARED"})

    def run(self, interval):
        backoff, pause_ends = Backoff(), 0.0
        while True:
            try:
                self.read()
            except (OSError, ValueError) as error:
                print(f"{self.path}: {error}", flush=True)
            if time.monotonic() >= pause_ends:
                try:
                    self.report()
                    backoff.reset()
                except Unavailable as failure:
                    pause_ends = time.monotonic() + backoff.next(failure)
                    print(f"{failure}; {len(self.waiting)} measurements wait", flush=True)
            time.sleep(interval)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True, help="address of the server: http://127.0.0.1:8080")
    parser.add_argument("--serial", required=True, help="serial number, by which the device is registered")
    parser.add_argument("--credentials", default="credentials.json", help="file of the device's own password")
    parser.add_argument("--sensor", default="/sys/class/thermal/thermal_zone0/temp", help="file with a temperature in 1/1000 C")
    parser.add_argument("--interval", type=float, default=10.0, help="seconds between measurements")
    arguments = parser.parse_args()

    given = credentials(arguments.credentials, arguments.url, arguments.serial)
    connect = lambda: Connection(arguments.url, given["user"], given["password"])
    connection = connect()
    device = find_or_create(connection, arguments.serial)
    print(f"{arguments.serial} is the object {device}", flush=True)
    # The end of one thread ends the program, and its supervisor starts it again.
    operations = threading.Thread(target=guarded(Operations(connect(), device).run), daemon=True)
    operations.start()
    Sensor(connection, device, arguments.sensor).run(arguments.interval)


def guarded(run):
    def runs():
        try:
            run()
        except BaseException as error:
            print(f"operations ended: {error!r}", file=sys.stderr, flush=True)
            os._exit(1)

    return runs


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
    except (Refused, KeyError, ValueError) as error:
        sys.exit(f"agent.py: {error}")
