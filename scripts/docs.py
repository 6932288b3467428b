#!/usr/bin/env python3
"""Holds the READMEs and docs to the program: runs their commands and compares what they print.

usage: scripts/docs.py [--write] [--program BUILD/assay] [--cache FOLDER]
       scripts/docs.py --man [--program BUILD/assay]

A fresh folder gets a copy of what the commands read, and every command of every page runs there, in
order. In Markdown, an indented block that begins with a program is of commands. An indented block
behind a command block is the output of the last command: all of it, or parts where a line is `...`.
A fenced block that begins with a comment of a path is a part of that file, or makes it.

Commands that need a GPU must say so, and the section that names them must, too. Commands that take
long are not run, but what they name must exist. With --write, docs/cli.md and outputs that are
given in full are written anew. The exit code is 1 when a page is wrong.

With --man the man page is printed, and nothing is checked.
"""

import argparse
import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TREE = pathlib.Path(__file__).resolve().parent.parent
PAGES = [
    "README.md", "docs/guide.md", "kernels/README.md", "sweeps/README.md", "results/README.md",
    "harness/README.md", "page/README.md", "docs/measuring.md", "docs/judging.md",
    "docs/search.md", "docs/runtime.md", "docs/results.md", "docs/questions.md", "docs/origins.md",
    "docs/json.md", *sorted(
        str(page.relative_to(TREE)) for page in (TREE / "docs/kernels").glob("*.md")),
]
COMMAND = re.compile(r"(build/|scripts/|(assay|ninja|cmake|cmp|cp|mkdir|python3|node|sqlite3) "
                     r"|compute-sanitizer |\(cd build|config\+?=)")
# The first command builds all: a small sweep of the same file stands for it. The others compile all
# winners, which takes as long as half of the pages: one stands for them, which a page launches.
PACKS = [f"build/assay export --format pack --op gemm_bf16 "
         f"--db results/recorded/nvidia_h200/{recording}.jsonl --output {pack}.pack"
         for recording, pack in (("gemm_h200", "gemm"), ("gemm_sizes", "sizes"))]
IN_PLACE = {"scripts/sweep.sh": "build/assay sweep sweeps/gemm.yaml --problem M=1,N=4096,K=4096",
            **{pack: pack + " --problem M=16,N=4096,K=4096" for pack in PACKS}}
LONG = re.compile(r"(scripts/(setup|build|release|test|record|page|sanitize|fuzz|torture|slurm_sweep"
                  r"|kernel_gate|runtime_threads)\.sh|scripts/(warm_start|same_code|pack_check|launch_check)\.py|scripts/gpus_table\.py \w+ \w+$"
                  r"|ninja |cmake |node |compute-sanitizer |\(cd build"
                  r"|build/\w+_(bench|test)\b|python3 /usr/share/benchmark/)")
# Sweeps of minutes on a GPU. Some have a recording, whose replay compiles for as long.
MEASURES = re.compile(r"build/assay (verify|profile)\b"
                      r"|build/assay sweep (?!.*--device (none|replay)).*((_h200|_open|_sustained"
                      r"|questions|questions_moe|sgemm_speed)\.yaml|kernels/\w+\.yaml|--device )")
ALLOWED = {"build/assay list --recordings": (0, 1)}  # 1: a recording is stale


def helps(program):
    """The words of each verb behind the program's, and what it prints for --help."""
    verbs = [()]
    while verbs:
        verb = verbs.pop(0)
        printed = subprocess.run([program, *verb, "--help"], text=True, check=True,
                                 capture_output=True).stdout
        yield verb, printed.rstrip()
        listed = printed.partition("Subcommands:\n")[2].partition("\n\n")[0]
        verbs[0:0] = [(*verb, line.split()[0]) for line in listed.split("\n") if line.strip()]


def man_page(program):
    def literal(text):
        escaped = text.replace("\\", "\\e").replace("-", "\\-")
        return re.sub(r"(?m)^([.'])", r"\\&\1", escaped)

    version = subprocess.run([program, "--version"], text=True, check=True,
                             capture_output=True).stdout.strip()
    page = f'.TH ASSAY 1 "" "{version}"\n'
    for verb, printed in helps(program):
        if not verb:
            summary, _, printed = printed.partition("\nUsage: ")
            name, _, purpose = " ".join(summary.split()).partition(" ")
            page += f".SH NAME\n{name} \\- {literal(purpose)}\n.SH SYNOPSIS\n.nf\n"
        else:
            page += f".SH {' '.join(['ASSAY', *verb]).upper()}\n.nf\n"
        page += literal(printed) + "\n.fi\n"
    return page


