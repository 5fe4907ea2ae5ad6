"""Secrets: nothing but `reveal` and the settings file gets their text; addresses are shown without theirs."""

from __future__ import annotations

import copy
import json
import logging
import pickle
import traceback
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

from atomr_local.cli.main import main
from atomr_local.errors import SettingsError
from atomr_local.settings.file import save_settings
from atomr_local.settings.schema import EndpointSettings, load_settings
from atomr_local.system.credentials import HIDDEN, Secret, SecretUrl, is_loopback, shown_url, without_secrets

CANARY = "cAn4ry7Wx2Qz"


class Held(BaseModel):
    key: Secret = Secret()
    url: SecretUrl = SecretUrl()


def test_nothing_that_prints_a_secret_gets_its_text(caplog: pytest.LogCaptureFixture) -> None:
    held = Held.model_validate({"key": CANARY, "url": f"https://{CANARY}:{CANARY}@host/v1?api_key={CANARY}"})
    logging.getLogger("x").warning("%s %r %s", held.key, held.url, held)
    texts = [
        str(held), repr(held), f"{held.key:>30} {held.url}", held.model_dump_json(), json.dumps(held.model_dump(mode="json")),
        f"{held.model_dump()}", str({"a": [held.key]}), caplog.text, ascii(held.url),
    ]  # fmt: skip
    assert all(CANARY not in text for text in texts)
    assert str(held.key) == HIDDEN and str(held.url) == f"https://{HIDDEN}@host/v1?api_key={HIDDEN}"
    assert held.key.reveal() == CANARY


def test_a_secret_is_equal_to_its_text_and_survives_copies() -> None:
    secret = Secret(CANARY)
    assert secret == CANARY and secret == Secret(CANARY) and secret != Secret() and not Secret()
    assert len({secret, Secret(CANARY)}) == 1
    assert copy.deepcopy(secret) == pickle.loads(pickle.dumps(secret)) == secret
    held = Held.model_validate({"key": CANARY})
    assert Held.model_validate(held.model_dump()) == held


@pytest.mark.parametrize("given", [7, None, ["x"], {"hush": CANARY}, f"…{CANARY}", CANARY * 1000], ids=range(6))
@pytest.mark.parametrize("key", ["api_key", "url"])
def test_what_is_no_secret_is_refused_without_being_told(key: str, given: object) -> None:
    with pytest.raises(SettingsError) as refused:
        load_settings(endpoint={key: given})
    told = "".join(traceback.format_exception(refused.value))
    assert f"endpoint.{key}: " in refused.value.message
    assert CANARY not in told
    with pytest.raises(ValidationError) as wrong:
        EndpointSettings.model_validate({key: given})
    assert CANARY not in str(wrong.value)


def test_a_table_in_the_place_of_the_endpoint_is_not_told() -> None:
    with pytest.raises(SettingsError) as refused:
        load_settings(endpoint=f"https://user:{CANARY}@host/v1")
    assert CANARY not in "".join(traceback.format_exception(refused.value))


# (address, as it is shown where it came from outside, as it is shown where the user gave it for credentials)
URLS = [
    ("http://127.0.0.1:8080/v1", None, None),
    ("https://[::1]:8080/v1", None, None),
    ("https://bücher.example./v1", None, None),
    ("https://host:/v1", None, None),
    ("https://example.org/a?b=c&d=e#top", None, "https://example.org/a?b=…&d=…#…"),
    ("https://example.org/?q=x&page=2", None, "https://example.org/?q=…&page=…"),
    ("https://CANARY@host/v1", "https://…@host/v1", None),
    ("https://user:CANARY@host:8443/v1", "https://…@host:8443/v1", None),
    ("HTTPS://CANARY:CANARY@Example.ORG/", "HTTPS://…@Example.ORG/", None),
    ("  https://u:CANARY@[fe80::1%25eth0]:1/v1 ", "https://…@[fe80::1%25eth0]:1/v1", None),
    ("https://u%40x:CANARY%2F%3A@host", "https://…@host", None),
    ("https://u:CANARY@x@y@host/v1", "https://…@host/v1", None),
    ("https://u:CAN/ARY@host/v1", "https://…@host/v1", None),
    ("https://u:p?CANARY@host/v1", "https://…@host/v1", None),
    ("https://u:p#CANARY@host/v1", "https://…@host/v1", None),
    ("https://u:CANARY\\@host/v1", "https://…@host/v1", None),
    ("ftp://u:CANARY@host/", "ftp://…@host/", None),
    ("socks5h://u:CANARY@host:1080", "socks5h://…@host:1080", None),
    ("//u:CANARY@host/v1", "…@host/v1", None),
    ("u:CANARY@host/v1", "…@host/v1", None),
    ("https://host/v1?api_key=CANARY", "https://host/v1?api_key=…", None),
    ("https://host/v1?a=b&API-Key=CANARY&x", "https://host/v1?a=b&API-Key=…&x", "https://host/v1?a=…&API-Key=…&…"),
    ("https://host/f?X-Amz-Signature=CANARY&X-Amz-Credential=CANARY", None, None),
    ("https://host/f?sv=1&sig=CANARY&se=2030", None, None),
    ("https://host/f?code=CANARY&state=1", None, None),
    ("https://host/cb#access_token=CANARY", "https://host/cb#…", None),
    ("https://host/?weird%20name=1&ключ_token=CANARY", None, None),
    ("", None, None),
    ("https://", None, None),
    ("not an address", None, None),
    ("https://[::g:CANARY@]/", None, None),
]


