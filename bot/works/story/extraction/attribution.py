"""Finds, by code, who speaks and acts in a scene, and, while it streams, where it does so for players' characters.

For English and Portuguese, and only in plain cases: a missed sentence costs little, while a wrong one costs people a
question, or stops a good scene. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from bot.retrieval.language import FUNCTION_WORDS
from bot.works.story.extraction import clauses
from bot.works.story.extraction.clauses import may_be_verb
from bot.works.story.log.turn import Turn

LATELY: Final = 5
"""The words of how many turns a scene may repeat."""
_FEWEST: Final = 2
"""The minimum number of words in a line that counts: an exclamation decides nothing."""
_TALKING: Final = re.compile(
    r"\b(?:say|tell|ask|answer|repl(?:y|ies)|whisper|shout|mutter|call|cry|add|greet|thank|explain|beg|warn|order|offer"
    r"|introduce|apologi[sz]e|persuade|convince|negotiate|threaten|argue|talk|speak|sing|pray|swear|promise|lie|joke"
    r"|digo|diz|pergunto|pergunta|respondo|responde|conto|conta|grito|grita|sussurro|sussurra|chamo|chama|cumprimento"
    r"|agradeço|explico|peço|aviso|ordeno|ofereço|prometo|falo|fala|canto|canta|rezo|juro|convenço|minto)\w*",
    re.IGNORECASE,
)
_TOGETHER: Final = re.compile(
    r"\b(?:we|us|our|all|both|everyone|everybody|together|party|group|nós|nos|todos|todas|juntos|juntas|grupo|gente)\b",
    re.IGNORECASE,
)
_BINDING: Final = frozenset().union(*FUNCTION_WORDS.values())
_GAP: Final = re.compile(r"(?<!\s)\s+(?=\S)")
_PERSONS: Final = {"second": ("you", "você"), "first": ("I",)}
"""The pronouns for the player's character in a story's view."""
_DASH: Final = ("—", "–")
_STEM: Final = 4
"""How many first letters identify a deed: "agree" in "agreed"."""

_SHARED: Final = 2
"""How many words a deed of the acting character must share with the turn to count as a way of carrying it out."""

SHORTEST: Final = 2
"""The minimum number of letters in a part of a name."""
QUOTE_CHARS: Final = 600
"""The maximum length of a line that is attributed to somebody."""
_QUOTE: Final = re.compile(r"“[^“”]{1,600}”|\"[^\"]{1,600}\"|«[^«»]{1,600}»")
_DASHED: Final = re.compile(
    r"^[^\S\n]*+[—–][^\S\n]*+([^—–\n]{1,600}+)[—–][^\S\n]*+([^—–\n]{1,80}+)", re.MULTILINE
)
_LINE: Final = re.compile(
    r"^[^\S\n]*+(?:[—–][^—–\n]*+(?:[—–]|$)"
    r"|[*_>]{0,3}+(?:\{\{\w+\}\}|[^\W\d_a-zà-ÿ][\w'’-]{0,30}+(?:[ ][^\W\d_a-zà-ÿ][\w'’-]{0,30}+){0,2}+)"
    r"[*_]{0,3}+:[^\n]*+)",
    re.MULTILINE,
)
"""A line of speech without quotation marks: between dashes, or after a name."""
_STARS: Final = str.maketrans("*_", "  ")
_USERS: Final = ("{{user}}", "User", "Player", "You", "Usuário", "Usuária", "Jogador", "Jogadora", "Você")
"""Names that a model writes in front of a player's line."""
_BREAK: Final = re.compile(r"(?<=[.!?…])[\"”»]?\s+|\n+")
_SAYING: Final = (
    "say says said ask asks asked answer answers answered reply replies replied whisper whispers whispered "
    "shout shouts shouted mutter mutters muttered murmur murmurs murmured call calls called cry cries cried "
    "add adds added tell tells hiss hisses hissed explain explains explained exclaim "
    "exclaims exclaimed insist "
    "insists insisted snarl snarls snarled growl growls growled explica explicou exclama exclamou insiste "
    "insistiu diz disse pergunta perguntou responde respondeu sussurra sussurrou grita "
    "gritou murmura murmurou "
    "acrescenta acrescentou fala falou"
)
_SAID: Final = frozenset(_SAYING.split())
"""Verbs that introduce a line: the line counts, not the verb."""
_DECIDING: Final = (
    "decide decides decided agree agrees agreed refuse refuses refused promise promises "
    "promised accept accepts "
    "accepted swear swears swore vow vows vowed admit admits admitted confess confesses confessed decide "
    "decidiu concorda concordou recusa recusou promete prometeu aceita aceitou jura jurou admite admitiu "
    "confessa confessou resolve resolveu"
)
_DOING: Final = (
    "nod nods nodded smile smiles smiled laugh laughs laughed walk walks walked run runs ran step steps "
    "stepped climb climbs climbed take takes took grab grabs grabbed open opens opened "
    "pick picks picked turn "
    "turns turned stand stands stood sit sits sat look looks looked reach reaches reached "
    "draw draws drew jump "
    "jumps jumped raise raises raised kill kills killed scream screams screamed stride strides strode strike "
    "strikes struck shove shoves shoved mata matou grita gritou golpeia golpeou empurra "
    "empurrou acena acenou "
    "sorri sorriu ri riu anda andou corre correu sobe subiu desce desceu pega pegou abre abriu vira virou "
    "levanta levantou senta sentou olha olhou salta saltou ergue ergueu"
)
_MOVING: Final = (
    "go goes going gone went walk walks walked walking run runs ran running climb climbs "
    "climbed climbing come "
    "comes came coming step steps stepped stepping leave leaves left leaving enter enters entered entering "
    "arrive arrives arrived arriving reach reaches reached return returns returned returning follow follows "
    "followed following ride rides rode sail sails sailed fly flies flew fall falls fell drag drags dragged "
    "carry carries carried cross crosses crossed descend descends descended rush rushes rushed hurry hurries "
    "hurried swim swims swam dive dives dived dove row rows rowed head heads headed travel travels travelled "
    "traveled move moves moved back away upstairs downstairs outside inside later next "
    "morning after meanwhile "
    "tomorrow vai vão foi foram ir indo anda andou caminha caminhou corre correu sobe subiu desce desceu vem "
    "veio chega chegou sai saiu entra entrou volta voltou segue seguiu atravessa atravessou alcança alcançou "
    "nada nadou rema remou viaja viajou cai caiu leva levou depois seguinte amanhã manhã fora dentro enquanto"
)
_GOING_TOGETHER: Final = frozenset(
    [
        "we",
        "they",
        "all",
        "both",
        "everyone",
        "everybody",
        "nós",
        "eles",
        "elas",
        "todos",
        "todas",
        "ambos",
        "gente",
    ]
)


