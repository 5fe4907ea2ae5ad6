"""A real server process with an OpenAI-compatible endpoint for each mode, as /MODE/v1.

Mode `real` runs the starter model; `scripted` and `scriptedplain` say what POST /script gave them, in order; the others
misbehave in one way each. Run: python openai_server.py
It prints its port. GET /disconnects says how many streams their clients closed early, GET /requests how many completions
have been asked for, GET /script how many replies are left.
"""

from __future__ import annotations

import json
import re
import socket
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any, ClassVar

WORDS = ["Paris", " is", " the", " capital", "."]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disconnects = 0
    requests = 0
    trapped = 0
    backbone: Any = None
    script: ClassVar[list[dict[str, Any]]] = []
    lock = Lock()

    def log_message(self, *_: Any) -> None:
        pass

    def _json(self, status: int, body: Any, headers: tuple[tuple[str, str], ...] = ()) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in (("Content-Type", "application/json"), *headers):
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        mode, _, rest = self.path.partition("?")[0].lstrip("/").partition("/")
        if mode == "disconnects":
            self._json(200, Handler.disconnects)
        elif mode == "requests":
            self._json(200, Handler.requests)
        elif mode == "script":
            self._json(200, len(Handler.script))
        elif mode == "trapped":
            self._json(200, Handler.trapped)
        elif mode == "trap":
            self._trap()
        elif mode == "driplist":
            self._drip()
        elif mode == "unauthorised" and self.headers.get("Authorization") != "Bearer secret":
            self._json(401, {"error": {"message": "Incorrect API key"}})
        elif mode == "away":
            self._json(307, {}, (("Location", "http://example.invalid/v1/models"),))
        elif mode == "nolist":
            self._json(404, {"error": "no such page"})
        elif mode == "html":
            self._json(200, b"<html>hello</html>")
        elif mode == "empty":
            self._json(200, {"data": []})
        elif rest == "v1/models":
            self._json(200, {"object": "list", "data": [{"id": "tiny"}, {"id": "other", "max_model_len": 1234}]})
        elif rest == "props" and mode == "real":
            self._json(200, {"default_generation_settings": {"n_ctx": 1024}})
        else:
            self._json(404, {"error": {"message": "File Not Found", "code": 404}})

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        mode = self.path.split("/")[1]
        if mode == "script":
            with Handler.lock:
                Handler.script = list(request)
            self._json(200, len(Handler.script))
            return
        with Handler.lock:
            Handler.requests += 1
        try:
            getattr(self, f"mode_{mode}")(request)
        except (BrokenPipeError, ConnectionResetError):
            with Handler.lock:
                Handler.disconnects += 1
            self.close_connection = True

    def _start(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def _send(self, data: bytes) -> None:
        self.wfile.write(data)
        self.wfile.flush()

    def _event(self, event: Any) -> None:
        self._send(b"data: " + json.dumps(event).encode() + b"\n\n")

    def _piece(self, text: str, finish: str | None = None, logprobs: Any = None) -> None:
        delta = {"content": text} if text else {}
        self._event({"choices": [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": logprobs}]})

    def _words(self, words: list[str]) -> None:
        self._start()
        self._event({"choices": [{"index": 0, "delta": {"role": "assistant", "content": None}}]})
        for word in words:
            self._piece(word)

    def mode_real(self, request: dict[str, Any]) -> None:
        from atomr_local.errors import ModelError
        from atomr_local.models.catalog.find import starter_model_path
        from atomr_local.models.llama import LlamaBackbone, RunOptions
        from atomr_local.models.protocol import GenerationRequest, Grammar, Message, Prompt

        with Handler.lock:
            if Handler.backbone is None:
                Handler.backbone = LlamaBackbone.load(starter_model_path(), None, RunOptions(context_tokens=1024))
        messages = tuple(Message(turn["role"], turn["content"]) for turn in request["messages"])
        try:
            completion = Handler.backbone.generate(
                GenerationRequest(
                    Prompt((), messages),
                    max_tokens=request["max_tokens"],
                    output=Grammar(request["grammar"]) if "grammar" in request else None,
                    stop=tuple(request.get("stop", ())),
                    temperature=request["temperature"],
                    seed=request["seed"],
                )
            )
        except ModelError as error:
            self._json(400, {"error": {"message": str(error)}})
            return
        self._start()
        self._send(b": a comment\r\n\r\n")
        for token in completion.tokens:
            entry = {"token": token.text, "logprob": token.logprob, "bytes": None, "top_logprobs": []}
            self._piece(token.text, logprobs={"content": [entry]})
        self._piece("", completion.finish)
        usage = {"prompt_tokens": completion.prompt_tokens, "completion_tokens": len(completion.tokens)}
        cached = completion.prompt_tokens - completion.evaluated_tokens
        self._event({"choices": [], "usage": {**usage, "prompt_tokens_details": {"cached_tokens": cached}}})
        self._send(b"data: [DONE]\n\n")

    def mode_scripted(self, request: dict[str, Any]) -> None:
        """The next {"text", "logprob"} of the script, a word a token, with log-probabilities."""
        with Handler.lock:
            said = Handler.script.pop(0)
        self._start()
        for word in re.findall(r"\s*\S+\s*$|\s*\S+", said["text"]):
            entry = {"token": word, "logprob": said["logprob"], "bytes": None, "top_logprobs": []}
            self._piece(word, logprobs={"content": [entry]})
        self._piece("", "stop")

    def mode_scriptedplain(self, request: dict[str, Any]) -> None:
        """The next text of the script; knows neither grammars nor log-probabilities."""
        if "grammar" in request:
            self._json(400, {"error": {"message": "unrecognised argument: grammar"}})
            return
        with Handler.lock:
            said = Handler.script.pop(0)
        self._words([said["text"]])
        self._piece("", "stop")

    def _trap(self) -> None:
        with Handler.lock:
            Handler.trapped += 1
        self._json(200, {"data": [{"id": "trap"}]})

    def _drip(self) -> None:
        """A byte at a time, for ever."""
        self._start()
        while True:
            self._send(b"d")
            time.sleep(0.01)

    def _sent(self) -> dict[str, Any]:
        """All that a client has told of itself."""
        return {"path": self.path, "headers": [f"{name}: {value}" for name, value in self.headers.items()]}

    def mode_drip(self, request: dict[str, Any]) -> None:
        self._drip()

    def mode_driphead(self, request: dict[str, Any]) -> None:
        self._send(b"HTTP/1.1 200 OK\r\nX-Drip: ")
        while True:
            self._send(b"d")
            time.sleep(0.01)

    def mode_alive(self, request: dict[str, Any]) -> None:
        """Keeps the connection alive with comments, as some proxies do."""
        self._start()
        while True:
            self._send(b": alive\n\n")
            time.sleep(0.01)

    def mode_trap(self, request: dict[str, Any]) -> None:
        self._trap()

    def mode_elsewhere(self, request: dict[str, Any]) -> None:
        """Redirects to another host, which is this one by another name."""
        port = self.server.server_address[1]  # type: ignore[index]
        self._json(307, self._sent(), (("Location", f"http://localhost:{port}/trap/v1/chat/completions"),))

    def mode_echo401(self, request: dict[str, Any]) -> None:
        self._json(401, {"error": {"message": f"Incorrect API key {self._sent()}"}})

    def mode_echo500(self, request: dict[str, Any]) -> None:
        self._json(500, {"error": {"message": json.dumps(self._sent())}})

    def mode_echotext(self, request: dict[str, Any]) -> None:
        self._json(503, f"<html>{'x' * 250}{self._sent()}</html>".encode())

    def mode_echostream(self, request: dict[str, Any]) -> None:
        self._words(WORDS[:1])
        self._event({"error": {"message": f"crashed on {self._sent()}"}})

    def mode_echoanswer(self, request: dict[str, Any]) -> None:
        """Writes what it was told as its answer, some characters at a time."""
        told = " ".join([str(self.headers["Authorization"]), self.path, *self.headers.values()])
        self._words([told[at : at + 7] for at in range(0, len(told), 7)])
        self._piece("", "stop")

    def mode_echoprotocol(self, request: dict[str, Any]) -> None:
        self._send(f"HTTP/9 {self.path} {self.headers['Authorization']}\r\n\r\n".encode())
        self.close_connection = True

    def mode_unauthorised(self, request: dict[str, Any]) -> None:
        if self.headers.get("Authorization") != "Bearer secret":
            self._json(401, {"error": {"message": "Incorrect API key"}})
        else:
            self.mode_plain(request)

    def mode_plain(self, request: dict[str, Any]) -> None:
        """No log-probabilities, no usage, no [DONE]."""
        self._words(WORDS)
        self._piece("", "stop")

    mode_nolist = mode_plain

    def mode_picky(self, request: dict[str, Any]) -> None:
        """Knows nothing optional and does not say what it refuses."""
        unknown = {"grammar", "logprobs", "stream_options"} & set(request)
        if unknown:
            self._json(422, {"detail": "extra fields not permitted"})
        else:
            self.mode_plain(request)

    def mode_nogrammar(self, request: dict[str, Any]) -> None:
        if "grammar" in request:
            self._json(400, {"error": {"message": "unrecognised argument: grammar"}})
        else:
            self.mode_plain(request)

    def mode_schema(self, request: dict[str, Any]) -> None:
        """Knows JSON schemas instead of grammars."""
        if "grammar" in request:
            self._json(400, {"error": {"message": "unrecognised argument: grammar"}})
            return
        schema = request["response_format"]["json_schema"]["schema"]
        self._words([json.dumps(dict.fromkeys(schema["required"], "Paris"))])
        self._send(b"data: [DONE]\n\n")

    def mode_toolong(self, request: dict[str, Any]) -> None:
        self._json(400, {"error": {"message": "maximum context length is 2048 tokens \x1b[31m"}})

    def mode_busy(self, request: dict[str, Any]) -> None:
        self._json(429, {"error": {"message": "slow down"}}, (("Retry-After", "1"),))

    def mode_unknown(self, request: dict[str, Any]) -> None:
        self._json(404, {"error": {"message": f"model {request['model']} not found"}})

    def mode_away2(self, request: dict[str, Any]) -> None:
        self._json(307, {}, (("Location", "http://example.invalid/v1/chat/completions"),))

    def mode_cut(self, request: dict[str, Any]) -> None:
        self._words(WORDS[:2])

    def mode_cutchunked(self, request: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self._send(b"ff\r\ndata: {")
        self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True

    def mode_garbage(self, request: dict[str, Any]) -> None:
        self._start()
        self._send(b"data: {not json\n\n")

    def mode_shape(self, request: dict[str, Any]) -> None:
        self._start()
        self._event({"choices": [{"delta": {"content": ["a"]}}]})

    def mode_deep(self, request: dict[str, Any]) -> None:
        self._start()
        self._send(b"data: " + b"[" * 200_000 + b"\n\n")

    def mode_error(self, request: dict[str, Any]) -> None:
        self._words(WORDS[:1])
        self._event({"error": {"message": "the model has crashed"}})

    def mode_json(self, request: dict[str, Any]) -> None:
        self._json(200, {"choices": [{"message": {"content": "Paris"}}]})

    def mode_hugeline(self, request: dict[str, Any]) -> None:
        self._start()
        while True:
            self._send(b"data: " + b"x" * (1 << 16))

    def mode_endless(self, request: dict[str, Any]) -> None:
        """Takes no notice of max_tokens."""
        self._start()
        while True:
            self._piece("word ")

    def mode_silent(self, request: dict[str, Any]) -> None:
        """Never answers, as while a long prompt is read."""
        while self.connection.recv(1, socket.MSG_PEEK):
            time.sleep(0.02)
        raise BrokenPipeError

    def mode_slow(self, request: dict[str, Any]) -> None:
        self._start()
        while True:
            self._piece("word ")
            time.sleep(0.05)


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    server.serve_forever()
