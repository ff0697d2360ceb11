"""What an operator needs, counted from one row of text: FLOPs and bytes, never time."""
