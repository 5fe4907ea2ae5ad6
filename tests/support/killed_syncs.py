"""Syncs that are killed again and again while their folder is edited; what a sync that ends leaves is compared."""

from __future__ import annotations

import random
import signal
from pathlib import Path

from atomr_local.indexing.builds import publishing
from atomr_local.indexing.verify import verify_indexes
from support.build_process import BuildProcess
from support.edited_folder import EditedFolder, index_content

_MOST_EDITS = 7  # between two syncs
_MOST_KILLS = 3  # of one sync
_ONLY_A_PART = 0.4  # how often the next edits meet an index that lacks vectors
_BEGIN_AGAIN = 0.5  # how often one with all of them is built words first again
_READ_AFTER_KILL = 0.4  # how often the index is read through after a kill


class KilledSyncs:
    """Edits, kills and comparisons, all drawn from `chance`.

    Args:
        words: the index is built words first, and `text embed` is killed too; what is compared has got all its vectors.

    Attributes:
        kills, syncs: how many commands were killed, and how many syncs ended and were compared.
    """

    def __init__(self, builder: BuildProcess, root: Path, chance: random.Random, *, words: bool = False) -> None:
        self._builder, self.chance, self._words = builder, chance, words
        self.folder = EditedFolder(root, chance)
        self.kills = self.syncs = 0

    def run(self, edits: int) -> None:
        """Make so many edits; each sync that ends has to leave the index of a fresh build.

        Raises:
            AssertionError: one does not, or what a killed one leaves cannot be read.
        """
        self.folder.begin()
        build = "folder-words" if self._words else "folder"
        seconds = self._builder.timed(build, "synced", self.folder.root)
        while self.folder.made < edits:
            for _ in range(self.chance.randrange(_MOST_KILLS + 1)):
                self._edit(edits)
                self._killed("sync", seconds)
            self._edit(edits)
            assert self._builder.run("sync", "synced") == 0
            if self._words:
                self._killed("embed", seconds)
                if self.chance.random() < _ONLY_A_PART:
                    continue
                assert self._builder.run("embed", "synced") == 0
            self._compare()
            if self._words and self.chance.random() < _BEGIN_AGAIN:
                assert self._builder.run(build, "synced", self.folder.root) == 0

        if self._words:
            assert self._builder.run("embed", "synced") == 0
            self._compare()

    def _killed(self, command: str, seconds: float) -> None:
        """Kill the command at some moment, if it has not ended by then."""
        status = self._builder.run(command, "synced", kill_after=self.chance.uniform(0, seconds))
        assert status in (0, -signal.SIGKILL), f"{command} ended with {status}"
        if status:
            self.kills += 1
            self._check_readable()

    def _edit(self, edits: int) -> None:
        most = min(_MOST_EDITS, edits - self.folder.made)
        if most > 0:
            self.folder.edit(self.chance.randrange(1, most + 1))

    def _check_readable(self) -> None:
        publishing.put_back("text", "synced")
        if self.chance.random() < _READ_AFTER_KILL:
            bad = [report.problems for report in verify_indexes("synced") if report.state == "damaged"]
            assert not bad, f"a killed sync left damage: {bad}"

    def _compare(self) -> None:
        self.syncs += 1
        assert self._builder.run("folder", "fresh", self.folder.root) == 0
        synced, fresh = index_content("synced"), index_content("fresh")
        missing = [item for item in fresh if item not in synced]
        extra = [item for item in synced if item not in fresh]
        assert synced == fresh, f"after {self.folder.made} edits: missing {missing[:3]}, too much {extra[:3]}"
