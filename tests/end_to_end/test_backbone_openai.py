"""The endpoint backbone against real server processes: two that run the model, and ones that misbehave."""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator

import httpx
import pytest
from support.places import PYTHONPATH, TESTS

from atomr_local.errors import Cancelled, MissingPartError, ModelError
from atomr_local.models.catalog.find import starter_model_path
from atomr_local.models.llama import LlamaBackbone, RunOptions
from atomr_local.models.openai import OpenAIBackbone
from atomr_local.models.openai.backbone import DEFAULT_CONTEXT
from atomr_local.models.protocol import GenerationRequest, Grammar, JsonSchema, Message, Prompt
from atomr_local.system.cancellation import Cancellation

PROMPT = Prompt((Message("system", "You answer in a few words."),), (Message("user", "Is Paris in France?"),))
YES_NO = 'root ::= "yes" | "no"'


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": PYTHONPATH, "GOMP_SPINCOUNT": "1000"}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The base address of the test server, without a mode."""
    script = TESTS / "support" / "openai_server.py"
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=environment())
    assert process.stdout is not None
    yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    process.terminate()
    process.wait(120)
    process.stdout.close()


Connect = Callable[..., OpenAIBackbone]


@pytest.fixture
def connect(server: str) -> Iterator[Connect]:
    opened: list[OpenAIBackbone] = []

    def connect(mode: str, model: str = "tiny", api_key: str = "", timeout: float = 120.0) -> OpenAIBackbone:
        opened.append(OpenAIBackbone(f"{server}/{mode}/v1", model, api_key, timeout))
        return opened[-1]

    yield connect
    for backbone in opened:
        backbone.close()


def disconnects(server: str) -> int:
    with urllib.request.urlopen(f"{server}/disconnects") as answer:
        return int(json.load(answer))


def requests(server: str) -> int:
    """How many completions have been asked for."""
    with urllib.request.urlopen(f"{server}/requests") as answer:
        return int(json.load(answer))


@pytest.fixture(scope="module")
def local() -> Iterator[LlamaBackbone]:
    try:
        backbone = LlamaBackbone.load(starter_model_path(), None, RunOptions(context_tokens=1024))
    except MissingPartError as error:
        pytest.skip(f"no starter model: {error.message}")
    yield backbone
    backbone.close()


def test_the_same_model_gives_the_same_answer_here_and_there(connect: Connect, local: LlamaBackbone) -> None:
    remote = connect("real")
    assert remote.info.context_tokens == 1024
    prompt = Prompt((), PROMPT.messages)
    fragments: list[str] = []
    there = remote.generate(GenerationRequest(prompt, max_tokens=8, on_text=fragments.append))
    here = local.generate(GenerationRequest(prompt, max_tokens=8))
    assert there.text == here.text == "".join(fragments)
    assert there.tokens == here.tokens
    assert there.mean_probability == here.mean_probability
    assert (there.finish, there.prompt_tokens) == (here.finish, here.prompt_tokens)
    assert remote.unsupported == frozenset()
    assert remote.generate(GenerationRequest(prompt, max_tokens=8)).evaluated_tokens < there.prompt_tokens
    assert remote.generate(GenerationRequest(prompt, max_tokens=8, output=Grammar(YES_NO))).text in ("yes", "no")
    assert remote.count_tokens(prompt) >= there.prompt_tokens


def test_what_the_server_refuses_for_good_reason_is_told_and_nothing_given_up(connect: Connect) -> None:
    remote = connect("real")
    long = Prompt((), (Message("user", "word " * 1500),))
    with pytest.raises(ModelError, match=r"takes 15\d\d tokens"):
        remote.generate(GenerationRequest(long, max_tokens=8))
    with pytest.raises(ModelError, match="grammar"):
        remote.generate(GenerationRequest(PROMPT, max_tokens=8, output=Grammar('root ::= "')))
    assert remote.unsupported == frozenset()


