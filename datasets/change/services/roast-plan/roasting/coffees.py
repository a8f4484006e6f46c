"""Blends, single origins, and the two roasters."""

from dataclasses import dataclass

GRAMS = 1000
THOUSAND = 1000


@dataclass(frozen=True)
class Coffee:
    """A coffee as it is sold.

    Attributes:
        name: The name on the bag.
        parts: The green coffees in thousandths, which add up to a thousand.
        loss: The loss of weight in thousandths.
        blended_green: Whether the parts are roasted together.
        decaf: Whether its dust must not reach others.
    """

    name: str
    parts: tuple[tuple[str, int], ...]
    loss: int
    blended_green: bool = True
    decaf: bool = False

    def __post_init__(self) -> None:
        """Refuse a recipe that is not whole."""
        whole = sum(share for _, share in self.parts)
        if whole != THOUSAND:
            raise ValueError(f"{self.name}: {whole} thousandths")
        if not 0 < self.loss < 300:
            raise ValueError(f"{self.name}: loses {self.loss} thousandths")

    @property
    def is_single_origin(self) -> bool:
        """Whether it comes from one place; decaf does not count as an origin."""
        return len(self.parts) == 1 and not self.decaf


@dataclass(frozen=True)
class Roaster:
    """A drum: its letter in lot codes, its full load, and its slots."""

    name: str
    letter: str
    full_grams: int
    opens: int
    closes: int
    slot: int
    most: int

    @property
    def least_grams(self) -> int:
        """The smallest load: 60%, rounded up."""
        return -(-self.full_grams * 60 // 100)


BRAZIL, HUILA, CUMBRE, GUJI, NYERI, DECAF = (
    "Boa Maré", "La Pradera", "Cumbre Alta", "Guji Halo", "Nyeri Gatumbi", "Sierra Clara",
)  # fmt: skip

FOGHORN = Coffee("Foghorn", ((BRAZIL, 500), (HUILA, 300), (CUMBRE, 200)), 152)
ROPEWALK = Coffee("Ropewalk Filter", ((HUILA, 600), (GUJI, 400)), 138, blended_green=False)
SLACK_TIDE = Coffee("Slack Tide", ((DECAF, 1000),), 139, decaf=True)
SINGLE_GUJI = Coffee("Ethiopia Guji Halo", ((GUJI, 1000),), 132)
SINGLE_NYERI = Coffee("Kenya Nyeri Gatumbi", ((NYERI, 1000),), 135)
COFFEES = {each.name: each for each in (FOGHORN, ROPEWALK, SLACK_TIDE, SINGLE_GUJI, SINGLE_NYERI)}

MARJORIE = Roaster("Marjorie", "M", 22 * GRAMS, 7 * 60, 14 * 60 + 30, 22, 18)
BERTHA = Roaster("Bertha", "B", 10 * GRAMS, 7 * 60 + 30, 13 * 60, 20, 14)
