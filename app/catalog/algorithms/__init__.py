"""What can be trained with: plain data that the web process and the worker share."""