def test_the_server_of_llama_cpp_python(local: LlamaBackbone) -> None:
    for part in ("fastapi", "uvicorn", "sse_starlette", "starlette_context"):
        if importlib.util.find_spec(part) is None:
            pytest.skip(f"llama_cpp.server needs {part}: pip install 'llama-cpp-python[server]'")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    arguments = ["--model", str(starter_model_path()), "--port", str(port), "--n_ctx", "512", "--verbose", "false"]
    # The server itself loads no CPU backend, and the README's build has them in libraries of their own.
    serve = (
        "import runpy; from atomr_local.models.llama.engine import library; library(); "
        "runpy.run_module('llama_cpp.server', run_name='__main__')"
    )
    process = subprocess.Popen([sys.executable, "-c", serve, *arguments], env=environment(), stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 180
        while True:
            try:
                remote = OpenAIBackbone(f"http://127.0.0.1:{port}/v1", timeout=120.0)
                break
            except ModelError:
                assert process.poll() is None and time.monotonic() < deadline
                time.sleep(0.2)
        try:
            assert remote.info.name == str(starter_model_path())
            fragments: list[str] = []
            answer = remote.generate(GenerationRequest(PROMPT, max_tokens=8, on_text=fragments.append))
            assert answer.text == "".join(fragments) == local.generate(GenerationRequest(PROMPT, max_tokens=8)).text
            assert remote.generate(GenerationRequest(PROMPT, max_tokens=8, output=Grammar(YES_NO))).text in (
                "yes",
                "no",
            )
            assert "grammar" not in remote.unsupported
            cancellation = Cancellation()
            with pytest.raises(Cancelled):
                remote.generate(
                    GenerationRequest(
                        PROMPT,
                        max_tokens=400,
                        output=Grammar("root ::= [a-z ]{400}"),
                        on_text=lambda _: cancellation.cancel(),
                        cancellation=cancellation,
                    )
                )
        finally:
            remote.close()
    finally:
        process.terminate()
        process.wait(120)


def test_a_plain_server_without_any_extras(connect: Connect) -> None:
    backbone = connect("plain")
    assert backbone.info.context_tokens == DEFAULT_CONTEXT
    completion = backbone.generate(GenerationRequest(PROMPT, max_tokens=50))
    assert completion.text == "Paris is the capital."
    assert completion.generated_tokens == 5
    assert completion.mean_probability is None
    assert completion.prompt_tokens == backbone.count_tokens(PROMPT)


def test_names_and_contexts_come_from_the_list(connect: Connect) -> None:
    assert connect("plain", "").info.name == "tiny"
    assert connect("plain", "other").info.context_tokens == 1234
    assert connect("nolist", "mine").info.name == "mine"


@pytest.mark.parametrize("mode", ["schema", "picky"])
def test_a_server_without_grammars_gets_the_schema_of_the_same_request(mode: str, connect: Connect) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    backbone = connect(mode)
    made = backbone.generate(GenerationRequest(PROMPT, max_tokens=50, output=Grammar(YES_NO, schema)))
    assert made.text == ('{"city": "Paris"}' if mode == "schema" else "Paris is the capital.")
    if mode == "schema":
        assert backbone.unsupported == {"grammar"}
        asked = GenerationRequest(PROMPT, max_tokens=50, output=JsonSchema(schema))
        assert connect(mode).generate(asked).text == made.text


def test_optional_parts_are_given_up_once(connect: Connect) -> None:
    picky = connect("picky")
    assert (
        picky.generate(GenerationRequest(PROMPT, max_tokens=50, output=Grammar(YES_NO))).text == "Paris is the capital."
    )
    assert picky.unsupported == {"grammar", "logprobs", "stream_options"}
    named = connect("nogrammar")
    assert (
        named.generate(GenerationRequest(PROMPT, max_tokens=50, output=Grammar(YES_NO))).text == "Paris is the capital."
    )
    assert named.unsupported == {"grammar"}


def test_limits_hold_where_the_server_ignores_them(connect: Connect, server: str) -> None:
    before = disconnects(server)
    completion = connect("endless").generate(GenerationRequest(PROMPT, max_tokens=7))
    assert completion.text == "word " * 7
    assert completion.finish == "length"
    stopped = connect("plain").generate(GenerationRequest(PROMPT, max_tokens=50, stop=("cap",)))
    assert (stopped.text, stopped.finish) == ("Paris is the ", "stop")
    wait_for(lambda: disconnects(server) > before)


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("cut", "cut off"),
        ("cutchunked", "was lost"),
        ("garbage", "not a chat completion"),
        ("shape", "not a chat completion"),
        ("deep", "not a chat completion"),
        ("error", "the model has crashed"),
        ("json", "does not stream"),
        ("hugeline", "too long"),
        ("busy", "slow down"),
        ("unknown", "model tiny not found"),
        ("toolong", "maximum context length is 2048"),
        ("away2", "redirects"),
    ],
)
def test_faults_are_told(connect: Connect, mode: str, said: str) -> None:
    with pytest.raises(ModelError) as caught:
        connect(mode).generate(GenerationRequest(PROMPT, max_tokens=50))
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("unauthorised", "refuses the key"),
        ("away", "redirects"),
        ("html", "did not send a list of models"),
        ("empty", "no model"),
    ],
)
def test_faults_on_connecting(connect: Connect, mode: str, said: str) -> None:
    with pytest.raises(ModelError, match=said) as caught:
        connect(mode, "")
    assert caught.value.hint


def test_the_key_is_sent_and_never_told(connect: Connect) -> None:
    assert (
        connect("unauthorised", api_key="secret")
        .generate(GenerationRequest(PROMPT, max_tokens=50))
        .text.startswith("Paris")
    )
    with pytest.raises(ModelError) as caught:
        connect("unauthorised", api_key="wrong-key")
    assert "wrong-key" not in f"{caught.value} {caught.value.hint}"
    with pytest.raises(ModelError, match="api_key"):
        connect("plain", api_key="a\r\nHost: elsewhere")


