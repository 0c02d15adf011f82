"""A client of aiocometd for the suite: it subscribes, and prints each message on the wire and each notification.

Standard input contains the options as one line of JSON; the client disconnects at its end.
"""

import asyncio
import json
import sys

from aiocometd_noloop import Client, ConnectionType, Extension
from aiocometd_noloop.exceptions import AiocometdException, TransportTimeoutError


def report(kind, message):
    print(json.dumps({kind: message}), flush=True)


class Watch(Extension):
    """Adds credentials and the wish of the first connect, and reports what is sent and received."""

    def __init__(self, options):
        self.options = options
        self.has_connected = False

    async def outgoing(self, payload, headers):
        # A client that wants replies sends this header; browsers do.
        headers["Accept"] = "application/json"
        # The library handshakes by POST, also when it continues over a WebSocket, whose head gets no headers.
        headers["Authorization"] = self.options["authorization"]
        for message in payload:
            if message["channel"] == "/meta/connect" and not self.has_connected:
                # The library subscribes when its first connect has got its response.
                message["advice"] = {"timeout": 0}
                self.has_connected = True
            report("outgoing", message)

    async def incoming(self, payload, headers=None):
        for message in payload:
            report("incoming", message)


async def receive(client):
    while True:
        try:
            report("notification", await client.receive())
        except TransportTimeoutError:
            # The library tells that the connection is lost, and tries again.
            pass
        except AiocometdException as error:
            report("error", repr(error))


async def main():
    options = json.loads(sys.stdin.readline())
    transport = {
        "long-polling": ConnectionType.LONG_POLLING,
        "websocket": ConnectionType.WEBSOCKET,
    }[options["transport"]]
    client = Client(options["url"], transport, extensions=[Watch(options)])
    await client.open()
    for channel in options["channels"]:
        await client.subscribe(channel)
    receiving = asyncio.create_task(receive(client))
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    receiving.cancel()
    await client.close()


asyncio.run(main())
