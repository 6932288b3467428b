#!/usr/bin/env bash
# What shells complete. Of each shell that is installed, the script that the program prints runs;
# bash had verbs and options only, and the others had nothing.
source "$(dirname "$0")/work_folder.sh"

PATH=$(dirname "$assay"):$PATH

# words WORD...: what may stand in the place of the last one
words() { in_tree "$assay" completion words -- "$@"; }
in_tree() { (cd "$tree" && "$@"); }
expect 0 '^sweep$' words sw
expect 0 '^--device$' words sweep --dev
expect 0 '^check$' words db ch
expect 0 '^gemm_bf16$' words best --op ''
expect 0 '^gemm_wgmma_f16$' words best --json --kernel ''
expect 0 '^gemm_h200$' words best --sweep ''
expect 0 '^sweeps/gemm.yaml$' words sweep ''
expect 0 '^google-benchmark$' words export --format ''
expect 0 '^hot$' words export --protocol = ''
expect 0 '^fish$' words completion ''
expect 0 '^--json$' words best ''
expect 0 '^$' words best --db ''
expect 0 '^$' words new ''
[[ -z $(words best --no-such '' | grep gemm) ]] || fail 'an option that is none is completed'

# The same in each shell. The word before the last stands for a line that goes on.
in_bash() {
  bash -c 'source <(assay completion bash); COMP_WORDS=(assay "$@"); COMP_CWORD=$#; _assay
    printf "%s\n" "${COMPREPLY[@]}"' - "$@"
}
in_zsh() {
  zsh -fc 'compdef() { :; }; compadd() { printf "%s\n" $offers; }; _files() { echo files; }
    eval "$(assay completion zsh)"; words=(assay "$@"); CURRENT=${#words}; _assay' - "$@"
}
in_fish() { fish --no-config -c 'assay completion fish | source; complete -C "$argv"' "assay $*"; }
for shell in bash zsh fish; do
  if ! command -v $shell >/dev/null; then
    echo "skipped: no $shell"
    continue
  fi
  expect 0 '^sweep' in_tree in_$shell sw
  expect 0 '^gemm_bf16' in_tree in_$shell best --op ge
  expect 0 '^markdown' in_tree in_$shell export --format mark
  expect 0 '^forget' in_tree in_$shell db for
  expect 0 '^--sass' in_tree in_$shell inspect --sa
done
expect 2 'SHELL' "$assay" completion tcsh
