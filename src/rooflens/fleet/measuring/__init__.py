"""Every node of a Ray cluster measured at the same time: who is asked, what runs there, and what lands here."""
