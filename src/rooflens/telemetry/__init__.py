"""What follows from what engines tell: rates between two moments, and how near the roof they run. No clock here."""
