"""Find phrases that docs/style.md rules out, in documents, help texts, messages, column descriptions and dashboards.

    infra/english.py            # every file under version control
    infra/english.py FILE …     # these

Prints ``file:line: 'phrase': write …`` for each, and ends with 1 if there is one. It passes over code in documents,
generated pages, comments, and docstrings except those of commands, which are their help.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Generated pages, raw results, what no user reads, and the page that has the phrases as examples.
NOT_READ = re.compile(
    r"^docs/(?:tables|decoded|validation|style)\.md$|^benchmarks/results/.*/|unit_tests\.yml$|_macros\.yml$|_lake__sources\.yml$"
)

#: What is not written, as a pattern of whole words, and what to write instead.
RULES = {
    r"anew|afresh": "again",
    r"mend(?:s|ed)?": "correct, or fix",
    r"bereft": "orphaned",
    r"(?<![Tt]here\s)(?:is|are) no (?!longer|more|less|such|proof|doubt|need)[a-z]+": "is not a …, or are not …",
    r"least (?:RTT|delay|value|rate)": "minimum, or smallest",
    r"greatest(?![(])": "maximum, or largest",
    r"(?:is|are) to be (?:run|read|made|given|set|found|had|seen|ingested|kept)": "must be …, or an imperative",
    r"says so": "name the fact: `is_upper_bound` shows that …",
    r"(?:has|have|is|are|with) an? [\w-]+ of (?:its|their) own": "its own …, or separate",
    r"in the place of": "instead of, or in place of",
    r"in case that": "if",
    r"[Pp]uts? (?:[a-z]+ ){0,2}together": "combine, merge or compact",
    r"taken for": "recognised as",
    r"(?:is|are) told": "is reported",
    r"let go": "removed, or disconnected",
    r"in order to": "to",
    r"at hand": "available",
    r"but for": "except",
    r"to be had": "available",
    r"thereof|therein|thereby|whereby|wherein|hereby": "of it, in it, by this",
    r"amongst|whilst": "among, while",
    r"utili[sz]es?|utili[sz]ing": "use",
    r"due to the fact that": "because",
    r"under the premise": "assuming",
    r"whoever": "anyone who, or the reader as you",
    r"(?:each|every) two (?!seconds|minutes|weeks|packets)": "each pair of",
    r"everything generated": "all generated files",
    r"look-ups?": "lookup",
    r"speaks? against": "contradicts",
    r"tells? of": "describes",
    r"[Aa]s of sojourn": "as in sojourn …",
    r"read to the bottom": "with all subfolders",
    r"may be given (?:again|several times)": "may be repeated",
    r"at the most": "at most",
    r"\d+ s of the processor|seconds? by the clock": "of CPU, or elapsed",
    r"one's own": "your own",
    r"in silence": "silently",
    r"if need be": "if necessary",
    r"stands? there": "is listed, or is there",
    r"(?:is|are|be) asked of (?!how|what|whether)": "is checked against, or must match",
    r"(?:Read|Kept|Counted|Taken|Refused) are (?=files|those|the)": "files are read, …: the subject first",
    r"(?:is|are) taken over": "is kept, copied or linked",
    r"(?:anything|nothing) of (?=an? |any|another|loss|what|it\b|them\b)": "about",
    r"(?:is|are) held to": "is compared with, or must equal",
    r"in columns? of (?:its|their) own": "in a separate column",
    r"of which (?:little|nothing|much) is": "about which …, or with little …",
    r"(?:both|all roles) (?:are|were) there": "are active",
    r"processor time": "CPU time",
    r"inside of": "inside",
    r"that (?:is|are) none": "that is not a …",
    r"of yet another": "of a further …",
    r"what the words say": "what the statement says",
    r"from (?:two|three|four|five|six|seven|ten|\d+) (?:runs|days|calls|lines|hosts) on": "for six or more …",
    r"(?:Go|eBPF|Rust|Python) programmes?": "program",
    r"comes? out again": "is reproduced",
    r"the filters? leaves?": "that match the filters",
    r"was committed stays": "committed files are kept",
    r"(?:stand|stands|stood) (?:beside|below|above)": "is next to, below or above",
}
#: A phrase may be wrapped: any white space counts as the space of a rule.
_WRAPPED = {rule.replace(" ", r"\s+"): advice for rule, advice in RULES.items()}
PATTERN = re.compile(rf"\b(?:{'|'.join(_WRAPPED)})\b")
COMMANDS = re.compile(r"(?:^|[/_])cli(?:/|\.py$)")
FENCE = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
COMMENT = re.compile(r"(?m)^\s*#.*$")
RUST_TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"')
RUST_TESTS = re.compile(r"#\[cfg\(test\)\]\s*(?:pub\(crate\) )?mod tests \{.*", re.DOTALL)


def files() -> list[str]:
    """Return the files with sentences for users."""
    listed = subprocess.run(
        ["git", "ls-files", "*.md", "*/src/*.py", "native/*/src/*.rs", "models/*.yml", "dashboards/assets/*.yaml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    return [name for name in listed if not NOT_READ.search(name) and (ROOT / name).exists()]


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _docstrings(tree: ast.AST) -> Iterator[ast.Constant]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                yield first.value


def texts(name: str, content: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences of a file, each with the line that it begins in."""
    if name.endswith(".md"):
        yield 1, CODE.sub(_blank, FENCE.sub(_blank, content))
    elif name.endswith(".py"):
        tree = ast.parse(content)
        docstrings = set() if COMMANDS.search(name) else set(_docstrings(tree))
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
                yield node.lineno, node.value
    elif name.endswith(".rs"):
        yield from (
            (content.count("\n", 0, text.start()) + 1, text[0])
            for text in RUST_TEXT.finditer(RUST_TESTS.sub("", content))
        )
    else:
        yield 1, COMMENT.sub(_blank, content)


def ruled_out(name: str, content: str) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the phrase and what to write instead."""
    if PATTERN.search(content) is None:
        # Most files: nothing to parse.
        return
    for line, text in texts(name, content):
        for match in PATTERN.finditer(text):
            # In its place, because a rule may look at what follows.
            advice = next(advice for rule, advice in _WRAPPED.items() if re.compile(rule).match(text, match.start()))
            yield line + text.count("\n", 0, match.start()), " ".join(match[0].split()), advice


def main(names: list[str]) -> int:
    """Print what is ruled out; return 1 if there is any."""
    count = 0
    for name in names or files():
        for line, phrase, advice in ruled_out(name, (ROOT / name).read_text(encoding="utf-8")):
            print(f"{name}:{line}: {phrase!r}: write {advice}")
            count += 1
    return min(count, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
