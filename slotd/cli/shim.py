"""`slotd shim`: an executable that a serve process starts in the engine's place.

Here: the executable, and what it may be written over. Not here: what it starts
(`slotd.cli.engine`).
"""

import json
import os
import shlex
import sys
from pathlib import Path

import click

from slotd.cli.engine import SHIM_VARIABLE
from slotd.cli.sources import Refusal
from slotd.config.options import ENGINE
from slotd.config.trust import untrusted

MARK = b"# Written by slotd shim: starts slotd in front of the engine named below.\n"
"""The second line of every shim, by which one is told from anything else."""
BUILD_FILE = "BUILD.json"
"""What a serve process reads beside the engine, for its version."""


@click.command()
@click.argument("directory", metavar="DIR")
@click.option("--engine", required=True, metavar="PATH", help="The engine's executable.")
@click.option("--name", metavar="NAME", help="Its name in DIR; the engine's when not given.")
@click.option("--force", is_flag=True, help="Write over files that no shim has left there.")
def shim(directory: str, engine: str, name: str | None, force: bool) -> None:
    """Write an executable into DIR that starts slotd in front of an engine.

    A serve process that starts it in the engine's place, with the same arguments, has the engine
    with slotd in front. The engine's BUILD.json, when it has one, is copied beside it; run this
    again when the engine has been replaced.
    """
    real = _engine(Path(engine).absolute())
    target = _directory(Path(directory).absolute()) / _plain_name(
        real.name if name is None else name
    )
    _refuse_to_overwrite(target, real, force)
    if not _same_file(real.parent, target.parent):
        _copy_build(real.parent / BUILD_FILE, target.parent / BUILD_FILE, _is_shim(target) or force)
    _write(target, script(real, sys.executable), 0o755)
    click.echo(f'"exe": {json.dumps(str(target))}')


def script(engine: Path, python: str) -> bytes:
    """Return the text of a shim that starts `engine` by the interpreter `python`.

    -P: a module in the working directory must not be taken for one of slotd's.
    """
    return (
        b"#!/bin/sh\n"
        + MARK
        + f"export {SHIM_VARIABLE}=1\n".encode()
        + f"export {ENGINE.environment}=".encode()
        + os.fsencode(shlex.quote(str(engine)))
        + b"\nexec "
        + os.fsencode(shlex.quote(python))
        + b' -P -m slotd.cli.engine "$@"\n'
    )


def _engine(path: Path) -> Path:
    try:
        status = path.stat()
    except OSError as error:
        raise Refusal(f"engine {path}: {error.strerror}: give the engine's executable") from None
    if not path.is_file() or not os.access(path, os.X_OK):
        raise Refusal(f"engine {path}: cannot be executed: give the engine's executable")
    if _is_shim(path):
        raise Refusal(f"engine {path}: is a shim of slotd's: give the engine's executable")
    _refuse_untrusted(path, status, "engine")
    return path


def _directory(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
        status = path.stat()
    except OSError as error:
        raise Refusal(f"directory {path}: {error.strerror}: give one that can be made") from None
    _refuse_untrusted(path, status, "directory")
    return path


def _refuse_untrusted(path: Path, status: os.stat_result, what: str) -> None:
    reason = untrusted(str(path), status, what)
    if reason:
        raise Refusal(reason)


def _plain_name(name: str) -> str:
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise Refusal(f"name {name!r}: give a file name without a directory")
    return name


def _refuse_to_overwrite(target: Path, engine: Path, force: bool) -> None:
    if _same_file(target, engine):
        raise Refusal(f"{target}: is the engine itself: give another DIR, or --name")
    if target.is_dir():
        raise Refusal(f"{target}: is a directory: give another DIR, or --name")
    if os.path.lexists(target) and not _is_shim(target) and not force:
        raise Refusal(f"{target}: is there and is no shim: give --force to write over it")


def _copy_build(build: Path, copy: Path, renewed: bool) -> None:
    """Have beside the shim what is beside the engine, be that nothing.

    Somebody else's file is refused, unless one beside a shim that is `renewed` was that shim's.
    """
    there = os.path.lexists(copy)
    if build.is_file():
        content = _read(build)
        if there and not renewed and _holds_other(copy, content):
            raise Refusal(
                f"{copy}: is there and differs from {build}: give --force to write over it"
            )
        if not _same_file(build, copy):
            _write(copy, content, 0o644)
    elif there:
        if not renewed:
            raise Refusal(f"{copy}: is there and the engine has none: give --force to remove it")
        _remove(copy)


def _holds_other(path: Path, content: bytes) -> bool:
    try:
        return path.read_bytes() != content
    except OSError:
        return True


def _same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _is_shim(path: Path) -> bool:
    """Tell whether a file is one of slotd's shims, which can be read."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            file.readline(len(MARK))
            return file.readline(len(MARK)) == MARK
    except OSError:
        return False


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        why = error.strerror
    raise Refusal(f"{path}: cannot be read: {why}: make it one that can, or move it away")


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except OSError as error:
        raise Refusal(f"{path}: cannot be removed: {error.strerror}: give another DIR") from None


def _write(path: Path, content: bytes, mode: int) -> None:
    """Write a file so that whoever opens `path` meanwhile sees all of it or what was there."""
    new = path.with_name(f".{path.name}.new")
    try:
        new.unlink(missing_ok=True)
        with new.open("xb") as file:
            file.write(content)
        new.chmod(mode)
        new.replace(path)
    except OSError as error:
        raise Refusal(f"{path}: cannot be written: {error.strerror}: give another DIR") from None
