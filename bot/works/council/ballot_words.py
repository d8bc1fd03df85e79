"""Judges' words for responses, places, scores and rankings, in the languages that they use, for regular expressions."""

from __future__ import annotations

NOUNS = (
    "responses?|answers?|options?|candidates?|submissions?|respostas?|respuestas?|réponses?|rispost[ae]|antwort(?:en)?"
    "|antwoord(?:en)?|odpowied(?:ź|zi)|odpověď|svar|vastaus|yanıt|cevap|ответ[аы]?|відповідь|ال(?:إجابة|اجابة|رد|جواب)|إجابة"
    "|回答|答案|答复|解答|उत्तर|जवाब|응답|답변|대답|jawaban"
)
"""Judges' words for a response, in the languages in which they write."""
SPACELESS = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Characters of scripts that put no spaces between words."""
AND = "and|e|et|y|und|en|i|и|ve|와|과|と|和|与|और|و"
RANKS = (
    r"rank(?:ed)?|place|tier|position|platz|rang|lugar|posi[çc][ãa]o|puesto|posici[óo]n|posto|posizione"
    r"|coloca[çc][ãa]o|plaats|plek"
    r"|miejsce|pozycja|lokata|место|позиция|sıra|순위|順位|名次|排名|स्थान|रैंक|(?:ال)?مركز|(?:ال)?مرتبة"
    r"|(?:ال)?ترتيب|plats|№"
)
SCORES = (
    r"score|points?|pts|grade|rating|marks?|nota|pontos?|pontua[çc][ãa]o|puntos?|puntuaci[óo]n"
    r"|punkte?|punkty|pkt|punkt[óo]w"
    r"|punti|punteggio|voto|cijfer|punten|ocena|оценка|баллы?|баллов|puan|점수|점|点|点数|得点|分|分数|评分|अंक|درجة|النقاط"
    r"|total|overall|verdict"
)
LASTS = (
    r"(?:bon(?:ne)? )?derni[eè]re?|last|bottom|dead last|[úu]ltim[oa]|laatste|letzte[rns]?|zuletzt|ostatni[ae]?"
    r"|последн\w+"
)
PLACES = (
    r"first|primeir[oa]|primer[oa]?|prim[oa]|premi[eè]re?|erste[nrs]?|erstens|eerste|pierwsz[eya]"
    r"|перв(?:ый|ое|ая)|birinci|첫 ?번?째"
    r"|(?:ال)?[أا]ول[ىي]?|पहला|पहले|प्रथम|första|winner|best|melhor|gold|oro|ouro|第一[名位]?|一[位等]",
    r"second[oae]?|segund[oa]|zweite[nrs]?|zweitens|deuxi[eè]me|tweede|drugi[ea]?|втор(?:ой|ое|ая)"
    r"|ikinci|두 ?번째|(?:ال)?ثاني[ةه]?"
    r"|दूसरा|दूसरे|द्वितीय|andra|runner-?up|silver|silber|argento|argent|plata|prata|第二[名位]?|二[位等]",
    r"third|terceir[oa]|tercer[oa]?|terz[oa]|dritte[nrs]?|drittens|troisi[eè]me|derde|trzeci[ea]?"
    r"|трет(?:ий|ье|ья)|üçüncü|세 ?번째"
    r"|(?:ال)?ثالث[ةه]?|तीसरा|तीसरे|तृतीय|tredje|bronze|bronzo|bronce|第三[名位]?|三[位等]",
    r"fourth|quart[oa]|cuart[oa]|vierte[nrs]?|viertens|quatri[eè]me|vierde|czwart[eya]"
    r"|четв[её]рт(?:ый|ое|ая)|dördüncü|네 ?번째"
    r"|(?:ال)?رابع[ةه]?|चौथा|चौथे|चतुर्थ|fjärde|第四[名位]?|四[位等]",
    r"fifth|quint[oa]|fünfte[nrs]?|fünftens|cinqui[eè]me|vijfde|piąt[eya]|пят(?:ый|ое|ая)|beşinci"
    r"|다섯 ?번째|(?:ال)?خامس[ةه]?"
    r"|पाँचवाँ|पांचवा[ं]?|femte|第五[名位]?|五[位等]",
    r"sixth|sext[oa]|sest[oa]|sechste[nrs]?|sechstens|sixi[eè]me|zesde|szóst[eya]|шест(?:ой|ое|ая)"
    r"|altıncı|여섯 ?번째"
    r"|(?:ال)?سادس[ةه]?|छठा|छठे|sjätte|第六[名位]?|六[位等]",
    r"seventh|s[ée]tim[oa]|s[ée]ptim[oa]|settim[oa]|siebte[nrs]?|septi[eè]me|zevende|siódm[eya]"
    r"|седьм(?:ой|ое|ая)|yedinci|第七[名位]?",
    r"eighth|oitav[oa]|octav[oa]|ottav[oa]|achte[nrs]?|huiti[eè]me|achtste|ósm[eya]|восьм(?:ой|ое|ая)"
    r"|sekizinci|第八[名位]?",
)
"""The words for the first place, the second …"""
ORDINALS = "|".join(PLACES)
COUNTER = (
    r"st|nd|rd|th|\.?[ºª°oa]|er|[eè]?re|e|[eè]me|\.|위|등|位|名|-?[йея]|-?oe|'?(?:inci|ıncı|üncü"
    r"|uncu)|ste|de|\s번|번"
)
"""What follows the number of a place."""
RANKINGS = (
    r"ranking|rankings|ranks|classifica[çc][ãa]o|classifica|graduatoria|clasificaci[óo]n|classement"
    r"|rangliste|rangfolge"
    r"|rangordnung|reihenfolge|rangorde|rangschikking|volgorde|klasyfikacja|kolejność|рейтинг|порядок"
    r"|ранжирование"
    r"|sıralama\w{0,3}|순위|랭킹|順位|ランキング|排名|排序|名次|रैंकिंग|क्रम|(?:ال)?ترتيب|(?:ال)?تصنيف|p[óo]dio|podium"
    r"|rangordning|peringkat"
    r"|rangering|rækkefølge|järjestys|pořadí|sorrend|rangsor|clasament|classificació|κατάταξη"
    r"|xếp hạng|อันดับ|דירוג|رتبه ?بندی"
)
"""Judges' words for a ranking; also keys of their objects."""
FINALS = (
    r"final|finale[rs]?|overall|geral|général|definitiv[aoe]?|d[ée]finitif|endgültige[rs]?"
    r"|abschlie(?:ß|ss)ende[rs]?|gesamt|итогов\w+"
    r"|финальн\w+|окончательн\w+|остаточн\w+|अंतिम|最終(?:的な)?|最终的?|最后的?|最後の?|(?:ال)?نهائي[ة]?|eind|uiteindelijke|końcow[aey]"
    r"|ostateczn[aey]|nihai|son|최종"
    r"|slutlig|endelig|lopullinen|cuối cùng|konečné|végső|akhir|τελική"
)
VERDICTS = (
    r"verdict|veredi[ck]to|verdetto|conclus(?:ion|ão|ión|ione)|fazit|urteil|ergebnis|oordeel|werdykt"
    r"|вывод|итог|sonuç|결론|結論|结论"
    r"|निर्णय|resultado|risultato|result"
)
WORSTS = (
    r"worst|weakest|bottom|lowest|pior|peor|pire|schlechtest|schwächst|peggior|slechtst|zwakst"
    r"|najgorsz|najsłabsz|худш|слабейш"
    r"|en kötü|최악|나쁜|最差|最悪|悪い|差|劣|坏|壞|低い?|(?:ال)?أسوأ|सबसे खराब|sämst|terburuk|(?<!de)s?ascending"
    r"|aufsteigend|(?<!de)crescente|(?<!d)ascendente|(?<!dé)croissant|moins bon|menos bo|menos buen"
    r"|meno buon|下位"
)
BESTS = (
    r"best|strongest|top|highest|melhor|mejor|meilleur|stärkst|miglior|beste|najleps|лучш|сильнейш"
    r"|en iyi|최고|좋은|最好|最佳|最良|良い"
    r"|好|优|優(?:れ(?:た|ている))?|高い?|(?:ال)?أفضل|सबसे अच्छ|सर्वश्रेष्ठ|bäst|terbaik|descending"
    r"|absteigend|decrescente|descendente|décroissant|上位"
)
