"""The words by which `bot.asking` tells questions from other talk, in English and Portuguese.

The patterns match text from `plain`: lower case, no accents or punctuation, chat spellings written out, "é" as "eh".
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_SPELT: Final = dict(
    re.findall(
        r"(\S+)=(\S+)",
        """
    u=you ya=you ur=your r=are im=i_am ive=i_have id=i_would dont=do_not cant=can_not cannot=can_not wont=will_not
    doesnt=does_not isnt=is_not arent=are_not didnt=did_not couldnt=could_not whats=what_is wats=what_is whos=who_is
    hows=how_is wheres=where_is whens=when_is thats=that_is theres=there_is hwo=how waht=what wht=what wat=what
    wut=what wich=which whcih=which dose=does deos=does taht=that teh=the plz=please pls=please plss=please
    wanna=want_to gimme=give_me lemme=let_me everybody=everyone anybody=anyone someone=anyone somebody=anyone
    any1=anyone some1=anyone
    alguem=anyone alguém=anyone algm=anyone vc=voce vcs=voces cê=voce ce=voce ces=voces cês=voces tu=voce
    oq=o_que oque=o_que oqe=o_que q=que pq=por_que porque=por_que porq=por_que qdo=quando qnd=quando qto=quanto
    qnto=quanto quato=quanto qtos=quantos qtas=quantas cmo=como pra=para pro=para pras=para pros=para tá=esta
    tava=estava tavam=estavam
    ta=esta tão=estao tô=estou n=nao nn=nao pfv=please pfvr=please pfr=please hj=hoje amanhã=tomorrow
    fds=weekend presisa=precisa presiso=preciso é=eh kd=cade msm=mesmo tb=tambem tbm=tambem eai=e_ai eae=e_ai
    """,
    )
)
_SHORTENED: Final = (
    ("can't", "can not"),
    ("won't", "will not"),
    ("n't", " not"),
    ("'s", " is"),
    ("'re", " are"),
    ("'m", " am"),
    ("'ve", " have"),
    ("'d", " would"),
)
_WORD = re.compile(r"\w+")
_WORD_CHARS: Final = 40
"""The most letters that are read of a word."""


def plain(text: str) -> str:
    """The text's words in the form that the patterns here expect."""
    text = text.casefold().replace("’", "'")
    if "'" in text:
        for short, full in _SHORTENED:
            text = text.replace(short, full)
    words = " ".join(_SPELT.get(word, word[:_WORD_CHARS]) for word in _WORD.findall(text)).replace("_", " ")
    return "".join(c for c in unicodedata.normalize("NFKD", words) if not unicodedata.combining(c))


def _words_pattern(pattern: str, *, anywhere: bool = False) -> re.Pattern[str]:
    """A pattern of whole words, written on several lines."""
    joined = "".join(line.strip() for line in pattern.splitlines())
    return re.compile(rf"{'' if anywhere else '^'}\b(?:{joined})(?!\w)")


OPENING = _words_pattern(r"""
    hi+|hello|hey+a?|yo|hiya|greetings|good (?:morning|evening|afternoon|night|day)|all|folks|guys|everyone
    |team
    |there|friends|gm|thanks?(?: you)?(?: so much| a lot)?|thx|ty|tysm|cheers|please|ok|okay|k|so+|well
    |u[mh]+|hm+
    |wait|oh|ah|btw|also|and|or|then|but|cool|nice|great|alright|perfect|got it|sorry|actually|anyways?|lol
    |lmao|like(?= (?:what|how|why|when|where|is|are|do|does|can)\b)
    |ha(?:ha)+|yeah|yes|now|just|maybe|bot|sutradhar
    |(?:i (?:have|got|had) |got )?(?:an? |one |just )?(?:\w+ )?question(?: for (?:you|the bot|anyone))?
    (?! about| on| regarding)
    |oie?|ola|opa|e ai|salve|gente|galera|pessoal|turma|povo|bom dia|boa (?:tarde|noite)|valeu|vlw
    |(?:muito )?(?:brigad|obrigad)[oa]|beleza|blz|show(?! must| me| us| the| how| off| some)|entao|bom|ei
    |por favor
    |afinal|alias|desculpa|por acaso|agora|tipo|mas|e|ai|la|bora la|tambem|mais
    |(?:tenho |surgiu )?(?:uma |so uma )?(?:pergunta|duvida)(?: (?:rapida|besta|boba|idiota|simples))?
    (?! sobre| de| em| com| na| no)
""")
"""Greetings, thanks and fillers before a sentence."""

