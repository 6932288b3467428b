#!/usr/bin/env bash
# The commands of the READMEs and docs: the README's did not work in the order in which they stood,
# and pages quoted what the program no longer printed.
# Arguments: the program, the tree.
exec python3 "$2/scripts/docs.py" --program "$1"
