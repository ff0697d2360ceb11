"""Levers: changes to rows, letters, dtypes or the machine; what each gives is the ratio of two prices."""