def test_nothing_answers() -> None:
    with socket.socket() as silent:  # bound, so that nobody else gets the port, and not listening
        silent.bind(("127.0.0.1", 0))
        with pytest.raises(ModelError, match="nothing answers") as caught:
            OpenAIBackbone(f"http://127.0.0.1:{silent.getsockname()[1]}/v1")
    assert caught.value.hint


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:80",
        "file:///etc/passwd",
        "http://",
        "http://u:p@h/v1",
        "http://[::g]/v1",
        "http://a b/",
        "http://h/v1?x=1",
    ],
)
def test_addresses_that_are_none(url: str) -> None:
    with pytest.raises(ModelError, match=r"endpoint\.url"):
        OpenAIBackbone(url)


def test_a_server_that_never_answers_runs_into_the_time_limit(connect: Connect) -> None:
    backbone = connect("silent")
    backbone._timeout = 0.3  # from now on: whoever is slow to connect is another matter
    backbone._client.timeout = httpx.Timeout(0.3, connect=120.0)
    with pytest.raises(ModelError, match=r"did not answer for 0\.3 seconds"):
        backbone.generate(GenerationRequest(PROMPT, max_tokens=5))


@pytest.mark.parametrize("mode", ["drip", "driphead", "alive", "slow", "endless"])
def test_a_call_ends_at_its_deadline_however_the_server_drips(connect: Connect, server: str, mode: str) -> None:
    backbone = connect(mode)
    backbone._deadline = 0.4  # from now on; between two fragments 120 seconds are allowed
    before = disconnects(server)
    with pytest.raises(ModelError, match=r"did not finish its answer within 0\.4 seconds") as caught:
        backbone.generate(GenerationRequest(PROMPT, max_tokens=1_000_000))
    assert "endpoint.deadline" in caught.value.hint
    deadline = time.monotonic() + 60
    while disconnects(server) == before:  # the connection is closed, not left to drip
        assert time.monotonic() < deadline
        time.sleep(0.02)
    with pytest.raises(ModelError, match="did not finish"):  # and the next call is one like the first
        backbone.generate(GenerationRequest(PROMPT, max_tokens=1_000_000))


def test_a_list_of_models_that_drips_runs_into_the_time_limit(server: str) -> None:
    with pytest.raises(ModelError, match=r"did not finish its answer within 0\.4 seconds"):
        OpenAIBackbone(f"{server}/driplist/v1", timeout=60.0, deadline=0.4)


@pytest.mark.parametrize(
    ("mode", "told"),
    [
        ("echo401", "refuses the key"),
        ("echo500", "status 500: .*…"),
        ("echotext", "status 503: <html>x"),
        ("echostream", "crashed on .*…"),
        ("echoanswer", "sent the key or password back"),
        ("echoprotocol", "was lost"),
        ("elsewhere", "redirects elsewhere"),
    ],
)
def test_a_server_that_sends_the_key_back(server: str, mode: str, told: str) -> None:
    key = "k3y-of-some-length"
    backbone = OpenAIBackbone(f"{server}/{mode}/v1", "tiny", key)
    heard: list[str] = []
    with pytest.raises(ModelError, match=told) as caught:
        backbone.generate(GenerationRequest(PROMPT, max_tokens=1000, on_text=heard.append))
    backbone.close()
    assert key not in f"{caught.value} {caught.value.hint} {''.join(heard)}"
    assert "".join(heard) in ("", "Paris", "Bearer ")
    if mode == "elsewhere":
        with urllib.request.urlopen(f"{server}/trapped") as answer:
            assert json.load(answer) == 0


@pytest.mark.parametrize("mode", ["silent", "slow"])
def test_cancelling_closes_the_connection_at_once(connect: Connect, server: str, mode: str) -> None:
    backbone = connect(mode)
    before, asked = disconnects(server), requests(server)
    cancellation = Cancellation()

    def cancel() -> None:
        wait_for(lambda: requests(server) > asked)
        cancellation.cancel()

    cancelling = threading.Thread(target=cancel)
    cancelling.start()
    started = time.monotonic()
    with pytest.raises(Cancelled):
        backbone.generate(GenerationRequest(PROMPT, max_tokens=10**6, cancellation=cancellation))
    assert time.monotonic() - started < 60  # half of the time limit
    cancelling.join()
    wait_for(lambda: disconnects(server) > before)
    with pytest.raises(Cancelled):
        backbone.generate(GenerationRequest(PROMPT, max_tokens=5, cancellation=cancellation))


def test_closing_ends_a_running_call(connect: Connect) -> None:
    backbone = connect("slow")
    running = threading.Event()

    def close() -> None:
        assert running.wait(120)
        backbone.close()

    closing = threading.Thread(target=close)
    closing.start()
    with pytest.raises(Cancelled):
        backbone.generate(GenerationRequest(PROMPT, max_tokens=10**6, on_text=lambda _: running.set()))
    closing.join()
    with pytest.raises(ModelError, match="closed"):
        backbone.generate(GenerationRequest(PROMPT, max_tokens=5))


def test_what_a_listener_raises_reaches_the_caller(connect: Connect) -> None:
    def fail(_: str) -> None:
        raise RuntimeError("listener")

    backbone = connect("plain")
    with pytest.raises(RuntimeError, match="listener"):
        backbone.generate(GenerationRequest(PROMPT, max_tokens=5, on_text=fail))
    assert backbone.generate(GenerationRequest(PROMPT, max_tokens=5)).text == "Paris is the capital."
