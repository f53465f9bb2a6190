"""What the daemon costs the machine it lives on, measured on real processes.

* ``scenes``   - which lives the daemon leads, and what is looked at when
* ``memory``   - resident memory from /proc/PID/smaps, by what it is
* ``counters`` - CPU time, bytes written and wake-ups from /proc
* ``calls``    - system calls counted by strace(1)
* ``report``   - the tables

Processes, certificates, configuration and the ends' own books are those of ``demo``.
"""
