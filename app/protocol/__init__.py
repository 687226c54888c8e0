"""The only code that both processes import: messages, commands, framing, the pipe."""
