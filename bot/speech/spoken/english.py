"""English, as it is read aloud."""

from __future__ import annotations

from typing import Final

from bot.speech.spoken.language import Language

ENGLISH: Final = Language(
    code="en",
    thousands=",",
    decimal=".",
    point="point",
    minus="minus",
    plus="plus",
    to="to",
    out_of="of",
    times="times",
    percent="percent",
    number_sign="number",
    at="at",
    dot="dot",
    slash="slash",
    about="about",
    keep_highest="keep the highest {n}",
    keep_lowest="keep the lowest {n}",
    die="d",
    a_link="a link to {host}",
    a_picture="A picture: {alt}",
    code_block="A block of code.",
    table=("A table of one row.", "A table of {n} rows."),
    ordinal=r"st|nd|rd|th",
    halves={2: ("half", "halves"), 4: ("quarter", "quarters")},
    months=(
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
        "November", "December",
    ),
    hours=("o'clock", "o'clock"),
    money={
        "$": (("dollar", "dollars"), ("cent", "cents")),
        "US$": (("dollar", "dollars"), ("cent", "cents")),
        "R$": (("real", "reais"), ("centavo", "centavos")),
        "€": (("euro", "euros"), ("cent", "cents")),
        "£": (("pound", "pounds"), ("penny", "pence")),
    },
    units={
        "ft": ("foot", "feet"), "ft.": ("foot", "feet"), "in.": ("inch", "inches"), "yd": ("yard", "yards"),
        "mi": ("mile", "miles"), "mph": ("mile per hour", "miles per hour"), "lb": ("pound", "pounds"),
        "lbs": ("pound", "pounds"), "lb.": ("pound", "pounds"), "lbs.": ("pound", "pounds"),
        "oz": ("ounce", "ounces"), "km": ("kilometre", "kilometres"), "m": ("metre", "metres"),
        "cm": ("centimetre", "centimetres"), "mm": ("millimetre", "millimetres"), "kg": ("kilogram", "kilograms"),
        "g": ("gram", "grams"), "km/h": ("kilometre per hour", "kilometres per hour"),
        "min": ("minute", "minutes"), "min.": ("minute", "minutes"), "sec": ("second", "seconds"),
        "s": ("second", "seconds"), "h": ("hour", "hours"), "hr": ("hour", "hours"), "hrs": ("hour", "hours"),
        "ms": ("millisecond", "milliseconds"), "°C": ("degree Celsius", "degrees Celsius"),
        "°F": ("degree Fahrenheit", "degrees Fahrenheit"), "°": ("degree", "degrees"),
        "gp": ("gold piece", "gold pieces"), "sp": ("silver piece", "silver pieces"),
        "cp": ("copper piece", "copper pieces"), "MB": ("megabyte", "megabytes"), "GB": ("gigabyte", "gigabytes"),
        "kB": ("kilobyte", "kilobytes"),
    },
    abbreviations={
        "e.g.": "for example", "i.e.": "that is", "etc.": "et cetera", "vs.": "versus", "vs": "versus",
        "Mr.": "Mister", "Mrs.": "Missus", "Ms.": "Miz", "Dr.": "Doctor", "Prof.": "Professor", "St.": "Saint",
        "Jr.": "Junior", "Sr.": "Senior", "Capt.": "Captain", "Lt.": "Lieutenant", "Sgt.": "Sergeant",
        "Gen.": "General", "Col.": "Colonel", "approx.": "approximately", "dept.": "department", "cf.": "compare",
        "w/o": "without", "w/": "with", "a.m.": "A M", "p.m.": "P M", "b.c.": "B C", "B.C.": "B C", "A.D.": "A D",
        "et al.": "and others", "INT.": "Interior:", "EXT.": "Exterior:", "NPC": "N P C", "NPCs": "N P Cs",
        "GM": "G M", "DM": "D M", "HP": "H P", "AC": "A C", "XP": "X P", "DC": "D C", "PC": "P C", "PCs": "P Cs",
    },
    before_number={
        "p.": "page", "pp.": "pages", "ch.": "chapter", "Ch.": "Chapter", "vol.": "volume", "Vol.": "Volume",
        "fig.": "figure", "Fig.": "Figure", "no.": "number", "No.": "Number", "nos.": "numbers", "sec.": "section",
        "Sec.": "Section", "§": "section", "lvl": "level", "lv.": "level", "Lv.": "Level", "Lvl": "Level",
        "ca.": "about", "c.": "about", "approx.": "approximately", "art.": "article", "ep.": "episode",
        "Ep.": "Episode",
    },
    signs={
        "&": "and", "=": "equals", "×": "times", "÷": "divided by", "≥": "at least", "≤": "at most",
        "≈": "about", "±": "plus or minus", "→": "to", "<": "less than", ">": "more than",
    },
    pools=r"HP|hp|Hit Points|MP|SP|XP|Hull|Stress|Sanity|Health|Mana|Stamina|Luck|Ammo|Charges|Slots|Score",
    numbered=r"chapter|act|scene|part|book|volume|vol\.|section|canto|level|appendix|episode|season|war|phase|century|table|type",
    reigning=(
        r"king|queen|pope|emperor|henry|louis|charles|edward|george|richard|james|william|elizabeth|john|paul|pius|"
        r"benedict|philip|peter|catherine|frederick|napoleon|ramses|mary"
    ),
    feminine_unless=None,
    feminine=frozenset(),
    year_after=(
        r"in|of|since|by|from|until|till|before|after|around|circa|year|january|february|march|april|may|june|july|"
        r"august|september|october|november|december"
    ),
)  # fmt: skip