class Page:
    """The blocks of a page in their order, each with its first line (from 0) and its lines."""

    def __init__(self, name):
        self.name = name
        self.lines = (TREE / name).read_text().split("\n")
        self.blocks = []  # (kind, first line, lines)
        kind, text, fence = "", [], False
        for number, line in enumerate([*self.lines, ""]):
            starts_fence = line.lstrip().startswith("```")
            now = ("fence" if fence or starts_fence else
                   "indented" if line.startswith("    ") else "text" if line else "blank")
            if now != kind or now == "blank":
                if text:
                    self.blocks.append((kind, number - len(text), text))
                kind, text = now, []
            if now != "blank":
                text.append(line)
            if starts_fence:
                fence = not fence
                if not fence:
                    self.blocks.append((kind, number + 1 - len(text), text))
                    kind, text = "", []


def commands_of(lines):
    joined = re.sub(r"\\\n\s*", "", "\n".join(line[4:] for line in lines))
    return [re.sub(r"\s+# .*", "", command).strip() for command in joined.split("\n")]


class Check:
    def __init__(self, program, write, cache=None):
        self.program, self.write, self.wrong, self.num_run = program, write, [], 0
        self.absent, self.shell, self.help = [], "", {}
        self.folder = pathlib.Path(tempfile.mkdtemp())
        for part in ("kernels", "sweeps", "docs", "scripts", "results"):
            shutil.copytree(TREE / part, self.folder / part,
                            ignore=shutil.ignore_patterns("*.db*", "__pycache__"))
        (self.folder / "build").mkdir()
        for name in ("assay", "assay_bench"):
            (self.folder / "build" / name).symlink_to(program.parent / name)
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(cache or self.folder / "cache"),
                            "CUDA_VISIBLE_DEVICES": "", "TMPDIR": str(self.folder)}

    def run(self, command):
        self.num_run += 1
        return subprocess.run(["bash", "-c", self.shell + command], cwd=self.folder, text=True,
                              env=self.environment, stdin=subprocess.DEVNULL, capture_output=True)

    def fail(self, page, line, text):
        self.wrong.append(f"{page.name}:{line + 1}: {text}")

    def help_of(self, *verb):
        if verb not in self.help:
            run = subprocess.run([self.program, *verb, "--help"], text=True, capture_output=True)
            self.help[verb] = run.stdout if run.returncode == 0 else ""
        return self.help[verb]

    def command(self, page, line, command, section):
        """Runs it and returns what it printed, or None where nothing is to be compared."""
        words = command.split()
        if re.match(r"config\+?=", command):
            self.shell += command + "\n"
            return None
        if words[0] == "assay":  # a synopsis: its words stand for others
            options = re.findall(r"--[\w-]+", command)
            verb = words[1:3] if words[1] == "db" else words[1:2]
            unknown = [each for each in options if each not in self.help_of(*verb)]
            if not self.help_of(*verb) or unknown:
                self.fail(page, line, f"no such verb or option: {command}")
            return None
        if LONG.match(command):
            script = words[0] if words[0].startswith("scripts/") else None
            targets = re.findall(r"\b\w+_(?:bench|test)\b", command)
            listed = (TREE / "CMakeLists.txt").read_text()
            if script and not (TREE / script).exists():
                self.fail(page, line, f"there is no {script}")
            for target in targets:
                if target not in listed and f"assay_test({target[:-5]}" not in listed:
                    self.fail(page, line, f"nothing builds {target}")
            return None
        if any(fnmatch.fnmatch(file, word) for file in self.absent for word in words):
            return None  # of what only a GPU would have made
        if MEASURES.match(command):
            if words[1] == "sweep" and "--device" not in command:
                command += " --device 0"
            run = self.run(command)
            says = re.search(r"driver|device|GPU|recorded on", run.stdout + run.stderr)
            if run.returncode not in (1, 3) or not says:
                self.fail(page, line, f"does not say that it needs a GPU: {command}: exit "
                                      f"{run.returncode}\n{run.stdout}{run.stderr}")
            if "GPU" not in section and "H100" not in section and "H200" not in section:
                self.fail(page, line, f"the page does not say that this needs a GPU: {command}")
            made = re.search(r"sweep .*--db (\S+)", command)
            if made:
                self.absent.append(made.group(1))
            return None
        run = self.run(IN_PLACE.get(command, command))
        if run.returncode not in ALLOWED.get(command, (0,)):
            self.fail(page, line, f"{command}: exit {run.returncode}\n{run.stdout}{run.stderr}")
        return run.stdout

    def fence(self, page, line, text):
        named = re.match(r"(?:#|//) ([\w./]+)$", text[1].strip()) if len(text) > 2 else None
        if not named:
            return
        path = TREE / named.group(1)
        if not path.exists():
            (self.folder / named.group(1)).write_text("\n".join(text[2:-1]) + "\n")
            return
        rest = iter(path.read_text().split("\n"))
        for offset, part in enumerate(text[2:-1]):
            if part.strip() != "..." and part not in rest:
                self.fail(page, line + 2 + offset, f"not in {named.group(1)} at this place: {part}")
                return

    def output(self, page, first, shown, printed):
        """Compares lines of a page with what a command printed. Returns what should stand there."""
        lines = [line.rstrip() for line in printed.rstrip("\n").split("\n")]
        if "..." not in shown:
            if shown != lines and not self.write:
                self.fail(page, first, "the command before prints something else now:\n" +
                          "\n".join(lines))
            return lines
        rest = iter(lines)
        for line in shown:
            if line != "..." and line not in rest:
                self.fail(page, first, f"the command before does not print: {line}")
                break
        return shown

    def page(self, name):
        page = Page(name)
        section, printed, changes, index = "", None, [], 0
        while index < len(page.blocks):
            kind, first, text = page.blocks[index]
            index += 1
            if kind == "text":
                section = "\n".join(text) if text[0].startswith("#") else section + "\n".join(text)
                printed = None
            elif kind == "fence":
                self.fence(page, first, text)
                printed = None
            elif COMMAND.match(text[0][4:]):
                for command in commands_of(text):
                    printed = self.command(page, first, command, section + "\n".join(text))
            elif printed is not None:
                end = first + len(text)
                while index < len(page.blocks) and page.blocks[index][0] == "indented" and not (
                        COMMAND.match(page.blocks[index][2][0][4:])):
                    end = page.blocks[index][1] + len(page.blocks[index][2])
                    index += 1
                shown = [line[4:].rstrip() for line in page.lines[first:end]]
                right = self.output(page, first, shown, printed)
                changes.append((first, end, [("    " + line).rstrip() for line in right]))
                printed = None
        if self.write:
            for first, end, right in reversed(changes):
                page.lines[first:end] = right
            (TREE / name).write_text("\n".join(page.lines))

    def links(self, name):
        """What a page links to must be there, and so must the heading that it names."""
        text = re.sub(r"```.*?```", "", (TREE / name).read_text(), flags=re.S)
        for path, heading in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", text):
            target = (TREE / name).parent / path if path else TREE / name
            if path.startswith("http"):
                continue
            titles = re.findall(r"^#+ (.*)", target.read_text(), re.M) if target.is_file() else []
            anchors = [re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles]
            if not target.exists() or heading and heading not in anchors:
                self.wrong.append(f"{name}: no {path}#{heading}")

    def cli(self):
        """docs/cli.md is what --help prints of each verb."""
        text = "# Verbs and options\n\n`scripts/docs.py --write` makes this page of `--help`.\n"
        for verb, printed in helps(self.program):
            text += f"\n## {' '.join(['assay', *verb])}\n\n```text\n{printed}\n```\n"
            for sentence in re.split(r"\n|(?<=\.) ", re.sub(r"(?m)^  +\S.*?  +", "", printed)):
                if len(sentence.strip()) > 100:
                    self.wrong.append(f"assay {' '.join(verb)} --help: longer than 100: {sentence}")
        page = TREE / "docs/cli.md"
        if self.write:
            page.write_text(text)
        elif not page.exists() or page.read_text() != text:
            self.wrong.append("docs/cli.md is not what --help prints; run scripts/docs.py --write")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--program", type=pathlib.Path, default=TREE / "build/assay")
    parser.add_argument("--man", action="store_true")
    parser.add_argument("--cache", type=pathlib.Path, help="where compiled kernels are kept")
    options = parser.parse_args()
    if options.man:
        print(man_page(options.program), end="")
        return 0
    check = Check(options.program.resolve(), options.write, options.cache)
    try:
        check.cli()
        for name in PAGES:
            check.links(name)
            check.page(name)
    finally:
        shutil.rmtree(check.folder)
    print("\n".join(check.wrong) or f"{check.num_run} commands of {len(PAGES)} pages are right")
    return 1 if check.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
