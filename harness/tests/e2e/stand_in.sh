# Sourced by the tests on the stand-in GPU, instead of work_folder.sh.
source "$(dirname "${BASH_SOURCE[0]}")/work_folder.sh"
stand_ins=$(IFS=:; echo "${*:3}")
unset CUDA_HOME  # the toolkit that it names comes before the stand-ins
export LD_LIBRARY_PATH=$stand_ins${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export TMPDIR=$work  # the files by which sweeps on one GPU take turns
