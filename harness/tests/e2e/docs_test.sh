#!/usr/bin/env bash
# The commands of the READMEs and docs: the README's did not work in the order in which they stood,
# and pages quoted what the program no longer printed.
# Arguments: the program, the tree.
source "$(dirname "$0")/work_folder.sh"
python3 "$tree/scripts/docs.py" --program "$assay" --cache "$XDG_CACHE_HOME"
