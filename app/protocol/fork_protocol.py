"""What the lab and the fork server say to each other before a worker speaks in frames."""

import struct

REQUEST = struct.Struct("!I")
"""One datagram, with descriptors for commands, frames and prints: the worker's memory in MB."""
PID = struct.Struct("!I")
"""The first bytes of a forked worker: its process id."""
NOT_ALONE = 3
"""The server's exit code where something that was imported started threads or left files open."""
