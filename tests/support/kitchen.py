"""A small kitchen, written by hand to hold every oddity that ALFWorld's rules allow, for the tests of the engine."""

from __future__ import annotations

from natlang_envs.alfworld.engine.game import GameText

# A name's first part is the kind the game shows; the numbers fall in the order of the names.
RECEPTACLES = {
    "CounterTop_bar_1": ("CounterTopType", "loc_bar_1"),
    "Sink_bar_1_bar_SinkBasin": ("SinkBasinType", "loc_bar_1"),
    "Shelf_bar_1": ("ShelfType", "loc_bar_1"),
    "CounterTop_bar_2": ("CounterTopType", "loc_bar_2"),
    "Fridge_bar_1": ("FridgeType", "loc_bar_3"),
    "Microwave_bar_1": ("MicrowaveType", "loc_bar_4"),
    "Cabinet_bar_1": ("CabinetType", "loc_bar_5"),
    "Cabinet_bar_2": ("CabinetType", "loc_bar_5"),
}
OPENABLE = ("Fridge_bar_1", "Microwave_bar_1", "Cabinet_bar_1", "Cabinet_bar_2")
THINGS = {
    "Apple_bar_1": ("AppleType", "pickupable cleanable heatable coolable sliceable", ["CounterTop_bar_1"]),
    "Apple_bar_2": ("AppleType", "pickupable cleanable heatable coolable sliceable isCool", ["Fridge_bar_1"]),
    "Bread_bar_1": ("BreadType", "sliceable heatable coolable pickupable", ["CounterTop_bar_2", "Cabinet_bar_2"]),
    "Knife_bar_1": ("KnifeType", "pickupable cleanable", ["CounterTop_bar_1"]),
    "ButterKnife_bar_1": ("ButterKnifeType", "pickupable cleanable", ["Shelf_bar_1", "CounterTop_bar_1"]),
    "Plate_bar_1": (
        "PlateType",
        "pickupable cleanable heatable coolable isReceptacleObject",
        ["CounterTop_bar_2"],
    ),
    "Spoon_bar_1": ("SpoonType", "pickupable cleanable", ["CounterTop_bar_2"]),
    "Fork_bar_1": ("ForkType", "pickupable cleanable", ["CounterTop_bar_2"]),
    "DeskLamp_bar_1": ("DeskLampType", "toggleable pickupable", ["Shelf_bar_1", "CounterTop_bar_1"]),
    "DeskLamp_bar_2": ("DeskLampType", "toggleable", ["Cabinet_bar_1"]),
    "Mug_bar_1": ("MugType", "pickupable cleanable heatable coolable", ["Microwave_bar_1"]),
    "Window_bar_1": ("WindowType", "", []),
}
INSIDE = {"Spoon_bar_1": "Plate_bar_1", "Fork_bar_1": "Plate_bar_1"}
FITS_NOWHERE = {("MicrowaveType", "KnifeType"), ("ShelfType", "BreadType"), ("FridgeType", "DeskLampType")}
PLACED = """(:goal (and (exists (?r - receptacle) (exists (?o - object) (and {first}
    (objectType ?o {thing}Type) (receptacleType ?r {receptacle}Type) {then} (inReceptacle ?o ?r) )))))"""
GOALS = {
    "place": """(:goal (and (exists (?r - receptacle) (exists (?o - object) (and (inReceptacle ?o ?r)
    (objectType ?o MugType) (receptacleType ?r CabinetType) )))))""",
    "look": """(:goal (and (exists (?ot - object ?r - receptacle ?a - agent ?l - location)
    (and (objectType ?ot DeskLampType) (toggleable ?ot) (isToggled ?ot) (receptacleAtLocation ?r ?l)
    (atLocation ?a ?l) (inReceptacle ?ot ?r)))
    (exists (?o - object ?a - agent) (and (objectType ?o AppleType) (holds ?a ?o)))))""",
    "clean": PLACED.format(first="(cleanable ?o)", thing="Apple", receptacle="CounterTop", then="(isClean ?o)"),
    "heat": PLACED.format(first="(heatable ?o)", thing="Bread", receptacle="CounterTop", then="(isHot ?o)"),
    "cool": PLACED.format(first="(coolable ?o)", thing="Apple", receptacle="Shelf", then="(isCool ?o)"),
    "two": """(:goal (and (exists (?r - receptacle) (exists (?o1 - object) (and (objectType ?o1 AppleType)
    (receptacleType ?r CounterTopType) (inReceptacle ?o1 ?r) (exists (?o2 - object) (and (not (= ?o1 ?o2))
    (objectType ?o2 AppleType) (receptacleType ?r CounterTopType) (inReceptacle ?o2 ?r) )))))))""",
}


def kitchen(goal: str = "place", grammar: str = "json_2.1.1", start: str = "loc_bar_0") -> GameText:
    """Return the kitchen with a goal of `GOALS`."""
    types = sorted({kind for kind, _ in RECEPTACLES.values()}), sorted({row[0] for row in THINGS.values()})
    places = sorted({"loc_bar_0", *(place for _, place in RECEPTACLES.values())})
    objects = ["agent1 - agent"]
    objects += [f"{name} - receptacle" for name in RECEPTACLES]
    objects += [f"{name} - object" for name in THINGS]
    objects += [f"{place} - location" for place in places]
    objects += [f"{name} - rtype" for name in types[0]] + [f"{name} - otype" for name in types[1]]
    facts = [f"atLocation agent1 {start}", "= (total-cost) 0"]
    for name, (kind, place) in RECEPTACLES.items():
        facts += [f"receptacleType {name} {kind}", f"receptacleAtLocation {name} {place}"]
    facts += [f"openable {name}" for name in OPENABLE]
    facts += [f"canContain {a} {b}" for a in types[0] for b in types[1] if (a, b) not in FITS_NOWHERE]
    for name, (kind, marks, where) in THINGS.items():
        facts += [f"objectType {name} {kind}", *(f"{mark} {name}" for mark in marks.split())]
        facts += [f"inReceptacle {name} {receptacle}" for receptacle in where]
        facts += [f"objectAtLocation {name} {RECEPTACLES[receptacle][1]}" for receptacle in where]
    facts += [f"inReceptacleObject {inner} {outer}" for inner, outer in INSIDE.items()]
    facts.append("objectAtLocation Window_bar_1 loc_bar_0")
    init = "\n".join(f"    ({fact})" for fact in dict.fromkeys(facts))
    problem = (
        "(define (problem kitchen)\n(:domain alfred)\n(:objects\n"
        + "\n".join(f"    {row}" for row in objects)
        + f"\n)\n(:init\n{init}\n)\n{GOALS[goal]}\n)\n"
    )
    return GameText(problem, f"Your task is to: do what {goal} asks.", grammar)
