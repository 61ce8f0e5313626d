"""How much memory this machine has, where it says."""

import os


def memory_mb() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (1024 * 1024)
    except (OSError, ValueError):
        return None


def memory_available_mb() -> int | None:
    """What a new process could use: free, or held by caches that would give way."""
    try:
        with open("/proc/meminfo", "rb") as meminfo:
            for line in meminfo:
                if line.startswith(b"MemAvailable:"):
                    return int(line.split()[1]) // 1024
    except OSError:
        pass
    return None
