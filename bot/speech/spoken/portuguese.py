"""Brazilian Portuguese, as it is read aloud."""

from __future__ import annotations

from typing import Final

from bot.speech.spoken.language import Language

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
