import dataclasses
import itertools
import random
import re

import numpy as np
import pytest

from docindex.cancellation import stopped_by
from docindex.query.regions.passages import passages
from docindex.query.regions.regions import Region, regions
from docindex.reading.sentences import WORD_SYMBOLS
from docindex.recipe import Recipe
from docindex.sketching.single_text import text_fingerprints
from docindex.sketching.sketches import HASH_SHIFT
from tests.query import reworded

RECIPE = Recipe()
CODE = Recipe.code("raw")

SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
WORDS = [one + other for one in SYLLABLES for other in SYLLABLES]


def prose(rng, sentences):
    return [" ".join(rng.choices(WORDS, k=rng.randrange(8, 20))).capitalize() + "." for _ in range(sentences)]


def in_other_words(rng, sentence):
    """A third of the words replaced, and the others in another order."""
    words = sentence.strip(".").lower().split()
    kept = [word if rng.random() < 0.66 else rng.choice(WORDS) for word in words]
    rng.shuffle(kept)
    return " ".join(kept) + "."


def found(query, text, recipe=RECIPE, boilerplate=()):
    hashes = [
        text_fingerprints(template, dataclasses.replace(recipe, window=1))[0] for template in boilerplate
    ]
    ignored = np.unique(np.concatenate([np.empty(0, np.uint64), *hashes]) >> HASH_SHIFT << HASH_SHIFT)
    return regions(query, text, recipe, passages(query, text, recipe), ignored)


def placed(rng, before, stretch, after):
    text = " ".join([*prose(rng, before), *stretch, *prose(rng, after)])
    begin = text.index(stretch[0])
    return text, begin, begin + len(" ".join(stretch))


@pytest.mark.parametrize("seed", range(10))
def test_a_reworded_stretch_is_a_region_of_both_texts(seed):
    rng = random.Random(seed)
    source = prose(rng, 12)
    text, start, end = placed(rng, 20, source, 30)
    query, query_start, query_end = placed(rng, 15, [in_other_words(rng, sentence) for sentence in source], 5)
    (region,) = [one for one in found(query, text) if one.sentences > 3]
    assert region.kind == "reworded"
    assert 0.33 <= region.score < 1
    edges = region.query_start, region.query_end, region.start, region.end
    true_edges = query_start, query_end, start, end
    assert all(abs(edge - true) < 300 for edge, true in zip(edges, true_edges, strict=True))
    assert region.query_line == region.line == 1


def test_a_copied_stretch_is_verbatim_with_exact_borders_although_words_were_inserted():
    rng = random.Random(1)
    source = prose(rng, 12)
    text, start, end = placed(rng, 20, source, 30)
    copied = [*source[:6], "Something else.", *source[6:]]
    query, query_start, query_end = placed(rng, 15, copied, 5)
    (region,) = [one for one in found(query, text) if one.kind == "verbatim"]
    assert (region.query_start, region.start) == (query_start, start)
    assert 0 <= region.query_end - query_end + 1 < 8
    assert 0 <= region.end - end + 1 < 8
    assert 0.9 < region.score < 1


def test_a_summary_takes_sentences_from_a_longer_stretch():
    rng = random.Random(2)
    source = prose(rng, 60)
    summary = [in_other_words(rng, sentence) for sentence in source[5:55:8]]
    query, query_start, query_end = placed(rng, 10, summary, 10)
    region = max(found(query, " ".join(source)), key=lambda one: one.sentences)
    assert region.sentences >= 5
    assert region.end - region.start > 3 * (region.query_end - region.query_start)
    assert region.query_start >= query_start - 400
    assert region.query_end <= query_end + 400


@pytest.mark.parametrize(
    "texts", [("", ""), ("One word.", ""), ("", "A few words here."), ("...", "!!!"), ("same", "same")]
)
def test_texts_without_sentences_in_common_have_no_regions(texts):
    assert found(*texts) == []


def test_sentences_in_boilerplate_make_no_region():
    assert len(found(reworded.A, reworded.B)) == 1
    for template in (reworded.REWORDED, reworded.ORIGINAL):
        assert found(reworded.A, reworded.B, boilerplate=[template]) == []
    first = reworded.ORIGINAL.partition(". ")[0]
    (region,) = found(reworded.A, reworded.B, boilerplate=[first])
    assert region.sentences == 2
    assert region.start > len(first)