ANNOUNCED = _words_pattern(r"""
    (?:\w+ ){0,3}question(?! is| was| for)(?: \w+){3,}
    |(?:tenho )?(?:uma |so uma |outra )?(?:duvida|pergunta)(?! eh)(?: \w+){3,}
""")
"""Sentences that announce a question."""

SOCIAL = _words_pattern(
    r"""
    tonight|tomorrow|today|whose turn|(?:vez|turno) de (?:quem|fazer|trazer|levar|pagar|lavar|limpar)
    |de quem eh a vez
    |who (?:is|has) got (?!(?:the most|the highest|proficiency|access)\b)|weekend|next week|semana que vem
    |(?:mon|tues|wednes|thurs|fri|satur|sun)days?
    |\d{1,2} ?[ap]m
    |(?:at|until) [5-9](?:$| ?pm| tonight| instead| then)|snacks?|pizza|beers?|coffee|minis?|voice chat
    |on (?:voice|discord|call)|game night|coming|come over|(?:you|we|all) ready|ready (?:to|for|yet|now)
    |around|free (?:later|on|for)|join|home
    |birthday|trip
    |guys|y all|everyone|favou?rite|believe|screenshot|who is (?:your|you)|we (?:playing|meeting|starting
    |doing)
    |(?:next|our) (?:game|meetup|stream)|want to (?:play|come|go|hang|watch|grab)
    |hoje|(?:na|de|essa|nessa|topa) (?:segunda|terca|quarta|quinta)|sexta|sabado|domingo|fim de semana|bora
    |vamos?
    |topam?|anima|leva|levam|levar|traz|trouxe|trazer|salgadinhos?|cerveja|cafe|miniaturas?|no voice|na call
    |que horas|as [5-9]|prontos?|todo mundo|(?:esta|estao|fica|anyone|quem|todos|voces?) livres?|em casa
    |favorit[oa]s?|print|de voces|para voces|chegaram
    |pedimos
    |(?:a|da) proxima (?:sessao|mesa)|carona
    """,
    anywhere=True,
)
"""What people ask among themselves: when they meet, who comes, what they bring."""

TAUGHT = _words_pattern(
    r"""
    assignments?|exams?|midterm|homework|lessons?|lectures?|modules?|due|deadline|syllabus|courses?
    |provas?|entrega|trabalhos?|aulas?|cursos?|modulos?
    """,
    anywhere=True,
)
"""With these words, a day or an hour concerns the course."""

TO_A_PERSON = _words_pattern(
    r"""
    (?:did|have|were|had|will|aren t|are not|do not) you|(?:are|were) you
    (?! able| allowed| considered| supposed| required| still| prone| hidden| surprised)
    |(?:do|can|could|would) you (?:guys|want|like|think|live|play|mean|feel|hate|love|ever|come|bring|send
    |hear|post
    |see me|review|join|pick|call|share|lend|dm|stream|get|do|have (?:an? spare|time|extra|any spare)
    |still play)
    |you (?:free|there|coming|ok|okay|good|alright|ready|think|up|playing|guys|around)
    |(?:to|told|asked|that) you|(?:is|in|on|at|from|of|like|to) your \w+$
    |your (?:dm|gm|weekend|day|build|avatar|photo|name|place|group|setup|cat|dog|plan)
    |voces? (?:vem|vai|vao|viu|ja|acha|acham|quer|querem|esta|estao|mora|moram|joga|jogam|gosta|gostam|quis
    |disse
    |fez|foi|foram|prefere|tem|usa|eh|\w+(?:ou|aram|eram|iram))|(?:foi|eh) voces?
    |te (?:disse|perguntou|falou|contou)|(?:no|na|de|do|da) (?:seu|sua|teu|tua) (?:avatar|foto|casa|grupo
    |mesa|nome)
    """,
    anywhere=True,
)

