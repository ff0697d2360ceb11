"""How far estimates lie from what people measured: rows, the fit they give, and its scores on rows left out."""
