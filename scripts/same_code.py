#!/usr/bin/env python3
"""Whether an edit of the kernels left the machine code as it was.

usage: scripts/same_code.py [--kernel NAME]... [--sample COUNT] [--added NAME=VALUE] [--adopt] BASE

Compiles the winners of results/recorded, without a GPU, with the kernels of the revision BASE and
with those of the working tree, and compares the machine code of each. --sample adds so many
further recorded configurations of each kernel. A configuration takes two to three seconds. Prints
those that differ, and exits with 1 if any does. As in
  scripts/same_code.py --kernel gemm_fp8 HEAD

A kernel's version is a hash of its source, so an edit makes its recordings stale even where the
machine code stays the same. With --adopt, recordings that name BASE's source name the source as it
is now, if all of the kernel that was compiled is the same. So do the tables in results/best.

A parameter that BASE does not have is named with --added, with the value that leaves the machine
code as it was. It must be the last of the contract. With --adopt, recorded configurations get it.
The tables in results/best are then exported anew by hand.
"""

import argparse
import ctypes
import hashlib
import json
import os
import pathlib
import random
import sqlite3
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORDED = ROOT / "results/recorded"

TRIALS = """SELECT kernel.id AS kernel_id, kernel.name AS kernel, op, source_hash, contract_hash,
  nvrtc, arch, options, driver, protocol_id, problem.text AS problem, config.text AS config,
  cubin_hash, status = 'correct' AND timing_id IS NOT NULL AS may_win,
  trial.id IN (SELECT trial_id FROM rank_entry WHERE winner) AS won
  FROM trial JOIN kernel ON kernel.id = kernel_id JOIN problem ON problem.id = problem_id
  JOIN config ON config.id = config_id JOIN toolchain ON toolchain.id = toolchain_id"""
RANKS = """SELECT rank.id, op, protocol_id, problem.text AS problem, candidates
  FROM rank JOIN problem ON problem.id = problem_id"""


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, cwd=ROOT, **options)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stderr.decode()}")
    return done.stdout


def rows(path, query):
    database = sqlite3.connect(path)
    database.row_factory = sqlite3.Row
    return database.execute(query).fetchall()


class Recorded:
    """What a recording has of kernels."""

    def __init__(self, path, folder):
        self.path = path
        self.db = folder / f"{path.parent.name}-{path.name}.db"
        run(ROOT / "build/assay", "import", path, "--db", self.db)
        self.trials = rows(self.db, TRIALS)
        self.ranks = rows(self.db, RANKS)


def machine_code(cubin):
    """A hash of the functions of a cubin, an ELF file: constants that nothing reads may change."""
    sections, = struct.unpack_from("<Q", cubin, 0x28)
    count, names = struct.unpack_from("<HH", cubin, 0x3C)
    headers = [struct.unpack_from("<IIQQQQ", cubin, sections + 64 * i) for i in range(count)]
    functions = []
    for name, _, _, _, offset, size in headers:
        begin = headers[names][4] + name
        text = cubin[begin:cubin.index(b"\0", begin)]
        if text.startswith(b".text."):
            functions.append(text + hashlib.sha256(cubin[offset:offset + size]).digest())
    return b"".join(sorted(functions))


class Compiled:
    """Configurations of a kernel, and what was `added` to them, as they compile with the kernels of
    a folder."""

    def __init__(self, kernels, kernel, trials, added, folder):
        any_of = {"(" + (trial["config"] + added).replace("=", " == ").replace(",", " && ") + ")"
                  for trial in trials}
        problems = {"{" + trial["problem"].replace("=", ": ").replace(",", ", ") + "}"
                    for trial in trials}
        contracts = [*kernels.rglob(f"{kernel}.yaml")]  # none of some types of a kernel
        named = contracts[0].relative_to(kernels).with_suffix("") if contracts else kernel
        with tempfile.TemporaryDirectory(dir=folder) as work:
            sweep, db = pathlib.Path(work, "same_code.yaml"), pathlib.Path(work, "same_code.db")
            sweep.write_text(f"sweep: same_code\nkernels: [{named}]\n"
                             f"problems: [{', '.join(sorted(problems))}]\n"
                             f"constraints: [\"{' || '.join(sorted(any_of))}\"]\n")
            run(ROOT / "build/assay", "sweep", sweep, "--kernels", kernels, "--device", "none",
                "--arch", trials[0]["arch"], "--db", db,
                env=os.environ | {"XDG_CACHE_HOME": work})
            codes = {json.loads(report.read_text())["cubin_hash"]:
                     machine_code(report.with_suffix(".cubin").read_bytes())
                     for report in pathlib.Path(work).glob("assay/cubin/*/*.json")}
            now = rows(db, TRIALS)
        self.codes = {(trial["problem"], trial["config"]): codes.get(trial["cubin_hash"])
                      for trial in now}
        self.version = now[0]["source_hash"], now[0]["contract_hash"]