SMALL_TALK = _words_pattern(r"""
    how (?:is (?:it going|everyone|life|everything)|are (?:you|things|we)|was|have you|goes it|did (?:we
    |it go|that go)
    |rude|nice|cute|sweet|sad|dare|funny|lovely|so|hard can|about (?:we|no|you|that)|many times do i)
    |how (?:\w+ ){1,2}(?:is|was|are) (?:that|this|it|he|she)$
    |what (?:is (?:up|new|good|going on|your)|the (?:hell|heck|fuck)|(?:could|can) (?:possibly )?go wrong
    |am i doing
    |do you|time(?! zones?| line| limit| period| frame| signature)|are we|(?:should|do|can) we (?:play|eat|do
    |watch|bring)|would you (?:do|pick|play|choose
    |roll|get)
    |(?:was|were) (?:i|we|you|they|he|she) (?:even |just |really |ever )?(?:thinking|doing|saying|expecting
    |drinking|smoking)
    |if (?:we (?:all|just|play|start|meet)|i told you))
    |what an? \w+(?: \w+)?$|who (?:cares|asked|knows|would have|would|wants|else|here|even|took|let|does that
    |is (?:in|up|coming|bringing|there|ready|free|down|going|joining|hosting|dm|gm|dming|this|that|with me))
    |why (?:am i|are (?:you|we|they)|me|not|would (?:anyone|he|she|you)|do i (?:always|even|keep)
    |does (?:it|this) always|did (?:you|he|she|they))|(?:is|are|was) not (?:that|it|this)|where (?:are
    |were) (?:you|we)
    |(?:can|could) (?:this|today|it|things|my|the) (?:\w+ )?(?:get|be) (?:any|more|worse|better)
    |when are (?:you|we)|are we|shall we|who is the new|do we have (?:quorum|enough|time|everyone|a date
    |plans)
    |how (?:is|are) (?:the |my )?(?:new )?(?:job|kids|family|wife|husband|dog|cat|baby|weather|house|leg|day
    |move)
    |who is (?:hungry|bored|awake|tired|online|playing|late|driving|excited)|did we \w+$|(?:can
    |could) not(?! find| figure| get| see| understand
    | remember)|guess|(?:do you )?remember (?:when
    |that time)
    |is (?:it (?:just me|time|over)|that you|this thing)|(?:is|was|did) (?:he|she) (?:ok|okay|mad|here|back
    |online|coming)
    |(?:can|could|may) i (?:join|come|play with|borrow|ask|have (?:a|the|your|some)|sit|dm|call|bring)|mind if
    |when is (?:the )?(?:next )?(?:session|game|meetup|stream)|any (?:plans|news|luck|takers|objections
    |volunteers)
    |(?:can|could|would|should) anyone (?:bring|send|pick|lend|give|come|join|host|drive|run|dm|grab|take
    |pass|save|cover|hold
    |let|carry|buy|order|wake|call|text|invite|add|fill in|swap|stay|watch|open|close|turn|mute|unmute|print
    |share|upload|hand)
    |i wonder what (?:the dm|he|she|they)
    |how to (?:\w+ ){1,5}(?:is|was) (?:such|so|an?|the|my|really)|(?:is|was) an? (?:good|great|fun|nice|bad
    |blast|pleasure)|(?:good|ok) with (?:that|this|it)
    |did (?:that|it|this) (?:work|help|go|fix)|does (?:that|it|this) (?:help|make sense|work for)
    |(?:has |have |does |did |is |was |will )?anyone
    |(?:tudo|td) (?:bem|bom|certo|joia|ok)|como (?:voces?|vao|vai|foi|assim|sempre|ela|ele|a gente|disse
    |as coisas
    |eu (?:amo|odeio|adoro|queria|disse))|que(?! \w+ (?:estava|era|foi|eh|usa|cai|caem|fica|vale|conta
    |aparece|serve|precisa) \w| horas| tipo| classe| dia| nivel| pagina| dado| magia| regra
    | que| eh(?! isso))
    |quem (?:diria|nunca|sabe|liga|quer|topa|vai|vem|leva|traz|anima|joga|pegou|me|te|mais|disse|dera
    |perguntou|ai)
    |quem eh (?:essa|esse|voce|[oa] (?:cara|moca|menina|novat[oa]))|a gente \w+ou$|como (?:esta|estao|anda
    |andam)|estao (?:me |nos )?\w+ndo
    |tem quorum|ate onde (?:eu )?(?:sei|lembro)|quanto tempo(?:$| saudade)
    |(?:o que|por que) (?:eu (?:quis|disse|sempre|sou
    |fui)
    |(?:pode|poderia) dar errado|fazemos|voces?|me lembra|vamos|a gente (?:vai|faz|joga)|a gente (?:estava
    |tava|esta) \w+ndo|(?:esta
    |estao) (?:fazendo|rolando))
    |quao \w+ (?:pode|podia|poderia) ser|deu tudo (?:certo|errado)|(?:\w+ )?esta (?:acordad[oa]|vindo
    |chegando|viv[oa]|online|bem)
    |tanto faz|pode (?:ser|deixar|crer)|da para acreditar|esta (?:ai|bom|tudo)|nao eh \w+$|so eu que|eh voce
    |tem (?:coisa melhor|anyone|certeza|sessao|jogo|mesa|pizza|lugar|vaga|gente)|vai (?:vir|jogar|querer|ter
    |rolar|sair)
    |(?:viram|assistiram|chegaram|gostaram|vieram|jogaram|leram|terminaram|lembram?)|quer(?:em)? \w+
    |adivinh\w+|partiu
    |cade (?:todo|voces?|o (?:mestre|pessoal|povo)|a galera)|qual (?:eh |e |o |a ){0,3}(?:seu|sua|teu|tua)
    |posso (?:entrar|ir|levar|perguntar|participar|chamar|te)|quando (?:eh|e
    |vai ser) (?:a )?(?:proxima )?(?:sessao|mesa)
    |algum\w+ novidade|onde (?:ha|voces?)
""")

