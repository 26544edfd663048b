#!/usr/bin/env python3
"""Random valid modules through XLA's CPU backend and through minihlo.

usage: differential.py [--count=N] [--seed=S] [--mesh=RxP] [--size=I] [--keep=FOLDER]

Needs a Python with jax and jaxlib (tools/dev differential finds it). Modules are those of
minihlo-generate --use=oracle with seeds S, S + 1, ...; a module that XLA can't compile or run is
skipped. Every difference is printed with its seed and the module's path, and kept in FOLDER
with the inputs and what XLA gave. Exits with 1 when there is one, 2 for bad usage.
"""
import argparse
import json
import os
import re
import select
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.join(HERE, "..", "..", "build")
MINIHLO = os.path.join(BUILD, "tools", "minihlo")
GENERATE = os.path.join(BUILD, "tests", "generator", "minihlo-generate")
START_SECONDS, XLA_SECONDS, OUR_SECONDS = 120, 60, 60
DIFFERS, UNSUPPORTED = 1, 4  # exit codes of minihlo run
# What random chains of functions may lose; integers stay exact. docs/numerics.md says what one does.
TOLERANCE = {"rel": 1e-3, "abs": 1e-4}


class Xla:
    """The child with XLA in it. XLA aborts on some modules and hangs on others."""

    def __init__(self, devices):
        self.devices, self.child = devices, None

    def ask(self, request):
        """The answer, {"error"} when there is none in time."""
        if self.child is None:
            self.child = subprocess.Popen(
                [sys.executable, os.path.join(HERE, "xla_child.py"), str(self.devices)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            self.pending = b""
            ready = self.read_line(START_SECONDS)
            if ready is None:
                sys.exit("differential: XLA does not start")
            if not json.loads(ready)["denormals"]:
                print("XLA flushes denormals to zero: modules that have some will differ",
                      file=sys.stderr)
        try:
            self.child.stdin.write(json.dumps(request).encode() + b"\n")
            self.child.stdin.flush()
        except BrokenPipeError:
            pass
        answer = self.read_line(XLA_SECONDS)
        if answer is None:
            self.close()
            return {"error": "XLA died or did not end in time"}
        return json.loads(answer)

    def read_line(self, seconds):
        end = time.monotonic() + seconds
        pipe = self.child.stdout.fileno()
        while b"\n" not in self.pending:
            if not select.select([pipe], [], [], max(0, end - time.monotonic()))[0]:
                return None
            data = os.read(pipe, 1 << 20)
            if not data:
                return None
            self.pending += data
        line, self.pending = self.pending.split(b"\n", 1)
        return line

    def close(self):
        if self.child is not None:
            self.child.kill()
            self.child.communicate()
            self.child = None


def inexact_words():
    """A pattern that finds opcodes whose results need not equal XLA's to the last bit."""
    listed = json.loads(subprocess.run([MINIHLO, "list", "opcodes", "--json"], check=True,
                                       capture_output=True).stdout)["opcodes"]
    exact = {"scatter", "sort", "topk", "map", "select-and-scatter"}  # of the families below
    words = [row["opcode"] for row in listed
             if any(a["name"] == "result_accuracy" for a in row["attributes"])
             or row["family"] in ("contraction", "reduction") and row["opcode"] not in exact]
    words += ["atan2", "power", "all-reduce", "reduce-scatter", "c64", "c128"]
    return re.compile(r"\b(?:" + "|".join(map(re.escape, words)) + r")[\[(-]")


def our_run(path, mesh, *more):
    command = [MINIHLO, "run", path, f"--replicas={mesh[0]}", f"--partitions={mesh[1]}",
               f"--timeout={OUR_SECONDS}", *more]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=2 * OUR_SECONDS)
    except subprocess.TimeoutExpired:
        return -1, "does not end"
    return done.returncode, done.stderr.strip()


def compare_module(xla, path, seed, folder, inexact):
    """One of "agrees", "skipped", "unsupported", or what is different."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    header = text.split("\n", 1)[0]
    mesh = [int(found.group(1)) if (found := re.search(rf"{word}=(\d+)", header)) else 1
            for word in ("replica_count", "num_partitions")]
    case_path = os.path.join(folder, f"{seed}.case.json")
    code, message = our_run(path, mesh, f"--seed={seed}", "-o", case_path)
    if code == UNSUPPORTED:
        return "unsupported", message
    if code != 0:
        return "differs", f"minihlo run exits with {code}: {message}"
    with open(case_path, encoding="utf-8") as file:
        case = json.load(file)
    answer = xla.ask({"module": text, "replicas": mesh[0], "partitions": mesh[1],
                      "inputs": case["inputs"]})
    if "error" in answer:
        os.remove(case_path)
        return "skipped", answer["error"]
    case["outputs"] = answer["outputs"]
    case["compare"] = TOLERANCE if inexact.search(text) else "bits"
    with open(case_path, "w", encoding="utf-8") as file:
        json.dump(case, file)
    code, message = our_run(path, mesh, f"--input={case_path}", f"--expect={case_path}")
    if code == 0:
        os.remove(case_path)
        return "agrees", ""
    return "differs", message


def main():
    parser = argparse.ArgumentParser(
        prog="tools/dev differential",
        description="Random valid modules through XLA's CPU backend and through minihlo.")
    parser.add_argument("--count", type=int, default=100, help="modules (default: 100)")
    parser.add_argument("--seed", type=int, default=0, help="of the first module (default: 0)")
    parser.add_argument("--mesh", help="RxP: replicas and partitions (default: random)")
    parser.add_argument("--size", type=int, default=14, help="instructions, about (default: 14)")
    parser.add_argument("--keep", help="folder for modules that differ (default: a new one)")
    arguments = parser.parse_args()
    folder = arguments.keep or tempfile.mkdtemp(prefix="minihlo-differential-")
    os.makedirs(folder, exist_ok=True)
    made = subprocess.run([
        GENERATE, "--use=oracle", f"--seed={arguments.seed}", f"--count={arguments.count}",
        f"--size={arguments.size}", "-o", folder,
        *([f"--mesh={arguments.mesh}"] if arguments.mesh else [])])
    if made.returncode:
        return 2
    most = 16
    if arguments.mesh:
        replicas, partitions = map(int, arguments.mesh.split("x"))
        most = replicas * partitions
    xla = Xla(most)
    inexact = inexact_words()
    counts = dict.fromkeys(("agrees", "differs", "skipped", "unsupported"), 0)
    try:
        for seed in range(arguments.seed, arguments.seed + arguments.count):
            path = os.path.join(folder, str(seed))
            outcome, why = compare_module(xla, path, seed, folder, inexact)
            counts[outcome] += 1
            if outcome == "differs":
                print(f"seed {seed}: {path}: {why}", flush=True)
            else:
                os.remove(path)
                if outcome == "unsupported":
                    print(f"seed {seed}: not supported: {why}", flush=True)
    finally:
        xla.close()
    print(f"{arguments.count} modules: {counts['agrees']} agree, {counts['differs']} differ, "
          f"{counts['skipped']} skipped (XLA can't run them), "
          f"{counts['unsupported']} not supported by minihlo")
    return 1 if counts["differs"] else 0


if __name__ == "__main__":
    sys.exit(main())
