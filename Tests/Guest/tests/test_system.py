"""The whole hub on a real Bluetooth kernel: the daemon as it is installed, the reference backend over TLS, collars that were written from the profile alone.

    python3 -m unittest discover -s Tests/Guest/tests -t Tests/Guest

Needs what `guest` needs, and the gateway (HUB_TEST_GATEWAY, or scripts/build-release). HUB_TEST_SEED repeats a run's moments of kills and cuts.

A guest has one processor and waits most of the time: two of them run at once, each test's own.
"""

import json
import os
import random
import shutil
import subprocess
import tempfile
import unittest
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

GUEST = Path(__file__).resolve().parents[1]
CHECKOUT = GUEST.parents[1]
JOBS = GUEST / "jobs"
BUILT = [os.environ.get("HUB_TEST_GATEWAY"), CHECKOUT / ".build/release/gateway", CHECKOUT / ".build/debug/gateway"]
GATEWAY = next((path for path in BUILT if path and Path(path).exists()), None)
PYTHON = os.environ.get("HUB_TEST_PYTHON") or CHECKOUT / ".cache/peers/bin/python"
SEED = os.environ.get("HUB_TEST_SEED") or str(random.SystemRandom().randrange(1_000_000))


@dataclass
class Play:
    """A job in a guest with a disk: `status` is 0 when it passed, `words` are all it said."""

    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp()))
    status: int = 0
    words: str = ""

    def __post_init__(self) -> None:
        self.exchange = self.folder / "exchange"
        self.exchange.mkdir()
        self.disk = self.folder / "disk"
        with open(self.disk, "wb") as file:
            file.truncate(256 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", self.disk], check=True, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})

    def boot(self, job: str, *words: str, limit: int, options: tuple = (), peers: Path | None = None) -> None:
        """Boots the guest, unless a boot before this one failed."""
        if self.status:
            return
        done = subprocess.run(
            [GUEST / "guest", "--limit", str(limit), "--peers", peers or (JOBS / job).with_suffix(".peers"), "--disk", self.disk, "--exchange", self.exchange,
             "--env", f"HUB_TEST_GATEWAY={GATEWAY}", *options, JOBS / f"{job}.py", *words],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        self.status = done.returncode
        self.words += done.stdout

    def judge_bundles(self) -> None:
        """Every Bundle that the backend took, by a validator of FHIR and the rules for personal health devices."""
        if self.status:
            return
        bundles = sorted(self.exchange.glob("*.bundle.json"))
        done = subprocess.run([PYTHON, CHECKOUT / "Tests/Peers/fhir_rules.py", *bundles], text=True, capture_output=True, stdin=subprocess.DEVNULL)
        judgements = [json.loads(line)["problems"] for line in done.stdout.splitlines()]
        faults = [f"{bundle.name}: {problem}" for bundle, problems in zip(bundles, judgements) for problem in problems]
        if done.returncode or faults or not bundles or len(judgements) != len(bundles):
            self.status = 1
            self.words += "\n".join([f"{len(bundles)} Bundles, {len(judgements)} judged", *faults, done.stderr])
        else:
            self.words += f"measured: {len(bundles)} Bundles are FHIR R4 and keep the rules of the Personal Health Device guide\n"


def pairing(play: Play) -> None:
    play.boot("system_pairing", limit=420)


def links(play: Play) -> None:
    play.boot("system_links", SEED, limit=420)


def stream(play: Play) -> None:
    play.boot("system_stream", limit=420)


def crashes(play: Play) -> None:
    play.boot("system_crashes", SEED, limit=330)


def reboot(play: Play) -> None:
    play.boot("system_reboot", "before", limit=150, options=("--cut-at", "power cut"))
    if play.status:
        return
    # The collars go on where they were: same log, same keys, and what they record next.
    lines = (JOBS / "system_reboot.peers").read_text()
    for serial, book in json.loads((play.exchange / "books.json").read_text()).items():
        lines = lines.replace(f"serial={serial},", f"serial={serial},first={book['next']},")
    peers = play.folder / "peers"
    peers.write_text(lines)
    play.boot("system_reboot", "after", limit=150, peers=peers)


def rest(play: Play) -> None:
    play.boot("system_rest", limit=150)


def trouble(play: Play) -> None:
    play.boot("system_trouble", limit=570)


def cuffs(play: Play) -> None:
    play.boot("system_cuffs", limit=420)
    play.judge_bundles()


def cuff_trouble(play: Play) -> None:
    play.boot("system_cuff_trouble", SEED, limit=420)
    play.judge_bundles()


def cuff_power(play: Play) -> None:
    # The cuffs keep their power: keys and memories are in the exchange.
    for which in ("", "_file"):
        play.boot("system_cuff_power", f"before{which}", limit=150, options=("--cut-at", "power cut"))
        play.boot("system_cuff_power", f"after{which}", limit=150)
    play.judge_bundles()


def run(scenes) -> Play:
    """What the daemons and the peers said is kept when the scenes did not pass."""
    play = Play()
    try:
        scenes(play)
    finally:
        play.disk.unlink()
        if play.status == 0:
            shutil.rmtree(play.folder)
    return play


class System(unittest.TestCase):
    planned: set[str] = set()
    """The tests that this run consists of, where the loader says so; they are begun ahead of their turns."""

    # In the order in which they begin: the longest first.
    scenes = {
        "test_a_blocked_radio_a_controller_that_hangs_and_private_addresses_need_nobodys_help": trouble,
        "test_collars_are_found_paired_adopted_and_forgotten_as_the_installer_asks_and_nobody_who_poses_as_one": pairing,
        "test_ten_thousand_windows_come_once_in_order_and_as_fast_as_a_bare_receiver_gets_them_at_either_end_of_the_mtu": stream,
        "test_cuffs_readings_reach_their_owners_once_whatever_the_habits_of_the_cuff": cuffs,
        "test_cuffs_lose_and_double_nothing_in_a_full_queue_and_when_the_daemon_is_killed": cuff_trouble,
        "test_links_that_end_in_every_way_lose_nothing_and_strangers_are_not_linked": links,
        "test_a_daemon_that_is_killed_and_a_controller_that_is_pulled_out_lose_nothing": crashes,
        "test_bonds_and_learned_addresses_outlive_a_power_cut": reboot,
        "test_cuffs_lose_and_double_nothing_when_the_power_is_cut_before_and_after_a_confirmation": cuff_power,
        "test_heartbeats_alone_are_counted_in_wakeups_and_processor_time": rest,
    }
    begun: dict[str, Future] = {}

    @classmethod
    def setUpClass(cls):
        if GATEWAY is None:
            raise unittest.SkipTest("the gateway is not built, and HUB_TEST_GATEWAY does not name one")
        cls.lanes = ThreadPoolExecutor(2)
        cls.addClassCleanup(cls.lanes.shutdown, cancel_futures=True)
        cls.begun = {name: cls.lanes.submit(run, scenes) for name, scenes in cls.scenes.items() if name in cls.planned}

    def play(self):
        """The test's own guest. What it measured comes out here; all it said, when it did not pass."""
        name = self._testMethodName
        play = self.begun[name].result() if name in self.begun else run(self.scenes[name])
        for line in play.words.splitlines():
            if "measured: " in line:
                print("  " + line.partition("measured: ")[2], flush=True)
        self.assertEqual(play.status, 0, f"{play.words}\nthe logs are in {play.exchange}")
        self.assertIn("\nOK", play.words)

    def test_collars_are_found_paired_adopted_and_forgotten_as_the_installer_asks_and_nobody_who_poses_as_one(self):
        self.play()

    def test_ten_thousand_windows_come_once_in_order_and_as_fast_as_a_bare_receiver_gets_them_at_either_end_of_the_mtu(self):
        self.play()

    def test_links_that_end_in_every_way_lose_nothing_and_strangers_are_not_linked(self):
        self.play()

    def test_a_daemon_that_is_killed_and_a_controller_that_is_pulled_out_lose_nothing(self):
        self.play()

    def test_a_blocked_radio_a_controller_that_hangs_and_private_addresses_need_nobodys_help(self):
        self.play()

    def test_bonds_and_learned_addresses_outlive_a_power_cut(self):
        self.play()

    def test_cuffs_readings_reach_their_owners_once_whatever_the_habits_of_the_cuff(self):
        self.play()

    def test_cuffs_lose_and_double_nothing_in_a_full_queue_and_when_the_daemon_is_killed(self):
        self.play()

    def test_cuffs_lose_and_double_nothing_when_the_power_is_cut_before_and_after_a_confirmation(self):
        self.play()

    def test_heartbeats_alone_are_counted_in_wakeups_and_processor_time(self):
        self.play()


def load_tests(loader, tests, pattern):
    """Called by the loader with what this run consists of."""
    System.planned = {test._testMethodName for suite in tests for test in suite}
    return tests


if __name__ == "__main__":
    unittest.main()
