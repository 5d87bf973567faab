"""The one error of ndpool."""


class PoolError(ValueError):
    """A call that was refused. It says which axis, which numbers and which rule, and what to do."""