def _any(words: str) -> str:
    return "|".join(sorted(dict.fromkeys(words.split()), key=len, reverse=True))


_ALIKE: Final = tuple(
    frozenset(group.split())
    for group in (
        _MOVING,
        "take takes took grab grabs grabbed pick picks seize seizes seized lift lifts lifted "
        "get gets give gives gave "
        "hand hands handed throw throws threw toss tosses pass passes catch catches caught "
        "snatch snatches pega pegou "
        "toma tomou apanha agarra agarrou dá deu entrega entregou joga jogou lança atira atirou",
        "hit hits strike strikes struck attack attacks attacked fight fights swing swings "
        "swung stab stabs cut cuts "
        "slash slashes punch punches kick kicks shoot shoots shot ataca atacou golpeia "
        "golpeou bate bateu luta corta "
        "chuta",
        "look looks looked search searches searched examine examines examined inspect "
        "inspects study studies peer "
        "peers scan scans watch watches read reads olha olhou procura procurou examina "
        "examinou observa observou lê "
        "leu vasculha",
        "open opens opened unlock unlocks unlocked close closes closed shut shuts push pushes "
        "pushed pull pulls pulled "
        "turn turns abre abriu destranca fecha fechou empurra empurrou puxa puxou gira girou",
        f"speak speaks talk talks {_SAYING}",
    )
)
"""Groups of verbs that express the same turn in other words."""
_MOVES: Final = re.compile(rf"\b(?:{_any(_MOVING)})\b", re.IGNORECASE)


