"""A story of 300 scenes in two branches, made by chance of a seed, with 64 facts planted in it, each asked for later.

The facts and their queries are written by hand; the scenes around them are put together, no two alike. Chapters are
15 scenes long. 52 facts stand in the trunk, which both branches share; each branch has 6 of its own, of the same
things: on one the ring was thrown into a well, on the other it was sewn into a hem. They are asked for at the end, 100
to 290 scenes later: in other words, in English and in Portuguese, and by a turn that names them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from benchmarks.scripted_extractor import tells
from bot.works.story.log.nodes import Part
from bot.works.story.log.story import Story, folded

SCENES: Final = 300
CHAPTER: Final = 15
FORK: Final = 170
"""The last scene that both branches share."""
LAST_FACT: Final = 199
BRANCHES: Final = ("main", "other")


@dataclass(frozen=True, slots=True)
class Fact:
    """`branch` is "" for both."""

    name: str
    text: str
    query: str
    branch: str = ""


FACTS: Final = tuple(
    Fact(*row)
    for row in (
        ("sundress", "Mira had come to the rooftop party in a red sundress, and everybody looked at her.",
         "She puts on what she wore that evening above the city, the crimson one."),
        ("lullaby", "Old Teodor hummed a lullaby about a drowned miller, the only song his mother had taught him.",
         "What tune did the old man learn as a child?"),
        ("scar", "A burn shaped like a crescent ran along the captain's wrist; a kettle had done it, she said.",
         "How did the captain get the moon-like mark on her arm?"),
        ("debt", "Bo owed the ferryman eleven silver crowns since the night of the dice.",
         "How much money does Bo still have to pay for gambling, and to whom?"),
        ("parrot", "The innkeeper's parrot could say one thing, a curse in the language of the northern islands.",
         "Is there a bird that swears in a foreign tongue?"),
        ("cellar", "Behind the third barrel in the cellar they found a door no taller than a child.",
         "Where was the tiny hidden entrance below the inn?"),
        ("allergy", "One bite of the walnut cake and Ansel's throat swelled shut; Mira held his head.",
         "What food nearly killed Ansel?"),
        ("password", "The watchman let them pass when Bo whispered the word cinnamon.",
         "What secret phrase opens the gate for us?"),
        ("painting", "The portrait over the fireplace showed the duchess with six fingers on her left hand.",
         "What was odd about the noblewoman in the picture above the hearth?"),
        ("wedding", "Teodor had been married for a single day; his bride took the morning coach and never wrote.",
         "How long did the old man's marriage last?"),
        ("compass", "The brass compass from the wreck did not point north but towards Mira's sister.",
         "Which instrument leads us to a lost sibling?"),
        ("oath", "On the frozen bridge Ansel swore never to draw a blade against his own kin.",
         "What promise did Ansel make about fighting his family?"),
        ("tooth", "The captain kept a wolf's tooth in her boot for luck.",
         "What charm does the skipper carry in her footwear?"),
        ("fire", "It was Bo who had knocked over the lantern that burned the granary; he told nobody but the priest.",
         "Who is to blame for the blaze that destroyed the grain?"),
        ("twin", "The baker and the hangman turned out to be twins, parted at birth by the flood.",
         "Which two tradesmen are brothers without anyone having guessed it?"),
        ("chess", "Mira lost three games of chess to the blind monk and won the fourth by cheating.",
         "Against whom did she move a piece dishonestly?"),
        ("map", "Half of the map was inked on the back of a love letter signed only with the letter V.",
         "What was our chart drawn upon?"),
        ("poison", "The doctor's tonic smelled of bitter almonds, and Teodor poured it into the ferns, which died.",
         "How did we find out that the medicine was deadly?"),
        ("horse", "They named the grey mare Tuesday, since she would walk on no other day without being begged.",
         "Why does our stubborn animal bear the name of a weekday?"),
        ("bell", "No one had rung the harbour bell since the strike of the net makers, nine years ago.",
         "Since which labour dispute has the signal at the port been silent?"),
        ("gloves", "The thief left behind a pair of white kid gloves embroidered with swallows.",
         "What garment with birds on it did the burglar forget?"),
        ("garden", "In the walled garden a pear tree bore fruit in February, and the nuns would not say why.",
         "Where did something ripen in the middle of winter?"),
        ("river", "Ansel cannot swim; at the ford he held on to the mare's tail with his eyes closed.",
         "Who among us is helpless in deep water?"),
        ("clock", "The tower clock struck thirteen on the evening when the mayor died.",
         "What strange thing happened with the hours as the head of the town passed away?"),
        ("book", "The librarian lent them a book of tides on condition that it be returned before her birthday in May.",
         "By when must we bring back the volume about the sea?"),
        ("shoes", "The dancer danced barefoot because she had sold her shoes to bury her father.",
         "Why did the performer have nothing on her feet?"),
        ("soup", "The recipe for the healing soup calls for nettles, rain water and a button from a sailor's coat.",
         "Which ingredients does the restorative broth need?"),
        ("mask", "At the carnival the man in the heron mask pressed a black pearl into Mira's palm.",
         "Who gave her the dark jewel during the festivities?"),
        ("fingers", "The ferryman's left hand lacks two fingers; a winch took them in the year of the ice.",
         "How did the boatman come to miss part of his hand?"),
        ("organ", "Sister Agathe played the organ at night because she could not bear to be heard.",
         "Why does the nun only make music after dark?"),
        ("bees", "The beekeeper tells his hives of every death in the village, or else the swarm leaves.",
         "To whom are the losses of the parish announced so that the insects stay?"),
        ("ink", "The clerk writes with lemon juice, and only a candle's heat brings the words out.",
         "How can the hidden message on the blank page be made visible?"),
        ("shirt", "Under the snow by the chapel wall lay a soldier's drum with a child's shirt inside.",
         "What clothing was concealed within the military instrument?"),
        ("tattoo", "On the smuggler's back a whole coastline is tattooed, every reef with its depth.",
         "Where can we look up how shallow the shoals are?"),
        ("staircase", "Every night the schoolmaster dreams of the same staircase, each time with one step fewer.",
         "What keeps shrinking while the teacher sleeps?"),
        ("lamp", "Widow Brandt puts a green lamp in her window when the customs men have left.",
         "What signal tells us that the officials are gone?"),
        ("stutter", "The prince stutters except when he sings, so he gave the order for the attack as a song.",
         "How did the heir manage to command the troops despite his speech defect?"),
        ("whale", "Inside the whale's stomach the flensers found a sealed jar with a will in it.",
         "Where did the testament turn up?"),
        ("voice", "The glassblower's apprentice lost her voice when she breathed in the furnace smoke.",
         "Why can't the young craftswoman speak?"),
        ("coffin", "The coffin that they buried on Thursday was full of bricks.",
         "What was really in the grave instead of a body?"),
        ("spectacles", "Without his spectacles the judge takes every woman for his late wife.",
         "With whom does the magistrate confuse ladies when he can't see well?"),
        ("salt", "A line of salt on the threshold keeps the grey visitors out, but rain washes it away.",
         "What protects the house from the pale callers, and what ruins it?"),
        ("ledger", "The moneylender's ledger lies in the false bottom of the baptismal font.",
         "Where is the usurer's account book hidden?"),
        ("fever", "Only bark from the red willow on the island brought the fever down.",
         "What cure helped against the high temperature?"),
        ("duel", "The two lieutenants fought over a borrowed umbrella, and neither has spoken of it since.",
         "What trifle did the officers come to blows about?"),
        ("spring", "The hand of the stone saint points to the spring that never freezes.",
         "Who shows the way to the water that stays liquid all winter?"),
        ("pigeon", "The postmaster's last pigeon flies home to the wrong town, and he loves it all the more.",
         "Which bird gets lost when it delivers messages?"),
        ("tunnel", "The prisoners dug their tunnel with soup spoons, and it took them eleven years.",
         "With what tools did the convicts make their way out?"),
        ("eye", "The acrobat has one brown eye and one blue, and the blue one is made of glass.",
         "Which performer can see only on one side?"),
        ("farm", "The farm goes to the youngest of the Halloran sisters, since the old man liked her bread.",
         "Who inherits the land, and because of what food?"),
        ("hail", "On the eve of the vintage hail broke every pane in the greenhouse.",
         "What destroyed the glass just before the grape harvest?"),
        ("march", "The recruits march to a tune that was once a cradle song for the tyrant.",
         "Where does the soldiers' melody come from?"),
        ("ring", "Bo threw the widow's ring into the dry well behind the mill.",
         "What became of the jewellery of the bereaved woman?", "main"),
        ("ring", "Ansel sewed the widow's ring into the hem of his travelling cloak.",
         "What became of the jewellery of the bereaved woman?", "other"),
        ("traitor", "The letter proved it: the cook had sold their plans to the governor.",
         "Who has been betraying us to the authorities?", "main"),
        ("traitor", "The letter proved it: the lamplighter had sold their plans to the governor.",
         "Who has been betraying us to the authorities?", "other"),
        ("child", "The foundling spoke at last, and her name was Odile.",
         "What is the little orphan called?", "main"),
        ("child", "The foundling spoke at last, and her name was Perpetua.",
         "What is the little orphan called?", "other"),
        ("ship", "They bought passage on a whaler with a broken figurehead, bound for the salt coast.",
         "On what sort of vessel shall we travel?", "main"),
        ("ship", "They bought passage on a coal barge with patched sails, bound for the salt coast.",
         "On what sort of vessel shall we travel?", "other"),
        ("wound", "An arrow took the captain in the shoulder, and the tip is in there still.",
         "Where was the skipper hit?", "main"),
        ("wound", "A falling beam crushed the captain's foot, and she walks with a crutch now.",
         "Where was the skipper hurt?", "other"),
        ("king", "The beggar at the shrine took off his hood, and he was the deposed king.",
         "Who was the ragged man at the holy place really?", "main"),
        ("king", "The beggar at the shrine took off his hood, and he was Mira's uncle.",
         "Who was the ragged man at the holy place really?", "other"),
    )
)  # fmt: skip

NAMED: Final = {
    "sundress": "She puts the red sundress of the rooftop party on once more.",
    "lullaby": "Teodor hums his mother's lullaby again.",
    "scar": "I look at the burn on the captain's wrist.",
    "debt": "Bo meets the ferryman and remembers the dice.",
    "parrot": "The innkeeper's parrot curses at us.",
    "cellar": "We go back to the door behind the barrels in the cellar.",
    "allergy": "Somebody offers Ansel a slice of walnut cake.",
    "password": "I whisper cinnamon to the watchman.",
    "painting": "I stand before the portrait of the duchess and count her fingers.",
    "wedding": "Teodor thinks of his bride and the morning coach.",
    "compass": "We follow the brass compass to Mira's sister.",
    "oath": "Ansel remembers what he swore on the frozen bridge.",
    "tooth": "The captain feels for the wolf's tooth.",
    "fire": "Bo confesses that he burned the granary.",
    "twin": "The baker visits the hangman.",
    "chess": "Mira sits down to chess with the blind monk.",
    "map": "I turn the map over and read the love letter.",
    "poison": "The doctor offers Teodor his tonic again.",
    "horse": "I beg the mare Tuesday to walk.",
    "bell": "Somebody rings the harbour bell.",
    "gloves": "I try the white kid gloves on.",
    "garden": "We climb into the walled garden to the pear tree.",
    "river": "At the ford Ansel holds on to the mare's tail.",
    "clock": "The tower clock strikes thirteen.",
    "book": "We bring the book of tides back to the librarian.",
    "shoes": "I give the dancer a pair of shoes.",
    "soup": "I cook the healing soup with nettles.",
    "mask": "The man in the heron mask wants his black pearl back.",
    "fingers": "I ask the ferryman about the winch that took his fingers.",
    "organ": "Sister Agathe sits down at the organ.",
    "bees": "The beekeeper speaks to his hives.",
    "ink": "I write with lemon juice as the clerk does.",
    "shirt": "I open the soldier's drum from the chapel wall and take out the shirt.",
    "tattoo": "The smuggler shows the coastline on his back.",
    "staircase": "The schoolmaster tells of the staircase in his dream.",
    "lamp": "A green lamp burns in Widow Brandt's window.",
    "stutter": "The prince stutters, and then he sings.",
    "whale": "We open the jar from the whale's stomach.",
    "voice": "The glassblower's apprentice opens her mouth.",
    "coffin": "I count the bricks in the coffin.",
    "spectacles": "The judge has lost his spectacles.",
    "salt": "I draw a line of salt on the threshold.",
    "ledger": "I look into the false bottom of the baptismal font.",
    "fever": "We row to the island for bark from the red willow.",
    "duel": "The two lieutenants see the umbrella.",
    "spring": "We go where the hand of the stone saint points.",
    "pigeon": "The postmaster lets his last pigeon fly.",
    "tunnel": "The prisoners take their soup spoons.",
    "eye": "The acrobat takes out her glass eye.",
    "farm": "The youngest of the Halloran sisters bakes bread on the farm.",
    "hail": "Hail falls on the greenhouse.",
    "march": "The recruits sing the tyrant's cradle song.",
    "ring": "The widow asks for her ring.",
    "traitor": "I show them the letter that tells who sold our plans to the governor.",
    "child": "The foundling says her name.",
    "ship": "We board the ship for the salt coast.",
    "wound": "The captain groans, since she was hurt.",
    "king": "The beggar at the shrine takes off his hood.",
}
"""By the fact: a turn that names the thing itself."""

IN_PORTUGUESE: Final = {
    "sundress": "Ela veste de novo o que usou naquela noite no alto do prédio, a roupa carmim.",
    "lullaby": "Que melodia o velho aprendeu quando era criança?",
    "scar": "Como a capitã ganhou a marca em forma de lua no braço?",
    "debt": "Quanto dinheiro Bo ainda deve por causa do jogo, e a quem?",
    "parrot": "Existe aqui uma ave que xinga em língua estrangeira?",
    "cellar": "Onde ficava a entrada minúscula e secreta debaixo da estalagem?",
    "allergy": "Que comida quase matou Ansel?",
    "password": "Que palavra secreta nos deixa passar pelo portão?",
    "painting": "O que havia de estranho na nobre do quadro em cima da lareira?",
    "wedding": "Quanto tempo durou o casamento do velho?",
    "compass": "Que instrumento nos leva até uma irmã desaparecida?",
    "oath": "Que promessa Ansel fez sobre lutar contra a própria família?",
    "tooth": "Que amuleto a comandante leva no calçado?",
    "fire": "De quem é a culpa pelo incêndio que destruiu os grãos?",
    "twin": "Quais dois artesãos são irmãos sem que ninguém suspeitasse?",
    "chess": "Contra quem ela trapaceou num jogo de tabuleiro?",
    "map": "Sobre o que foi desenhada a nossa carta?",
    "poison": "Como descobrimos que o remédio era mortal?",
    "horse": "Por que o nosso animal teimoso tem o nome de um dia da semana?",
    "bell": "Desde qual paralisação o sinal do porto está calado?",
    "gloves": "Que peça de roupa com pássaros o ladrão esqueceu?",
    "garden": "Onde uma fruta amadureceu no meio do inverno?",
    "river": "Quem de nós fica indefeso em água funda?",
    "clock": "O que houve de estranho com as horas quando morreu o chefe da cidade?",
    "book": "Até quando temos de devolver o volume sobre as marés?",
    "shoes": "Por que a bailarina não tinha nada nos pés?",
    "soup": "De que ingredientes precisa o caldo que cura?",
    "mask": "Quem deu a ela a joia escura durante a festa?",
    "fingers": "Como o barqueiro perdeu parte da mão?",
    "organ": "Por que a freira só faz música depois que escurece?",
    "bees": "A quem se anuncia cada falecimento para que os insetos não fujam?",
    "ink": "Como se torna visível o recado escondido na folha em branco?",
    "shirt": "Que roupa estava escondida dentro do instrumento militar?",
    "tattoo": "Onde podemos consultar até que ponto os baixios são rasos?",
    "staircase": "O que encolhe enquanto o professor dorme?",
    "lamp": "Que sinal nos avisa que os fiscais foram embora?",
    "stutter": "Como o herdeiro conseguiu comandar as tropas apesar do defeito na fala?",
    "whale": "Onde apareceu o testamento?",
    "voice": "Por que a jovem artesã não consegue falar?",
    "coffin": "O que havia de verdade no túmulo no lugar do corpo?",
    "spectacles": "Com quem o magistrado confunde as mulheres quando não enxerga direito?",
    "salt": "O que protege a casa das visitas pálidas, e o que estraga isso?",
    "ledger": "Onde está escondido o livro de contas do agiota?",
    "fever": "Que cura ajudou contra a temperatura alta?",
    "duel": "Por qual bobagem os oficiais brigaram?",
    "spring": "Quem mostra o caminho até a água que não vira gelo no inverno?",
    "pigeon": "Que ave se perde quando entrega mensagens?",
    "tunnel": "Com que ferramentas os detentos conseguiram sair?",
    "eye": "Qual artista enxerga só de um lado?",
    "farm": "Quem herda as terras, e por causa de que comida?",
    "hail": "O que destruiu os vidros pouco antes da colheita das uvas?",
    "march": "De onde vem a melodia dos soldados?",
    "ring": "O que foi feito da joia da mulher que perdeu o marido?",
    "traitor": "Quem anda nos delatando às autoridades?",
    "child": "Como se chama a pequena órfã?",
    "ship": "Em que tipo de embarcação vamos viajar?",
    "wound": "Em que parte do corpo a comandante se feriu?",
    "king": "Quem era, na verdade, o homem esfarrapado no lugar sagrado?",
}
"""By the fact: the query in Portuguese."""

_NAMES = ("Mira", "Bo", "Ansel", "Teodor", "the captain")
_PLACES = (
    "the harbour", "the mill", "the north road", "the inn", "the chapel", "the market", "the orchard", "the old bridge",
    "the customs house", "the ropewalk", "the quarry", "the stables", "the lighthouse", "the tannery", "the hill fort",
)  # fmt: skip
_CHAPTERS = (
    "The Arrival", "Low Water", "The Inn", "Strangers", "The Granary", "Snow", "The Duchess", "Thaw", "The Carnival",
    "Tides", "The Strike", "The Fork", "Salt", "The Long Road", "Fever", "The Shrine", "The Siege", "Silence",
    "Homeward", "The Last Bell",
)  # fmt: skip
_BEGIN = (
    "Rain came in from the sea and stayed all day at {place}.", "By noon the dust lay thick on everything at {place}.",
    "Nobody was awake yet at {place}.", "{a} had slept badly and let everyone at {place} know it.",
    "There was a smell of tar and oranges over {place}.", "The light went early, and they sat down by {place}.",
    "A dog followed them as far as {place}.", "They reached {place} later than {a} had promised.",
    "{b} was already waiting at {place} with two cold pies.", "The wind had turned, and {place} was full of noise.",
    "For once there was no hurry, and {place} lay quiet.", "Somebody had been at {place} before them.",
)  # fmt: skip
_MIDDLE = (
    "{a} mended {kind} {thing} and hummed while {b} counted what was left in the purse.",
    "{b} wanted to know how far it was to {other}, and {a} only shrugged.",
    "A cart went by, loaded with {thing}s, and {who} asleep on top of them.",
    "{a} bought {food}, {kind} {thing} and a bundle of candles, and haggled over each.",
    "They quarrelled about {who} again, and {b} walked off towards {other}.",
    "{b} hung {kind} coat by the fire, where it steamed beside {who}'s {thing}.",
    "An old woman told {a} that {other} would not last another spring.",
    "{a} taught {who} a game with {thing}s whose rules changed whenever {a} was losing.",
    "Two guards searched the bags for {thing}s and were content with {food}.",
    "{a} found {kind} {thing} in the mud near {other} and kept it.",
    "{b} read aloud to {who} from a newspaper that was three weeks old and smelled of {food}.",
    "They shared {food} with {who} and spoke of home.",
    "{who_} sold {a} {kind} {thing} and would not take the money back.",
    "{b} saw {who} at the edge of the field, carrying {kind} {thing}.",
    "{who_} nodded to {a} as if they had met before at {other}.",
    "{a} dropped {food} into the water, and {b} laughed until {who} came out to look.",
    "{who_} was playing {kind} {thing} like a drum behind the wall.",
    "They looked for the {thing} in every bag before {who} pointed at {a}'s hat.",
    "A merchant showed them {thing}s from beyond {other}, none of which they could pay.",
    "{b} drew {other} on a slate for {who}, and wiped it out again.",
    "{who_} asked whether {a} believed in {thing}s that speak.",
    "{a} carried {who} across the yard, since the {thing} had broken there.",
    "The roof leaked upon {kind} {thing}, and {who} set out bowls.",
    "{b} refused {food} for the first time, and {who} took it as an insult.",
)  # fmt: skip
_THINGS = (
    "basket", "hammer", "ladder", "violin", "lantern", "saddle", "broom", "kettle", "mirror", "rope", "sack", "spoon",
    "wheel", "chair", "bottle", "blanket", "coin", "needle", "pipe", "shovel", "trunk", "umbrella", "whistle", "candle",
    "bucket", "drum", "feather", "jar", "hinge", "anchor", "cup", "box", "fishing net", "stone", "flag", "plank",
)  # fmt: skip
_KINDS = (
    "a broken", "a blue", "a heavy", "an old", "a tiny", "a green", "a wet", "a borrowed", "a foreign", "a clean",
    "a crooked", "a yellow", "a costly", "a dull", "a nameless", "a striped", "a rusty", "an empty",
)  # fmt: skip
_PEOPLE = (
    "the smith", "a tall nun", "the miller's boy", "a deaf sailor", "the tailor", "a girl with freckles",
    "the goatherd",
    "a tax collector", "the midwife", "two students", "the grave digger", "a lame soldier", "the schoolmistress",
    "a juggler", "the fishwife", "a pilgrim", "the barber", "a chimney sweep", "the cooper", "a wet nurse",
)  # fmt: skip
_FOOD = (
    "bread", "cold mutton", "an onion", "apples", "smoked eel", "porridge", "cheese", "a pie", "plums", "salt pork",
    "turnips", "honey", "an egg", "beans", "small beer",
)  # fmt: skip
_SAID = (
    "“We should have left an hour ago,” said {a}.", "“Ask me tomorrow,” {b} said. “Or better, don't.”",
    "“Is that the same man?” {a} asked, and {b} did not turn round.", "“It was never about the money,” said {b}.",
    "“You count the doors, I count the people,” said {a}.", "“I am not tired,” said {b}, and fell asleep.",
    "“What would your mother say?” {a} asked. “Nothing. She'd laugh.”", "“Keep your hood up,” said {b}.",
    "“That is the second time today,” {a} said slowly.", "“Tell me something true,” said {b} after a while.",
)  # fmt: skip
_END = (
    "Then they went on.", "Nothing more was said of it that night.", "{b} blew out the candle.",
    "Far off a bell began, and stopped.", "The road forked, and {a} chose.", "They slept in their boots.",
    "{a} looked back once.", "In the morning it had all blown over.", "What they did next was up to them.",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """A node of the story's log."""

    seq: int
    id: str
    branch_id: str
    kind: str
    turn: str
    body: str
    run_id: str = "run"
    author_id: str = ""
    created_at: datetime = datetime(2026, 3, 4, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Planted:
    """A branch: its story, its last chapter, and its facts, each with the turn whose scene holds it."""

    story: Story
    chapter: str
    facts: list[tuple[Fact, str]]


def planted(seed: int = 18) -> dict[str, Planted]:
    """The two branches, by their ids."""
    chance = random.Random(seed)
    shared = [fact for fact in FACTS if not fact.branch]
    early = chance.sample(range(8, FORK - 5), len(shared))
    placed = {("main", scene): fact for scene, fact in zip(early, shared, strict=True)}
    for branch in BRANCHES:
        own = [fact for fact in FACTS if fact.branch == branch]
        late = chance.sample(range(FORK + 1, LAST_FACT), len(own))
        placed |= {(branch, scene): fact for scene, fact in zip(late, own, strict=True)}
    lines, turns = list[Line](), dict[tuple[str, int], str]()
    for branch in BRANCHES:
        for scene in range(1 if branch == "main" else FORK + 1, SCENES + 1):
            fact = placed.get((branch, scene))
            turns[branch, scene] = f"{branch}/{scene}"
            lines.extend(
                _nodes(chance, lines[-1].seq if lines else 0, branch, scene, fact.text if fact else "")
            )
    leaving = turns["main", FORK]
    cut = max(line.seq for line in lines if line.turn == leaving)
    parts = {
        "main": [Part("main")],
        "other": [Part("main", until=cut, cut=cut, turn=leaving), Part("other")],
    }
    return {
        branch: Planted(
            folded(parts[branch], lines),
            _chapter(SCENES),
            [
                (fact, turns[of, scene])
                for (of, scene), fact in placed.items()
                if not fact.branch or fact.branch == branch
            ],
        )
        for branch in BRANCHES
    }


def _nodes(chance: random.Random, seq: int, branch: str, scene: int, fact: str) -> Iterator[Line]:
    """A turn with its scene, and what the extractor found in it; before it the chapter that begins with it."""
    a, b = chance.sample(_NAMES, 2)
    place = chance.choice(_PLACES)
    body = [*chance.sample(_MIDDLE, chance.randint(3, 5)), *chance.sample(_SAID, chance.randint(1, 2))]
    chance.shuffle(body)
    sentences = [chance.choice(_BEGIN), *body, chance.choice(_END)]
    if fact:
        sentences.insert(chance.randint(1, len(sentences) - 1), fact)
    filled = [
        sentence if sentence == fact else _filled(chance, sentence, a, b, place) for sentence in sentences
    ]
    text = "\n\n".join(" ".join(part) for part in (filled[: len(filled) // 2], filled[len(filled) // 2 :]))
    turn = f"{branch}/{scene}"
    if scene % CHAPTER == 1:
        before = f"{branch}/{scene - 1}" if scene > 1 else ""
        chapter = {"id": f"{turn}/chapter", "title": _chapter(scene)}
        yield Line(seq + 1, f"{turn}/chapter", branch, "chapter", before, json.dumps(chapter))
    act = {"mode": "act", "name": "Ana", "text": f"We go to {place}."}
    yield Line(seq + 2, turn, branch, "act", turn, json.dumps(act))
    yield Line(seq + 3, f"{turn}/scene", branch, "scene", turn, json.dumps({"text": text}))
    extracted = {"scene": f"{turn}/scene", "place": place, "events": tells(text, list(_NAMES))}
    yield Line(seq + 4, f"{turn}/found", branch, "extracted", turn, json.dumps(extracted))


def _filled(chance: random.Random, sentence: str, a: str, b: str, place: str) -> str:
    person = chance.choice(_PEOPLE)
    slots = {"thing": chance.choice(_THINGS), "kind": chance.choice(_KINDS), "food": chance.choice(_FOOD)}
    filled = sentence.format(
        a=a, b=b, place=place, who=person, who_=person.capitalize(), other=chance.choice(_PLACES), **slots
    )
    return filled[:1].upper() + filled[1:]


def _chapter(scene: int) -> str:
    number = (scene - 1) // CHAPTER
    return f"Chapter {number + 1}, {_CHAPTERS[number]}"
