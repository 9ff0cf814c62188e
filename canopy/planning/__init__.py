"""What a run will take, from a configuration, corpus sizes and throughputs, before anything runs."""
