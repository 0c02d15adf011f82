"""The device's operations: a long poll waits for them, and each is executed and reported by its status."""

import collections
import os
import sys
import time

from connection import Backoff, Refused, Unavailable

ENDPOINT = "/notification/operations"
HELD = 300  # The requested seconds to hold a poll. Routers drop connections that are silent for longer.


class SessionEnded(Exception):
    """The server no longer knows the session."""


class Operations:
    SUPPORTED = ["plat_Restart", "plat_Command"]

    def __init__(self, connection, device):
        self.connection, self.device = connection, device
        self.client, self.batch = None, -1
        self.seen = collections.deque(maxlen=10_000)
        self.advice = {}

    def run(self):
        self.finish_interrupted()
        backoff = Backoff()
        while True:
            try:
                if self.client is None:
                    self.open()
                self.poll()
                backoff.reset()
            except SessionEnded as ended:
                self.client = None
                print(f"{ended}; a new session is opened", flush=True)
                time.sleep(backoff.next(ended))
            except Unavailable as failure:
                # The session still exists if the server is back soon; it also survives a restart of the server.
                time.sleep(backoff.next(failure))
            # The server advises the pause before the next poll, usually zero.
            time.sleep(self.advice.get("interval", 0) / 1000)

    def open(self):
        self.batch, self.advice = -1, {}
        hello = {"channel": "/meta/handshake", "version": "1.0", "supportedConnectionTypes": ["long-polling"]}
        # With acknowledgements the server repeats notifications that it wrote to a broken connection.
        self.client = self.exchange({**hello, "ext": {"ack": True}})[-1]["clientId"]
        try:
            self.exchange({"channel": "/meta/subscribe", "clientId": self.client, "subscription": f"/{self.device}"})
            # The subscription comes before the list, so each operation is in the list, or arrives as a notification, or
            # both.
            for operation in self.listed("PENDING"):
                self.carry_out(operation)
        except Unavailable:
            self.client = None
            raise

    def poll(self):
        connect = {"channel": "/meta/connect", "clientId": self.client, "connectionType": "long-polling"}
        connect |= {"advice": {"timeout": HELD * 1000}, "ext": {"ack": self.batch}}
        messages = self.exchange(connect, timeout=HELD + 30)
        self.batch = messages[-1].get("ext", {}).get("ack", self.batch)
        for message in messages:
            if "data" in message:
                self.carry_out(message["data"])

    def exchange(self, message, timeout=30):
        """Send a message, and return the received messages. The reply is the last one."""
        messages = self.connection.send("POST", ENDPOINT, [message], timeout)
        reply = messages[-1]
        self.advice = {**self.advice, **reply.get("advice", {})}
        if reply["successful"]:
            return messages
        if self.advice.pop("reconnect", "handshake") == "none":
            raise Refused(403, reply.get("error", ""))
        raise SessionEnded(reply.get("error", "no reason given"))

    def listed(self, status):
        path = f"/devicecontrol/operations?agentId={self.device}&status={status}&pageSize=500"
        return self.connection.send("GET", path)["operations"]

    def finish_interrupted(self):
        """End the operation of an earlier run of this program: a restart has succeeded, any other has failed."""
        try:
            for operation in self.listed("EXECUTING"):
                succeeded = "plat_Restart" in operation
                self.report(operation, "SUCCESSFUL" if succeeded else "FAILED", "the agent was interrupted")
        except Unavailable as failure:
            # The next start ends it.
            print(failure, flush=True)

    def report(self, operation, status, why="", **members):
        body = {"status": status, **members, **({"failureReason": why} if status == "FAILED" else {})}
        self.connection.persist("PUT", f"/devicecontrol/operations/{operation['id']}", body)
        print(f"operation {operation['id']} is {status}", flush=True)

    def carry_out(self, operation):
        if operation["id"] in self.seen:
            return
        self.seen.append(operation["id"])
        try:
            self.report(operation, "EXECUTING")
            if "plat_Restart" in operation:
                os.execv(sys.executable, [sys.executable, *sys.argv])
            elif "plat_Command" in operation:
                result = command(operation["plat_Command"].get("text", ""))
                self.report(operation, "SUCCESSFUL", plat_Command={**operation["plat_Command"], "result": result})
            else:
                self.report(operation, "FAILED", f"supported are {', '.join(self.SUPPORTED)}")
        except Refused as refused:
            # Somebody has ended or deleted the operation in the meantime.
            print(f"operation {operation['id']}: {refused}", flush=True)
        except Exception as error:
            self.report(operation, "FAILED", f"{type(error).__name__}: {error}")


def command(text):
    """Run one of the commands that the device knows. Other commands of a server are rejected."""
    if text == "uptime":
        with open("/proc/uptime", encoding="ascii") as file:
            return f"{float(file.read().split()[0]):.0f} s"
    if text == "version":
        return sys.version
    raise ValueError(f"{text!r} is not one of uptime, version")
