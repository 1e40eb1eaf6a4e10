#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2024.10"]
# ///
"""Sessions in environments of their own: ``nox -l`` lists them. ``make`` does the daily work without nox."""

from __future__ import annotations

import nox

nox.needs_version = ">=2024.10"
nox.options.default_venv_backend = "uv|virtualenv"
PROJECT = nox.project.load_toml("pyproject.toml")
PYTHONS = nox.project.python_versions(PROJECT)
EXTRAS = ".[certify,figures,parquet,zstd]"


@nox.session
def lint(session: nox.Session) -> None:
    """Ruff and mypy --strict."""
    session.install("-e", EXTRAS, *nox.project.dependency_groups(PROJECT, "dev"))
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """All tests on one version of Python; arguments go to pytest."""
    session.install("-e", EXTRAS, *nox.project.dependency_groups(PROJECT, "test"))
    session.run("pytest", "-n", "2", "--dist", "loadfile", *session.posargs)


@nox.session(venv_backend="uv", python=PYTHONS[0], default=False)
def lowest(session: nox.Session) -> None:
    """All tests with the lowest allowed versions of what the package depends on."""
    session.install(
        "--resolution", "lowest-direct", "-e", EXTRAS, *nox.project.dependency_groups(PROJECT, "test")
    )  # fmt: skip
    session.run("pytest", "-n", "2", "--dist", "loadfile", *session.posargs)


@nox.session(default=False)
def package(session: nox.Session) -> None:
    """A wheel and an sdist, checked; in dist/."""
    session.install("build", "twine")
    session.run("python", "-m", "build")
    session.run("twine", "check", "--strict", "dist/*")


@nox.session(default=False)
def review(session: nox.Session) -> None:
    """The checks of Scientific Python's repo-review."""
    session.install("sp-repo-review[cli]")
    session.run("repo-review", ".")


if __name__ == "__main__":
    nox.main()
