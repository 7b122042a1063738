#!/usr/bin/env python3
"""Numbered records, written with fsync and compared afterwards: what a server has called stable must be there.

    records.py write FILE ACKNOWLEDGED [BATCH]   until SIGTERM; after each fsync the count of records
                                                 that are safe goes to ACKNOWLEDGED (`-`: standard
                                                 output, as "ACKNOWLEDGED FILE COUNT")
    records.py check FILE COUNT                  the first COUNT records are whole; exit status 1 if not
    records.py names DIRECTORY ACKNOWLEDGED      creates numbered files instead: over NFS a created name is
                                                 stable when the call returns, without fsync
    records.py check-names DIRECTORY COUNT

A batch of 1 to BATCH records (16) goes out between two fsyncs, so that data waits unstable in the server
for a while, as a write-back client's does. FILE may be a block device.
"""

import os
import random
import signal
import struct
import sys
import time
import zlib

SIZE = 1024
PAUSE_S = 0.02  # between batches, so that a fast machine does not fill a small volume
HEAD = struct.Struct("<8sQI")  # magic, number, CRC of what follows
MAGIC = b"PLIMSREC"


def record(number: int) -> bytes:
    body = random.Random(number).randbytes(64) * ((SIZE - HEAD.size) // 64 + 1)
    body = body[: SIZE - HEAD.size]
    return HEAD.pack(MAGIC, number, zlib.crc32(body)) + body


ended = False


def end(*_) -> None:
    global ended
    ended = True


def acknowledge(path: str, acknowledged: str, number: int) -> None:
    if acknowledged == "-":
        os.write(1, f"ACKNOWLEDGED {path} {number}\n".encode())  # one write: lines of several writers stay whole
        return
    with open(acknowledged + ".new", "w") as out:
        out.write(f"{number}\n")
    os.rename(acknowledged + ".new", acknowledged)


def write(path: str, acknowledged: str, batch: int) -> None:
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
        acknowledge(path, acknowledged, number)
        time.sleep(PAUSE_S)


def names(path: str, acknowledged: str) -> None:
    os.makedirs(path, exist_ok=True)
    number = 0
    while not ended:
        os.close(os.open(f"{path}/new", os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        os.rename(f"{path}/new", f"{path}/{number}")
        number += 1
        acknowledge(path, acknowledged, number)


def report(path: str, bad: list[int], count: int) -> int:
    if bad:
        print(f"{path}: {len(bad)} of {count} acknowledged are lost or wrong, the first is number {bad[0]}")
        return 1
    print(f"{path}: all {count} acknowledged are there")
    return 0


def check(path: str, count: int) -> int:
    with open(path, "rb") as file:
        return report(path, [n for n in range(count) if file.read(SIZE) != record(n)], count)


def check_names(path: str, count: int) -> int:
    present = set(os.listdir(path))
    return report(path, [n for n in range(count) if str(n) not in present], count)


signal.signal(signal.SIGTERM, end)
match sys.argv[1:]:
    case ["write", file, acknowledged, *batch]:
        write(file, acknowledged, int(batch[0]) if batch else 16)
    case ["check", file, count]:
        sys.exit(check(file, int(count)))
    case ["names", directory, acknowledged]:
        names(directory, acknowledged)
    case ["check-names", directory, count]:
        sys.exit(check_names(directory, int(count)))
    case _:
        sys.exit(__doc__)
