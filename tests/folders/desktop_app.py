"""A small application that uses `docindex.folders`; mypy checks its types."""

import dataclasses
import threading
from pathlib import Path

import docindex
from docindex import folders


@dataclasses.dataclass
class ProgressBar:
    """What an application draws while it waits."""

    calls: list[tuple[int, int | None]] = dataclasses.field(default_factory=list)

    def __call__(self, done: int, total: int | None) -> None:
        self.calls.append((done, total))


@dataclasses.dataclass
class Application:
    """The state of one window."""

    index: docindex.Index
    journal: Path
    how: folders.How = "trash"
    keep: folders.KeepRule = "newest"
    bar: ProgressBar = dataclasses.field(default_factory=ProgressBar)
    stop: threading.Event = dataclasses.field(default_factory=threading.Event)
    shown: list[str] = dataclasses.field(default_factory=list)

    def look(self, folder: Path, archive: Path) -> tuple[folders.Scan, folders.Findings]:
        """Scan, and find copies."""
        options = folders.WalkOptions(hidden=True, exclude=["*.bak"])
        seen = folders.scan(self.index, [folder, archive], options=options, progress=self.bar)
        findings = folders.find(
            self.index, [folder], keep=self.keep, reference=[archive], scan=seen, progress=self.bar
        )
        for group in findings.groups:
            kind: folders.FindingKind = group.kind
            if isinstance(group, folders.FolderGroup):
                self.shown.append(f"{kind}: {group.kept}, {group.folder}")
            else:
                self.shown.append(f"{kind}: {', '.join(file.key for file in group.files)}")
        return seen, findings

    def remove(self, findings: folders.Findings) -> folders.Outcome:
        """Remove what the person has agreed to."""
        edited = folders.Plan.from_json(findings.plan().to_json())
        return folders.act(
            edited, self.how, journal=self.journal, progress=self.bar, on_file=self.show, cancel=self.stop
        )

    def bring_back(self, outcome: folders.Outcome) -> folders.UndoOutcome:
        """Undo what was done."""
        return folders.undo(outcome, progress=self.bar, cancel=self.stop)

    def show(self, file: folders.FileOutcome) -> None:
        """Show what became of one file."""
        self.shown.append(f"{file.outcome}: {file.key} ({file.reason})" if file.reason else file.outcome)
