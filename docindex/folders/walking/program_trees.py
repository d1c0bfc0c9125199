"""Recognise the folders that programs fill: installed packages, version control, build and cache folders.

Takes the name of a folder, the names in it and the names beside it. A name alone never decides: a folder
"build" with photographs is a folder of a person. Opens one kind of file, ``CACHEDIR.TAG``. Must never fail: a
folder that cannot be read is no program folder.
"""

import os
from collections.abc import Set as AbstractSet

from docindex.folders.walking.file_reader import NotReadable, beginning_of

_CACHE_TAG = b"CACHEDIR.TAG"
_CACHE_SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55"

_CONTENTS: tuple[frozenset[bytes], ...] = (
    frozenset((b"pyvenv.cfg",)),
    frozenset((b"conda-meta",)),
    frozenset((b"HEAD", b"objects", b"refs")),
    frozenset((b"CMakeCache.txt", b"CMakeFiles")),
    frozenset((b"AppRun", b".DirIcon")),
)
"""A folder that has all names of one of these sets is a program folder, whatever its own name is."""

_SOURCES = frozenset((b"CMakeLists.txt", b"setup.py", b"pyproject.toml", b"package.json", b".git"))
"""A folder with one of these names has sources of a person, even if it was also built in or has a virtual
environment in itself."""

_NAMED: dict[bytes, frozenset[bytes]] = {
    b".hg": frozenset((b"store", b"requires")),
    b".svn": frozenset((b"wc.db", b"entries")),
    b".bzr": frozenset((b"branch-format",)),
    b"_darcs": frozenset((b"format", b"hashed_inventory")),
    b"CVS": frozenset((b"Entries", b"Repository")),
    b".jj": frozenset((b"repo",)),
    b"node_modules": frozenset((b".package-lock.json", b".yarn-integrity", b".modules.yaml", b".bin")),
    b"bower_components": frozenset((b"jquery", b"bootstrap")),
    b".tox": frozenset((b".pkg", b".package", b".tox-info.json", b"log")),
    b".nox": frozenset((b".cache",)),
    b".gradle": frozenset((b"buildOutputCleanup", b"caches", b"vcs-1", b"checksums")),
    b".terraform": frozenset((b"providers", b"modules", b"plugins")),
    b".next": frozenset((b"cache", b"server", b"build-manifest.json")),
    b".nuxt": frozenset((b"dist", b"tsconfig.json", b"nuxt.d.ts")),
    b".eggs": frozenset((b"README.txt",)),
    b"vendor": frozenset((b"autoload.php", b"modules.txt")),
    b"DerivedData": frozenset((b"ModuleCache.noindex", b"Build", b"Index")),
    b"build": frozenset((b"bdist.linux-x86_64", b"intermediates", b"classes", b"CMakeCache.txt")),
}
"""A folder with this name and at least one of these names in it is a program folder."""

_ENDINGS: dict[bytes, tuple[bytes, ...]] = {
    b"__pycache__": (b".pyc",),
    b"site-packages": (b".dist-info", b".egg-info", b".pth", b".egg-link"),
    b"dist-packages": (b".dist-info", b".egg-info", b".pth", b".egg-link"),
    b".eggs": (b".egg",),
    b"Pods": (b".xcodeproj",),
}
"""A folder with this name and an entry whose name has one of these endings is a program folder."""

_BESIDE: dict[bytes, frozenset[bytes]] = {
    b"target": frozenset((b"Cargo.toml", b"pom.xml", b"build.sbt")),
    b"build": frozenset((b"build.gradle", b"build.gradle.kts", b"setup.py", b"meson.build", b"pubspec.yaml")),
    b"_build": frozenset((b"mix.exs", b"dune-project", b"rebar.config")),
    b"deps": frozenset((b"mix.exs",)),
    b".stack-work": frozenset((b"stack.yaml",)),
    b"dist-newstyle": frozenset((b"cabal.project",)),
    b"elm-stuff": frozenset((b"elm.json",)),
    b"zig-cache": frozenset((b"build.zig",)),
    b"zig-out": frozenset((b"build.zig",)),
}
"""A folder with this name and one of these names beside it is a program folder."""

_BUNDLES = (b".app", b".framework", b".bundle", b".plugin")

_PACKAGES = (b"node_modules", b"bower_components")
_MANIFESTS = (b"package.json", b"bower.json", b".bower.json")
# Packages that are looked at before a folder named node_modules counts as a folder of a person.
_LOOKED_AT = 8

_BY_CONTENT = frozenset().union(*_CONTENTS)


def is_program_folder(path: bytes, names: AbstractSet[bytes], beside: AbstractSet[bytes]) -> bool:
    """Whether a folder is one that programs fill, given the names in it and those beside it.

    >>> is_program_folder(b"/p/.git", {b"HEAD", b"objects", b"refs"}, {b".git"})
    True
    >>> is_program_folder(b"/p/target", {b"goals.txt"}, {b"target", b"letters"})
    False
    """
    may_have = not names.isdisjoint(_BY_CONTENT) and names.isdisjoint(_SOURCES)
    if may_have and any(needed <= names for needed in _CONTENTS):
        return True
    if _CACHE_TAG in names and _is_tagged(path):
        return True
    name = os.path.basename(path)
    return (
        not names.isdisjoint(_NAMED.get(name, ()))
        or not beside.isdisjoint(_BESIDE.get(name, ()))
        or (name in _ENDINGS and any(entry.endswith(_ENDINGS[name]) for entry in names))
        or (name.endswith(_BUNDLES) and _is_bundle(path, names))
        or (name in _PACKAGES and _has_packages(path, names))
    )


def names_in(folder: bytes) -> frozenset[bytes]:
    """The names of the entries of a folder; empty if it cannot be read."""
    try:
        return frozenset(os.listdir(folder))
    except OSError:
        return frozenset()


def files_below(folder: bytes) -> int:
    """How many entries a folder has that are not folders, at any depth. Opens no file."""
    count, waiting = 0, [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        count += 1
        except OSError:
            continue
    return count


def _is_tagged(folder: bytes) -> bool:
    try:
        return beginning_of(os.path.join(folder, _CACHE_TAG)).startswith(_CACHE_SIGNATURE)
    except NotReadable:
        return False


def _is_bundle(folder: bytes, names: AbstractSet[bytes]) -> bool:
    return b"Info.plist" in names or (
        b"Contents" in names and b"Info.plist" in names_in(os.path.join(folder, b"Contents"))
    )


def _has_packages(folder: bytes, names: AbstractSet[bytes]) -> bool:
    """Whether some entry of the folder is a package; packages may be in a folder whose name begins with @."""
    for name in sorted(names)[:_LOOKED_AT]:
        below = os.path.join(folder, name)
        inside = names_in(below)
        if not inside.isdisjoint(_MANIFESTS):
            return True
        if name.startswith(b"@") and any(
            not names_in(os.path.join(below, scoped)).isdisjoint(_MANIFESTS) for scoped in sorted(inside)[:2]
        ):
            return True
    return False
