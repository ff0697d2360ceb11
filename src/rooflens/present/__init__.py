"""How results look: plots, tables, sentences in three languages, notebook tables. Computes nothing but layout."""
