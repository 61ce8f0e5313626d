#!/bin/sh
# An agent without a socket: claims a task, runs a command with its input, hands in what that printed. Needs curl, jq.
#   TASKYARD_HUB=http://localhost:8420 TASKYARD_KEY=tyk_… sh pull-agent.sh tr a-z A-Z
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
call() { # KEY PATH BODY ANSWER: prints the status. The key goes in by a pipe, since everybody can read arguments.
    printf 'header = "Authorization: Bearer %s"\n' "$1" | curl -s -K - -X POST -H 'Content-Type: application/json' \
        --retry 5 --retry-connrefused --data-binary "@$3" -o "$4" -w '%{http_code}' "${TASKYARD_HUB:?}/api/v1/$2"
}
while true; do
    jq -n --arg name "${TASKYARD_NAME:-pull-agent}" '{name: $name, wait_s: 20}' > "$work/body"
    status=$(call "${TASKYARD_KEY:?}" claim "$work/body" "$work/claim")
    case $status in
        200) ;;
        204) continue ;;
        4*) jq -r '"the hub refuses: " + .detail' "$work/claim" >&2; [ "$status" = 429 ] || exit 1; sleep 5; continue ;;
        *) sleep 5; continue ;;
    esac
    id=$(jq -r .task.id "$work/claim") token=$(jq -r .token "$work/claim") beat_s=$(jq '.lease_s / 4' "$work/claim")
    jq -r '.task.input | if type == "string" then . else tojson end' "$work/claim" > "$work/input"
    "$@" < "$work/input" > "$work/output" 2> "$work/errors" & agent=$!
    while sleep "$beat_s"; do # 409: it was cancelled, took too long, or is somebody else's by now
        [ "$(call "$token" "tasks/$id/heartbeat" /dev/null /dev/null)" != 409 ] || kill "$agent"
    done & beats=$!
    say='{status: "failed", error: $errors}'
    if wait "$agent"; then say='{status: "completed", result: $output}'; fi
    kill "$beats"
    jq -n --rawfile output "$work/output" --rawfile errors "$work/errors" "$say" > "$work/body"
    call "$token" "tasks/$id/complete" "$work/body" "$work/answer" > "$work/status"
done
