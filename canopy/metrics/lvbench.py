"""LVBench: the official letter extraction and accuracy, and a letter extraction that reads sentences.

Official: ``lvbench/utils/answer_util.py`` and ``lvbench/metrics/compute_accuracy.py``, which leave
questions out of the denominator that have no entry in the answers file.
"""

from __future__ import annotations

import re

_CUE = r"(?i:\b(?:answer|option|choice)\b(?:\s+(?:is|would\s+be|must\s+be))?\s*:?\s*)"


def official_letter(text: str) -> str:
    """The letter that the official script reads, or ``""`` when nothing is left.

    What precedes the first ``)``; of that, what follows the first ``(``; of that, what precedes the
    first space; its first character. No case folding: ``b`` is wrong, and ``The answer is B`` gives ``T``.
    """
    text = text.strip().split(")")[0].strip()
    if "(" in text:
        text = text.split("(")[1].strip()
    return text.split(" ")[0][:1]


def spoken_letter(text: str, letters: str = "ABCD") -> str:
    """The option that a sentence chooses, in upper case, or ``""`` when it names none or several.

    In this order: a letter that is the whole text (either case); a letter first, in brackets or with
    ``) . : ,``; a letter after *answer*, *option* or *choice*; a letter first; the only letter in
    brackets; the only capital standing alone.
    """
    text = " ".join(text.split())
    either = letters + letters.lower()
    if found := re.fullmatch(rf"\(?([{either}])\)?[.:]?", text):
        return str(found[1]).upper()
    if found := re.match(rf"\(?([{letters}])[).:,]", text):
        return str(found[1])
    # A small letter counts in brackets only: "the answer is a dog" chooses nothing.
    chosen: set[str] = {(a or b).upper() for a, b in re.findall(rf"{_CUE}(?:\(([{either}])\)|([{letters}])\b)", text)}
    if len(chosen) == 1:
        return chosen.pop()
    if found := re.match(rf"([{letters}]) ", text):
        return str(found[1])
    for pattern in (rf"\(([{letters}])\)", rf"(?<![\w'(])([{letters}])(?![\w'])"):
        chosen = set(re.findall(pattern, text))
        if chosen:
            return chosen.pop() if len(chosen) == 1 else ""
    return ""
