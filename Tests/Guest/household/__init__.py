"""The whole hub in the guest, for jobs: the reference backend over TLS, the real daemon over the kernel's Bluetooth, its queue on a real disk, and the
books of both ends.

`Household` runs it, `Account` and `ReadingAccount` compare the books, `until` waits. The parts that know nothing of Bluetooth are those of tools/demo.
"""

import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[3]
"""The checkout."""

for _folder in (CHECKOUT / "tools", CHECKOUT / "reference", CHECKOUT / "Tests" / "Guest"):
    if str(_folder) not in sys.path:
        sys.path.insert(0, str(_folder))

from .account import Account  # noqa: E402 (after the folders it imports from are known)
from .case import Scene  # noqa: E402
from .devices import Collar, Cuff  # noqa: E402
from .house import Household  # noqa: E402
from .readings import Reading, ReadingAccount  # noqa: E402
from .waiting import Patience, until  # noqa: E402

__all__ = ["CHECKOUT", "Account", "Collar", "Cuff", "Household", "Patience", "Reading", "ReadingAccount", "Scene", "until"]
