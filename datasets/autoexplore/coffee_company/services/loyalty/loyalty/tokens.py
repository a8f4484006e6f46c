"""Card tokens: eleven random characters and a check letter.

A token is read out over a noisy counter, so it has no I, L, O or U. U is missing because in 2021 a
random token spelled something a guest complained about.
"""

import secrets

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
LENGTH = 12
# The check letter is a letter even when its value is small, so that staff can tell where a token ends.
CHECK_LETTERS = "ABCDEFGHJKMNPQRSTVWXYZ"
# Prime to 22, so one wrong character is noticed, except for the ten pairs whose values differ by 22
# (0 and P, 1 and Q … 9 and Z); swapping neighbours is noticed for the same reason almost always.
WEIGHTS = (1, 3, 5, 7, 9, 13, 15, 17, 19, 21, 1)

# What people type instead of what is printed.
LOOKALIKES = str.maketrans({"I": "1", "L": "1", "O": "0", "U": "V"})


def normalise(text: str) -> str:
    """Bring a typed token into the printed form: capitals, no blanks or hyphens, no lookalikes."""
    return text.upper().replace(" ", "").replace("-", "").translate(LOOKALIKES)


def check_letter(body: str) -> str:
    """Return the letter that follows these eleven characters.

    Raises:
        ValueError: If the body has the wrong length or a character that is never printed.
    """
    if len(body) != LENGTH - 1:
        raise ValueError(f"a token's body has {LENGTH - 1} characters, not {len(body)}")
    total = sum(w * ALPHABET.index(c) for w, c in zip(WEIGHTS, body, strict=True))
    return CHECK_LETTERS[total % len(CHECK_LETTERS)]


def valid(text: str) -> bool:
    """Tell whether this can be one of our tokens; the database knows whether it is."""
    token = normalise(text)
    if len(token) != LENGTH or any(c not in ALPHABET for c in token):
        return False
    # Tokens of the 2021 run began with A and had no check letter; they were exchanged by mid-2023.
    if token.startswith("A"):
        return False
    return check_letter(token[:-1]) == token[-1]


def new() -> str:
    """Make a token for a new card; 50 bits and more, so guessing one is hopeless."""
    first = secrets.choice(ALPHABET.replace("A", ""))
    body = first + "".join(secrets.choice(ALPHABET) for _ in range(LENGTH - 2))
    return body + check_letter(body)


def grouped(token: str) -> str:
    """Write a token as it stands on the card: three groups of four."""
    return " ".join(token[i : i + 4] for i in range(0, LENGTH, 4))
