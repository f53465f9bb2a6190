"""The reference backend: the smallest server that keeps the uplink contract for raw windows.

Read it in this order:

* ``structured_fields`` - RFC 8941, the syntax of the ``Hub-*`` headers
* ``windows``           - the 322-byte window, its CRC, sequence arithmetic
* ``submission``        - one request, parsed and checked against its body
* ``store``             - what is kept, how duplicates are removed, what "durable" means
* ``receipt``           - what the hub takes as confirmation
* ``service``           - the contract as a function from request to answer, without sockets
* ``server``            - TLS and HTTP/1.1

``faults`` and ``control`` exist for tests and demonstrations only. A backend of your own needs neither.
"""
