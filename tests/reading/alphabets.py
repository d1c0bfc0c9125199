"""The alphabets of languages whose letters lie in two neighbouring blocks of Unicode, or more.

Sindhi lacks ڱ here, which shares its symbol with پ.
"""

ALPHABETS = {
    "Russian, Ukrainian, Serbian": "абвгдежзийклмнопрстуфхцчшщъыьэюяєіґђјљњћџ",
    "Kazakh": "аәбвгғдежзийкқлмнңоөпрстуұүфхһцчшщъыіьэюя",
    "Tatar, Bashkir": "аәбвгғдеҙжҗзийкҡлмнңоөпрсҫтуүфхһцчшщъыьэюя",
    "Tajik, Uzbek": "абвгғдежзийкқлмнопрстуфхҳцчҷшъьэюя",
    "Abkhaz": "абвгӷдежзӡикқҟлмнопԥрстҭуфхҳцҵчҷҽҿшыьҩџәӏ",
    "Persian": "ءابپتثجچحخدذرزژسشصضطظعغفقکگلمنوهی",
    "Urdu": "ءابپتٹثجچحخدڈذرڑزژسشصضطظعغفقکگلمنںوهہھیے",
    "Pashto": "ءابپتټثجځچڅحخدډذرړزژږسشښصضطظعغفقکګلمنڼوهیېۍ",
    "Sindhi": "ءابٻڀتٿٽٺثپجڄڃچڇحخدڌڏڊڍذرڙزسشصضطظعغفڦقڪکگڳلمنڻوهھي",
    "Uyghur": "ئاەبپتجچخدرزژسشغفقكگڭلمنھوۇۆۈۋېىي",
    "Kurdish": "ئابپتجچحخدرڕزژسشعغفڤقکگلڵمنوۆهھەیێ",
    "Armenian": "աբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆ",
    "Hiragana": "".join(map(chr, range(0x3041, 0x3097))) + "\u3099\u309aー",
    "Katakana": "".join(map(chr, range(0x30A1, 0x30FB))) + "\u3099\u309aー",
    "Hangul": "".join(map(chr, [*range(0x1100, 0x1113), *range(0x1161, 0x1176), *range(0x11A8, 0x11C3)])),
    "Tibetan": "".join(map(chr, [*range(0x0F40, 0x0F6D), *range(0x0F71, 0x0F7F), *range(0x0F90, 0x0FBD)])),
    "Mongolian": "".join(map(chr, range(0x1820, 0x1879))),
    "Coptic": "ⲁⲃⲅⲇⲉⲋⲍⲏⲑⲓⲕⲗⲙⲛⲝⲟⲡⲣⲥⲧⲩⲫⲭⲯⲱϣϥϧϩϫϭϯ",
    "Latin": "æðøþđħıĸłŋœŧƒəɛɔɖɗɓɣɲʋƙƴʼꞌƿȝ",
}
