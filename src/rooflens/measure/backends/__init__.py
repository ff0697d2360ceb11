"""What can be measured on: the only modules that import numpy, torch or a compiled kernel to compute with."""
