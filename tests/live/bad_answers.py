"""Ways in which an endpoint answers badly."""

import time

from tests.live.serving import Handler


def hang(handler: Handler) -> None:
    time.sleep(30)


def half(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    handler.wfile.write(b"sglang:num_running_reqs 3")
    handler.wfile.flush()
    handler.connection.close()


def huge(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(1 << 30))
    handler.end_headers()
    piece = b"x" * (1 << 20)
    for _ in range(1 << 10):
        handler.wfile.write(piece)


def away(handler: Handler) -> None:
    handler.send_response(302)
    handler.send_header("Location", "http://127.0.0.2:9/metrics")
    handler.end_headers()


def garbage(handler: Handler) -> None:
    handler.wfile.write(b"\x00\xff\x00 this is no HTTP \r\n\r\n")
    handler.connection.close()
