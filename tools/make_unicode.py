#!/usr/bin/env python3
"""Writes include/espalier/llm/detail/unicode_data.inc from this Python's own Unicode tables.

Usage: python3 tools/make_unicode.py > include/espalier/llm/detail/unicode_data.inc

Everything is a stream of non-negative numbers in base 32, least significant digit first, six bits a character: the
sixth says that more digits follow. What stood in the 4,096 characters before is repeated by three characters: one of
REPEATS for the length, 4 and more, and two digits for the distance, the greater one first. unicode.hpp reads the
streams once, at first use.
"""

import itertools
import sys
import unicodedata

DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
REPEATS = "!#$%&'()*,-.:;<=>@[]^_`{|}~"
ALNUM, MARK, CASED, IGNORABLE, FIGURE, SPACE, DECIMAL = 1, 2, 4, 8, 16, 32, 64  # the common ones fit one digit
POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def number(n):
    text = ""
    while n >= 32:
        text += DIGITS[32 | n & 31]
        n >>= 5
    return text + DIGITS[n]


def signed(n):
    return number(2 * n if n >= 0 else -2 * n - 1)


def flags(c):
    """What decides splitting and the shape of a capital sigma; the last two are read off str.lower itself."""
    char = chr(c)
    after_letter = ("A" + char + "\u03a3").lower().endswith("\u03c2")
    cased = (char + "\u03a3").lower().endswith("\u03c2")
    category = unicodedata.category(char)
    return (
        ALNUM * char.isalnum()
        + SPACE * char.isspace()
        + CASED * cased
        + IGNORABLE * (after_letter and not cased)
        + DECIMAL * (category == "Nd")
        + MARK * (category[0] == "M" or category == "Cf")
        + FIGURE * (category == "No")
    )


def runs(value):
    """Runs of equal values: length, value, ..."""
    text, start, last = "", 0, value(0)
    for c in range(1, 0x110000):
        now = value(c) if not 0xD800 <= c < 0xE000 else 0
        if now != last:
            text += number(c - start) + number(last)
            start, last = c, now
    return text


def mapping(rule):
    """Step from the last key, 8 x length + tag. With 4 added to the tag, the number of further entries alike in both,
    less 1. Then for each of these entries: first target less key less that difference before, other targets."""
    entries, key, difference = [], 0, 0
    for c in POINTS:
        target, tag = rule(c)
        if not target:
            continue
        entries.append((c - key, 8 * len(target) + tag, target[0] - c - difference, *target[1:]))
        key, difference = c, target[0] - c

    text = ""
    for (step, shape), group in itertools.groupby(entries, key=lambda entry: entry[:2]):
        alike = list(group)
        text += number(step) + (number(shape + 4) + number(len(alike) - 2) if len(alike) > 1 else number(shape))
        text += "".join(signed(turn) + "".join(signed(t - 0x300) for t in rest) for _, _, turn, *rest in alike)
    return text


def case(change, base):
    return lambda c: ([ord(x) for x in change(chr(c))] if change(chr(c)) != base(chr(c)) else None, 0)


def decomposition(c):
    """One step. Tag 1: only under compatibility; tag 2: the pair composes to c again."""
    parts = unicodedata.decomposition(chr(c)).split()
    if not parts:
        return None, 0
    compatibility = parts[0].startswith("<")
    target = [int(p, 16) for p in parts[compatibility:]]
    composes = (
        not compatibility and len(target) == 2 and unicodedata.normalize("NFC", "".join(map(chr, target))) == chr(c)
    )
    return target, compatibility + 2 * composes


def packed(text):
    """The shortest text that repeats earlier pieces."""
    most, seen, found = len(REPEATS) + 3, {}, []
    for i in range(len(text)):
        best = (0, 0)
        for j in reversed(seen.setdefault(text[i : i + 4], [])):
            if i - j >= len(DIGITS) ** 2 or best[0] == most:
                break
            length = next((k for k in range(most) if text[j + k : j + k + 1] != text[i + k : i + k + 1]), most)
            best = max(best, (min(length, len(text) - i), i - j))
        seen[text[i : i + 4]].append(i)
        found.append(best)
    tails = [""]  # of the text from its end on, the last one for all of it
    for i in reversed(range(len(text))):
        length, back = found[i]
        repeats = [
            REPEATS[k - 4] + DIGITS[back // len(DIGITS)] + DIGITS[back % len(DIGITS)] + tails[-k]
            for k in range(4, length + 1)
        ]
        tails.append(min([text[i] + tails[-1], *repeats], key=len))
    return tails[-1]


def main():
    print(f"// Unicode {unicodedata.unidata_version}, written by tools/make_unicode.py. Do not edit.")
    streams = {
        "flags": runs(flags),
        "combining": runs(lambda c: unicodedata.combining(chr(c))),
        "lower": mapping(case(str.lower, str)),
        "fold": mapping(case(str.casefold, str.lower)),  # the others are as in lower case
        "decomposition": mapping(decomposition),
    }
    for name, stream in streams.items():
        text = packed(stream)
        lines = [text[i : i + 116] for i in range(0, len(text), 116)]
        print(f"inline constexpr char unicode_{name}[] =")
        print("\n".join(f'  "{line}"' for line in lines) + ";")
        print(f"{name}: {len(stream)} characters in {len(text)}", file=sys.stderr)


main()
