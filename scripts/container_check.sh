#!/usr/bin/env bash
# Build the image of the Containerfile and try what docs/how-to/containers.md promises: it answers without a network, as an
# unprivileged user, on a read-only root file system, and it runs `mcp` and `serve`.
#
#   scripts/container_check.sh
#
# ENGINE chooses podman or docker (default: the first that works). BASE replaces the base image, where the pinned one cannot
# be had. PIP_INDEX_URL and PIP_EXTRA_INDEX_URL go to the build. Compiles llama.cpp: about ten minutes on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  printf 'container check: %s\n' "$1" >&2
  exit 1
}

engine=${ENGINE:-}
for name in podman docker; do
  [ -n "$engine" ] || ! "$name" info > /dev/null 2>&1 || engine=$name
done
[ -n "$engine" ] || fail "neither podman nor docker works here"
tag=atomr-local:check volume=atomr-check-$$ server=atomr-check-serve-$$ work=$(mktemp -d)
clean() {
  "$engine" rm --force "$server" > /dev/null 2>&1 || true
  "$engine" volume rm --force "$volume" > /dev/null 2>&1 || true
  rm -rf "$work"
}
trap clean EXIT

arguments=(--file Containerfile --tag "$tag")
for name in BASE PIP_INDEX_URL PIP_EXTRA_INDEX_URL; do
  [ -z "${!name:-}" ] || arguments+=(--build-arg "$name=${!name}")
done
if [ "$engine" = docker ]; then # podman reads .containerignore itself
  mkdir "$work/context"
  git ls-files -z | xargs -0 cp --parents --target-directory="$work/context"
  cp .containerignore "$work/context/.dockerignore"
  arguments+=("$work/context")
else
  arguments+=(.)
fi
begun=$SECONDS
"$engine" build "${arguments[@]}"
echo "container check: built in $((SECONDS - begun)) s, $("$engine" image inspect --format '{{.Size}}' "$tag") bytes"

# As the page says, but for the network, which only `serve` needs.
run=(--rm --interactive --read-only --tmpfs /tmp --cap-drop all --security-opt no-new-privileges --volume "$volume:/data")
alone() { "$engine" run "${run[@]}" --network none "$@"; }

[ "$(alone --entrypoint id "$tag" -u)" = 10001 ] || fail "it runs as another user than 10001"
! alone --entrypoint touch "$tag" /src/.venv/x 2> /dev/null || fail "the root file system can be written to"
alone "$tag" doctor || true # the built indexes are missing before the first question
begun=$SECONDS
alone "$tag" ask "Who wrote Frankenstein?" --json > "$work/trace.json"
python3 - "$work/trace.json" <<'CHECK' || fail "the answer is not the expected one"
import json, sys
trace = json.load(open(sys.argv[1], encoding="utf-8"))
print("container check:", trace["status"], trace["answers"])
sys.exit((trace["status"], trace["answers"]) != ("answered", ["Mary Shelley"]))
CHECK
echo "container check: the first question took $((SECONDS - begun)) s"
printf 'Who wrote Emma?\n' | alone "$tag" > "$work/plain.txt"
grep -q "Jane Austen" "$work/plain.txt" || fail "plain mode did not answer"

hello='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"check","version":"1"}}}'
printf '%s\n' "$hello" | alone "$tag" mcp > "$work/mcp.json"
grep -q '"serverInfo"' "$work/mcp.json" || fail "mcp did not answer"

token=$(python3 -c 'import secrets; print(secrets.token_urlsafe(32))')
ATOMR_SERVE_TOKEN=$token "$engine" run "${run[@]}" --detach --name "$server" --env ATOMR_SERVE_TOKEN \
  --publish 127.0.0.1::8420 "$tag" serve --host 0.0.0.0 > /dev/null
address=http://$("$engine" port "$server" 8420/tcp | head -n 1)
for _ in $(seq 60); do curl --silent --fail "$address/health" > /dev/null && break || sleep 1; done
[ "$(curl --silent --output /dev/null --write-out '%{http_code}' "$address/api/indexes")" = 401 ] || fail "serve asks for no token"
curl --silent --fail --max-time 300 --header "Authorization: Bearer $token" --header "Content-Type: application/json" \
  --data '{"question": "Who wrote Frankenstein?", "stream": false}' "$address/api/ask" > "$work/served.json"
grep -q "Mary Shelley" "$work/served.json" || fail "serve did not answer"
"$engine" stop --time 20 "$server" > /dev/null
echo "container check: mcp and serve answer"
