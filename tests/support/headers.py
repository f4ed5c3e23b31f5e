"""Headers of batch scripts as they are in use, by the kind of work that they are for."""

from __future__ import annotations

from collections.abc import Mapping

HEADERS: Mapping[str, str] = {
    "memory only": "--mem=8G",
    "four tasks on two nodes": "-N2 -n4",
    "typed GPUs": "--gres=gpu:a100:2",
    "serial script": "-J clean -t 00:30:00 -o clean-%j.out",
    "MPI, tasks only": "--ntasks=6 --mem-per-cpu=2G --time=1-00:00:00",
    "MPI, whole layout": "--nodes=2 --ntasks-per-node=4 --cpus-per-task=1 --mem=0 --exclusive",
    "MPI, uneven": "-N 2 -n 5 --mem-per-cpu=1500M -m block:block",
    "MPI without hyperthreads": "-n 4 --hint=nomultithread --mem-per-cpu=1G",
    "MPI, a range of nodes": "--nodes=2-4 --ntasks=4 --use-min-nodes",
    "OpenMP": "--nodes=1 --ntasks=1 --cpus-per-task=8 --mem=16G",
    "MPI and OpenMP": "-N2 --ntasks-per-node=2 -c4 --threads-per-core=1",
    "GROMACS on CPUs": "--nodes=2 --ntasks-per-node=4 --cpus-per-task=2 --mem-per-cpu=500M",
    "GROMACS on GPUs": "-N1 --ntasks=4 --cpus-per-task=2 --gres=gpu:4 --gpu-bind=closest",
    "one GPU": "--gpus=1 --cpus-per-gpu=4 --mem-per-gpu=20G",
    "torchrun": "-N2 --ntasks-per-node=1 --gpus-per-node=4 --cpus-per-task=8 --mem=64G --wait-all-nodes=1",
    "one rank a GPU": "--nodes=2 --ntasks-per-node=2 --gpus-per-task=1 --cpus-per-task=2",
    "GPUs of the job": "-N2 -n4 --gpus=4 --mem-per-gpu=8G",
    "typed GPUs of the job": "-n2 --gpus=a100:2 -c2",
    "Jupyter": "-J jupyter -c2 --mem=12G -t 8:00:00 --signal=B:TERM@120 --no-requeue",
    "Jupyter with a GPU": "--gres=gpu:1 -c4 --mem=32G --comment=jupyter",
    "checkpointed": "-n2 --requeue --open-mode=append --signal=B:USR1@300 --time=2-0 --time-min=60",
    "large memory": "--mem=200G --cpus-per-task=2 --mail-type=END,FAIL --mail-user=me",
    "shared node": "-n2 --oversubscribe --nice=100 --mem-per-cpu=256",
}
SWEEPS: Mapping[str, str] = {
    "array sweep": "--array=0-5%3 -c1 --mem=1G",
    "stepped array with GPUs": "--array=1-7:3 --gres=gpu:1 --cpus-per-task=2",
}
"""Each with the number of tasks that it has: job arrays."""


def script(header: str, *, name: str) -> str:
    """A batch script with the header in #SBATCH lines, one for each option as people write them."""
    lines = [f"#SBATCH -{part}" for part in f" {header}".split(" -")[1:]]
    return "\n".join(["#!/bin/bash", f"# {name}", *lines, "", "srun --mpi=none hostname", "sleep 0.3", ""])
