"""The demonstration: the whole job with real processes, killed on purpose, and the books compared at the end.

* ``story``      - what happens, in which order
* ``moments``    - the instants at which the daemon is killed, and the other mishaps
* ``books``      - the collar's books against the backend's: what was lost, altered, cleared too early
* ``closing``    - the table at the end
* ``progress``   - the lines meanwhile, with the LED board
* ``peers``      - the backend's and the collar's control sockets, the daemon's ``status``
* ``programs``   - the two ends as programs
* ``processes``  - starting, killing, restarting
* ``workplace``  - certificates, tokens, the configuration
* ``storage``    - watching the outbox being written
* ``proc``       - threads and memory from /proc
* ``lines``      - JSON lines over a Unix socket
"""
