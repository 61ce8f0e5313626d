"""Programs that behave like the common agents when nobody sits before them: their options, their output, their errors.

Each takes only the options its makers document, so that a recipe with a wrong one fails as it would in life. What
they do is asked for in the prompt: `please succeed`, `please refuse`, `please fail`, `please sign out` (as if nobody
had signed in). With `RECORD` in the environment they write down what they were given.

Run with an interpreter that has nothing of ours: `python -S stand_ins.py claude …`.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

ANSWER = "The answer is 42."
RESETS_AT = 1_900_000_000


def main() -> None:
    name, *arguments = sys.argv[1:]
    record(arguments)
    AGENTS[name](arguments)


def record(arguments: list[str]) -> None:
    place = os.environ.get("RECORD")
    if place is not None:
        said = {"argv": arguments, "env": dict(os.environ), "cwd": os.getcwd()}
        Path(place).write_text(json.dumps(said))


def say(value: Any) -> None:
    print(value if isinstance(value, str) else json.dumps(value), flush=True)


def complain(text: str, code: int = 1) -> NoReturn:
    print(text, file=sys.stderr, flush=True)
    sys.exit(code)


def options_of(arguments: list[str], *, flags: str, valued: str, usage: int = 1) -> tuple[dict[str, str], list[str]]:
    """As the program would read them; what it does not know ends it."""
    found: dict[str, str] = {}
    rest: list[str] = []
    waiting = iter(arguments)
    for argument in waiting:
        if argument in valued.split():
            found[argument] = next(waiting, "")
        elif argument in flags.split():
            found[argument] = ""
        elif argument.startswith("-") and argument != "-":
            complain(f"error: unknown option '{argument}'", usage)
        else:
            rest.append(argument)
    return found, rest


# --- Claude Code -------------------------------------------------------------------------------------------


def claude(arguments: list[str]) -> None:
    options, rest = options_of(
        arguments, flags="--print -p --verbose", valued="--output-format --model --permission-mode"
    )
    if "--print" not in options or rest or options.get("--permission-mode", "plan") not in ("plan", "acceptEdits"):
        complain("error: not as the documentation says")
    if options.get("--output-format") == "stream-json" and "--verbose" not in options:
        complain("Error: When using --print, --output-format=stream-json requires --verbose")
    prompt = sys.stdin.read()
    session = {"session_id": "a-session"}
    say({"type": "system", "subtype": "init", "model": options.get("--model", "default"), "tools": ["Bash"], **session})
    usage = {
        "input_tokens": 10,
        "cache_creation_input_tokens": 200,
        "cache_read_input_tokens": 3000,
        "output_tokens": 40,
    }
    ended = {
        "type": "result",
        "subtype": "success",
        "num_turns": 2,
        "usage": usage,
        "total_cost_usd": 0.0125,
        **session,
    }
    if "please refuse" in prompt:
        retry = {"attempt": 1, "max_retries": 10, "retry_delay_ms": 560.98, "error_status": 429, "error": "rate_limit"}
        say({"type": "system", "subtype": "api_retry", **retry, **session})
        said = f"Claude AI usage limit reached|{RESETS_AT}"
        say({**ended, "is_error": True, "api_error_status": 429, "result": said})
        sys.exit(1)
    if "please sign out" in prompt:
        said = "Not logged in · Please run /login"
        message = {"role": "assistant", "content": [{"type": "text", "text": said}]}
        say({"type": "assistant", "message": message, "error": "authentication_failed", **session})
        say({**ended, "is_error": True, "api_error_status": None, "result": said})
        sys.exit(1)
    if "please fail" in prompt:
        say({**ended, "subtype": "error_max_turns", "is_error": True, "result": None})
        sys.exit(1)
    parts = [{"type": "text", "text": "Let me look."}, {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}]
    say({"type": "assistant", "message": {"role": "assistant", "content": parts}, **session})
    say(
        {"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "content": "a b"}]}, **session}
    )
    say({"type": "assistant", "message": {"content": [{"type": "text", "text": ANSWER}]}, **session})
    say({**ended, "is_error": False, "result": ANSWER})


# --- Codex -------------------------------------------------------------------------------------------------


def codex(arguments: list[str]) -> None:
    if arguments[:1] != ["exec"]:
        complain("error: unrecognized subcommand", 2)
    options, rest = options_of(
        arguments[1:], flags="--json --skip-git-repo-check", valued="--model -m --sandbox -s", usage=2
    )
    if rest != ["-"]:
        complain("No prompt provided.")
    if "--skip-git-repo-check" not in options and not Path(".git").exists():
        complain("Not inside a trusted directory and --skip-git-repo-check was not specified.")
    prompt = sys.stdin.read()
    print("Reading prompt from stdin...", file=sys.stderr)
    say({"type": "thread.started", "thread_id": "a-thread"})
    say({"type": "turn.started"})
    if "please refuse" in prompt:
        said = "You've hit your usage limit. Try again in 3 hours 5 minutes."
        say({"type": "error", "message": said})
        say({"type": "turn.failed", "error": {"message": said}})
        sys.exit(1)
    if "please fail" in prompt:
        say({"type": "turn.failed", "error": {"message": "stream disconnected before completion"}})
        sys.exit(1)
    if "please sign out" in prompt:
        said = "unexpected status 401 Unauthorized: Missing bearer authentication in header, url: https://localhost/v1"
        say({"type": "error", "message": f"Reconnecting... 5/5 ({said})"})
        say({"type": "turn.failed", "error": {"message": said}})
        sys.exit(1)
    say({"type": "item.completed", "item": {"id": "item_0", "type": "reasoning", "text": "**Thinking**"}})
    ran = {"id": "item_1", "type": "command_execution", "command": "bash -lc ls", "exit_code": 0, "status": "completed"}
    say({"type": "item.started", "item": ran})
    say({"type": "item.completed", "item": ran})
    say({"type": "item.completed", "item": {"id": "item_2", "type": "agent_message", "text": ANSWER}})
    say({"type": "turn.completed", "usage": {"input_tokens": 500, "cached_input_tokens": 400, "output_tokens": 60}})


# --- Gemini CLI --------------------------------------------------------------------------------------------


def gemini(arguments: list[str]) -> None:
    options, rest = options_of(arguments, flags="", valued="--output-format --model --approval-mode -m", usage=42)
    if rest or options.get("--output-format") != "json":
        complain("Unknown arguments", 42)
    prompt = sys.stdin.read()
    if not prompt:
        complain("No input provided via stdin.", 42)
    if "please sign out" in prompt:
        said = "Please set an Auth method in your settings.json or specify GEMINI_API_KEY"
        complain(json.dumps({"error": {"type": "Error", "message": said, "code": 41}}, indent=2), 41)
    if os.environ.get("GEMINI_CLI_TRUST_WORKSPACE") != "true":
        complain("\x1b[31mGemini CLI is not running in a trusted directory.\x1b[0m", 55)
    print("Loaded cached credentials.", file=sys.stderr)
    if "please refuse" in prompt:
        print("Attempt 1 failed with status 429. Retrying with backoff... ApiError", file=sys.stderr)
        said = "You exceeded your current quota. Please retry in 33.4s. status: RESOURCE_EXHAUSTED"
        complain(json.dumps({"error": {"type": "ApiError", "message": said, "code": 429}}, indent=2))
    if "please fail" in prompt:
        complain(
            json.dumps({"error": {"type": "FatalTurnLimitedError", "message": "Reached max turns", "code": 53}}), 53
        )
    tokens = {"prompt": 700, "candidates": 30, "total": 780, "cached": 0, "thoughts": 50, "tool": 0}
    stats = {"models": {"gemini-2.5-pro": {"api": {"totalRequests": 1}, "tokens": tokens}}, "tools": {}}
    say(json.dumps({"response": ANSWER, "stats": stats}, indent=2))


# --- aider -------------------------------------------------------------------------------------------------


def aider(arguments: list[str]) -> None:
    options, rest = options_of(
        arguments,
        flags="--yes-always --no-stream --no-pretty --no-check-update --no-show-release-notes --no-analytics "
        "--no-suggest-shell-commands --no-auto-commits --dry-run --no-gitignore",
        valued="--message-file --model",
        usage=2,
    )
    if rest:
        complain("aider: these would be files to edit", 2)
    if "--no-gitignore" not in options:
        Path(".gitignore").write_text(".aider*\n")
        say("Added .aider* to .gitignore")
    prompt = Path(options["--message-file"]).read_text()
    say("Aider v0.86.1")
    say(f"Model: {options.get('--model', 'sonnet')} with diff edit format")
    if "please refuse" in prompt:
        say("litellm.RateLimitError: RateLimitError: OpenAIException - Rate limit reached")
        say("The API provider has rate limited you. Try again later or check your quotas.")
        return
    if "please fail" in prompt:
        complain("Unable to read the repository", 1)
    say(ANSWER)
    say("Tokens: 12k sent, 1.5k received. Cost: $0.04 message, $0.04 session.")
    say("Tokens: 800 sent, 2k cache hit, 133 received. Cost: $0.01 message, $0.05 session.")


# --- Ollama ------------------------------------------------------------------------------------------------


def ollama(arguments: list[str]) -> None:
    if arguments[:1] != ["run"]:
        complain("Error: unknown command")
    _, rest = options_of(arguments[1:], flags="--verbose --nowordwrap --hidethinking", valued="--format")
    if len(rest) != 1:
        complain("Error: requires at least 1 arg(s), only received 0")
    if rest[0] == "absent":
        complain("Error: pull model manifest: file does not exist")
    prompt = sys.stdin.read()
    if "please refuse" in prompt:
        complain("Error: server busy, please try again.  maximum pending requests exceeded")
    if "please fail" in prompt:
        complain("Error: llama runner process has terminated: exit status 2")
    sys.stderr.write("\x1b[?25l⠋ \x1b[K\x1b[?25h")
    say(ANSWER)
    sys.stderr.write(
        "\ntotal duration:       4.9s\nprompt eval count:    26 token(s)\neval count:           298 token(s)\n"
    )


AGENTS: dict[str, Callable[[list[str]], None]] = {
    "claude": claude,
    "codex": codex,
    "gemini": gemini,
    "aider": aider,
    "ollama": ollama,
    # Takes anything, and prints back what it reads.
    "recorder": lambda _: print(sys.stdin.read(), end=""),
}


def on_path(directory: Path) -> str:
    """A PATH on which these are found under their names."""
    directory.mkdir(exist_ok=True)
    for name in AGENTS:
        file = directory / name
        file.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "{Path(__file__).resolve()}" {name} "$@"\n')
        file.chmod(0o755)
    return f"{directory}:/usr/bin:/bin"


if __name__ == "__main__":
    main()
