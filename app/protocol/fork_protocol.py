"""The messages between the web process and the fork server."""

import struct

REQUEST = struct.Struct("!I")
"""One datagram: the worker's memory in MB, with descriptors for commands, frames and output."""
PID = struct.Struct("!I")
"""The first bytes of a forked worker: its process id."""
CANNOT_FORK = 3
"""The server's exit code if an imported module started threads or left files open."""
