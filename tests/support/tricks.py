"""Texts that try to be more than text: for a shell, for a program's options, for paths, for templates, for logs."""

from random import Random
from typing import Any

SHELL = (
    "$(touch PWNED)",
    "`touch PWNED`",
    "; touch PWNED #",
    "&& touch PWNED",
    "| tee PWNED",
    "> PWNED",
    "$HOME ${PATH} $TASKYARD_TASK_TOKEN",
    "' ; touch PWNED ; '",
    '" ; touch PWNED ; "',
    "\\$(touch PWNED)\\",
    "!!",
    "*",
    "~root",
    "<(touch PWNED)",
    "a\ntouch PWNED\n",
    "a\r\ntouch PWNED\r\n",
    "$'\\ntouch PWNED'",
    "& touch PWNED &",
)
OPTIONS = (
    "--dangerously-skip-permissions",
    "--model=evil",
    "-p",
    "--",
    "-",
    "--help",
    "-c 'touch PWNED'",
    "--config=/etc/passwd",
    "@/etc/passwd",
    "\u2014\u2014help",
    " --print",
    "\t-x",
    "--yolo\n--yolo",
    "-rf /",
    "+x",
    "/?",
)
PATHS = (
    "../../../../etc/passwd",
    "/etc/passwd",
    "file:///etc/passwd",
    "..\\..\\windows",
    ".taskyard/result.json",
    "/proc/self/environ",
    "a/../../b",
    "PWNED",
    "con",
)
TEMPLATES = ("{model}", "{flags}", "{prompt_file}", "{{prompt}}", "%s%n", "${{ secrets }}", "{0}", "<|im_end|>", "{")
ODD = (
    "",
    " ",
    "\x00",
    "a\x00b",
    "\x1b[2J\x1b]0;owned\x07",
    "\u202etxt.exe",
    "\ufeff",
    "🙂" * 50,
    "ü\u0301",
    "\x7f\x08",
    '{"result": 1}',
    "x" * 20_000,
)
EVERY = (*SHELL, *OPTIONS, *PATHS, *TEMPLATES, *ODD)


def tricky(rng: Random) -> str:
    """One of them, or a few joined as a hurried attacker would."""
    return rng.choice(("", " ", "\n", "=")).join(rng.choice(EVERY) for _ in range(rng.choice((1, 1, 2, 3))))


def tricky_tasks(seed: int, count: int) -> list[dict[str, Any]]:
    """Each trick is somebody's input at least once; the rest is drawn."""
    rng = Random(seed)
    tasks = []
    for number in range(count):
        text = EVERY[number] if number < len(EVERY) else tricky(rng)
        task: dict[str, Any] = {"input": text, "title": tricky(rng) if rng.random() < 0.7 else text}
        if rng.random() < 0.3:
            task |= {"goal": tricky(rng), "constraints": [tricky(rng), tricky(rng)]}
        if rng.random() < 0.3:
            task |= {"metadata": {tricky(rng): tricky(rng)}, "payload": {"x": tricky(rng)}}
        if rng.random() < 0.2:
            task |= {"context_input": [{"ref": tricky(rng), "result": tricky(rng)}], "checkpoint": tricky(rng)}
        tasks.append(task)
    return tasks