CHATTER = _words_pattern(r"""
    (?:wait |oh )?what|huh|really|seriously|right|same|sure|ok(?:ay)?|yes|no|why(?: not| me)?|how so
    |where(?: from)?
    |who|when|wtf|you|fair enough|good|anyone|say what|for real|no way|is it|are you sure(?: about that)?
    |thoughts
    |what do you mean|(?:ok )?with you|i know(?: right)?|(?:what |how )about (?:you|me|us)|what happened
    |to what|deal|agreed
    |better(?: now)?|sup|ready|makes? sense|get it|got it|wyd|[hw]bu
    |(?:o )?que|oi|serio(?: mesmo)?|(?:eh )?mesmo|(?:pois |isso )?(?:eh )?ne|pois eh ne|sera|como assim
    |por que(?: nao)?
    |onde|quem|qual|quando|tem certeza|hein|pode ser|certo|ah eh|nao|sim|o que houve|voces?|sacou|entendeu
    |entenderam
    |conseguiu|funcionou|resolveu|rolou|deu (?:certo|bom|ruim)|viu
""")
"""Whole sentences that do not ask the bot: they ask nothing, or only the previous speaker."""

TAG = _words_pattern(r"""
    (?:is (?:that|this) )?(?:right|allowed|true|correct|legal|possible)|what now|now what|all of (?:them|it)
    |does it|can (?:he|she|i)
    |pode|procede|vale|certo|confere|eh (?:verdade|isso)|todos|e agora|agora|como fica|o que (?:eu )?faco
    |posso
""")
"""What turns the sentence before it into a question."""

DROPPED = _words_pattern(
    r"nvm|never ?mind|forget (?:it|about it)|found it|esquece|deixa (?:para la|quieto|achei)|ja achei",
    anywhere=True,
)

FOR_ANYBODY = _words_pattern(
    r"""
    anyone (?:\w+ ){0,2}?(?:knows?|remembers?|explains?|tell|remind|help|show|point|clarify|confirm|tried
    |figured
    |understands?|familiar|got (?:the|a|any)|have (?:the|an?|any)|seen (?:this|that)) \w+
    |anyone (?:\w+ )?(?:sabe|lembra|explica|conhece|entende|entendeu|consegue|pode|tem (?:o|a|um|uma|algum)
    |ja (?:conseguiu|usou|viu)) \w+|anyone me (?!leva|busca|empresta|liga|chama|adiciona|da carona)\w+ \w+
    |any (?:ideas?|clue|tips|advice)|algum\w* (?:ideia|dica|sugestao)
    """,
    anywhere=True,
)