@pytest.mark.parametrize(("url", "outside", "own"), URLS)
def test_addresses_are_shown_without_secrets(url: str, outside: str | None, own: str | None) -> None:
    for shown, wanted in ((shown_url(url), outside), (shown_url(url, own=True), own if own else outside)):
        assert "CANARY" not in shown and "ARY@" not in shown
        if wanted is not None:
            assert shown == wanted
        elif "CANARY" not in url and not own:
            assert shown == url
    assert SecretUrl(url).shown() == shown_url(url, own=True)


def test_an_address_of_any_length_is_shown_short() -> None:
    assert len(shown_url("https://host/" + "x" * 100_000)) <= 301


def test_what_a_server_sends_back_is_hidden_however_it_is_written() -> None:
    secrets = ("p@ss w/rd'\"\\", CANARY, "ab")
    text = f"Bearer {CANARY} p%40ss%20w%2Frd%27%22%5C p%40ss+w%2Frd%27%22%5C {json.dumps(secrets[0])} {secrets[0]!r} ab"
    hidden = without_secrets(text, secrets)
    assert CANARY not in hidden and "ss" not in hidden and hidden.endswith(" ab")


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost", "LocalHost.", "::ffff:127.0.0.1"]
)
def test_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["", None, "0.0.0.0", "10.0.0.1", "localhost.example.org", "127.0.0.1.nip.io", "::2"])
def test_other_machines(host: str | None) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize(
    "text",
    [
        "[endpoint]\napi_key = CANARY", '[endpoint]\napi_key = "CANARY', '[endpoint]\napi_key = ["CANARY"]',
        '[endpoint]\napi_key = "CANARY"\napi_key = "CANARY"', '[endpoint]\nurl = {a = "CANARY"}', 'endpoint = "CANARY"',
        '[endpoint]\nkey = "CANARY"', 'endpoint.timeout = "CANARY"', 'api_key = "CANARY"', '[endpoint]\napi_key "CANARY"',
        '[endpoint]\napi_key = "\\CANARY"', '[[endpoint]]\napi_key = "CANARY"', "[endpoint]\napi_key = '''CANARY",
    ],
)  # fmt: skip
def test_settings_that_are_none_do_not_tell_a_secret(
    own_home: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    (own_home / "config.toml").write_text(text.replace("CANARY", CANARY))
    with pytest.raises(SettingsError) as refused:
        save_settings({"top_k": 4})
    for command in (["config", "show"], ["ask", "Who wrote Emma?"]):
        with pytest.raises(SystemExit) as stop:
            main(command)
        assert stop.value.code == 1
    told = "".join(traceback.format_exception(refused.value)) + refused.value.hint + "".join(capsys.readouterr())
    assert CANARY not in told and "config.toml" in told


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ATOMR_ENDPOINT", '{"api_key": "CANARY'), ("ATOMR_ENDPOINT", '["CANARY"]'), ("ATOMR_ENDPOINT", '{"key": "CANARY"}'),
        ("ATOMR_ENDPOINT__API_KEY", "CANARY…"), ("ATOMR_ENDPOINT__TIMEOUT", "CANARY"),
        ("ATOMR_ENDPOINT__URL", "https://u:CANARY…@host/v1"), ("ATOMR_ENDPOINT__KEY", "CANARY"),
    ],
)  # fmt: skip
def test_variables_that_are_none_do_not_tell_a_secret(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, value: str
) -> None:
    monkeypatch.setenv(name, value.replace("CANARY", CANARY))
    with pytest.raises(SystemExit) as stop:
        main(["config", "show"])
    assert stop.value.code == 1
    told = "".join(capsys.readouterr())
    assert CANARY not in told and "endpoint" in told.casefold()
