#!/bin/sh
# Water in a box: GROMACS makes it by its own tools, and then moves it for 1500 steps. Writes
# where each atom is and how fast, with all digits. The folder is made, and used again.
set -eu
mkdir -p "$1"
cd "$1"
gmx() {
    command gmx -quiet "$@" >>told 2>&1 || { tail -n 20 told >&2; exit 1; }
}
if [ ! -e water.tpr ]; then
    cat >water.top <<END
#include "oplsaa.ff/forcefield.itp"
#include "oplsaa.ff/spce.itp"
[ system ]
water
[ molecules ]
END
    cat >water.mdp <<END
integrator = md
nsteps = 1500
nstxout = 1500
nstvout = 1500
nstenergy = 100
coulombtype = PME
rcoulomb = 0.9
rvdw = 0.9
tcoupl = v-rescale
tc-grps = system
tau-t = 0.1
ref-t = 300
gen-vel = yes
gen-temp = 300
gen-seed = 1
ld-seed = 1
constraints = h-bonds
END
    gmx solvate -cs spc216.gro -box 3 3 3 -p water.top -o water.gro
    gmx grompp -f water.mdp -c water.gro -p water.top -o water.tpr
fi
gmx mdrun -reprod -pin off -ntmpi 1 -ntomp "$OMP_NUM_THREADS" -s water.tpr -o moved.trr -e moved.edr \
    -g moved.log -c moved.gro
cat moved.trr
rm -f moved.* '#'*
