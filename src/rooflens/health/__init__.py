"""Is a node healthy? What its tools say, judged: findings with evidence, what they cost and the next step."""
