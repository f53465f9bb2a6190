"""What the tests of the package share: whether they can be run here, packages, and a root for each release."""

import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import root as roots  # noqa: E402


def required():
    """Skips what cannot be run here, with the reason; on a CI machine it fails instead."""
    reason = roots.why_not()
    if reason and not os.environ.get("CI"):
        raise unittest.SkipTest(reason)
    if reason:
        raise AssertionError(f"this must be possible on a CI machine: {reason}")


class PackageCase(unittest.TestCase):
    """Has a package of the built daemon."""

    @classmethod
    def setUpClass(cls):
        required()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.package = roots.package_for(getattr(cls, "suite", "bookworm"), cls.folder)


class RootCase(PackageCase):
    """Has a release's root directory with a systemd that runs, and the package installed in it."""

    suite = None
    booted = True

    @classmethod
    def setUpClass(cls):
        if cls.suite is None:
            raise unittest.SkipTest("of itself this is no test")
        super().setUpClass()
        if cls.suite == "bookworm" and "libgpiod3" in roots.depends(cls.package):
            raise unittest.SkipTest("the daemon here was built for Debian 13 and cannot run on 12: name one that can in HUB_TEST_GATEWAY_BOOKWORM")
        cls.root = cls.enterClassContext(roots.Root(cls.suite, booted=cls.booted))
        cls.installation = roots.install(cls.root, cls.package)


def for_each_release(case):
    """Gives the class of tests to each release that the package is for, in the module of the class."""
    module = sys.modules[case.__module__]
    for suite in roots.SUITES:
        name = f"{case.__name__}On{suite.capitalize()}"
        setattr(module, name, type(name, (case,), {"suite": suite, "__module__": case.__module__, "__qualname__": name}))
    return None
