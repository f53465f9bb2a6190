"""Stand-ins for the daemon and the simulated collar, so that the demonstration can be tested without building anything.

They speak a protocol of their own between each other and keep the same command lines, control sockets and configuration. ``DEMO_DOUBLE_BUG`` in the
environment gives the stand-in of the daemon one of the bugs that the demonstration exists to find: ``lose``, ``alter``, ``clear-early``.
"""
