"""The words of the fragment of German and English. Each sense of a word is an entry of its own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Noun:
    """A noun in one sense. ``kind`` decides which verbs and adjectives it goes with."""

    singular: str
    plural: str
    gender: str
    english: str
    english_plural: str
    kind: str


@dataclass(frozen=True)
class Verb:
    """A verb in one sense. A transitive one has ``objects``, others ``places``: preposition, case, English, kind."""

    third: str
    infinitive: str
    participle: str
    english: str
    english_third: str
    past: str
    english_participle: str
    objects: tuple[str, ...] = ()
    places: tuple[tuple[str, str, str, str], ...] = ()


@dataclass(frozen=True)
class Adjective:
    """An adjective without its ending; ``senses`` are the English words by the kind of noun that they go with."""

    german: str
    senses: tuple[tuple[str, str], ...]

    def english(self, kind: str) -> str | None:
        """The word that goes with a noun of this kind, if any does."""
        return dict(self.senses).get(kind)


def _nouns(table: str) -> tuple[Noun, ...]:
    return tuple(Noun(*line.split()) for line in table.strip().splitlines())


def _verbs(table: str) -> tuple[Verb, ...]:
    verbs = []
    for line in table.strip().splitlines():
        german, english, complements = (part.split() for part in line.split("|"))
        third, infinitive, participle = german
        base, english_third, past, english_participle = (form.replace("_", " ") for form in english)
        places = [place.split(":") for place in complements if ":" in place]
        verbs.append(
            Verb(
                third, infinitive, participle, base, english_third, past, english_participle,
                objects=() if places else tuple(complements),
                places=tuple((word, case, said.replace("_", " "), kind) for word, case, said, kind in places),
            )
        )  # fmt: skip
    return tuple(verbs)


def _adjectives(table: str) -> tuple[Adjective, ...]:
    found = []
    for line in table.strip().splitlines():
        german, *senses = line.split()
        found.append(Adjective(german, tuple((kind, word) for kind, word in (sense.split(":") for sense in senses))))
    return tuple(found)


NOUNS = _nouns("""
Hund Hunde m dog dogs animal
Katze Katzen f cat cats animal
Pferd Pferde n horse horses animal
Frau Frauen f woman women person
Mann Männer m man men person
Kind Kinder n child children person
Mädchen Mädchen n girl girls person
Lehrer Lehrer m teacher teachers person
Schüler Schüler m pupil pupils person
Arzt Ärzte m doctor doctors person
Freund Freunde m friend friends person
Leiter Leiter m leader leaders person
Mutter Mütter f mother mothers person
Leiter Leitern f ladder ladders thing
Mutter Muttern f nut nuts thing
Birne Birnen f bulb bulbs thing
Decke Decken f blanket blankets thing
Stein Steine m stone stones thing
Tisch Tische m table tables thing
Birne Birnen f pear pears food
Gericht Gerichte n dish dishes food
Brot Brote n loaf loaves food
Apfel Äpfel m apple apples food
Brief Briefe m letter letters text
Buch Bücher n book books text
Blatt Blätter n sheet sheets text
Blatt Blätter n leaf leaves plant
Baum Bäume m tree trees plant
Schloss Schlösser n castle castles building
Haus Häuser n house houses building
Turm Türme m tower towers building
Schloss Schlösser n lock locks closure
Fenster Fenster n window windows closure
Tür Türen f door doors closure
Bank Banken f bank banks office
Gericht Gerichte n court courts office
Schule Schulen f school schools office
Bank Bänke f bench benches seat
Stuhl Stühle m chair chairs seat
Stadt Städte f city cities place
Garten Gärten m garden gardens place
Wald Wälder m forest forests place
Straße Straßen f street streets place
Mantel Mäntel m coat coats clothes
Hut Hüte m hat hats clothes
Kleid Kleider n dress dresses clothes
""")

VERBS = _verbs("""
sieht sehen gesehen | see sees saw seen | person animal building thing plant
liest lesen gelesen | read reads read read | text
öffnet öffnen geöffnet | open opens opened opened | closure office
schließt schließen geschlossen | close closes closed closed | closure office
kauft kaufen gekauft | buy buys bought bought | food thing building clothes
verkauft verkaufen verkauft | sell sells sold sold | food thing clothes animal
sucht suchen gesucht | look_for looks_for looked_for looked_for | person animal thing text
findet finden gefunden | find finds found found | thing animal text closure
kennt kennen gekannt | know knows knew known | person place
liebt lieben geliebt | love loves loved loved | person food animal place
trägt tragen getragen | carry carries carried carried | thing animal food
trägt tragen getragen | wear wears wore worn | clothes
verlässt verlassen verlassen | leave leaves left left | building place office
isst essen gegessen | eat eats ate eaten | food
schreibt schreiben geschrieben | write writes wrote written | text
malt malen gemalt | paint paints painted painted | person building plant closure
besucht besuchen besucht | visit visits visited visited | person place building
zieht ziehen gezogen | pull pulls pulled pulled | thing animal
sitzt sitzen gesessen | sit sits sat sat | auf:dat:on:seat in:dat:in:place unter:dat:under:plant
wohnt wohnen gewohnt | live lives lived lived | in:dat:in:place in:dat:in:building bei:dat:with:person
wartet warten gewartet | wait waits waited waited | auf:acc:for:person vor:dat:in_front_of:building vor:dat:at:closure
arbeitet arbeiten gearbeitet | work works worked worked | in:dat:at:office mit:dat:with:person in:dat:in:place
schläft schlafen geschlafen | sleep sleeps slept slept | unter:dat:under:plant auf:dat:on:seat in:dat:in:building
spielt spielen gespielt | play plays played played | mit:dat:with:animal in:dat:in:place
spricht sprechen gesprochen | speak speaks spoke spoken | mit:dat:to:person von:dat:about:animal
denkt denken gedacht | think thinks thought thought | an:acc:of:person an:acc:of:food
steht stehen gestanden | stand stands stood stood | vor:dat:in_front_of:building an:dat:at:closure auf:dat:on:thing
""")

ADJECTIVES = _adjectives("""
groß thing:big building:big food:big animal:big closure:big person:tall place:large office:large text:great seat:large
klein thing:small place:small building:small food:small clothes:small person:little animal:little plant:little
schwer thing:heavy clothes:heavy closure:heavy seat:heavy text:difficult
leicht thing:light clothes:light seat:light text:easy
alt person:old animal:old thing:old text:old plant:old clothes:old closure:old seat:old building:ancient place:ancient
neu thing:new text:new building:new closure:new office:new clothes:new seat:new
schön person:beautiful place:beautiful clothes:beautiful plant:beautiful building:nice text:nice food:nice animal:nice
arm person:poor animal:poor
schnell animal:quick person:quick
dunkl place:dark clothes:dark closure:dark building:gloomy office:gloomy
""")

DETERMINERS = {
    "the": {
        "nom": {"m": "der", "f": "die", "n": "das", "p": "die"},
        "acc": {"m": "den", "f": "die", "n": "das", "p": "die"},
        "dat": {"m": "dem", "f": "der", "n": "dem", "p": "den"},
    },
    "a": {
        "nom": {"m": "ein", "f": "eine", "n": "ein"},
        "acc": {"m": "einen", "f": "eine", "n": "ein"},
        "dat": {"m": "einem", "f": "einer", "n": "einem"},
    },
    "this": {
        "nom": {"m": "dieser", "f": "diese", "n": "dieses", "p": "diese"},
        "acc": {"m": "diesen", "f": "diese", "n": "dieses", "p": "diese"},
        "dat": {"m": "diesem", "f": "dieser", "n": "diesem", "p": "diesen"},
    },
}
"""German determiners by English determiner, case and gender ("p" is the plural)."""

SUBJECT_PRONOUNS = (("er", "he", False), ("sie", "she", False), ("sie", "they", True), ("wir", "we", True))
OBJECT_PRONOUNS = (("ihn", "him"), ("sie", "her"), ("sie", "them"), ("es", "it"))
MODALS = (
    ("kann", "können", "can", "can"),
    ("muss", "müssen", "must", "must"),
    ("will", "wollen", "wants to", "want to"),
    ("soll", "sollen", "should", "should"),
)
"""German third person and plural, English third person and plural."""
ADVERBS = (
    ("oft", "often", "middle"),
    ("immer", "always", "middle"),
    ("heute", "today", "end"),
    ("hier", "here", "end"),
)
CONJUNCTIONS = (("weil", "because"), ("wenn", "if"), ("wenn", "when"), ("während", "while"), ("obwohl", "although"))
NAMES = ("Anna", "Peter", "Maria", "Jonas", "Lena", "Paul")
"""Names that the decoder does not know and has to pass through."""
