"""The garbage collector, told what lives as long as the hub so that it need not look at it again and again."""

import gc


def settle() -> None:
    """Everything is built. What is garbage goes; the rest stays out of every later collection."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def settle_again() -> None:
    """The state was loaded anew: the one before it was to live as long as the hub, and does not."""
    if gc.get_freeze_count():
        gc.unfreeze()
        gc.collect()
        gc.freeze()
