#!/usr/bin/env python3
"""Lists the messages of parser, shape inference and verifier that no case of a rule file shows.

A message is a string in the source with a blank in it; {} in it stands for anything. Some can't be shown by a text, such as
those about modules that only a program can make.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = re.compile(r'ir/(text/(parser|lexer)|inference/|verify/|verifier|device_groups|semantics/groups)')
STRINGS = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*')
SAID = re.compile(r'(?:\s*(?:-|-?\d+:-?\d+): )?(?:error|warning|  note|note): (.*?)(?: \[[a-z\-]+\])?$')


def said() -> str:
    lines = []
    for path in sorted((ROOT / 'tests/files').rglob('*.rules')):
        for line in path.read_text(errors='replace').splitlines():
            if match := SAID.match(line):
                lines.append(match.group(1))
    return '\n'.join(lines)


def messages(path: pathlib.Path):
    text = re.sub(r'//[^\n]*', '', path.read_text())
    for match in STRINGS.finditer(text):
        parts = re.findall(r'"((?:[^"\\\n]|\\.)*)"', match.group(0))
        message = ''.join(parts).replace('\\"', '"').replace('\\\\', '\\')
        if ' ' in message and len(message) > 8:
            yield text.count('\n', 0, match.start()) + 1, message


def pattern(message: str):
    parts = re.split(r'(\{\{|\}\}|\{[^{}]*\})', message)
    literal = {'{{': re.escape('{'), '}}': re.escape('}')}
    return re.compile(''.join(literal.get(p, '.*') if p.startswith(('{', '}')) else re.escape(p) for p in parts))


def main() -> int:
    shown, unseen = said(), 0
    for path in sorted((ROOT / 'ir').rglob('*.cc')):
        name = str(path.relative_to(ROOT))
        if not SOURCES.match(name):
            continue
        for line, message in messages(path):
            if not pattern(message).search(shown):
                unseen += 1
                print(f'{name}:{line}: {message}')
    print(f'{unseen} messages that no rule file shows')
    return 0


if __name__ == '__main__':
    sys.exit(main())
