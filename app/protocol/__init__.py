"""The only code that both processes import: messages, orders, framing, the pipe."""