INTERROGATIVE = _words_pattern(r"""
    (?:what|how) (?:is|are|was|were|does|do|did|can|could|should|would|will|has|if|about|happens|counts
    |happened
    |changed|makes)|what exactly \w+|what (?:even|really|actually|else|all) (?:is|are|does|do|was|were|did
    |counts) \w+|what \w+ (?:applies|works|counts|goes|comes)
    |what (?!i |we |you |he |she |they |it )(?:\w+ ){1,3}(?:is|are|was|were|does|do
    |did|can|should
    |sets|i|says|needs?|gives)|how (?:(?:exactly|tf) \w+|\w+ (?:works?$|interacts?|stacks?))|how (?:to|many
    |much|long|far|fast
    |high|often|big|old|come|hard|late|heavy|i (?!love|hate|wish|met|feel))
    |(?:why|when|where) (?:exactly )?(?:is|are|do|does|did|can|should|will|would|was|were|to|in)
    |(?:at|in|on|for|with|from|to|by) (?:which|what|how many)|(?:which|whose) (?!reminds|means|is why|was)\w+
    |who (?:is|are|was|were|does|can|did|has|gets|gave|wrote|made|won|\w+s|\w+ed) \w+
    |(?:do|does|did|can|could|should|would|may|must|am|is|are|was|were|has) (?:i|it|there|the|an?|my|this
    |that|these
    |those|one|they|he|she|we|you|any|all|each|our) \w+
    |(?:does|is|are|can|could|would|will|did|must|should) (?!be|been|it|not|fine|nice|what|do|so|good|well
    |you|your|to|as
    |always|also|never|have|go|see|say|get|agree|confirm|use|try|come|make|probably|i|only|just)\w+ \w+
    |do (?!your|not|it|so|be|we)\w+s \w+
    |(?:was|were|had|has) (?!it|that|this|so|not|a|an|the|in|on|at|to|just|really|been|going|there|super|too
    |pretty|very|you|he
    |she|they|we|i|my|fun|great|good|nice|awesome|about|only|also|gonna|like|more|with|by
    |always)\w+ (?:\w+ ){0,6}\w+(?: or | ever | always | already
    | before | after | in | the | a | an )\w+
    |any (?:way|chance|rules?|docs|examples?|limit|difference|reason
    |\w+s) \w+
    |anything (?:in|about|on) \w+
    |(?:em|de|a|com|para|por|ate|desde|no|na) (?:que|qual|quais|quant[oa]s?|quando|onde|quem) \w+|qua(?:l
    |is) \w+
    |quant[oa]s? \w+|quao \w+|(?:de )?a?onde \w+|cade (?:o|a|os|as) \w+
    |quando \w{3,}[ae] (?:o|a|os|as) \w+|quando (?:eh|e|sera|foi|que|rola|usa|posso|vence|comeca|termina
    |acaba|sai|devo|faz|se|ganha|recupera) \w+
    |como (?:que |eu |se |eh |e |faz |diabos |exatamente |anyone ){0,3}(?!sempre|treinar|diz o)\w{2,}(?:ar|er
    |ir
    |a|o|e|z)
    (?: \w+|$)|o que (?:eu )?(?:eh|e|sao|faz|fazem|acontece|aconteceu|significa|quer dizer|mudou?|conta
    |precisa|tem
    |pega|diz|a|o
    |esta|preciso|devo|(?!importa|interessa|resta|falta)\w{3,}[ae]) \w+|quem (?:eh|e|era|sao|foi|pode|da
    |ensina|escreveu|ganha|a gente|fala|\w+ou) \w+
    |como (?:o|a|os|as|um|uma|esse|essa|n[oa]) (?!gente|coisas|tempo|vida)\w+ (?:\w+ ){0,6}\w+
    |que (?!tipo$)\w{3,} (?:estava|esta|era|foi|eh|usa|tem|da|cai|caem|fica|vale|conta|aparece|serve
    |precisa)(?: \w+)+
    |se eu \w+ (?:\w+ ){0,5}(?:perco|tenho|posso|ganho|preciso|continuo|recebo|consigo|uso|levo|tomo|fico
    |gasto|volto
    |devo)(?: \w+)*$
    |algu(?:m|ma|ns|mas) (?!dia|vez|hora|novidade|problema|de|ideia|dica|sugestao|conselho)\w+ (?:ja|tem|pode
    |da|consegue
    |fala|explica|menciona|usa|permite|sabe|conhece|aparece|muda) \w+
    |por que (?:que |eh que |e que )?(?:o|a|os|as|meu|minha|nao|isso|esse|essa|da|esta|eh|e|tem|\w+[ae]) \w+
    |(?:ja )?tem (?:como|algum|alguma|regras?|aulas?|jeito|suporte|um|uma|limite|diferenca|exemplo) \w+
    |existem? \w+|que (?:que )?eh \w+|precisa (?:de |ter |ser |saber )?(?:\w+ ){1,2}para \w+|ha (?:algum
    |alguma|como) \w+|da para \w+r|sera que \w+|posso \w+|eh (?:possivel|verdade
    |permitido)
    |voces? (?:sabem?|conhecem?) \w+|sabem? (?:se|como|qual|onde|quando|quanto|quem
    |o que) \w+
""")
"""The beginnings of questions, with and without their mark."""

