"""Makes errors of one kind, many times, and prints "done".

errors.py origin PORT              a server that fails as the path of a request asks
errors.py http1|http2|cancelled|origins|dns|metrics ADDRESS PORT
errors.py api SOCKET
"""
import socket
import struct
import sys
import threading

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
RESET = struct.pack("ii", 1, 0)


def frame(kind, flags, stream, payload=b"", length=None):
    size = len(payload) if length is None else length
    return struct.pack("!I", size)[1:] + bytes([kind, flags]) + struct.pack("!I", stream) + payload


HEADERS = bytes([0x83, 0x86, 0x84, 0x41, 1]) + b"h"
SETTINGS = frame(4, 0, 0)
OPEN = PREFACE + SETTINGS + frame(1, 4, 1, HEADERS)

BAD_FRAMES = [
    PREFACE + frame(4, 0, 0, b"12345"),
    PREFACE + frame(4, 0, 1, b""),
    PREFACE + frame(4, 1, 0, b"123456"),
    PREFACE + frame(0, 0, 1, b"data of no stream"),
    PREFACE + SETTINGS + frame(1, 4, 2, HEADERS),
    PREFACE + SETTINGS + frame(1, 4, 1, b"\xff\xff\xff\xff\xff\xff"),
    PREFACE + SETTINGS + frame(1, 4, 1, b"\x40\x03a b\x01c" + HEADERS),
    PREFACE + SETTINGS + frame(6, 0, 0, b"123"),
    PREFACE + SETTINGS + frame(8, 0, 0, b"\0\0\0\0"),
    PREFACE + SETTINGS + frame(9, 4, 1, HEADERS),
    PREFACE + SETTINGS + frame(5, 4, 1, b"\0\0\0\2" + HEADERS),
    PREFACE + SETTINGS + frame(0, 0, 1, b"", 1 << 23),
    OPEN + frame(8, 0, 1, b"\0\0\0\0"),
    OPEN + frame(8, 0, 1, b"\x7f\xff\xff\xff"),
    OPEN + frame(2, 0, 1, b"\0\0\0\1\0"),
    OPEN + frame(3, 0, 5, b"\0\0\0\0"),
    OPEN + frame(0, 8, 1, b"\xff"),
    OPEN + frame(3, 0, 1, b"\0\0\0\0") + frame(0, 0, 1, b"late") + frame(1, 5, 1, HEADERS),
    OPEN + frame(77, 0, 1, b"of no kind"),
    OPEN + frame(7, 0, 0, b"\0\0\0\0\0\0\0\1bye"),
    b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n",
]

BAD_REQUESTS = [
    b"\0\1\2\3\4\r\n\r\n",
    b"GET / HTTP/9.9\r\nHost: a\r\n\r\n",
    b"GET\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nbad header\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 100000 + b"\r\n\r\n",
    b"GET /" + b"x" * 100000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\nContent-Length: 8\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\nabc",
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf",
    b"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nHTTP2-Settings: !!\r\nConnection: Upgrade, HTTP2-Settings\r\n\r\n",
    b"CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
]

BAD_CALLS = BAD_REQUESTS + [
    b"GET /map/ipcache4 HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /nothing%zz HTTP/1.1\r\nHost: a\r\n\r\n",
    b"PUT /policy HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n[{",
    b"PUT /policy HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd",
    b"GET /nothing?%00 HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n",
]

QUESTION = b"\x12\x34\1\0\0\1\0\0\0\0\0\0\3www\7example\3com\0\0\1\0\1"
BAD_QUESTIONS = [
    b"", b"\0", b"\xff" * 11, b"\xff" * 12, b"\0" * 12, b"\xff" * 512,
    QUESTION, QUESTION[:-1], QUESTION[:20],
    b"\x12\x34\x81\x80\0\1\0\1\0\0\0\0" + QUESTION[12:] + b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4\1\2\3\4",
    b"\x12\x34\1\0\0\1\0\0\0\0\0\0\xc0\x0c\0\1\0\1",
    b"\x12\x34\1\0\0\2\0\0\0\0\0\0" + QUESTION[12:] * 2,
    b"\x12\x34\x28\0\0\1\0\0\0\0\0\0" + QUESTION[12:],
]


