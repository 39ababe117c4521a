"""A gRPC server and a client of it, which send octets back and forth.

grpc_echo.py server PORT
grpc_echo.py client ADDRESS:PORT METHOD...   prints the status code and the octets of each call
"""
import sys
from concurrent import futures

import grpc


class Echo(grpc.GenericRpcHandler):
    def service(self, details):
        if details.method.endswith("/Stream"):
            return grpc.stream_stream_rpc_method_handler(lambda messages, _: messages)
        return grpc.unary_unary_rpc_method_handler(lambda message, _: message)


def serve(port):
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
    server.add_generic_rpc_handlers((Echo(),))
    if not server.add_insecure_port("[::]:" + port):
        sys.exit("the port is taken")
    server.start()
    server.wait_for_termination()


def call(channel, method):
    try:
        if method.endswith("/Stream"):
            messages = [b"x" * 20000] * 50
            answers = channel.stream_stream(method)(iter(messages), timeout=8)
            return "OK", sum(len(answer) for answer in answers)
        return "OK", len(channel.unary_unary(method)(b"hello", timeout=8))
    except grpc.RpcError as error:
        return error.code().name, 0


if sys.argv[1] == "server":
    serve(sys.argv[2])
else:
    with grpc.insecure_channel(sys.argv[2]) as channel:
        for method in sys.argv[3:]:
            print(method, *call(channel, method), flush=True)