def test_shared_words_are_the_different_words_that_both_stretches_have():
    (region,) = found(reworded.A, reworded.B)
    a, b = (
        {word[:WORD_SYMBOLS] for word in re.findall(r"\w+", stretch.lower())}
        for stretch in (reworded.REWORDED, reworded.ORIGINAL)
    )
    assert region.shared_words == len(a & b)


def test_long_texts_about_other_things_have_no_regions():
    rng = random.Random(4)
    common = rng.choices(WORDS, k=60)

    def text():
        chosen = (rng.choices(common, k=9) + rng.choices(WORDS, k=4) for _ in range(600))
        return ". ".join(" ".join(rng.sample(words, k=len(words))) for words in chosen)

    assert found(text(), text()) == []


def test_regions_do_not_overlap_in_the_query():
    rng = random.Random(3)
    source = prose(rng, 10)
    text = " ".join([*source, *prose(rng, 8), *(in_other_words(rng, sentence) for sentence in source)])
    query = " ".join([*(in_other_words(rng, sentence) for sentence in source), *prose(rng, 4), *source])
    edges = [(one.query_start, one.query_end) for one in found(query, text)]
    assert len(edges) >= 2
    assert all(end <= begin + 50 for (_, end), (begin, _) in itertools.pairwise(edges))


def test_a_sentence_that_is_repeated_a_thousand_times_takes_no_time():
    repeated = "The same sentence stands here again and again. " * 1000
    assert all(isinstance(one, Region) for one in found(repeated, repeated))


def test_lines_of_source_code_make_regions():
    lines = [f"total_{n} = compute(alpha_{n}, beta_{n % 7}) + offset_{n}" for n in range(30)]
    changed = [line.replace("compute", "calculate").replace("+", "-") for line in lines]
    other = [f"unrelated_{n}(value)" for n in range(20)]
    (region,) = found("\n".join(other + changed), "\n".join(lines), CODE)
    assert region.query_line == 21
    assert region.line == 1


def test_each_step_for_long_texts_can_be_stopped():
    rng = random.Random(5)
    query, text = (" ".join(prose(rng, 40)) for _ in range(2))
    common = passages(query, text, RECIPE)
    times = []
    with stopped_by(lambda: times.append(1)):
        regions(query, text, RECIPE, common)
    for last in range(len(times)):
        left = iter(range(last))

        def stop(left=left):
            if next(left, None) is None:
                raise TimeoutError

        with pytest.raises(TimeoutError), stopped_by(stop):
            regions(query, text, RECIPE, common)
    assert len(times) > 8


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (
            "图书馆员在暴风雨到达北方书架之前数了每一盏灯笼。访客借了厚毛毯，在铜炉旁等到早晨。没有人记得谁打开了存放最古老地图的地窖。",
            "在暴风雨到达北边书架以前，每一盏灯笼都被图书馆员数过了。直到早晨，访客们在铜炉旁边等着，借了厚厚的毛毯。谁打开了放着最古老地图的地窖，没有人记得。",
        ),
        (
            "أحصى أمين المكتبة كل فانوس قبل أن تصل العاصفة إلى الرفوف الشمالية. استعار الزوار بطانيات ثقيلة "
            "وانتظروا بجانب الموقد النحاسي حتى الصباح.",
            "قبل أن تصل العاصفة إلى الرفوف الشمالية أحصى أمين المكتبة جميعا كل فانوس. وانتظروا حتى الصباح "
            "بجانب الموقد النحاسي بعد أن استعار الزوار بطانيات ثقيلة.",
        ),
        (
            "Библиотекарь пересчитал все фонари до того, как буря достигла северных полок. Посетители взяли "
            "тяжёлые одеяла и ждали у медной печи до утра.",
            "До того, как буря достигла северных полок, фонари пересчитал все до одного библиотекарь. "
            "У медной печи до утра ждали посетители, взяв тяжёлых одеял.",
        ),
    ],
    ids=["Chinese", "Arabic", "Russian"],
)
def test_short_regions_are_found_in_any_script(query, text):
    (region,) = found(query, text)
    assert (region.kind, region.sentences) == ("reworded", len(re.findall("[.。]", query)))


def test_lines_of_source_code_must_be_more_alike():
    one, other = (
        "\n".join(f"{name}_{n} = {name}_list[{n}] if {name}_list else None" for n in range(30))
        for name in ("alpha", "omega")
    )
    assert found(one, other, CODE) == []
