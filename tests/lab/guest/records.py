#!/usr/bin/env python3
"""Numbered records, written with fsync and compared afterwards: what a server has called stable must be there.

    records.py write FILE ACKNOWLEDGED [BATCH]   until SIGTERM; after each fsync the count of records
                                                 that are safe goes to ACKNOWLEDGED (`-`: standard
                                                 output, as "ACKNOWLEDGED FILE COUNT")
    records.py check FILE COUNT                  the first COUNT records are whole; exit status 1 if not

A batch of 1 to BATCH records (16) goes out between two fsyncs, so that data waits unstable in the server
for a while, as a write-back client's does. FILE may be a block device.
"""

import os
import random
import signal
import struct
import sys
import zlib

SIZE = 4096
HEAD = struct.Struct("<8sQI")  # magic, number, CRC of what follows
MAGIC = b"PLIMSREC"


def record(number: int) -> bytes:
    body = random.Random(number).randbytes(64) * ((SIZE - HEAD.size) // 64 + 1)
    body = body[: SIZE - HEAD.size]
    return HEAD.pack(MAGIC, number, zlib.crc32(body)) + body


def write(path: str, acknowledged: str, batch: int) -> None:
    ended = False

    def end(*_):
        nonlocal ended
        ended = True

    signal.signal(signal.SIGTERM, end)
    lengths = random.Random(path)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    room = os.lseek(descriptor, 0, os.SEEK_END) // SIZE  # of a block device; a file grows
    os.lseek(descriptor, 0, os.SEEK_SET)
    number = 0
    while not ended:
        count = lengths.randint(1, batch)
        if room and number + count > room:
            break
        for _ in range(count):
            view = memoryview(record(number))
            while view:
                view = view[os.write(descriptor, view) :]
            number += 1
        os.fsync(descriptor)
        if acknowledged == "-":
            print(f"ACKNOWLEDGED {path} {number}", flush=True)
        else:
            with open(acknowledged + ".new", "w") as out:
                out.write(f"{number}\n")
            os.rename(acknowledged + ".new", acknowledged)


def check(path: str, count: int) -> int:
    bad = []
    with open(path, "rb") as file:
        for number in range(count):
            if file.read(SIZE) != record(number):
                bad.append(number)
    if bad:
        print(f"{path}: {len(bad)} of {count} acknowledged records are lost or wrong, the first is {bad[0]}")
        return 1
    print(f"{path}: all {count} acknowledged records are there")
    return 0


if sys.argv[1] == "write":
    write(sys.argv[2], sys.argv[3], int(sys.argv[4]) if len(sys.argv) > 4 else 16)
else:
    sys.exit(check(sys.argv[2], int(sys.argv[3])))
