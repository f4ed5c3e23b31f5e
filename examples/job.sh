#!/bin/bash
#SBATCH --job-name=train --partition=batch
#SBATCH --nodes=2 --ntasks=8 --mem=4G --time=1:00:00
srun ./train
