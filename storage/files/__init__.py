"""Files below the runs folder: nobody else joins paths."""
