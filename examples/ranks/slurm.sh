#!/bin/bash
# A search on the nodes of a Slurm job, one rank a node, that goes on where a node is lost:
#
#   sbatch --export=ALL,SCRATCH=/scratch/me examples/ranks/slurm.sh
#
# `roving` was built with `--features mpi` against the cluster's OpenMPI, whose mpirun takes the
# nodes from Slurm. A job that was put back into the queue goes on from the last checkpoint.
#SBATCH --job-name=roving-uts
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=32
#SBATCH --time=04:00:00
#SBATCH --no-kill
#SBATCH --requeue
#SBATCH --open-mode=append
set -eu

: "${SCRATCH:?a directory that all nodes see}"
roving=${ROVING:-target/release/roving}
input=${INPUT:-T1XL}
# Where there is no Slurm, these say which machines there are: see namespaces.sh.
more=${MPIRUN_WORDS:-}

exec "$roving" launch -n "${SLURM_NTASKS:?this is for sbatch}" --restart 10 --fewer \
    --mpirun "--map-by ppr:1:node --bind-to none $more" \
    "$roving" run uts --input "$input" --dist --workers "${SLURM_CPUS_PER_TASK:-1}" \
    --checkpoints "$SCRATCH/roving-uts" --every "${EVERY:-60000}"
