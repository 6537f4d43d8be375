# shellcheck shell=bash
# What differs between clusters. Copy this file to slurm/site.sh and adapt it; slurm/cifar_resnet.sh
# reads it in the job before anything else. Every line is optional.

# 1. How the ranks are started: "srun" (needs a Slurm with PMIx: `srun --mpi=list` names pmix) or
#    "mpirun" (an OpenMPI built with Slurm support finds the nodes of the job by itself).
#LAUNCHER=srun

# 2. Modules that bring the MPI and the compiler runtime with which Lockstep was built.
#module purge
#module load gcc/12 openmpi/4.1

# 3. Where the programs are, when not in build/release/bin of the folder you submit from.
#BIN_DIR=$HOME/lockstep/build/release/bin

# 4. The network that MPI and NCCL use, when a node has several.
#export OMPI_MCA_btl_tcp_if_include=ib0
#export NCCL_SOCKET_IFNAME=ib0
