"""Ready agents: how each program is called when nobody sits before it, as its makers' pages say.

They hold what a task needs to be done and reported, and nothing that widens what the program may do by itself: whoever
wants its edits accepted without being asked says so in `command` or `flags`.
"""

from typing import Final

from taskyard.daemon.command.configuration import Agent

_PROXIES: Final = ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy")

CLAUDE: Final = Agent(
    # The whole conversation line by line, so that it can be followed; `stream-json` wants `--verbose`.
    command=(
        "claude",
        "--print",
        "--output-format",
        "stream-json",
        "--verbose",
        "--model",
        "{model}",
        "{flags}",
    ),
    output="claude",
    flags={
        "plan": ("--permission-mode", "plan"),
        "accept-edits": ("--permission-mode", "acceptEdits"),
    },
    inherit=(
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_BASE_URL",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CONFIG_DIR",
        *_PROXIES,
    ),
    rate_limit_words=("usage limit reached", "hit your limit"),
)

CODEX: Final = Agent(
    # `-` reads the prompt from standard input. Outside of a repository it would refuse to work.
    command=(
        "codex",
        "exec",
        "--json",
        "--skip-git-repo-check",
        "--model",
        "{model}",
        "{flags}",
        "-",
    ),
    output="codex",
    flags={
        "read-only": ("--sandbox", "read-only"),
        "workspace-write": ("--sandbox", "workspace-write"),
    },
    inherit=("OPENAI_API_KEY", "OPENAI_BASE_URL", "CODEX_API_KEY", "CODEX_HOME", *_PROXIES),
    rate_limit_words=("usage limit", "usage_limit_reached"),
)

GEMINI: Final = Agent(
    # Without a terminal it reads the prompt from standard input.
    command=("gemini", "--output-format", "json", "--model", "{model}", "{flags}"),
    output="gemini",
    flags={
        "auto-edit": ("--approval-mode", "auto_edit"),
        "plan": ("--approval-mode", "plan"),
    },
    inherit=(
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        "GOOGLE_CLOUD_PROJECT",
        "GOOGLE_CLOUD_LOCATION",
        "GOOGLE_GENAI_USE_VERTEXAI",
        "GOOGLE_APPLICATION_CREDENTIALS",
        *_PROXIES,
    ),
    # It works only where somebody has told it that it may, and nobody has been in an attempt's own directory before.
    environment={"GEMINI_CLI_TRUST_WORKSPACE": "true"},
    exit_codes={
        "41": "PERMISSION_DENIED",  # it could not sign in
        "42": "INVALID_INPUT",
        "52": "AGENT_MISCONFIGURED",
        "53": "TURN_LIMIT_REACHED",
        "55": "AGENT_MISCONFIGURED",  # it may not work in this directory
        "130": "AGENT_INTERRUPTED",
    },
    rate_limit_words=("resource_exhausted", "resource has been exhausted", "exceeded your current quota"),
)

AIDER: Final = Agent(
    command=(
        "aider",
        "--message-file",
        "{prompt_file}",
        "--yes-always",
        "--no-stream",
        "--no-pretty",
        "--no-check-update",
        "--no-show-release-notes",
        "--no-analytics",
        "--no-suggest-shell-commands",
        # With `--yes-always` it would change that file too, which no task asked for.
        "--no-gitignore",
        "--model",
        "{model}",
        "{flags}",
    ),
    stdin="nothing",
    output="aider",
    flags={"no-commits": ("--no-auto-commits",), "dry-run": ("--dry-run",)},
    inherit=(
        "OPENAI_API_KEY",
        "OPENAI_API_BASE",
        "ANTHROPIC_API_KEY",
        "GEMINI_API_KEY",
        "OPENROUTER_API_KEY",
        "DEEPSEEK_API_KEY",
        "OLLAMA_API_BASE",
        *_PROXIES,
    ),
    rate_limit_words=("ratelimiterror",),
)

OLLAMA: Final = Agent(
    # It has no default model of its own. Its figures go to standard error.
    command=("ollama", "run", "{model}", "--verbose", "--nowordwrap", "{flags}"),
    output="ollama",
    flags={"json": ("--format", "json"), "hide-thinking": ("--hidethinking",)},
    inherit=("OLLAMA_HOST",),
    rate_limit_words=("server busy",),
)

RECIPES: Final = {"claude": CLAUDE, "codex": CODEX, "gemini": GEMINI, "aider": AIDER, "ollama": OLLAMA}
