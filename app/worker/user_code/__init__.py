"""Load and monitor user code: errors with their line, time limit, print limit, crashes."""
