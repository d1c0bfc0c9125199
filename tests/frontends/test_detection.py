"""Text in the usual encodings of many languages is read as it was written, or refused; never read wrongly."""

import re
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docindex.frontends.encodings import letter_pairs
from docindex.frontends.encodings.detection import detect

TEXTS = {
    "windows-1252": (
        "Der größte Vogel fliegt über die Dächer, während die Mädchen im Garten Äpfel schälen.",
        "L'élève a reçu une lettre de sa grand-mère; où était-elle passée après la fête à la forêt?",
        "El niño comió una manzana mañana por la mañana; después la señora cantó una canción en español.",
        "Não há solução para a questão; então a avó pôs o pão e o limão sobre a mesa à direita.",
        "Sjömannen på ön såg både älgar och rådjur på väg hem från den blå sjön.",
    ),
    "windows-1250": (
        "Proszę usunąć błędy, które znajdują się w tym pliku, a następnie zapisać źródło i zamknąć okno.",
        "Příliš žluťoučký kůň úpěl ďábelské ódy, když se vrátil z města, kde měl práci.",
        "Az őszi erdőben sétáló hölgy különös történetet mesélt a hűséges kutyájáról és a gyűrűről.",
    ),
    "iso8859-2": (
        "Proszę usunąć błędy, które znajdują się w tym pliku, a następnie zapisać źródło i zamknąć okno.",
    ),
    "windows-1254": (
        "Bu dosyanın içeriği değiştirildiği için kaydedilmeden önce düğmeye basılması gerekir.",
    ),
    "windows-1257": (
        "Šis fails ir mainīts, tāpēc pirms aizvēršanas tas jāsaglabā; lūdzu, mēģiniet vēlreiz.",
    ),
    "windows-1251": (
        "Съешь ещё этих мягких французских булок, да выпей чаю; потом закрой дверь и ложись спать.",
        "Жебракують філософи при ґанку церкви в Гадячі, ще й шатро їхнє п'яне знаємо.",
        "Под южно дърво, цъфтящо в синьо, бягаше малко пухкаво зайче и търсеше вода.",
    ),
    "koi8-r": ("Съешь ещё этих мягких французских булок, да выпей чаю; потом закрой дверь и ложись спать.",),
    "iso8859-5": (
        "Съешь ещё этих мягких французских булок, да выпей чаю; потом закрой дверь и ложись спать.",
    ),
    "cp866": ("Съешь ещё этих мягких французских булок, да выпей чаю; потом закрой дверь и ложись спать.",),
    "windows-1253": ("Ξεσκεπάζω την ψυχοφθόρα βδελυγμία, και ύστερα γράφω το αρχείο σε άλλη γλώσσα.",),
    "iso8859-7": ("Ξεσκεπάζω την ψυχοφθόρα βδελυγμία, και ύστερα γράφω το αρχείο σε άλλη γλώσσα.",),
    "windows-1255": ("דג סקרן שט בים מאוכזב ולפתע מצא לו חברה; אחר כך הוא כתב את הקובץ בשפה אחרת.",),
    "windows-1256": ("لا يمكن فتح هذا الملف لأن الاسم غير صحيح، الرجاء اختيار اسم آخر والمحاولة مرة أخرى.",),
    "cp874": ("ไม่สามารถเปิดแฟ้มนี้ได้ เพราะชื่อแฟ้มไม่ถูกต้อง กรุณาเลือกชื่ออื่นแล้วลองใหม่อีกครั้ง",),
    "cp932": ("このファイルを開くことができません。名前を確認して、もう一度やり直してください。",),
    "euc-jp": ("このファイルを開くことができません。名前を確認して、もう一度やり直してください。",),
    "gb18030": ("无法打开此文件，因为文件名不正确。请选择其他文件名，然后再试一次，并且保存所有的更改。",),
    "big5hkscs": (
        "無法開啟這個檔案，因為檔案名稱不正確。請選擇其他的檔案名稱，然後再試一次，並且儲存所有的變更。",
    ),
    "cp949": (
        "이 파일을 열 수 없습니다. 파일 이름을 확인하고 다시 시도하십시오. 모든 변경 사항이 저장됩니다.",
    ),
}
WRITTEN = [(encoding, text) for encoding, texts in TEXTS.items() for text in texts]


