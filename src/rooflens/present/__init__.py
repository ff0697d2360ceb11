"""How results look: plots, tables, sentences in three languages. Computes nothing but layout."""
