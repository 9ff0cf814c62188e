"""Errors that a user can act on."""

from __future__ import annotations


class UserError(Exception):
    """Something the user gave is wrong: the message names what, where, and what to do.

    The command line prints the message on one line and exits with code 2; no traceback is shown.
    """


class ConfigError(UserError):
    """A configuration key is unknown, has a wrong type or a wrong value."""


class StageStopped(UserError):
    """A stage refused to go on, for example because too many records were quarantined."""


class Stopped(BaseException):
    """The process was told to end by SIGTERM, as Slurm does before a time limit. No ``except Exception`` sees it."""
