"""Terms of rulebooks in English and Brazilian Portuguese that do not look alike: "agarrado" is "grappled".

Used for a question in one language to a book in the other. bot.retrieval.cognates matches words that look alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from bot.retrieval.lexical import terms

_TERMS = """
blinded blind: cego | deafened deaf: surdo | grappled grapple: agarrado agarrar agarrão
restrained: impedido contido | charmed charm: enfeitiçado enfeitiçar | frightened fear: amedrontado medo
prone: caído derrubado | stunned: atordoado | poisoned: envenenado | exhaustion: exaustão
dying death dead: morte morrer morrendo morto | heal healing: cura curar | check: teste | saving: salvaguarda
skill: perícia | ability: habilidade | strength: força | dexterity: destreza | wisdom: sabedoria
stealth hide: furtividade esconder | feat: talento | background: antecedente | level: nível
language: idioma língua | size: tamanho | damage: dano | weapon: arma | armor: armadura | shield: escudo
sword: espada | bow: arco | arrow: flecha | dagger: adaga | axe: machado | spear: lança | hammer: martelo
hit: vida golpe | strike: golpe | spell: magia feitiço | cantrip: truque | spellbook: grimório
cast spellcaster: conjurar conjurador lançar | scroll: pergaminho | potion: poção | ring: anel | wand: varinha
staff: cajado | wizard: mago | warlock: bruxo | sorcerer: feiticeiro | fighter: guerreiro
rogue thief: ladino ladrão | ranger: patrulheiro | monk: monge | dwarf: anão | undead: morto-vivo | beast: fera
demon devil: demônio diabo | enemy: inimigo | ally: aliado | player: jogador | character: personagem | turn: turno
round: rodada | roll: rolar rolagem | die dice: dado | speed: deslocamento | range: alcance | cover: cobertura
point: ponto | rest: descanso descansar | short: curto | long: longo | sleep: dormir sono | fall falling: queda cair
swim: nadar | climb: escalar | jump: saltar pular salto | fly: voar voando | suffocating: sufocar afogar
mount mounted: montaria | horse: cavalo | food: comida | water: água | fire: fogo | cold: frio gelo
lightning: raio | thunder: trovão | poison: veneno | light: luz | darkness: escuridão | disease: doença
curse: maldição | trap: armadilha | door: porta | lock: fechadura | key: chave | rope: corda | torch: tocha
backpack: mochila | book: livro | hand: mão | will: vontade | treasure: tesouro | coin: moeda | gold: ouro
silver: prata | copper: cobre | weight weigh: peso pesar | cost: preço custar
crossbow: besta | sling: funda | club: clava porrete | whip: chicote | quiver: aljava | bolt: virote
helmet: elmo | boots: botas | cloak: manto capa | gloves: luvas | leather: couro | lantern: lamparina lanterna
oil: óleo | bag: bolsa saco | throw: arremessar | shoot: atirar disparar | aim: mirar pontaria | parry: aparar
dodge evade: esquivar esquiva | push shove: empurrar | carry: carregar
breath breathe: respirar respiração sopro | bleed bleeding blood: sangrar sangramento sangue
wound: ferimento ferida ferir | learn: aprender | teach: ensinar | lie lying: mentir mentira
steal: roubar furtar | dance: dança dançar | sing: cantar | ride riding: cavalgar | crawl: rastejar
run: correr | walk: andar caminhar | stand: levantar | move: mover | hear listen: ouvir escutar
see sight: ver visão | touch: toque tocar | read: ler | write: escrever | open: abrir | break: quebrar
buy: comprar | sell: vender | pay: pagar | lose: perder | gain: ganhar | choose: escolher | wolf: lobo
bear: urso | snake: cobra serpente | spider: aranha | rat: rato | bird: pássaro ave | wing: asa | giant: gigante
tree: árvore | stone: pedra | wood: madeira | iron: ferro | wind: vento | rain: chuva | snow: neve
night: noite | day: dia | head: cabeça | arm: braço | leg: perna | foot: pé | eye: olho | bone: osso
tooth: dente | claw: garra | god deity: deus | priest: sacerdote | guild: guilda | king: rei | knight: cavaleiro
guard: guarda | soul: alma | ghost: fantasma | luck: sorte | hour: hora | week: semana | month: mês | year: ano
half: metade | speed: velocidade | leap: saltar | age aging: idade envelhecer | bind bound: amarrar amarrado
strong: forte | sneak: furtivo | shape: forma | rage fury: fúria raiva | hide: ocultar
feature trait: característica traço | race: raça | elf: elfo | bite: mordida morder | witch hag: bruxa
fey fairy: fada | werewolf: lobisomem | hit: acerto acertar | miss: errar | save: resistência
melee body: corpo | ranged: distância | unarmed: desarmado | ready: preparar | help aid: ajudar
dash: disparada | disengage: desengajar | search: procurar | kill slay: matar | burn: queimar | blast: explosão
wall: parede | cloud: nuvem | fog mist: névoa neblina | ball: bola | bless blessing: bênção abençoar | web: teia
skin: pele | bark: casca | ship boat: navio barco | cart wagon: carroça | ale beer: cerveja | meal: refeição
inn: estalagem taverna | wealth: riqueza | wage: salário | gem jewel: joia gema | load burden: carga fardo
hunger starvation: fome | thirst: sede | weather: clima | mountain: montanha | forest: floresta mata
cave: caverna | dungeon: masmorra | heavy: pesado | small: pequeno | large: grande | huge: enorme | tiny: miúdo
weakness: fraqueza | friend: amigo | follower hireling: seguidor mercenário | faith: fé crença | oath: juramento
lineage: linhagem | tool: ferramenta | clothes clothing: roupa traje | wear worn: vestir usar
track: rastro rastrear | scar: cicatriz | shadow: sombra | flame: chama | storm: tempestade | wave: onda
circle: círculo | song: canção
"""


@cache
def _entries() -> Mapping[tuple[str, str], Mapping[str, tuple[str, ...]]]:
    """By (language, other): maps a stem of the former to the other language's stems."""
    by: dict[str, dict[str, list[str]]] = {"en": {}, "pt": {}}
    for entry in _TERMS.replace("\n", "|").split("|"):
        english, _, portuguese = entry.partition(":")
        stems = {"en": terms(english, "en"), "pt": terms(portuguese, "pt")}
        for language, translation in (("en", "pt"), ("pt", "en")):
            for stem in stems[language]:
                by[language].setdefault(stem, []).extend(stems[translation])
    return {
        (language, translation): {stem: tuple(dict.fromkeys(stems)) for stem, stems in by[language].items()}
        for language, translation in (("en", "pt"), ("pt", "en"))
    }


def meanings(language: str) -> frozenset[str]:
    """The terms of a language that words of the other language may mean."""
    return frozenset(
        stem
        for (_, other), by in _entries().items()
        if other == language
        for stems in by.values()
        for stem in stems
    )


def translated(word: str, language: str, other: str) -> tuple[str, ...]:
    """The terms of the other language for a word; none if no entry has it, or for other languages."""
    entries = _entries().get((language, other), {})
    return tuple(stem for term in terms(word, language) for stem in entries.get(term, ()))
