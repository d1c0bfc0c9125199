"""Ask an index random questions in every way there is, and compare the answers with the plain definitions."""

import contextlib
import io
import json
import random
import sqlite3
from pathlib import Path

import apsw

import docindex
from docindex import Key, Text
from docindex.cli import main
from docindex.sql.sql_values import literal
from tests.trials.oracle import corpora, definitions
from tests.trials.oracle.tally import LONG_WORDS, MEASURES, SHORT_WORDS, WORDS

ALL = (*MEASURES, "shared")
COLUMNS = (*ALL, "basis", *(f"{measure}_error" for measure in MEASURES))
PAIR = ("a", "b", "a_id", "b_id")
THRESHOLDS = [0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.976, 0.99, 1.0]


def row_of(found):
    """The measures of a result of Python as a dictionary."""
    return {name: getattr(found, name) for name in COLUMNS}


def pair_of(pair):
    """The keys and ids of a pair as a dictionary."""
    return {name: getattr(pair, name) for name in PAIR}


def numbers(row):
    """The numbers of a row in the form of the definitions."""
    return definitions.Shares(*(row[name] for name in ALL))


class Asker:
    """One corpus, its index, its truth, and all connections to it."""

    def __init__(self, corpus, folder, tally):
        self.corpus, self.tally = corpus, tally
        self.rng = random.Random(corpus.seed + 1)
        self.folder = Path(folder)
        self.path = str(self.folder / f"{corpus.seed}.docindex")
        self.truth = definitions.Truth(corpus.texts, corpus.recipe, corpus.templates)
        self.index = corpus.build(self.path)
        self.kept = {self.truth.texts[key] for key in self.index if self.index.text(key) is not None}
        self.ids = {key: self.index[key].id for key in self.index}
        copy = f"{self.path}-copy"  # in one process, two libraries cannot use one file
        self.index.backup(copy)
        self.by_apsw, self.by_sqlite3 = apsw.Connection(self.path), sqlite3.connect(copy)
        docindex.register(self.by_apsw)
        docindex.register(self.by_sqlite3)
        self.of_all = self.truth.all_pairs(set(self.truth.texts), None, self.kept)

    def close(self):
        """Close the connections and the index, and remove its file."""
        self.by_apsw.close()
        self.by_sqlite3.close()
        self.index.close()
        for file in self.folder.glob(f"{self.corpus.seed}.docindex*"):
            file.unlink()

    # The ways to ask.

    def tables(self, name, columns, options, conditions=()):
        """The rows of a table function: from `execute` or apsw, by arguments or conditions, and as JSON."""
        clauses = [f'"{option}" = ?' for option in options] + [f"{clause} ?" for clause, _ in conditions]
        where = f" where {' and '.join(clauses)}" if clauses else ""
        bindings = [*options.values(), *(value for _, value in conditions)]
        sql = f"select {', '.join(columns)} from {name}{where}"
        for surface, rows in [
            (f"apsw {name}", self.by_apsw.execute(sql, bindings).fetchall()),
            (f"execute {name}", self.index.execute(sql, bindings)),
        ]:
            yield surface, [dict(zip(columns, row, strict=True)) for row in rows]
        if not conditions and self.rng.random() < 0.2:
            values = [str(value) for value in bindings]
            if not any(isinstance(value, (int, float)) for value in bindings):
                yield f"command sql {name}", self.command("sql", self.path, sql, *values)

    def as_json(self, name, required, options):
        """The rows as JSON, on both libraries."""
        marks = ", ".join("?" * (len(required) + 1))
        bindings = [*required, json.dumps(options)]
        for surface, connection in ("apsw", self.by_apsw), ("sqlite3", self.by_sqlite3):
            ((found,),) = list(connection.execute(f"select {name}_json({marks})", bindings))
            yield f"{surface} {name}_json", json.loads(found)

    def command(self, *arguments):
        """What a command prints as JSON."""
        printed, remarks = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(remarks):
            code = main([arguments[0], "--json", *arguments[1:]])
        if code not in (0, 1):
            raise RuntimeError(f"{arguments} gave the code {code}: {remarks.getvalue()}")
        return json.loads(printed.getvalue() or "[]")

    def file(self, text):
        """The name of a file with this text."""
        path = self.folder / "query.txt"
        path.write_bytes(text.encode())
        return str(path)

    # What is asked.

    def threshold(self, values):
        """A random threshold, often one that a pair has exactly."""
        values = [value for value in values if 0 < value <= 1]
        return self.rng.choice(values) if values and self.rng.random() < 0.4 else self.rng.choice(THRESHOLDS)

    def condition(self):
        """A random condition on documents as SQL, and the keys that fulfil it."""
        keys = list(self.truth.texts)
        if self.rng.random() < 0.6:
            return None, set(keys)
        letter = self.rng.choice("abä漢")
        if self.rng.random() < 0.5:
            return f"key < '{letter}'", {key for key in keys if key < letter}
        return "id % 2 = 0", {key for key in keys if self.ids[key] % 2 == 0}

    def query(self):
        """A random query: what to pass, and its text. Half of them are documents."""
        key = self.rng.choice(list(self.truth.texts))
        text = self.truth.texts[key]
        if self.rng.random() < 0.5:
            return Key(key), text
        kind = self.rng.random()
        if kind < 0.3:
            text = corpora.another_form(self.rng, text)
        elif kind < 0.6:
            parts = text.split(" ")
            begin = self.rng.randrange(len(parts))
            text = " ".join(parts[begin : begin + self.rng.randint(1, 100)])
        elif kind < 0.7:
            text += " " + self.rng.choice(list(self.truth.texts.values()))
        return Text(text), text

    def in_sql(self, query):
        """A query as an argument of SQL."""
        if isinstance(query, Key):
            return self.ids[query]
        return literal(str(query)) if query in self.truth.texts else str(query)

    def known(self, query, text):
        """Whether the text of a query can be read."""
        return not isinstance(query, Key) or text in self.kept

    def kind(self, way, *texts):
        """The kind of an estimate: the recipe, boilerplate or not, how it was asked, and the words."""
        means = [self.truth.mean_word(text) for text in texts]
        words = SHORT_WORDS if min(means) < 3 else LONG_WORDS if max(means) > 9 else WORDS
        return self.corpus.recipe_name, "boilerplate" if self.truth.ignored else "no boilerplate", way, words

    def measured(self, surface, row, truth, question, texts, *, is_exact):
        """Note the measures of one answer: exact or an estimate."""
        if is_exact or row["basis"] == "shingles":
            self.tally.same(surface, (numbers(row), row["basis"]), (truth, "shingles"), question)
            self.tally.same(f"{surface}, errors", [row[f"{m}_error"] for m in MEASURES], [0.0] * 3, question)
        else:
            self.tally.estimate(self.kind(surface, *texts), row, truth, question)

    def ask(self):
        """Ask everything once."""
        self.ask_words()
        self.ask_measures()
        for _ in range(2):
            self.ask_pairs()
        self.ask_clusters()
        for _ in range(3):
            self.ask_similar()
            self.ask_search()
        if self.rng.random() < 0.2:
            self.ask_compare_command()

    def ask_words(self):
        """Texts have the same hash of words only if they have the same words."""
        recipe, by_hash, by_words = self.corpus.recipe, {}, {}
        for key, text in self.truth.texts.items():
            by_hash.setdefault(docindex.sketch(text, recipe).words_hash, []).append(key)
            by_words.setdefault(self.truth.words(text), []).append(key)
        self.tally.same("words_hash", list(by_hash.values()), list(by_words.values()), self.corpus.seed)

    def exact_pair(self, a, b):
        """Whether the numbers of two queries, each with its text, must be exact."""
        return (self.known(*a) and self.known(*b)) or self.says_same(a[1], b[1])

    def says_same(self, a, b):
        """Whether two texts are known to be the same without reading them."""
        return self.corpus.recipe.token != "line" and self.truth.words(a) == self.truth.words(b)

    def truth_of(self, a, b):
        """The measures of two queries, each with its text."""
        truth = self.truth.measures(a[1], b[1])
        if self.says_same(a[1], b[1]) and not (self.known(*a) or self.known(*b)):
            # Without the texts nobody knows which of their shingles are boilerplate.
            return truth._replace(shared=len(self.truth.shingles(a[1])))
        return truth

    def ask_measures(self):
        """Compare pairs of texts and documents."""
        for _ in range(12):
            a, b = self.query(), self.query()
            question = (self.corpus.seed, self.corpus.recipe_name, a[0], b[0])
            is_exact = self.exact_pair(a, b)
            truth = self.truth_of(a, b)
            for surface, found in [
                ("measures", self.index.measures(a[0], b[0])),
                ("compare", self.index.compare(a[0], b[0])),
            ]:
                self.measured(surface, row_of(found), truth, question, (a[1], b[1]), is_exact=is_exact)
            own = row_of(found)
            expected = own["resemblance"], own["containment"], own["basis"]
            sql = "select doc_resemblance(?1, ?2), doc_containment(?1, ?2), doc_basis(?1, ?2)"
            bindings = self.in_sql(a[0]), self.in_sql(b[0])
            for name, connection in [
                ("apsw", self.by_apsw),
                ("sqlite3", self.by_sqlite3),
                ("execute", self.index),
            ]:
                (row,) = list(connection.execute(sql, bindings))
                self.tally.same(f"{name} doc_resemblance ...", tuple(row), expected, question)
            recipe = self.corpus.recipe
            plain = definitions.Truth({}, recipe).measures(a[1], b[1])
            found = docindex.resemblance(a[1], b[1], recipe), docindex.containment(a[1], b[1], recipe)
            self.tally.same("docindex.resemblance", found, (plain.resemblance, plain.containment), question)

    def ask_pairs(self):
        """Ask for pairs and containments."""
        where, keys = self.condition()
        ignore_above = self.rng.choice([None, None, None, self.rng.randint(1, 8)])
        boilerplate = self.rng.random() < 0.7
        truth = self.truth if boilerplate else definitions.Truth(self.corpus.texts, self.corpus.recipe)
        near = truth.all_pairs(keys, ignore_above, self.kept)
        options = {"where": where, "ignore_above": ignore_above, "boilerplate": boilerplate}
        options = {
            name: value
            for name, value in options.items()
            if value is not None and (name, value) != ("boilerplate", True)
        }
        for measure in "resemblance", "containment":
            least = self.threshold([self.score(row, measure) for row in near.values()])
            asked = {f"min_{measure}": least, **options}
            question = (self.corpus.seed, self.corpus.recipe_name, "pairs", asked)
            expected = [(a, b, row) for (a, b), row in near.items() if self.score(row, measure) >= least]
            expected.sort(key=lambda pair: (-self.score(pair[2], measure), pair[:2]))
            found = [{**pair_of(pair), **row_of(pair)} for pair in self.index.pairs(**asked)]
            self.listed("pairs", found, expected, near, question, truth.known_among(keys, self.kept))
            columns = (*PAIR, *COLUMNS)
            for surface, rows in self.tables("doc_pairs", columns, asked):
                self.tally.same(surface, rows, found, question)
            for surface, rows in self.as_json("doc_pairs", [], asked):
                self.tally.same(surface, rows, found, question)
            condition = [(f"{measure} >=", least)]
            if measure == "resemblance":
                for surface, rows in self.tables("doc_pairs", columns, options, condition):
                    self.tally.same(f"{surface} where", rows, found, question)
            else:
                rows_of_b = [row for row in found if row["containment"] >= least]
                for surface, rows in self.tables("doc_pairs", columns, options, condition):
                    self.tally.same(f"{surface} where", rows, rows_of_b, question)
            if where is None and boilerplate and self.rng.random() < 0.5:
                rows = self.command(
                    *("pairs", "--index", self.path, f"--min-{measure}", repr(least)),
                    *("--ignore-common", str(ignore_above or 1000)),
                )
                self.tally.same("command pairs", rows, found, question)
        self.ask_containments(near, options, truth.known_among(keys, self.kept))
        self.ask_methods(truth, {**options, f"min_{measure}": least})

    def score(self, row, measure):
        """The number by which pairs are ordered."""
        return row.resemblance if measure == "resemblance" else max(row.containment, row.reverse_containment)

    def listed(self, surface, found, expected, near, question, known):
        """Note a list of pairs: those of known texts must all be there, in order; others are estimates."""
        texts = self.truth.texts
        exact = {
            (a, b)
            for a, b in [*((a, b) for a, b, _ in expected), *((row["a"], row["b"]) for row in found)]
            if (texts[a] in known and texts[b] in known) or self.truth.same_unit(texts[a], texts[b])
        }
        of_exact = [(row["a"], row["b"], numbers(row)) for row in found if (row["a"], row["b"]) in exact]
        self.tally.same(surface, of_exact, [row for row in expected if row[:2] in exact], question)
        nothing = definitions.Shares(0.0, 0.0, 0.0, 0)
        is_common = "ignore_above" in question[-1]
        for row in found:
            a, b = row["a"], row["b"]
            if (a, b) in exact:
                self.tally.same(
                    f"{surface}, basis", (row["basis"], row["resemblance_error"]), ("shingles", 0), a
                )
            elif row["basis"] == "shingles":
                self.tally.same(f"{surface}, basis", row["basis"], "an estimate", (a, b, question))
            else:
                turned = near.get((b, a))
                truth = near.get((a, b), nothing)
                if turned:
                    truth = definitions.Shares(turned[1], turned[0], turned[2], turned[3])
                way = f"{surface}, ignore_above" if is_common else surface
                self.tally.estimate(self.kind(way, texts[a], texts[b]), row, truth, (a, b, question))

    def ask_containments(self, near, options, known):
        """Ask for containments."""
        turned = {(b, a): definitions.Shares(r[1], r[0], r[2], r[3]) for (a, b), r in near.items()}
        both = {**near, **turned}
        least = self.threshold([row.containment for row in both.values()])
        question = (self.corpus.seed, self.corpus.recipe_name, "containments", {"least": least, **options})
        expected = [(a, b, row) for (a, b), row in both.items() if row.containment >= least]
        expected.sort(key=lambda pair: (-pair[2].containment, pair[:2]))
        found = [{**pair_of(pair), **row_of(pair)} for pair in self.index.containments(least, **options)]
        self.listed("containments", found, expected, both, question, known)
        columns = (*PAIR, *COLUMNS)
        asked = {"min_containment": least, **options}
        for surface, rows in self.tables("doc_containments", columns, asked):
            self.tally.same(surface, rows, found, question)
        for surface, rows in self.as_json("doc_containments", [], asked):
            self.tally.same(surface, rows, found, question)
        for surface, rows in self.tables("doc_containments", columns, options, [("containment >=", least)]):
            self.tally.same(f"{surface} where", rows, found, question)

    def ask_methods(self, truth, options):
        """Ask for pairs by the methods that estimate."""
        of_containment = "min_containment" in options
        method = "fingerprints" if of_containment else self.rng.choice(["fingerprints", "slots", "features"])
        if method != "fingerprints":
            options.pop("ignore_above", None)
        is_common = "ignore_above" in options
        for pair in self.index.pairs(**options, method=method):
            a, b = self.truth.texts[pair.a], self.truth.texts[pair.b]
            if not self.truth.same_unit(a, b) and not is_common:
                # Slots are made of the whole texts.
                of_basis = truth if method == "fingerprints" else definitions.Truth({}, truth.recipe)
                question = (self.corpus.seed, self.corpus.recipe_name, pair.a, pair.b, method)
                kind = self.kind(f"pairs by {method}", a, b)
                self.tally.estimate(kind, row_of(pair), of_basis.measures(a, b), question)

    def ask_clusters(self):
        """Ask for clusters of kept texts."""
        ignore_above = self.rng.choice([None, None, self.rng.randint(1, 8)])
        where, keys = self.condition()
        if not all(text in self.kept for text in self.truth.texts.values()):
            keys = {key for key in self.truth.texts if self.truth.texts[key] in self.kept}
            where = "key in ({})".format(", ".join(f"'{key}'" for key in sorted(keys)))
        near = self.truth.all_pairs(keys, ignore_above, self.kept)
        least = self.threshold([row.resemblance for row in near.values()])
        linkage = self.rng.choice(["connected", "greedy", "complete"])
        options = {"where": where, "ignore_above": ignore_above, "linkage": linkage}
        options = {name: value for name, value in options.items() if value is not None}
        question = (self.corpus.seed, self.corpus.recipe_name, "clusters", least, options)
        expected = self.truth.clusters(near, least, linkage)
        found = [
            [(m.key, m.why, m.like, m.resemblance) for m in cluster.members]
            for cluster in self.index.clusters(least, **options)
        ]
        self.tally.same("clusters", found, expected, question)
        columns = ("cluster", "key", "why", '"like"', "resemblance")
        names = ("cluster", "key", "why", "like", "resemblance")
        rows_of_all = [(n, *member) for n, members in enumerate(expected, 1) for member in members]
        for surface, rows in [
            *self.tables("doc_clusters", columns, {"min_resemblance": least, **options}),
            *self.as_json("doc_clusters", [], {"min_resemblance": least, **options}),
        ]:
            listed = [tuple(row.get(name, row.get(f'"{name}"')) for name in names) for row in rows]
            self.tally.same(surface, listed, rows_of_all, question)

    def ask_similar(self):
        """Ask for similar documents."""
        query, text = self.query()
        where, keys = self.condition()
        truths = {key: self.truth_of((query, text), (Key(key), self.truth.texts[key])) for key in keys}
        least = self.threshold([row.resemblance for row in truths.values()])
        question = (self.corpus.seed, self.corpus.recipe_name, "similar", query, least, where)
        options = {"min_resemblance": least} | ({} if where is None else {"where": where})
        found = [
            {"key": match.key, "id": match.id, **row_of(match)}
            for match in self.index.similar(query, **options)
        ]
        exact = {
            key
            for key in keys
            if (self.known(query, text) and self.truth.texts[key] in self.kept)
            or self.says_same(text, self.truth.texts[key])
        }
        expected = sorted(
            ((key, truths[key]) for key in exact if truths[key].resemblance >= least),
            key=lambda row: (-row[1].resemblance, row[0]),
        )
        of_exact = [(row["key"], numbers(row)) for row in found if row["key"] in exact]
        self.tally.same("similar", of_exact, expected, question)
        ordered = sorted(found, key=lambda row: (-row["resemblance"], row["key"]))
        self.tally.same("similar, order", found, ordered, question)
        for row in found:
            key, texts = row["key"], (text, self.truth.texts[row["key"]])
            self.measured("similar, each", row, truths[key], question, texts, is_exact=key in exact)
        argument = self.in_sql(query)
        columns = ("key", "id", *COLUMNS)
        for surface, rows in self.tables("doc_similar", columns, {"query": argument, **options}):
            self.tally.same(surface, rows, found, question)
        for surface, rows in self.as_json("doc_similar", [argument], options):
            self.tally.same(surface, rows, found, question)
        given = {"query": argument} | ({} if where is None else {"where": where})
        for surface, rows in self.tables("doc_similar", columns, given, [("resemblance >=", least)]):
            self.tally.same(f"{surface} where", rows, found, question)
        if where is None and isinstance(query, Text) and self.rng.random() < 0.3:
            rows = self.command(
                *("similar", self.file(text), "--index", self.path, "--min-resemblance", repr(least))
            )
            own = [(row["key"], *(row[name] for name in ALL)) for row in rows]
            self.tally.same(
                "command similar",
                own,
                [(row["key"], *(row[name] for name in ALL)) for row in found],
                question,
            )

    def ask_search(self):
        """Search: estimates by fingerprints, or exact numbers."""
        query, text = self.query()
        where, keys = self.condition()
        question = (self.corpus.seed, self.corpus.recipe_name, "search", query, where)
        for match in self.index.search(query, where=where, limit=None):
            other = self.truth.texts[match.key]
            truth = self.truth_of((query, text), (Key(match.key), other))
            self.measured("search", row_of(match), truth, question, (text, other), is_exact=False)
        measure = self.rng.choice(MEASURES)
        truths = {key: self.truth_of((query, text), (Key(key), self.truth.texts[key])) for key in keys}
        least = self.threshold([getattr(row, measure) for row in truths.values()])
        question = (*question, "exact", measure, least)
        found = self.index.search(query, where=where, limit=None, exact=True, **{f"min_{measure}": least})
        runs = self.runs(text)
        matches = {match.key: row_of(match) for match in found}
        for key in keys:
            other = self.truth.texts[key]
            is_exact = (self.known(query, text) and other in self.kept) or self.says_same(text, other)
            if key in matches:
                texts = (text, other)
                self.measured("search exact", matches[key], truths[key], question, texts, is_exact=is_exact)
                reached = matches[key][measure] >= least or not runs
                self.tally.same("search exact, minimum", reached or bool(self.truth.ignored), True, question)
            elif is_exact and not self.truth.ignored:
                must = getattr(truths[key], measure) >= least and not runs.isdisjoint(self.runs(other))
                self.tally.same("search exact, complete", must, False, (*question, key))

    def runs(self, text):
        """All runs of symbols as long as the guarantee."""
        symbols, t = definitions.symbols_of(text)[0], self.corpus.recipe.guarantee
        return {tuple(symbols[i : i + t]) for i in range(len(symbols) - t + 1)}

    def ask_compare_command(self):
        """Compare two files by the command, which uses the default recipe and no index."""
        texts = self.rng.sample(list(self.truth.texts.values()), 2)
        names = []
        for number, text in enumerate(texts):
            path = self.folder / f"{number}.txt"
            path.write_bytes(text.encode())
            names.append(str(path))
        found = self.command("compare", *names)
        expected = definitions.Truth({}, docindex.Recipe()).measures(*texts)
        own = found["containment_of_a_in_b"], found["containment_of_b_in_a"], found["resemblance"]
        self.tally.same("command compare", own, expected[:3], (self.corpus.seed, texts))
