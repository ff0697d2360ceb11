"""Equal devices beside each other: who is slow, by how much, how surely, and why."""
