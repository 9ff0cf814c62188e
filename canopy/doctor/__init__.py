"""What is wrong with this machine, this folder, or the jobs that a killed Snakemake left behind."""
