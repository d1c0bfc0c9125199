"""Tell photos, songs and videos by the extensions of their names. Must never open a file."""

from collections import Counter
from collections.abc import Iterable
from typing import Literal

MediaKind = Literal["photo", "song", "video"]
"""A kind of file that is compared by its bytes alone, although other programs find media that look or sound
alike."""

_EXTENSIONS: dict[MediaKind, str] = {
    "photo": "jpg jpeg png gif bmp tif tiff webp heic heif avif raw cr2 cr3 nef arw dng orf rw2 psd",
    "song": "mp3 flac ogg oga opus m4a aac wav wma aiff aif ape alac",
    "video": "mp4 mkv avi mov wmv webm m4v mpg mpeg flv 3gp mts m2ts",
}
_KINDS = {extension.encode(): kind for kind, listed in _EXTENSIONS.items() for extension in listed.split()}


def media_counts(paths: Iterable[bytes]) -> dict[MediaKind, int]:
    """How many files are photos, songs and videos; a kind without a file is left out.

    >>> media_counts([b"/a/IMG_1.JPG", b"/a/song.mp3", b"/a/letter.txt", b"/a/2.jpeg"])
    {'photo': 2, 'song': 1}
    """
    counts = dict.fromkeys(_EXTENSIONS, 0)
    for extension, count in Counter([path.rpartition(b".")[2] for path in paths]).items():
        if kind := _KINDS.get(extension.lower()):
            counts[kind] += count
    return {kind: count for kind, count in counts.items() if count}