IN_THE_MIDDLE = _words_pattern(
    r"""
    (?:do|does|can|could|should|am) (?:i|it|you|they|the) \w+|(?:is|are) (?:it|they|there) \w+
    |which \w+ \w+ (?:does|do|is)
    |how (?:do i|do you|does|many|much)|what (?:is|does|do|are) \w+|como (?:eu )?(?:faco|resolvo|funciona
    |arrumo|uso)
    |o que (?:eh|e|faz|acontece)|qual (?:eh|e|o|a) \w+|eu (?:consigo|posso) \w+|quantos? \w+
    """,
    anywhere=True,
)
"""A question after "if", "when" and the like."""

EITHER = _words_pattern(
    r"""
    (?:or|ou) (?:not|just|only|is it|does it|do i|nao|so|tem|sao|fica|precisa|pode)(?: \w+){0,4}$
    |(?:fica|usa|vale|eh|rola|soma|conta) (?:\w+ ){1,6}ou \w+(?: \w+){0,4}$
    """,
    anywhere=True,
)
IN_PLACE = _words_pattern(r"""
    (?!eu|nao|nem|sei|ja|so|a gente|vamos|quero|queria|lembr\w+|adivinh\w+|estou|esqueci|depende|tanto|quem
    |voces?|el[ea]s?)
    (?:\w+ ){1,4}(?:vale|valem|tem|custa|pesa|dura|da|dao|ganha|usa|fica|cai|precisa|soma|eh|sao|leva|estao
    |esta|funciona|serve)
    (?: com| a| de| em| para)? (?:quant[oa]s?|qual|quais|onde|quando|o que|como)(?: \w+){0,5}$
    |(?:\w+ ){1,7}(?:foi|eh|vem|era|fica|acontece|veio|conta) (?:antes ou depois|mais ou menos
    |maior ou menor)(?: \w+){1,6}$
    |(?:\w+ ){1,5}(?:is|are|was|were|happens|comes) (?:before or after|more or less than
    |higher or lower)(?: \w+){1,5}$
""")
"""Portuguese questions whose question word is not at the beginning, and choices of two."""
YES_OR_NO = ("yes or no", "sim ou nao")
GOES_ON = _words_pattern(r"(?:\w+ ){0,2}e (?:se (?!a gente|eu|voce)|os? |as? |no |na )\w+(?: \w+){0,5}$")
"""Half a question that continues the one before it, in Portuguese."""
STATED = _words_pattern(r"""
    (?!sim|nao|voces?|el[ea]s?|a gente|acho|pelo|isso|esse|essa|quem|eu|que|se|como|quando|hoje|mas|so|ja
    |tudo|aqui|agora)
    (?:\w+ ){1,5}(?:pode|consegue|precisa|conta|vale|serve|acumula|funciona|tem|usa|sabe|eh) (?:\w+ ){0,5}\w+
""")
"""Portuguese sentences that may be statements or questions."""

