"""The number on a card: a series of two digits, ten that count, and two that check, printed 4-4-4-2.

The check follows ISO 7064, mod 97: the whole number leaves 1 when it is divided by 97. It notices every wrong
digit and every exchange of two neighbours.
"""

MODULUS = 97
BODY = 12
CHECK = 2
GROUP = 4

# Series, and where its cards are sold. 19 was printed with a wrong check in August 2022 and pulped.
SERIES = {"11": "cafés", "12": "online shop", "15": "offices"}
PULPED = frozenset({"19"})


class BadNumber(ValueError):
    """No card of ours can have this number."""


def check_digits(body: str) -> str:
    """Return the two digits that follow a body of twelve."""
    if len(body) != BODY or not body.isdecimal():
        raise BadNumber(f"{body!r}: a body has {BODY} digits")
    rest = int(body) * 10**CHECK % MODULUS
    return f"{MODULUS + 1 - rest:02}"


def number(series: str, count: int) -> str:
    """Return the number of the card that is the `count`-th of a series, from 1."""
    if series not in SERIES:
        raise BadNumber(f"series {series}: there is {', '.join(sorted(SERIES))}")
    if not 1 <= count < 10 ** (BODY - len(series)):
        raise BadNumber(f"card {count} of series {series}")
    body = f"{series}{count:0{BODY - len(series)}}"
    return body + check_digits(body)


def normalised(text: str) -> str:
    """Return a number as it is stored, from what was typed or scanned.

    Raises:
        BadNumber: A digit is missing or wrong, or the series was never sold.
    """
    digits = "".join(c for c in text if c not in " -.")
    if len(digits) != BODY + CHECK or not digits.isdecimal():
        raise BadNumber(f"{text!r}: a card has {BODY + CHECK} digits")
    if int(digits) % MODULUS != 1:
        raise BadNumber(f"{text!r}: a digit is wrong")
    if digits[:2] in PULPED or digits[:2] not in SERIES:
        raise BadNumber(f"{text!r}: series {digits[:2]} is not sold")
    return digits


def printed(digits: str) -> str:
    """Return a number in groups of four, the last one shorter."""
    return " ".join(digits[i : i + GROUP] for i in range(0, len(digits), GROUP))


def masked(digits: str) -> str:
    """Return a number for mails and logs: only the last four digits can be read."""
    hidden = "*" * (len(digits) - GROUP)
    return printed(hidden + digits[-GROUP:])
