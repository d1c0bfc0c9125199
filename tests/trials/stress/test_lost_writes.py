"""No acknowledged commit is lost. In full: ``python -m tests.trials.stress.lost_writes 100000``."""

import contextlib
import sqlite3

import pytest

import docindex
from tests.trials.stress import host_processes, lost_writes


@pytest.mark.parametrize(
    ("kinds", "processes", "commits"),
    [
        (host_processes.KINDS, 6, 800),
        ([host_processes.sqlite3_host], 2, 400),
        ([host_processes.forking_host], 1, 150),
    ],
    ids=["mixed", "sqlite3 and docindex in one process", "forks of the only process"],
)
def test_no_commit_is_lost_by_both_libraries_in_threads_processes_and_forks_with_kills(
    tmp_path, kinds, processes, commits
):
    run = lost_writes.Run(tmp_path / "host.db", 1, kinds, processes)
    run.until(commits, kills_every=commits // 12)
    assert lost_writes.verify(run) == []
    assert run.counts["commits"] >= commits
    assert run.counts["kills"] > 3


def test_the_program_names_what_is_lost_or_written_twice_or_without_reason(tmp_path):
    run = lost_writes.Run(tmp_path / "host.db", 1, [host_processes.sqlite3_alone], 1)
    run.until(400, kills_every=1000)
    assert lost_writes.verify(run) == []
    assert run.counts["documents put"] > run.counts["documents removed"] > 0
    with contextlib.closing(sqlite3.connect(run.path)) as connection:
        plain = "from log where coalesce(put, removed) is null limit 1"
        ours = connection.execute(f"select actor, number {plain}").fetchone()
        connection.execute("delete from log where (actor, number) = (?, ?)", ours)
        connection.execute("insert into log values ('q.1', 1, 0, 1, 'q.1:1', null)")
        ((removed,),) = connection.execute("select removed from log where removed is not null limit 1")
        connection.commit()
    with docindex.open(run.path) as index:
        index.add("q/2", "not its text")
        index.add(removed, host_processes.text_of(removed))
        index.add("note:q.1:2", host_processes.text_of("q.1:2"))
    faults = "\n".join(lost_writes.verify(run))
    assert f"1 of {len(run.returned['log'])} commits are not in the log" in faults
    assert "but the log has" in faults
    assert "increments were overwritten by another" in faults
    assert "log ('q.1', 1) was not committed" in faults
    assert "document ('q', 2) was not committed" in faults
    assert "the text of q/2 is wrong" in faults
    assert "documents of transactions are lost: ['q.1:1']" in faults
    assert f"documents are there, but were removed: [{removed!r}]" in faults
    assert "1 documents are there without a transaction: ['note:q.1:2']" in faults
    assert "the documents that triggers have stored are not those of the rows" in faults
