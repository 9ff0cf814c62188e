"""The ``canopy`` command: one sub-command a stage, and a few for people.

A sub-command lives in the module of its name, as a function called ``command``. Only the module of
the sub-command that is asked for is imported, so ``canopy --help`` stays fast.
"""

from __future__ import annotations

import errno
import fcntl
import importlib
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import typer

from canopy import __version__
from canopy.errors import Stopped, UserError
from canopy.gpus import claim_wanted

_STAGES = "Stages, in pipeline order"
_TOOLS = "Tools"
# Sub-commands that compute on a GPU where there is one, and never more than one job on each.
_ON_GPU = frozenset({"embed", "encoder", "decisions", "mini-reader", "run"})
COMMANDS: dict[str, tuple[str, str]] = {
    "mini-raw": (_STAGES, "Write the constructed mini corpus in the benchmarks' native raw formats."),
    "parse": (_STAGES, "Read one benchmark's raw files into items and questions."),
    "video": (_STAGES, "Segment videos and read the text on frames and images."),
    "corpus": (_STAGES, "Merge all benchmarks into one corpus."),
    "embed": (_STAGES, "Embed one shard of the corpus."),
    "index-train": (_STAGES, "Decide on the kind of index and train it on a sample."),
    "index-add": (_STAGES, "Put one shard's vectors into the lists of a trained index."),
    "index": (_STAGES, "Build the search index over all shards."),
    "preferences": (_STAGES, "Mine gold parent-child decisions."),
    "encoder": (_STAGES, "Fine-tune the node encoder on the preferences."),
    "decisions": (_STAGES, "Judge frozen and fine-tuned decisions on test questions."),
    "reader-model": (_STAGES, "Convert the reader's embedded weights once."),
    "mini-reader": (_STAGES, "Train the small reader's adapter."),
    "run": (_STAGES, "Run one method over one shard of the test questions."),
    "metrics": (_STAGES, "Score one method's answers by the official rules."),
    "table": (_STAGES, "Write one table."),
    "ask": (_TOOLS, "Answer one question from a built index, with its sources."),
    "compress": (_TOOLS, "Keep the regions of files that bear on a query."),
    "score": (_TOOLS, "Score a predictions file by a benchmark's official rules."),
    "download": (_TOOLS, "Fetch and check a benchmark's official raw files."),
    "plan": (_TOOLS, "Estimate what a configuration will take before anything runs."),
    "doctor": (_TOOLS, "Look for what is wrong with this machine, this folder, or jobs left in Slurm."),
    "check": (_TOOLS, "Check a configuration file."),
    "spec": (_TOOLS, "Print the settings of one stage of a configuration."),
}
STOPPED = 75
"""Exit code of a stage that was told to end by SIGTERM: start it again (EX_TEMPFAIL of sysexits.h)."""

_GOES_ON = ("embed", "run")
# Libraries written in other languages give the system's words and not its number.
_REMEDIES = {
    os.strerror(errno.ENOSPC): "free some space, then start it again",
    os.strerror(errno.EDQUOT): "free some space, then start it again",
    os.strerror(errno.EROFS): "give a place where you may write",
    os.strerror(errno.EACCES): "give a place that you may read or write, or change its permissions",
}


def build_app(wanted: str | None) -> typer.Typer:
    """The application with the sub-command ``wanted`` loaded and all others by name and help only."""
    app = typer.Typer(
        name="canopy",
        help="CANOPY: post-retrieval evidence compression for multimodal RAG.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(_options)
    for name, (panel, summary) in COMMANDS.items():
        if name == wanted:
            app.command(name, rich_help_panel=panel)(_load(name))
        else:
            app.command(name, rich_help_panel=panel, help=summary)(_not_loaded)
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    0 is success, 1 a finding (`canopy doctor`), 2 something that the user gave is wrong (one line says what), 75 an end
    by SIGTERM, after which it is to be started again, 130 an interrupt. Other exceptions are faults of the program and
    are not caught.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    wanted = next((a for a in arguments if not a.startswith("-")), None)
    # PEFT asks Transformers for an attribute under its old name: nothing that a user could act on.
    warnings.filterwarnings("ignore", message="`is_gradient_checkpointing` is deprecated", category=FutureWarning)
    before = signal.signal(signal.SIGTERM, _stop)
    try:
        with _alone(_value_of("--out", arguments)):
            if wanted in _ON_GPU:
                claim_wanted()
            build_app(wanted)(arguments, prog_name="canopy")
    except UserError as error:
        return _told(str(error))
    except Stopped:
        rest = "it goes on after what is finished" if wanted in _GOES_ON else "it begins anew"
        print(f"canopy: stopped by SIGTERM: start it again, {rest}", file=sys.stderr)
        return STOPPED
    except KeyboardInterrupt:
        return 130
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    except Exception as error:
        remedy = _remedy(error)
        if not remedy:
            raise
        out = _value_of("--out", arguments)
        return _told(f"--out {out}: {error}: {remedy}" if out else f"{error}: {remedy}")
    finally:
        signal.signal(signal.SIGTERM, before)
    return 0


def _told(message: str) -> int:
    print("canopy: error: " + " ".join(message.split()), file=sys.stderr)
    return 2


def _stop(number: int, frame: object) -> NoReturn:
    raise Stopped


def _remedy(error: BaseException) -> str:
    """What to do where the machine and not the program is at fault; an empty string for all else."""
    words = str(error)
    return next((remedy for fault, remedy in _REMEDIES.items() if fault in words), "")


@contextmanager
def _alone(out: str | None) -> Iterator[None]:
    """Let only one process make ``out``; a second one waits until the first has ended, however it ends.

    When a workflow is killed, its jobs may live on for a while; started again, it must not write beside them.
    """
    if out is None:
        yield
        return
    path = Path(out)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = path.with_name(f".{path.name}.lock").open("w", encoding="utf-8")
    except (OSError, ValueError) as error:  # ValueError: no name, like "."
        raise UserError(f"--out {out}: cannot write there: {error}") from error
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"canopy: another process is making {out}: waiting for it to end", file=sys.stderr)
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _value_of(option: str, arguments: Sequence[str]) -> str | None:
    """The value given to an option, before the arguments are parsed."""
    for number, argument in enumerate(arguments):
        if argument == option and number + 1 < len(arguments):
            return arguments[number + 1]
        if argument.startswith(f"{option}="):
            return argument.removeprefix(f"{option}=")
    return None


def _load(name: str) -> Callable[..., None]:
    command: Callable[..., None] = importlib.import_module(f"canopy.cli.{name.replace('-', '_')}").command
    return command


def _not_loaded() -> None:
    raise AssertionError("a sub-command that was not asked for was called")


def _version(shown: bool) -> None:
    if shown:
        print(__version__)
        raise typer.Exit


def _options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    pass
