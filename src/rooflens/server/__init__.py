"""The page: states in, answers out, over HTTP or as one file. What `worker` makes of them knows no HTTP."""