def compare(kernel, recordings, base, sample, added, folder):
    """Prints which of a kernel's configurations differ. Its two versions, if none does."""
    chosen, rest = {}, {}
    for trial in (trial for recorded in recordings for trial in recorded.trials):
        if trial["kernel"] == kernel and trial["cubin_hash"]:
            of = chosen if trial["won"] else rest
            of.setdefault((trial["arch"], trial["config"]), trial)
    others = sorted(rest.keys() - chosen.keys())
    random.Random(1).shuffle(others)
    chosen |= {key: rest[key] for key in others[:sample]}

    if not chosen:
        print(f"{kernel}: no winner is recorded; --sample COUNT compares other configurations")
    different, versions = [], None
    for arch in sorted({arch for arch, _ in chosen}):
        trials = [trial for (of, _), trial in chosen.items() if of == arch]
        before = Compiled(base, kernel, trials, "", folder)
        now = Compiled(ROOT / "kernels", kernel, trials, added, folder)
        versions = before.version, now.version
        for trial in trials:
            key = trial["problem"], trial["config"]
            key_now = trial["problem"], trial["config"] + added
            if before.codes.get(key) is None or before.codes[key] != now.codes.get(key_now):
                different.append(f"{kernel}:{trial['config']} of {trial['problem']}")
    print(f"{kernel}: {len(chosen) - len(different)} of {len(chosen)} are the same", *different,
          sep="\n  ", flush=True)
    return None if different else versions


def hash_of(fields):
    """As Hasher (harness/base/hash.h)."""
    class Hash(ctypes.Structure):
        _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]

    xxh3 = ctypes.CDLL("libxxhash.so.0").XXH3_128bits
    xxh3.restype = Hash
    text = b"".join(len(field.encode()).to_bytes(8, "little") + field.encode() for field in fields)
    hashed = xxh3(text, ctypes.c_size_t(len(text)))
    return f"{hashed.high:016x}{hashed.low:016x}"


def candidates_of(rank, trials, renamed, added):
    """As CandidateSet (harness/ranking/): a hash of what a verdict chose from, with sources as
    `renamed` has them by the number of their kernel, and with what was `added` to their
    configurations."""
    keys = set()
    for trial in trials:
        same = all(trial[of] == rank[of] for of in ("op", "protocol_id", "problem"))
        if trial["may_win"] and same:
            source, config = trial["source_hash"], trial["config"]
            if trial["kernel_id"] in renamed:
                source, config = renamed[trial["kernel_id"]], config + added
            keys.add(hash_of([trial["kernel"], source, trial["contract_hash"], trial["nvrtc"],
                              trial["arch"], trial["options"], trial["driver"], config]))
    return hash_of(sorted(keys))


def adopt(recorded, versions, added):
    """Lets a recording name the sources as they are now: {hash before: hash now}."""
    renamed, names = {}, {}
    for trial in recorded.trials:
        before, now = versions.get(trial["kernel"], (None, None))
        if before == (trial["source_hash"], trial["contract_hash"]) and before != now:
            renamed[trial["kernel_id"]] = now[0]
            names[trial["kernel_id"]] = trial["kernel"], before[0]
    if not renamed:
        return {}
    database = sqlite3.connect(recorded.db)
    for rank in recorded.ranks:
        if candidates_of(rank, recorded.trials, {}, "") != rank["candidates"]:
            raise SystemExit(f"{recorded.path}: the verdict on {rank['problem']} chose from other "
                             "trials than are recorded")
        database.execute("UPDATE rank SET candidates = ? WHERE id = ?", (
            candidates_of(rank, recorded.trials, renamed, added), rank["id"]))
    for number, now in renamed.items():
        database.execute("UPDATE kernel SET source_hash = ? WHERE id = ?", (now, number))
        database.execute("""UPDATE config SET text = text || ? WHERE id IN
            (SELECT config_id FROM trial WHERE kernel_id = ?)""", (added, number))
        database.execute("""UPDATE rank_noise SET config = config || ? WHERE kernel = ? AND rank_id IN
            (SELECT rank_id FROM rank_entry JOIN trial ON trial.id = trial_id
             WHERE kernel_id = ?)""", (added, names[number][0], number))
        database.execute("""UPDATE rank_entry SET config = config || ? WHERE trial_id IN
            (SELECT id FROM trial WHERE kernel_id = ?)""", (added, number))
    database.commit()
    sweep, = database.execute("SELECT name FROM sweep").fetchone()
    run(ROOT / "build/assay", "export", "--format", "recording", "--sweep", sweep, "--db",
        recorded.db, "--output", recorded.path)
    print(f"{recorded.path.relative_to(ROOT)} names the source as it is now")
    return {before: renamed[number] for number, (_, before) in names.items()}


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("--kernel", action="append")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--added")
    parser.add_argument("--adopt", action="store_true")
    parser.add_argument("base")
    arguments = parser.parse_args()
    added = f",{arguments.added}" if arguments.added else ""
    renamed, all_same = {}, True
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work)
        tar = run("git", "archive", arguments.base, "kernels")
        run("tar", "x", "-C", folder, input=tar)
        paths = [path for path in sorted(RECORDED.glob("*/*.jsonl"))
                 if any(f'"{kernel}"' in path.read_text() for kernel in arguments.kernel or [])
                 or not arguments.kernel]
        recordings = [Recorded(path, folder) for path in paths]
        versions = {}
        for kernel in arguments.kernel or sorted({trial["kernel"] for recorded in recordings
                                                  for trial in recorded.trials}):
            of = compare(kernel, recordings, folder / "kernels", arguments.sample, added, folder)
            all_same = all_same and of is not None
            if of:
                versions[kernel] = of
        if arguments.adopt:
            for recorded in recordings:
                renamed |= adopt(recorded, versions, added)
    for table in sorted((ROOT / "results/best").glob("*/*.json")):
        text = table.read_text()
        for before, now in renamed.items():
            text = text.replace(before, now)
        table.write_text(text)
    return 0 if all_same else 1


if __name__ == "__main__":
    sys.exit(main())