def sentences(text: str) -> list[str]:
    return [part.strip() for part in _BREAK.split(text) if part and part.strip()]


def forms(name: str, others: Iterable[str]) -> tuple[str, ...]:
    """The forms of the character's name in a text: the whole name, and parts of it that no other name has."""
    theirs = {
        part.casefold() for other in others if other.casefold() != name.casefold() for part in other.split()
    }
    parts = [part for part in name.split() if part[:1].isupper() and len(part) >= SHORTEST]
    return tuple(dict.fromkeys([name, *(part for part in parts if part.casefold() not in theirs)]))


def names_one(sentence: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", sentence, re.IGNORECASE) is not None


@lru_cache(maxsize=200)  # each takes about 25 KB
def _said_by(name: str) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """After a quotation ("…", Mira said; said Mira), before one (Mira said: "…"), and as in a play (Mira: …)."""
    speaker, say = re.escape(name), _any(_SAYING)
    after = re.compile(
        rf"\s*+[,—–]?\s*+(?:{speaker}\s+(?:\w+ly\s+)?(?:(?P<said>{say})|(?P<any>\w+))"
        rf"|(?P<before>[^\W\d_]+)\s+{speaker})(?!\w)",
        re.IGNORECASE,
    )
    before = re.compile(
        rf"(?<!\w){speaker}\s+(?:\w+ly\s+)?(?:(?:{say})\b[^.!?\n\"“«]{{0,60}}[,:]|(?P<any>\w+)\b[^.!?\n\"“«]{{0,60}}:)"
        rf"\s*\Z|^[^\S\n]*+{speaker}:\s*\Z",
        re.IGNORECASE | re.MULTILINE,
    )
    label = re.compile(
        rf"^[^\S\n]*+[*_>]{{0,3}}+{speaker}[*_]{{0,3}}+[^\S\n]{{0,2}}:[*_]{{0,3}}+([^\n]++)",
        re.IGNORECASE | re.MULTILINE,
    )
    return after, before, label


def speeches(text: str, name: str) -> Iterator[str]:
    """The lines that the text quotes from the character."""
    after, before, _ = _said_by(name)
    for quote in _QUOTE.finditer(text):
        said = after.match(text, quote.end())
        comma = quote[0][-2] == "," or text.startswith(",", quote.end())
        if (said is not None and _says(said, comma=comma)) or (
            (introduced := before.search(text, max(0, quote.start() - 200), quote.start())) is not None
            and (introduced["any"] is None or may_be_verb(introduced["any"]))
        ):
            yield quote[0][1:-1]
    for dashed in _DASHED.finditer(text):
        if (said := after.match(dashed[2])) is not None and _says(said, comma=True):
            yield dashed[1].strip()


def _says(said: re.Match[str], *, comma: bool) -> bool:
    """Whether the words after a quotation name its speaker. `comma`: the sentence continues there."""
    if (verb := said["before"]) is not None:
        return verb.islower() and may_be_verb(verb)
    return said["said"] is not None or (comma and may_be_verb(said["any"]))


def labelled(text: str, name: str) -> Iterator[str]:
    """The lines that begin with the character's name and a colon, as in a play; quotations are `speeches`."""
    for line in _said_by(name)[2].finditer(text):
        if not _QUOTE.fullmatch(line[1].strip()):
            yield line[1].strip()


def deeds(text: str, name: str, *, decided: bool) -> Iterator[str]:
    """Verbs whose subject is clearly the character: with `decided` only its decisions, otherwise all its actions."""
    for sentence in sentences(_QUOTE.sub(" ", text)):
        yield from (match[1] for match in _done_by(name, decided).finditer(sentence))


@lru_cache(maxsize=200)  # each takes about 25 KB
def _done_by(name: str, decided: bool) -> re.Pattern[str]:
    verbs = _any(_DECIDING if decided else f"{_DOING} {_DECIDING}")
    before = r"(?:^|[,;:—–]\s|\b(?:and|but|then|e|mas|então)\s)"
    return re.compile(rf"{before}{re.escape(name)}\s+(?:\w+ly\s+|se\s+)?({verbs})\b", re.IGNORECASE)


def unquoted(text: str) -> str:
    """The text without quoted speech."""
    return _DASHED.sub(" ", _QUOTE.sub(" ", text))


def narration(text: str) -> str:
    """The text without anybody's speech (quoted, after a dash, or after a name and a colon), and without asterisks
    around it.
    """
    return _LINE.sub(" ", _QUOTE.sub(" ", text)).translate(_STARS)


def moved(text: str, name: str, others: Sequence[str]) -> bool:
    """Whether a sentence may say that the character moves elsewhere: it has a verb of moving, and not only other
    characters' names.
    """
    for sentence in sentences(text):
        if not _MOVES.search(sentence):
            continue
        together = not _GOING_TOGETHER.isdisjoint(re.findall(r"\w+", sentence.casefold()))
        if together or names_one(sentence, name) or not any(names_one(sentence, other) for other in others):
            return True
    return False


@dataclass(frozen=True, slots=True)
class Players:
    """The characters that people play, with what their players said that these say and do."""

    called: Mapping[str, tuple[str, ...]]
    """The names for each in a scene; "you" for a story in the second person."""
    turn: str
    """The text of the turn before the scene."""
    actor: str
    """The character who takes the turn, "" for none: the only one whom models call the user."""
    own: Mapping[str, str]
    """What players do or want to do in the turn, by character."""
    said: frozenset[str]
    """The words of this turn and the last ones."""

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        turn: Turn,
        before: Sequence[Turn],
        *,
        cast: Collection[str] = (),
        view: str = "",
    ) -> Players:
        """`cast` are all characters' names, and `view` is the story's point of view."""
        called = {name: forms(name, cast) for name in names}
        told_to = turn.act.character if turn.act.character in called else names[0] if len(names) == 1 else ""
        if told_to and view in _PERSONS:
            called[told_to] += _PERSONS[view]
        own = {**dict(turn.intents), **({turn.act.character: turn.act.text} if turn.act.character else {})}
        texts = [turn.act.text, *own.values(), *(turn.act.text for turn in before[-LATELY:])]
        actor = told_to or (names[0] if names else "")
        return cls(called, turn.act.text, actor, own, frozenset(_words("\n".join(texts))))

    def acted_for(self, passage: str) -> list[str]:
        """The characters for whom the passage speaks, decides or acts without their players."""
        folded = passage.casefold()
        narrated = sentences(narration(passage))
        return [
            name
            for name, forms in self.called.items()
            if (
                name == self.actor
                and any(self._invented(line) for form in _USERS for line in labelled(passage, form))
            )
            or any(
                self._speaks(name, form, passage) or self._acts(name, form, passage, narrated)
                for form in forms
                if form.casefold() in folded
            )
        ]

    def _speaks(self, name: str, form: str, passage: str) -> bool:
        if any(self._invented(line) for line in labelled(passage, form)):
            return True
        if _TALKING.search(self.own.get(name, "")):
            return False  # the scene quotes what the player reported
        return any(self._invented(line) for line in speeches(passage, form))

    def _invented(self, line: str) -> bool:
        """Whether a line contains something that no player has said."""
        words = _words(line)
        content_words = set(words) - _BINDING or set(words)
        return len(words) >= _FEWEST and 2 * len(content_words & self.said) < len(content_words)

    def _acts(self, name: str, form: str, passage: str, narrated: Sequence[str]) -> bool:
        stems = {word[:_STEM] for word in self.said}
        if any(verb.casefold()[:_STEM] not in stems for verb in deeds(passage, form, decided=True)):
            return True
        # The scene may tell what a character does who is named in the turn or follows the others, but not what they
        # decide. "You" hears what happens to them; so does everybody where no player's character takes the turn.
        along = name in self.own or names_one(self.turn, form) or _TOGETHER.search(self.turn)
        if not self.own or form not in (name, *name.split()):
            return False
        lines = _QUOTE.search(passage) or _DASHED.search(passage)
        done = [
            deed
            for sentence in narrated
            for deed in clauses.deeds(sentence, form)
            if deed.verb[:_STEM] not in stems and not (lines and deed.verb in _SAID)
        ]
        if not along:
            return bool(done)
        # The scene may also tell the result of the turn for the character who takes it, but add nothing new.
        return name == self.actor and name in self.own and any(map(self._new, done))

    def _new(self, deed: clauses.Deed) -> bool:
        """Whether a deed of the acting character is neither a way of doing what the turn says nor a mere gesture."""
        words = {word for word in deed.rest if word not in _BINDING}
        turn = set(_words(self.turn))
        alike = any(deed.verb in group and not group.isdisjoint(turn) for group in _ALIKE)
        return bool(words) and not alike and len(words & turn) < _SHARED