@pytest.mark.parametrize(("encoding", "text"), WRITTEN)
def test_a_sentence_is_read_as_it_was_written(encoding, text):
    data = text.encode(encoding)
    assert data.decode(detect(data)) == text


@pytest.mark.parametrize(("encoding", "text"), WRITTEN)
def test_every_part_of_a_sentence_is_read_as_it_was_written_or_refused(encoding, text):
    words = re.findall(r"\S+\s*", text) if " " in text else [text[i : i + 4] for i in range(0, len(text), 4)]
    for start in range(len(words)):
        for length in (2, 5, 9):
            part = "".join(words[start : start + length])
            if not part.isascii():
                found = detect(part.encode(encoding))
                assert found is None or part.encode(encoding).decode(found) == part


@pytest.mark.parametrize(("encoding", "text"), WRITTEN)
def test_a_sentence_among_much_ascii_is_read_as_it_was_written(encoding, text):
    data = b"int main(void) { return 0; }\n" * 500 + text.encode(encoding) + b"\nint unused;\n" * 500
    assert data.decode(detect(data)) == data.decode(encoding)


@pytest.mark.parametrize(
    "text",
    [
        "a café in Zürich",
        "Copyright © 2004 by J. Müller, José Peña and François Prévôt",
        "“quoted” text – and it’s no more than that… " + "plain words " * 20,
        "© 2004 " + "plain words " * 30,
        "è la prima, già nella città " + "parole semplici " * 20,
        "Größe",
    ],
)
def test_english_and_short_text_with_few_western_letters_is_read(text):
    assert detect(text.encode("cp1252")) == "windows-1252"


@pytest.mark.parametrize("encoding", ["windows-1252", "windows-1251", "cp850", "cp437", "cp932"])
def test_a_table_of_all_characters_has_no_encoding(encoding):
    assert detect(bytes(range(32, 256)).decode(encoding, "ignore").encode(encoding)) is None


@given(st.binary(max_size=200))
def test_any_bytes_are_decoded_by_the_encoding_that_is_found(data):
    found = detect(data)
    if found is not None:
        assert data.decode(found) is not None


@pytest.mark.parametrize("size", [40, 400, 4000])
def test_noise_has_no_encoding(size):
    noise = zlib.compress(b"".join(number.to_bytes(4, "big") for number in range(size)))[:size]
    assert detect(bytes(byte | 0x80 if byte < 32 else byte for byte in noise)) is None


@pytest.mark.parametrize(
    ("name", "encodings"),
    [
        ("WESTERN", "cp1252"),
        ("CENTRAL", "cp1250 iso8859-2 cp852"),
        ("TURKISH", "cp1254"),
        ("ESPERANTO", "iso8859-3"),
        ("CYRILLIC", "cp1251 iso8859-5"),
        ("GREEK", "cp1253 iso8859-7"),
        ("HEBREW", "cp1255"),
        ("THAI", "cp874"),
    ],
)
def test_the_pairs_of_a_script_are_written_in_its_encodings(name, encodings):
    pairs = getattr(letter_pairs, name)
    assert len(pairs) % 2 == 0
    for encoding in encodings.split():
        written = [char for char in pairs if char.encode(encoding, "ignore")]
        assert len(written) >= 0.98 * len(pairs)


def test_a_long_word_in_ascii_takes_no_longer_than_many_short_ones():
    data = "Größe der Bücher ".encode("latin-1") + b"A" * 4_000_000  # a pattern that retries takes hours
    assert detect(data) in {None, "windows-1252"}