def connect(target):
    if len(target) == 1:
        peer = socket.socket(socket.AF_UNIX)
        peer.settimeout(5)
        peer.connect(target[0])
        return peer
    return socket.create_connection(target, timeout=5)


def send(target, data, end):
    """Ends the connection by a reset, at once, after the answer's begin or after a half close."""
    try:
        with connect(target) as peer:
            peer.sendall(data)
            if end == 1:
                peer.settimeout(0.05)
                peer.recv(4096)
            elif end == 2:
                peer.shutdown(socket.SHUT_WR)
                peer.settimeout(0.05)
                peer.recv(4096)
            if end == 0 and len(target) > 1:
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    except OSError:
        pass


def all_of(target, kinds, rounds):
    for i in range(rounds):
        threads = [threading.Thread(target=send, args=(target, data, i % 3)) for data in kinds]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def cancelled(target):
    for _ in range(25):
        data = PREFACE + SETTINGS
        for stream in range(1, 41, 2):
            data += frame(1, 4, stream, HEADERS) + frame(3, 0, stream, b"\0\0\0\x08")
            data += frame(0, 0, stream, b"\0\0\0\0\5hello") * 40
        send(target, data, 1)


def origins(target):
    paths = [b"reset", b"garbage", b"half", b"length", b"chunk", b"close", b"headers"]
    all_of(
        target,
        [b"GET /" + path + b" HTTP/1.1\r\nHost: a\r\n\r\n" for path in paths]
        + [PREFACE + SETTINGS + frame(1, 5, 1, bytes([0x82, 0x86, 0x04, len(path) + 1]) + b"/" + path
                                      + b"\x41\1h") for path in paths],
        20)


def dns(target):
    family = socket.AF_INET6 if ":" in target[0] else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sender:
        for i in range(100):
            for question in BAD_QUESTIONS:
                try:
                    sender.sendto(question, target)
                except OSError:
                    pass
    streams = [struct.pack("!H", len(question)) + question for question in BAD_QUESTIONS]
    all_of(target, streams + [b"\0", b"\xff\xff" + b"x" * 100, b"\0\0" * 50], 6)


def fail(peer):
    try:
        path = peer.recv(65536).split(b" ", 2)[1][1:]
        ok = b"HTTP/1.1 200 OK\r\n"
        answers = {
            b"garbage": b"\0\1\2\3 nonsense\r\n\r\n",
            b"half": ok + b"Content-Le",
            b"length": ok + b"Content-Length: 100\r\n\r\nshort",
            b"chunk": ok + b"Transfer-Encoding: chunked\r\n\r\nZZZ\r\n",
            b"headers": ok + b"X: " + b"x" * 300000 + b"\r\n\r\n",
        }
        peer.sendall(answers.get(path, b""))
        if path == b"reset":
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    except (OSError, IndexError):
        pass
    finally:
        peer.close()


def serve(port):
    server = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=512)
    while True:
        threading.Thread(target=fail, args=(server.accept()[0],), daemon=True).start()


kind = sys.argv[1]
if kind == "origin":
    serve(int(sys.argv[2]))
if kind == "api":
    all_of((sys.argv[2],), BAD_CALLS, 30)
else:
    peer = (sys.argv[2], int(sys.argv[3]))
    {
        "http1": lambda: all_of(peer, BAD_REQUESTS, 20),
        "http2": lambda: all_of(peer, BAD_FRAMES, 20),
        "metrics": lambda: all_of(peer, BAD_REQUESTS, 20),
        "cancelled": lambda: cancelled(peer),
        "origins": lambda: origins(peer),
        "dns": lambda: dns(peer),
    }[kind]()
print("done")