class WatchedScene:
    """A scene while it streams: passes on what may be shown, until a sentence speaks or acts for a player's character.

    The result does not depend on how the text is split into pieces.
    """

    def __init__(self, players: Players | None, *, stop: bool) -> None:
        """`players`: without them everything is passed on. `stop`: without it, violations are only recorded in
        `acted_for`.
        """
        self._players, self._stop = players, stop
        self._text = ""
        self._shown = self._read = 0
        self.acted_for: list[str] = []

    @property
    def kept_back(self) -> str:
        """The text that was not passed on."""
        return self._text[self._shown :]

    def feed(self, piece: str, *, last: bool = False) -> str:
        if self._players is None:
            return piece
        self._text += piece
        if not (last or piece.strip()):
            return ""
        passed = []
        for end in self._ends(last=last):
            passage = self._text[self._shown : end]
            self.acted_for += [
                name for name in self._players.acted_for(passage) if name not in self.acted_for
            ]
            if self.acted_for and self._stop:
                break
            passed.append(passage)
            self._shown = end
        return "".join(passed)

    def _ends(self, *, last: bool) -> Iterator[int]:
        """The ends of sentences, except inside a line of speech, or where its speaker is still unknown."""
        if self.acted_for and self._stop:
            return
        while (gap := _GAP.search(self._text, self._read)) is not None:
            self._read = gap.end()
            sentence = self._text[self._shown : gap.start()]
            if "\n" in gap[0] or (sentence[-1:] in (*".!?…",) and not _open(sentence)):
                yield gap.end()
        self._read = max(self._read, len(self._text.rstrip()))
        if last and self._shown < len(self._text):
            yield len(self._text)


def _open(sentence: str) -> bool:
    """Whether a line of speech has begun and not ended; a line between dashes ends with its paragraph, and none is
    longer than a quotation.
    """
    if len(sentence) > 2 * QUOTE_CHARS:
        return False
    if sentence.lstrip().startswith(_DASH):
        return True
    return bool(
        sentence.count('"') % 2
        or sentence.count("“") > sentence.count("”")
        or sentence.count("«") > sentence.count("»")
    )


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
