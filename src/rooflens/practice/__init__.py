"""Practice problems of the roofline: drawn with a seed, answered by the product's own code, checked, explained."""
