#!/usr/bin/env bash
# A board of submissions, on the stand-in GPU: what is kept, what is one and the same, who leads.
source "$(dirname "$0")/stand_in.sh"

write_add_op '4000'
# submit NAME ENTRY BLOCK: a submission, whose kernel the stand-in runs for its entry; larger blocks
# are faster. Its header is one of its own.
submit() {
  mkdir -p "$1/parts"
  printf '// of %s\n#define SIZE BLOCK\n' "$1" >"$1/parts/size.cuh"
  write_submission "$1" "$1" "$3" "$2"
  sed -i '1i #include "parts/size.cuh"
    s/BLOCK/SIZE/' "$1/$1.cu"
}
submit first vector_add 64
submit fast vector_add 512
# Its contract takes the rest from another one beside it.
sed 's/^kernel: fast/kernel: common/' fast/fast.yaml >fast/common.yaml
printf 'kernel: fast\nlike: common\n' >fast/fast.yaml
submit renamed wrong_value 64
submit wrong wrong_value 128
judge() { "$assay" judge add "$@" --kernels kernels --db none; }
# standings PATH: the same of the board's document.
standings() {
  judge --board board --json >output 2>errors || fail "the standings: exit $?"
  field "standings[0].$1"
}

expect 2 '^assay: judge: expected a SUBMISSION, or --board DIR for what it holds; found none' judge
expect 2 '^assay: board: expected a board, found no board.db; judge a submission' \
  judge --board board
expect 2 '^assay: --board: expected a GPU' judge first --board board --device none

# The first one leads, and its sources are kept with its own headers.
expect 0 '^first for add, on .*: correct$' judge first --board board
grep -qE '^ +1  first_[0-9a-f]{8} +BLOCK=64 ' output || fail "the first is not on the board"
[[ -f $(echo board/add/first_*/parts/size.cuh) ]] || fail "its header is not kept"
[[ $(standings 'rows[0].rank') == 1 && $(standings 'rows[0].best_ratio') == 1.0 ]] ||
  fail "the first does not lead"

# A faster one is timed in turn with it, though the first one's files are gone.
rm -r first
judge fast --board board --device 0 >output 2>&1 || fail "a faster one: exit $?"
[[ -f $(echo board/add/fast_*/common.yaml) ]] || fail "the contract that it is like is not kept"
grep -qE ' times as fast as first_[0-9a-f]{8}$' output || fail "not compared with the first"
[[ $(standings 'rows[0].kernel') == fast_* && $(standings problem.N) == 1000 ]] ||
  fail "the faster one does not lead"
judge --board board >output 2>&1
for row in '^ +1  fast_.* 1$' '^ +2  first_.* [1-9]\.[0-9]+ \[.*\]$'; do
  grep -qE "$row" output || fail "expected the row $row"
done

# The same machine code under other names is the same submission, and is not judged again.
expect 0 '^  the board has the same machine code: first_[0-9a-f]{8}$' judge renamed --board board
[[ $(standings 'rows[2]') != *renamed* ]] || fail "two submissions of the same code"
mkdir twice && sed 's/first/twice/' board/add/first_*/first.yaml >twice/twice.yaml
cp board/add/first_*/first.cu twice/twice.cu && cp -r fast/parts twice
expect 0 '"is_known": true' judge twice --board board --json

# What is wrong leaves nothing behind.
expect 1 '^  correctness/mismatch on N=1000' judge wrong --board board
grep -q 'wrong_' <(ls board/add) && fail "a wrong one is kept"
[[ $(standings 'rows[0].kernel') == fast_* ]] || fail "a wrong one has taken the lead"

# Other verbs read its database.
expect 0 'fast_[0-9a-f]{8}' "$assay" best --db board/board.db
"$assay" report board/board.db --html board.html >output 2>&1 || fail "the page: exit $?"

# The board must keep all that a submission is made of.
sed -i '1a compile: {include: [../elsewhere]}' fast/fast.yaml && mkdir elsewhere
expect 1 'fast.yaml:2:.*: expected a folder inside of the contract.s, which the board keeps' \
  judge fast --board board --include .
exec 9>board/board.lock && flock 9
expect 2 '^assay: board: another assay judge is at work here' judge wrong --board board
echo ok
