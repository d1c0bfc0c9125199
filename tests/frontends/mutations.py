"""Damage files at random, and read them: ``python -m tests.frontends.mutations 200000``.

The tests read a few hundred damaged files of each format in their own process. The program reads as many as
it is told, spread over all front ends, through the processes of extractors, so that a crash or a hang shows.
Files that are slow, end the process or raise an error that nobody foresaw are kept in a folder.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import io
import random
import resource
import tempfile
import time
import warnings
import zipfile
from pathlib import Path

from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import ExtractionOptions
from docindex.frontends.isolated.child import extracted_from
from docindex.frontends.isolated.extractor import Extractor
from docindex.frontends.isolated.messages import Source
from docindex.frontends.source_documents import read_source

LIMIT_S = 10.0
"""A damaged file of some kilobytes that takes longer hangs."""
UNFORESEEN = "it cannot be read:"
"""How the messages about errors begin that no front end foresaw."""
_SLOW_S = 2.0
KEPT = Path(tempfile.gettempdir(), "docindex-mutations")
_DEATHS = ("its reader ended", "it takes more than")
_ZIP = b"PK\3\4"


def mutated(data, chance):
    """Data with a few bytes flipped, replaced, cut out, moved or repeated."""
    data = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 5, 20))):
        start, to = (chance.randrange(len(data) or 1) for _ in range(2))
        end = min(len(data), start + chance.choice((1, 2, 16, 300)))
        piece = data[start:end]
        kind = chance.randrange(6)
        if kind <= 1 and piece:
            data[start] ^= 1 << chance.randrange(8)
        elif kind == 2:
            data[to : to + len(piece)] = chance.choice((piece, chance.randbytes(len(piece))))
        elif kind == 3 and len(piece) < len(data):
            del data[start:end]
        elif kind == 4:
            data[to:to] = piece
        else:
            data[start:end] = piece * chance.choice((2, 10, 500))
    return bytes(data)


def mutation(data, chance):
    """Mutated data; of a zip file sometimes the file, and mostly one of its members."""
    if not data.startswith(_ZIP) or chance.random() < 0.3:
        return mutated(data, chance)
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(written, "w") as target:
        members = [info for info in source.infolist() if not info.is_dir()]
        chosen = chance.choice(members)
        for info in members:
            member = source.read(info)
            target.writestr(info, mutated(member, chance) if info is chosen else member)
    return written.getvalue()


def mutation_of(sources, format_, number):
    """The damaged file with a number: the same in every run, but for times that the writers wrote."""
    return mutation(sources[number % len(sources)], random.Random(f"{format_} {number}"))


def outcomes_of_mutations(sources, format_, count=300, limit_s=2.0):
    """How often damaged sources have a text, or which reason not to have one; read in this process.

    Fails if one takes too long, raises an error that no front end foresaw, or has places out of order.
    """
    found = collections.Counter()
    for number in range(count):
        source = Source(mutation_of(sources, format_, number), format=format_)
        begun = time.process_time()
        try:
            text = extracted_from(source)
        except NotExtracted as error:
            refusal = str(error)
            found[error.reason] += 1
        else:
            refusal = ""
            starts = list(text.places.starts)
            assert starts == sorted(set(starts)), number
            assert not starts or 0 <= starts[0] <= starts[-1] <= len(text.text), number
            found["text"] += 1
        assert not refusal.startswith(UNFORESEEN), (number, refusal)
        assert time.process_time() - begun < limit_s, number
    return found


@dataclasses.dataclass
class Outcomes:
    """What became of the damaged files of a format."""

    reasons: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    kept: dict = dataclasses.field(default_factory=dict)
    """The first file of each kind that needs a look, by what is to be said of it."""
    deaths: int = 0
    slowest_s: float = 0.0


def outcomes_in_extractor(sources, format_, count):
    """The `Outcomes` of damaged files and the documents inside them, read in an extractor's process."""
    found = Outcomes()
    with Extractor(ExtractionOptions(archives=True), LIMIT_S) as extractor:
        for number in range(count):
            source = Source(mutation_of(sources, format_, number), format=format_, options=extractor.options)
            begun = time.perf_counter()
            try:
                read_source(source, extractor)
                found.reasons["text"] += 1
            except NotExtracted as error:
                found.reasons[error.reason] += 1
                found.deaths += str(error).startswith(_DEATHS)
                if str(error).startswith((UNFORESEEN, *_DEATHS)):
                    found.kept.setdefault(str(error), source.data)
            seconds = time.perf_counter() - begun
            found.slowest_s = max(found.slowest_s, seconds)
            if seconds > _SLOW_S:
                found.kept[f"it took {seconds:.1f} seconds"] = source.data
    return found


def main():
    from tests.frontends.samples import samples

    parser = argparse.ArgumentParser(prog="python -m tests.frontends.mutations", description=__doc__)
    parser.add_argument("count", type=int, help="how many damaged files to read")
    parser.add_argument("formats", nargs="*", help="the front ends (default: all)")
    parser.add_argument("--extractors", type=int, default=2, help="at a time (default: %(default)s)")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", "Duplicate name")
    chosen = {
        name: data for name, data in samples().items() if name in options.formats or not options.formats
    }
    each = -(-options.count // len(chosen))
    begun = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(options.extractors) as pool:
        futures = {
            name: pool.submit(outcomes_in_extractor, data, name, each) for name, data in chosen.items()
        }
        for name, future in futures.items():
            show(name, future.result())
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    took = time.perf_counter() - begun
    print(f"{each * len(chosen):,} files in {took:.0f} s; most memory of a process: {peak:.0f} MB")


def show(name, found):
    """Print the line of a format, and keep the files that need a look."""
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in found.reasons.most_common())
    print(f"{name:9} {reasons}; slowest {found.slowest_s:.2f} s; {found.deaths} deaths", flush=True)
    for number, (message, data) in enumerate(found.kept.items()):
        path = KEPT / f"{number}.{name}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        print(f"    {path}: {message}", flush=True)


if __name__ == "__main__":
    main()
