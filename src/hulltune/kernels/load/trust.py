"""Which files may be taken for machine code: those that nobody can change who could not change this package, too.

Compiled kernels are machine code, and Numba's own cache holds pickles: whoever writes them can run anything as the
user who loads them.
"""

from __future__ import annotations

import functools
import os
import stat
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def is_trusted(path: Path) -> bool:
    """Whether only this user, the administrator and the owner of the package can change a file.

    Outside of the package, all the world must not be able to put another folder in the place of its folder, either.
    Whoever owns the folders above is taken for an administrator.
    """
    if os.name == "nt":  # modes do not tell permissions there, and folders of users are closed to others
        return True
    try:
        if not _is_safe(os.stat(path)):
            return False
    except OSError:
        return False
    return _is_trusted_folder(path.parent)


@functools.cache
def _is_trusted_folder(folder: Path) -> bool:
    try:
        if not _is_safe(os.stat(folder)):
            return False
        if folder.is_relative_to(PACKAGE):
            return True
        above = [os.stat(parent).st_mode for parent in folder.resolve().parents]
        return all(mode & stat.S_ISVTX or not mode & stat.S_IWOTH for mode in above)
    except OSError:
        return False


def _is_safe(found: os.stat_result) -> bool:
    package = os.stat(PACKAGE)
    if found.st_uid not in (0, os.geteuid(), package.st_uid) or found.st_mode & stat.S_IWOTH:
        return False
    if not found.st_mode & stat.S_IWGRP or found.st_gid == 0:
        return True
    shared = package.st_mode & stat.S_IWGRP and found.st_gid == package.st_gid
    return bool(shared) or _is_private(found.st_gid)


def _is_private(group: int) -> bool:
    """Whether a group is the user's own, which many systems make for each user and let write by default."""
    import grp
    import pwd

    try:
        user, entry = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:  # a user without a name, as in containers
        return group == os.getegid() == os.geteuid()
    return group == user.pw_gid and entry.gr_name == user.pw_name and not set(entry.gr_mem) - {user.pw_name}
