"""What can be trained on: plain data that the web process and the worker share."""
