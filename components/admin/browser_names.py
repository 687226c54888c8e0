"""A readable name for a User-Agent header."""

_BROWSERS = {"Edg/": "Edge", "OPR/": "Opera", "Firefox/": "Firefox", "Chrome/": "Chrome"}
_SYSTEMS = {
    "Android": "Android",
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Windows": "Windows",
    "Mac OS X": "macOS",
    "Linux": "Linux",
}


def browser_name(agent: str) -> str:
    """Return a name such as `Firefox on Linux`, or the start of an unknown User-Agent."""
    browser = next((name for mark, name in _BROWSERS.items() if mark in agent), None)
    if browser is None and "Safari/" in agent:
        browser = "Safari"
    system = next((name for mark, name in _SYSTEMS.items() if mark in agent), None)
    if browser is None:
        return agent.partition(" ")[0][:40] or "unknown"
    return f"{browser} on {system}" if system else browser
