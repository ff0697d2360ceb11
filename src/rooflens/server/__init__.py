"""The page: states in, answers out, over HTTP or as one file. Only `app` imports Starlette, only `run` uvicorn."""
