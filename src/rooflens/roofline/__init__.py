"""Where work meets a machine: ceilings, ridge points, attainable rates, the price of a step, a placed point."""
