"""The layout engine: what sbatch asked for, as pods. Pure."""
