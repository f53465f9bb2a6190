#!/usr/bin/env python3
"""A certificate authority for tests and demonstrations, made with the openssl command.

    python3 make_authority.py DIRECTORY [--also KIND …]

writes ``ca.pem`` and ``ca.key``, and ``server.pem`` and ``server.key`` for 127.0.0.1, ::1 and localhost. ``--also`` adds server
certificates that a client must refuse, each as KIND.pem and KIND.key:

* ``expired``        its time ended yesterday
* ``not-yet-valid``  its time begins in a year
* ``wrong-name``     it is for another host
* ``other-ca``       it was signed by an authority that nobody trusts
"""

from __future__ import annotations

import argparse
import datetime
import pathlib
import subprocess
import sys
import tempfile

KINDS = ("expired", "not-yet-valid", "wrong-name", "other-ca")
_HERE = "IP:127.0.0.1,IP:::1,DNS:localhost"


def make(directory: pathlib.Path, also: tuple[str, ...] | list[str] = (), names: str = _HERE) -> None:
    """Everything named above into ``directory``, which is made when it is not there. Keys get mode 0600. ``names`` are the server's, as openssl writes them."""
    directory.mkdir(parents=True, exist_ok=True)
    now = datetime.datetime.now(datetime.timezone.utc)
    day = datetime.timedelta(days=1)
    _authority(directory, "ca", "Test authority")
    _server(directory, "ca", "server", names, now - day, now + 30 * day)
    for kind in also:
        match kind:
            case "expired":
                _server(directory, "ca", kind, _HERE, now - 30 * day, now - day)
            case "not-yet-valid":
                _server(directory, "ca", kind, _HERE, now + 365 * day, now + 395 * day)
            case "wrong-name":
                _server(directory, "ca", kind, "DNS:elsewhere.example", now - day, now + 30 * day)
            case "other-ca":
                _authority(directory, "untrusted", "Unknown authority")
                _server(directory, "untrusted", kind, _HERE, now - day, now + 30 * day)
            case _:
                raise ValueError(f"{kind} is none of {', '.join(KINDS)}")


def _authority(directory: pathlib.Path, name: str, subject: str) -> None:
    _key(directory / f"{name}.key")
    _openssl("req", "-x509", "-new", "-key", directory / f"{name}.key", "-out", directory / f"{name}.pem", "-days", "3650", "-sha256",
             "-subj", f"/CN={subject}", "-addext", "keyUsage=critical,keyCertSign,cRLSign")


def _server(directory: pathlib.Path, authority: str, name: str, names: str, begin: datetime.datetime, end: datetime.datetime) -> None:
    _key(directory / f"{name}.key")
    with tempfile.TemporaryDirectory(dir=directory) as scratch:
        work = pathlib.Path(scratch)
        (work / "index").touch()
        # `openssl ca` is the one command of OpenSSL 3.0 that takes both dates.
        (work / "ca.cnf").write_text(
            "[ca]\ndefault_ca = here\n"
            f"[here]\ndatabase = {work}/index\nnew_certs_dir = {work}\nrand_serial = yes\ndefault_md = sha256\npolicy = any\nunique_subject = no\n"
            "[any]\ncommonName = supplied\n"
            f"[server]\nsubjectAltName = {names}\nbasicConstraints = critical, CA:FALSE\nkeyUsage = critical, digitalSignature\n"
            "extendedKeyUsage = serverAuth\nsubjectKeyIdentifier = hash\nauthorityKeyIdentifier = keyid\n")
        _openssl("req", "-new", "-key", directory / f"{name}.key", "-out", work / "request", "-subj", f"/CN={name}")
        _openssl("ca", "-batch", "-notext", "-config", work / "ca.cnf", "-extensions", "server", "-in", work / "request",
                 "-out", directory / f"{name}.pem", "-cert", directory / f"{authority}.pem", "-keyfile", directory / f"{authority}.key",
                 "-startdate", begin.strftime("%Y%m%d%H%M%SZ"), "-enddate", end.strftime("%Y%m%d%H%M%SZ"))


def _key(path: pathlib.Path) -> None:
    path.touch(mode=0o600)
    _openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", path)


def _openssl(*arguments: object) -> None:
    done = subprocess.run(["openssl", *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"openssl {arguments[0]} failed: {done.stderr.strip()}")


def main() -> int:
    parser = argparse.ArgumentParser(description="A certificate authority for tests and demonstrations.")
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--also", nargs="*", choices=KINDS, default=[], help="certificates that must be refused")
    options = parser.parse_args()
    try:
        make(options.directory, options.also)
    except (OSError, RuntimeError) as error:
        print(f"make_authority: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
