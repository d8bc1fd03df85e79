"""The rules for reading a language aloud, for English and Brazilian Portuguese."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

Counted = tuple[str, str]
"""The singular and the plural."""


@dataclass(frozen=True, slots=True)
class Language:
    """A language that text is read in.

    `thousands` and `decimal` are a number's separators. `abbreviations` are matched as written, `units` only after a
    number, `before_number` only before one. `numbered` are words before Roman numerals, such as "chapter", and
    `reigning` the names of numbered rulers. `pools` have a rest and a total, as in "HP 12/20". `feminine_unless` are
    nouns that only look feminine, None for a language without gender; `feminine` are feminine nouns that do not look
    it. `ordinal` follows an ordinal's digits; a number after `year_after` may be a year. Those two and `pools`,
    `numbered`, `reigning` are patterns.
    """

    code: str
    thousands: str
    decimal: str
    point: str
    minus: str
    plus: str
    to: str
    out_of: str
    times: str
    percent: str
    number_sign: str
    at: str
    dot: str
    slash: str
    about: str
    keep_highest: str
    keep_lowest: str
    die: str
    a_link: str
    a_picture: str
    code_block: str
    table: Counted
    ordinal: str
    halves: Mapping[int, Counted]
    months: tuple[str, ...]
    hours: Counted
    money: Mapping[str, tuple[Counted, Counted]]
    units: Mapping[str, Counted]
    abbreviations: Mapping[str, str]
    before_number: Mapping[str, str]
    signs: Mapping[str, str]
    pools: str
    numbered: str
    reigning: str
    feminine_unless: frozenset[str] | None
    feminine: frozenset[str]
    year_after: str


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

PORTUGUESE: Final = Language(
    code="pt",
    thousands=".",
    decimal=",",
    point="vírgula",
    minus="menos",
    plus="mais",
    to="a",
    out_of="de",
    times="vezes",
    percent="por cento",
    number_sign="número",
    at="arroba",
    dot="ponto",
    slash="barra",
    about="cerca de",
    keep_highest="fique com os {n} maiores",
    keep_lowest="fique com os {n} menores",
    die="dê",
    a_link="um link para {host}",
    a_picture="Uma imagem: {alt}",
    code_block="Um bloco de código.",
    table=("Uma tabela de uma linha.", "Uma tabela de {n} linhas."),
    ordinal=r"\.?[ºª°]|\.?o\b|\.?a\b",
    halves={2: ("meio", "meios"), 3: ("terço", "terços")},
    months=(
        "janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto", "setembro", "outubro",
        "novembro", "dezembro",
    ),
    hours=("hora", "horas"),
    money={
        "R$": (("real", "reais"), ("centavo", "centavos")),
        "US$": (("dólar", "dólares"), ("centavo", "centavos")),
        "$": (("dólar", "dólares"), ("centavo", "centavos")),
        "€": (("euro", "euros"), ("centavo", "centavos")),
        "£": (("libra", "libras"), ("centavo", "centavos")),
    },
    units={
        "km": ("quilômetro", "quilômetros"), "m": ("metro", "metros"), "cm": ("centímetro", "centímetros"),
        "mm": ("milímetro", "milímetros"), "kg": ("quilo", "quilos"), "g": ("grama", "gramas"),
        "km/h": ("quilômetro por hora", "quilômetros por hora"), "min": ("minuto", "minutos"),
        "min.": ("minuto", "minutos"), "s": ("segundo", "segundos"), "seg": ("segundo", "segundos"),
        "seg.": ("segundo", "segundos"), "h": ("hora", "horas"), "ms": ("milissegundo", "milissegundos"),
        "°C": ("grau Celsius", "graus Celsius"), "°F": ("grau Fahrenheit", "graus Fahrenheit"),
        "°": ("grau", "graus"), "PO": ("peça de ouro", "peças de ouro"), "PP": ("peça de prata", "peças de prata"),
        "PC": ("peça de cobre", "peças de cobre"), "MB": ("megabyte", "megabytes"), "GB": ("gigabyte", "gigabytes"),
        "kB": ("quilobyte", "quilobytes"),
    },
    abbreviations={
        "p. ex.": "por exemplo", "p.ex.": "por exemplo", "etc.": "et cetera", "vs.": "versus", "vs": "versus",
        "Sr.": "Senhor", "Sra.": "Senhora", "Srta.": "Senhorita", "Dr.": "Doutor", "Dra.": "Doutora",
        "Prof.": "Professor", "Profa.": "Professora", "Sto.": "Santo", "Sta.": "Santa", "Cap.": "Capitão",
        "Gen.": "General", "Cel.": "Coronel", "Sgt.": "Sargento", "Av.": "Avenida", "aprox.": "aproximadamente",
        "c/": "com", "s/": "sem", "obs.": "observação", "Obs.": "Observação", "séc.": "século",
        "a.C.": "antes de Cristo",
        "d.C.": "depois de Cristo", "et al.": "e outros", "INT.": "Interior:", "EXT.": "Exterior:",
        "PV": "P V", "CA": "C A", "CD": "C D", "XP": "X P", "RPG": "R P G", "Jr.": "Júnior", "tel.": "telefone",
    },
    before_number={
        "p.": "página", "pp.": "páginas", "pág.": "página", "págs.": "páginas", "cap.": "capítulo",
        "Cap.": "Capítulo", "caps.": "capítulos", "vol.": "volume", "Vol.": "Volume", "fig.": "figura",
        "Fig.": "Figura", "nº": "número", "Nº": "Número", "n.º": "número", "n°": "número", "núm.": "número",
        "art.": "artigo", "Art.": "Artigo", "§": "parágrafo", "nv.": "nível", "Nv.": "Nível", "ep.": "episódio",
    },
    signs={
        "&": "e", "=": "igual a", "×": "vezes", "÷": "dividido por", "≥": "pelo menos", "≤": "no máximo",
        "≈": "cerca de", "±": "mais ou menos", "→": "para", "<": "menor que", ">": "maior que",
    },
    pools=r"PV|pv|Pontos de Vida|PM|PE|XP|Vida|Mana|Sanidade|Estresse|Vigor|Sorte|Munição|Cargas|Pontos|Placar",
    numbered=r"capítulo|capitulo|ato|cena|parte|livro|volume|vol\.|tomo|seção|canto|nível|apêndice|episódio|temporada|século|séc\.|guerra|fase|tabela|tipo",
    reigning=(
        r"rei|rainha|papa|imperador|pedro|joão|luís|henrique|carlos|filipe|manuel|afonso|sancho|maria|isabel|pio|bento|"
        r"paulo|napoleão|jorge|eduardo"
    ),
    feminine_unless=frozenset({
        "dia", "dias", "mapa", "mapas", "problema", "problemas", "planeta", "planetas", "tema",
        "temas", "sistema", "sistemas", "poema", "poemas", "programa", "programas", "drama", "dramas",
        "grama", "gramas", "quilograma", "quilogramas", "cinema", "cinemas", "clima", "climas", "a",
        "da", "na", "à", "as", "das", "nas", "às", "para",
    }),
    feminine=frozenset({
        "mulher", "mulheres", "noite", "noites", "parte", "partes", "vez", "luz", "cruz",
        "mão", "mãos", "flor", "flores", "ponte", "pontes", "torre", "torres", "fonte",
        "fontes", "arte", "artes", "morte", "mortes", "chave", "chaves", "nave", "naves",
        "gente", "árvore", "árvores", "voz", "vozes", "espécie", "espécies",
    }),
    year_after="(?!)",
)  # fmt: skip