REQUEST = _words_pattern(r"""
    (?:(?:can|could|would|will) (?:you
    |anyone)(?: please)? |please |let me |i (?:would |need |want )?(?:you )?(?:to |like to )){0,3}
    (?:explain|define|describe|summari[sz]e|summary of|recap|translate|compare|rewrite|rephrase|shorten
    |proofread|suggest
    |recommend|continue|quiz me|remind me|calculate|outline|list (?:of |the |all |every )?(?!looks|is|was)\w+
    |eli5|tldr
    |tell (?:me|us)(?! about it)|show (?:me|us)|give (?:me|us)(?! a (?:break|sec|minute|moment))
    |help(?: me| i| with|$)|write (?:a|an|me|the|some)|generate|make (?:the|a|an) \w+|find (?:me|the
    |all)
    |check (?:my|if|whether)|create|convert|draft|brainstorm|invent|walk me|give an? (?:short|brief|quick
    |summary|list|example)|rename (?:the|all)|teach me|look up|analy[sz]e
    |review my|(?:turn|make|put) (?:this|these|that|it|the|my|our|\w+) (?:\w+ ){0,4}into
    |(?:make|roll|pick|plan|prepare|prep|build|design|pitch|improvise|expand|come up with|put together
    |draw up|set up)
    (?: up| out)? (?:me|us|an?|some|\d+|two|three|five|this|these|flashcards|notes|questions)
    |(?:solve|prove|simplify|paraphrase|fix|edit|format|rank|count|spell|identify|expand|balance)
    (?:this|these|the|my|that|all)
    |name (?:\d|two|three|some)|know (?:if|how|what|where|the|when|why))(?: \w+|$)
    |(?:(?:voces? )?(?:pode|poderia|consegue|podem) |quero que (?:voce )?)?(?:(?:me )?(?:explica|explique
    |explicar)
    |me (?:diz|diga|dizer|fala|fale|conta (?:a|o|sobre|como)|da|de|dar|ajuda|ajude|ajudar|mostra|mostre
    |lembra|lembre
    |faz|passa|indica|recomenda|ensina|manda)|mostr[ae]|list[ae]|resum[aeo]|resumir|defin[ae]|descrev[ae]
    |traduza?
    |compar[ae]|escrev[ae]|reescrev[ae]|continu[ae]|suger[ei]|sugira|ger[ae]|cri[ae]|confere|confira
    |corrig[ei]|revis[ae]
    |encurt[ae]|(?:muda|troca) (?:o|a|os|as) \w+ d[oae]s?|da uma? (?:resumo|exemplo|lista|ideia|dica)
    |invent[ae]|manda (?:\d|uma?|uns|umas|exemplos?)|fa(?:z|ca) (?:um|uma)|recapitul[ae]
    |ajuda(?! muito)
    |calcul[ae]) \w+|(?:consegue|pode|poderia) (?!deixar|crer|ser|vir|ir|mandar|chamar|falar|ficar|confiar
    |contar)\w+[aei]r \w+
    |rol[ale]+ (?:\d*d\d+|uma?|uns|umas)|(?:diz|diga|ve|veja|fala) (?:se|qual|quais|como|quant\w+) \w+
    |(?:transform[ae]|mont[ae]|resolv[ae]|prov[ae]|simplifi[a-z]+|format[ae]|melhor[ae]|complet[ae]
    |prepar[ae]|sorteia|sortei[ae]
    |acrescent[ae]|adapt[ae]|organiz[ae]) (?:o|a|os|as|um|uma|uns|umas|esse|essa|isso|este|esta|meu
    |minha) \w+|socorro \w+|deixa (?:a|o|as|os) (?:\w+ ){2,}mais|roll \d*d\d+
""")

