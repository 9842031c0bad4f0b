"""What upstream's code runs inside of: an environment of its own, and silence."""
import contextlib
import io
import os
import warnings


@contextlib.contextmanager
def environment_kept():
    """Whatever is done to the environment inside is undone."""
    kept = dict(os.environ)
    try:
        yield kept
    finally:
        os.environ.clear()
        os.environ.update(kept)


@contextlib.contextmanager
def environment(variables, keep=("PATH",)):
    """These variables and those of ours that are kept, no others."""
    with environment_kept() as ours:
        os.environ.clear()
        os.environ.update({**{k: v for k, v in ours.items() if k in keep}, **variables})
        yield


@contextlib.contextmanager
def quiet(out=None):
    """What is printed goes into `out`, or nowhere; warnings are dropped."""
    out = io.StringIO() if out is None else out
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
