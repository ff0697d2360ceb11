"""What to expect: floors nobody can beat, estimates with their intervals, memory, and what binds. Pure."""
