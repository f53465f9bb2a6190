"""Tests of the reference backend; they talk to the real process over real TLS.

    python3 -m unittest discover -s reference/tests -t reference
"""
