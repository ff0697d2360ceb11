"""Many machines and large grids: one report of a fleet, and sweeps over workers."""
