"""Tests of the demonstration itself.

    python3 -m unittest discover -s tools/demo/tests -t tools
"""
