"""Does for the tests what wpa_passphrase does: the key of a WPA network, of its name (the argument) and its passphrase (standard input)."""

import hashlib
import sys

passphrase = sys.stdin.readline().rstrip("\n")
if not 8 <= len(passphrase) <= 63:
    print("Passphrase must be 8..63 characters")
    sys.exit(1)
key = hashlib.pbkdf2_hmac("sha1", passphrase.encode(), sys.argv[1].encode(), 4096, 32).hex()
print(f'network={{\n\tssid="{sys.argv[1]}"\n\t#psk="{passphrase}"\n\tpsk={key}\n}}')
