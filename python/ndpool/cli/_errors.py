"""What can go wrong, by exit code."""

from __future__ import annotations


class Usage(Exception):
    """Options that say nothing, or contradict each other: exit code 2."""


class Refused(Exception):
    """Input that cannot be used: exit code 3."""


class Failed(Exception):
    """Something that should have worked: exit code 1."""
