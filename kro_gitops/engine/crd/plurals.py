"""
The plural of a kind, as kro forms it: `gateway` → `gateways`, `policy` → `policies`.

A CRD is named after it, so it has to be kro's plural, right or wrong. The tables are those of
flect 1.0.3, the library kro uses. Odd entries (`octupuses`, `dula>bulae`) are as they are there.
"""

from dataclasses import dataclass
from functools import cache

# singular>plural|alternative; `!`: as a whole word only, not as the end of a longer one;
# `~`: the plural is not recognised as one. The later entry wins for ends of words.
_DICTIONARY = """
aircraft>aircraft beef>beef|beefs bison>bison blues>blues~ chassis>chassis deer>deer
fish>fish|fishes moose>moose police>police salmon>salmon|salmons series>series sheep>sheep
shrimp>shrimp|shrimps species>species swine>swine|swines trout>trout|trouts tuna>tuna|tunas
you>you child>children ox>oxen! foot>feet goose>geese man>men human>humans louse>lice!
mouse>mice tooth>teeth woman>women die>dice! person>people adieu>adieux|adieus
fabliau>fabliaux bureau>bureaus|bureaux criterion>criteria ganglion>ganglia|ganglions
lexicon>lexica|lexicons mitochondrion>mitochondria|mitochondrions noumenon>noumena
phenomenon>phenomena taxon>taxa media>media medium>media|mediums~ stadium>stadiums|stadia
aquarium>aquaria|aquariums auditorium>auditoria|auditoriums symposium>symposia|symposiums
curriculum>curriculums|curricula quota>quotas alumnus>alumni|alumnuses bacillus>bacilli
cactus>cacti|cactuses coccus>cocci focus>foci|focuses locus>loci|locuses
nucleus>nuclei|nucleuses octopus>octupuses|octopi radius>radii|radiuses syllabus>syllabi
corpus>corpora|corpuses genus>genera alumna>alumnae vertebra>vertebrae
differentia>differentiae minutia>minutiae vita>vitae larva>larvae postcava>postcavae
praecava>praecavae uva>uvae apex>apices|apexes codex>codices|codexes index>indices|indexes
latex>latices|latexes vertex>vertices|vertexes vortex>vortices|vortexes
appendix>appendices|appendixes radix>radices|radixes helix>helices|helixes axis>axes!
crisis>crises ellipsis>ellipses~ genesis>geneses oasis>oases thesis>theses testis>testes
base>bases basis>bases~ alias>aliases! vedalia>vedalias use>uses! abuse>abuses cause>causes
clause>clauses cruse>cruses excuse>excuses fuse>fuses house>houses misuse>misuses muse>muses
pause>pauses ache>aches topaz>topazes buffalo>buffaloes|buffalos potato>potatoes
tomato>tomatoes equipment>equipment information>information jeans>jeans money>money news>news
rice>rice dwarf>dwarfs|dwarves hoof>hoofs|hooves thief>thieves chive>chives hive>hives
move>moves movie>movies cookie>cookies pretorium>pretoriums agenda>agendas
formula>formulas|formulae shoe>shoes toe>toes! graffiti>graffiti
"""

# singular ending>plural ending; the first that fits wins.
_ENDINGS = """
tive>tives eaf>eaves oaf>oaves afe>aves arf>arves rfe>rves rf>rves lf>lves fe>ves ay>ays
ey>eys oy>oys quy>quies uy>uys y>ies eau>eaux bula>bulae dula>bulae lula>bulae nula>bulae
vula>bulae hedron>hedra ium>ia seum>seums eum>ea oum>oa stracum>straca dum>da elum>ela
ilum>ila olum>ola ulum>ula llum>lla ylum>yla imum>ima ernum>erna gnum>gna brum>bra crum>cra
terum>tera serum>sera trum>tra antum>anta atum>ata entum>enta etum>eta itum>ita otum>ota
utum>uta ctum>cta ovum>ova trix>trices iasis>iases mesis>meses kinesis>kineses resis>reses
gnosis>gnoses opsis>opses ysis>yses ouse>ouses lause>lauses us>uses ch>ches io>ios sh>shes
ss>sses ez>ezzes iz>izzes tz>tzes zz>zzes ano>anos lo>los to>tos oo>oos o>oes x>xes
"""

# Words taken for acronyms, whose endings do not count.
_ACRONYMS = """
ack acl adsl aes ansi api arp atm bgp bss ccitt chap cidr cir cli cmos cpe cpu crc crt csma
dce dec des dhcp dmi dns dram dsl dslam dte eha eia eigrp eof ess fcc fcs fddi ftp gbic gepof
hdlc html http https iana icmp id idf ids ieee ietf imap ip ips isdn isp json jwt lacp lan
lapb lapf llc mac mc mdf mib mpls mtu nac nat nbma nic nrz nrzi nvram ok osi ospf oui pap pat
pc pcm pdu pim pop3 pots ppp pptp ptt pvst ram rarp rcp rfc rip rll rom rstp rtp sdlc sfd sfp
slarp slip smtp sna snap snmp sof sql sram ssh ssid stp syn tdm tftp tia tofu udp uri url usb
utf8 utp uuid vc vlan vlsm vpn w3c wan wep wpa www
"""


@dataclass(frozen=True, slots=True)
class _Rules:
    """The tables, ready for use."""

    plurals: dict[str, str]  # singular → plural, whole words
    already_plural: frozenset[str]
    endings: tuple[tuple[str, str], ...]  # singular → plural, the first that fits wins
    acronyms: frozenset[str]


def pluralize(word: str, *, acronym: bool | None = None) -> str:
    """
    Return the plural of a lower-case word.

    Endings of acronyms are left alone, and those in `s` come out as kro's `dnsDNSes`, which
    no cluster takes for a name. Whether a word is one is looked up unless the caller says so.
    """
    rules = _rules()
    if acronym is None:
        acronym = word in rules.acronyms
    if word in rules.plurals:
        return rules.plurals[word]
    if word in rules.already_plural:
        return word
    if acronym:
        return f"{word}{word.upper()}es" if word.endswith("s") else f"{word}s"
    for singular, plural in rules.endings:
        if word.endswith(plural):
            return word
        if word.endswith(singular):
            return word.removesuffix(singular) + plural
    return word if not word or word.endswith("s") else f"{word}s"


@cache
def _rules() -> _Rules:
    plurals: dict[str, str] = {}
    already_plural: set[str] = set()
    compounds: list[tuple[str, str]] = []
    for entry in _DICTIONARY.split():
        singular, _, rest = entry.rstrip("!~").partition(">")
        plural, *alternatives = rest.split("|")
        plurals[singular] = plural
        if not entry.endswith("~"):
            already_plural.update((plural, *alternatives))
        if not entry.endswith("!"):
            compounds.insert(0, (singular, plural))
    for entry in _ENDINGS.split():
        singular, _, plural = entry.partition(">")
        compounds.append((singular, plural))
    return _Rules(
        plurals, frozenset(already_plural), tuple(compounds), frozenset(_ACRONYMS.split())
    )