NEED = _words_pattern(r"""
    (?:i |we |(?:i )?am |me and \w+ ){0,3}(?:just |still |really |kinda |a bit |so ){0,3}(?:(?:do|can|could
    |did) not (?:really |quite )?
    (?:understand|get|find|figure|remember|work out|tell (?:if|which|whether))(?! people| it$| you| that$
    | him| her)
    |(?:(?:need|want|would like|would love|could use) (?:an?|some) (?!drink|nap|break|hug|coffee|beer|ride
    |vacation|holiday|hand
    |minute|sec|second|moment|snack|lift|cigarette|shower|new|better|of|more sleep|sleep|rest|day|time)\w+ \w+
    |(?:need|want|would like|would love) (?:help|the|to (?:know|understand)
    |(?:an? |some |more )?(?:\w+ )?(?:help|names?
    |ideas?|examples?
    |lists?|info|refresher|reminder|advice|feedback|explanation|summary|stats|rules?)))|confused|stuck
    |lost (?:on|with|in)
    |struggling
    |not sure (?:if|how|what|which|when|whether|where|why|about)
    |(?:was )?wonder(?:ing)?(?: if| how| whether| why| when| where| what)?(?! what the dm| he| she)
    |(?:would love|like|love) to (?:know|understand|learn)|curious (?:about|how|if|what)
    |looking for(?! a group| players| people| a dm| a gm| a table)|forgot (?:how|what|the|which)
    |trying to (?:\w+ ){1,9}(?:but|how))(?: \w+)|(?:an? |my |the )?questions? (?:about|on|regarding) \w+
    |(?:uma |minha )?(?:duvida|pergunta)s? (?:sobre|de|em|com|na|no) \w+
    |(?:eu |ainda ){0,3}nao (?:estou |to )?(?:entendi|entendo|sei|lembro|achei|acho|achando|encontrei|encontro
    |entendendo)
    (?: mesmo)? (?:o(?! que (?:estou|eu|fazer|dizer|falar))|a|os|as|como(?! el[ea]| voce| a gente)|onde|qual
    |quais|quando|quant\w+|se|por que) (?!estou|to|fazer$|dizer$|falar$|pensar$|eu (?:estou|to|faco))\w+
    |nao (?:consigo|consegui|estou conseguindo) (?!ir|vir|parar|esperar|jogar|acreditar|dormir)\w+r \w+
    |(?:eu )?(?:estou|to|fiquei|fico|ando) (?:meio |bem |muito )?(?:confus[oa]|perdid[oa]|travad[oa]
    |com (?:uma )?duvidas?) \w+
    |travei \w+|(?:eu )?(?:queria|gostaria|quero|adoraria)(?: muito)?(?: de)? (?:saber|entender|aprender
    |que \w*explic\w+|(?:um|uma|uns|umas) (?!cafe|cerveja|pizza|abraco|ferias|folga|carona|cochilo|mesa
    |grupo)\w+ \w+)
    |\w+ e eu quer\w+ saber|preciso (?:d[eao]s? (?!ferias|cafe|um cafe|dormir)|saber|entender|calcular
    |relembrar|rever|revisar|aprender)\w*
    |procurando (?!um grupo|mesa|jogador)\w+|tentando (?:\w+ ){1,9}mas \w+
""")

SOUGHT = _words_pattern(r"""
    (?!no|not|good|great|bad|my|our|this|that|new|here)(?:\w+ ){0,2}(?:costs?|prices?|range|damage|weight
    |synonyms?|antonyms?|pronunciation|translation|mnemonics?|timeline|recap|backstory|questions?|exercises?
    |flashcards|title
    |stats?|rules?
    |difference|summary|examples?|steps|links?|speed|ac|hp|dc|level|duration|requirements?|definition|meaning
    |tables?|chapters?
    |pages?|spells?|lists?|syllabus|config|docs|documentation|names?|ideas?|instructions|formula|version)
    (?: of| for| between| to| in| on| about) \w+
    |(?!nao|sem|boa|bom|otima|meu|minha|esse|essa|nova|novo|nem)(?:\w+ ){0,2}(?:custo|preco|alcance|dano|peso
    |ficha|sinonimos?|antonimos?|pronuncia|traducao|macete|cronologia|historico|perguntas?|questoes
    |exercicios?|titulos?
    |estatisticas|regras?|diferenca|resumo|exemplos?|velocidade|ca|pv|cd|nivel|duracao|requisitos|definicao
    |significado
    |tabela|capitulo|pagina|magias|lista|ementa|nomes?|ideias?|formula|versao|valor|tamanho|prazo|limite
    |passo)
    (?: maxim[oa]| minim[oa])? (?:de|do|da|dos|das|entre|para|com) \w+|\w+ (?:\w+ )?vs \w+|(?!no|the|this
    |that|my|our|nice|good)\w+ \w+ list$|passo a passo
    |list of
""")
"""Phrases without a verb that name what is wanted."""

ASKED_FOR = _words_pattern(r"""
    (?!no|not|yes|yeah|ok|me|more|sim|nao|mais|eu)(?:\w+ ){1,5}(?:for|of|on|about|from|between|sobre|de|do|da
    |para|entre|com)
    (?: \w+){1,5} (?:please|por favor)$
""")
"""Phrases without a verb that end in a "please"."""

STATES = _words_pattern(
    r"""
    is|was|were|are|has|moved|starts?|changed|rocks?|sucks?|got|killed|helped|lol|will|should
    |eh|foi|esta|estava|era|mudou|ficou|ficaram|comeca|acabou|caiu|sao|ajudou|valeu|vao|vai|kk+
    """,
    anywhere=True,
)

NAMES_THE_BOT = _words_pattern(
    r"(?:^|(?:hey|oi|ok|hi|ola|ei|please) )(?:bot|sutradhar)(?! is| was| esta| eh| down| caiu| i) \w+ \w+",
    anywhere=True,
)
