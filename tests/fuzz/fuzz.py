"""Fuzzes the parsers with atheris, guided by coverage: `make fuzz`, or `python -m tests.fuzz.fuzz TARGET SECONDS`.

Every target has a process of its own with a limit on memory and on the time of one input. An input that breaks
the rule is kept in tests/corpus, where the test of the corpus replays it from then on.
"""

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

CORPUS = Path(__file__).parent.parent / "corpus"
SECONDS = 300
MEMORY_BYTES = 4 << 30
SLOWEST_S = 20
LONGEST = 20_000


def main() -> None:
    """All targets one after the other, or the one that is named."""
    if len(sys.argv) > 1:
        return fuzz(sys.argv[1], int(sys.argv[2]))
    from tests.fuzz.targets import TARGETS

    seconds = max(1, int(os.environ.get("FUZZ_SECONDS", SECONDS)) // len(TARGETS))
    command = [sys.executable, "-m", "tests.fuzz.fuzz"]
    broken = [name for name in TARGETS if subprocess.run([*command, name, str(seconds)]).returncode]
    print(f"{len(TARGETS)} targets, {seconds} s each: {', '.join(broken) or 'nothing'} broke the rule")
    return sys.exit(1 if broken else 0)


def fuzz(name: str, seconds: int) -> None:
    """Fuzz one target for so long; the process ends with an error at the first input that breaks the rule."""
    import atheris

    with atheris.instrument_imports(include=["asyncfeel", "tomllib", "csv", "json", "xml"]):
        from tests.fuzz import targets
    if name == "folder":
        targets.sound_run()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    seeds, found = CORPUS / name, tempfile.mkdtemp()
    limits = [f"-max_total_time={seconds}", f"-timeout={SLOWEST_S}", f"-max_len={LONGEST}", "-rss_limit_mb=3000"]
    seeds.mkdir(parents=True, exist_ok=True)
    quiet = ["-print_final_stats=1", "-verbosity=1", f"-artifact_prefix={seeds}/"]
    atheris.Setup([sys.argv[0], *limits, *quiet, found, str(seeds)], lambda data: targets.replayed(name, data))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
