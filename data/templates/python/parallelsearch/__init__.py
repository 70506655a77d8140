"""ParallelSearch (arXiv 2508.09303) for Python trainers: grammar, rewards, rollout and search, as in the TypeScript library.

Only `agent_loop` needs more than Python's standard library.
"""
