"""The text of a mail is what its writer wrote; its attachments and the messages of mailboxes are parts."""

import base64
import email.message
import email.policy
import mailbox
import time

import pytest

from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import ExtractionOptions
from docindex.frontends.isolated.child import extracted_from
from docindex.frontends.isolated.messages import Source
from docindex.frontends.recognition import recognise
from tests.frontends.mails import compound_file_of, mail_of, outlook_message_of
from tests.frontends.mutations import outcomes_of_mutations
from tests.frontends.office import docx_of
from tests.frontends.prints import containment, letter


def read(data, name="x.eml", **options):
    return extracted_from(Source(data, name, options=ExtractionOptions(**options)))


def refusal(data, name="x.eml"):
    with pytest.raises(NotExtracted) as raised:
        read(data, name)
    return raised.value.reason


def outcome(data, name="x.eml"):
    """The text of a mail, or the reason not to have one."""
    try:
        return read(data, name).text
    except NotExtracted as error:
        return error.reason


def test_a_letter_sent_by_mail_has_its_words_and_the_subject_is_the_title():
    paragraphs = letter(400)
    found = read(mail_of("\n\n".join(paragraphs), subject="Grüße aus Wien"))
    assert containment(paragraphs, found.text) == 1.0
    assert (found.title, found.reading) == ("Grüße aus Wien", "eml-1")
    assert found.places.between(0, len(found.text)) == "paragraph 1 to paragraph 5"
    assert "Wien" not in found.text


@pytest.mark.parametrize("charset", ["utf-8", "iso-8859-1", "windows-1252", "koi8-r", "utf-7"])
@pytest.mark.parametrize("encoding", ["base64", "quoted-printable"])
def test_every_charset_and_transfer_encoding_gives_the_text(charset, encoding):
    text = "Привет, мир" if charset == "koi8-r" else "Größe und naïve Fälle = 3"
    mail = email.message.EmailMessage()
    mail["From"] = "ada@example.org"
    mail.set_content(text, charset=charset, cte=encoding)
    assert read(mail.as_bytes()).text == text + "\n\n"


def test_a_text_without_a_charset_is_detected():
    head = b"From: ada@example.org\nMIME-Version: 1.0\nContent-Type: text/plain; charset="
    for charset in (b"unknown-8bit", b"us-ascii", b'"punycode"'):
        assert (
            read(head + charset + b"\n\n" + "Größe und Länge".encode("latin-1")).text == "Größe und Länge\n\n"
        )


def test_of_alternatives_the_plain_text_is_read():
    found = read(mail_of("Dear Ada", html="<p>Dear <b>Ada</b>, in HTML", attachments=[("x.bin", b"x")]))
    assert found.text == "Dear Ada\n\n"


def test_attachments_and_attached_messages_are_parts():
    mail = email.message.EmailMessage()
    mail["From"], mail["Subject"] = "ada@example.org", "Two files"
    mail.set_content("See the attachments.")
    mail.add_attachment("Dear Bob", filename="brief für Bob.txt")
    mail.add_attachment(docx_of(["Dear Ada"]), "application", "x", filename="a.docx")
    inner = email.message.EmailMessage()
    inner["From"], inner["Subject"] = "bob@example.org", "Tea"
    inner.set_content("At four.")
    mail.add_attachment(inner)
    mail.add_attachment(b"PNG", "image", "png", disposition="inline", cid="<logo>")
    found = read(mail.as_bytes())
    assert found.text == "See the attachments.\n\n"
    names = [part.name for part in found.parts]
    assert names == ["brief für Bob.txt", "a.docx", "Tea"]
    assert extracted_from(Source(found.parts[1].data, "a.docx")).text == "Dear Ada\n\n"
    attached = extracted_from(Source(found.parts[2].data, format=found.parts[2].format))
    assert (attached.text, attached.title) == ("At four.\n\n", "Tea")


ANSWER = """\
Yes, at four.

On Mon, 2 Feb 2026 at 10:00, Ada Lovelace
<ada@example.org> wrote:

> Tea?
>> Coffee?
Bob

-----Original Message-----
From: Ada
Tea, really?
"""


@pytest.mark.parametrize(
    "page",
    [
        "<p>Yes, at four.</p><div class=gmail_attr>On Monday, Ada &lt;a@b.org&gt;<br>wrote:<br></div>"
        "<blockquote class=gmail_quote><div>Tea?<blockquote>Earlier</blockquote><pre>a\nb</pre></div>"
        "</blockquote><div>Bob</div>",
        "<p>Yes, at four.<div class='moz-cite-prefix'>Am 1. Mai schrieb Ada:</div>"
        "<blockquote type='cite'><p>Tea?</p><ul><li>Cake?</li></ul></blockquote><p>Bob",
        "<p>Yes, at four.<p>Bob<hr><div id='divRplyFwdMsg'><b>From:</b> Ada</div><div>Tea?</div>",
        "<p>Yes, at four.<p>Bob<div id='x' class='yahoo_quoted'>Tea?</div>",
        "<p>Yes, at four.<p>Bob<p>-----Original Message-----<br>From: Ada<p>Tea?",
    ],
)
def test_quotes_in_a_page_are_left_out_on_demand_too(page):
    mail = email.message.EmailMessage()
    mail["From"], mail["Message-ID"] = "bob@example.org", "<1>"
    mail.set_content(page, subtype="html")
    assert read(bytes(mail), quotes=False).text.split() == ["Yes,", "at", "four.", "Bob"]
    assert "Tea?" in read(bytes(mail)).text


def test_quotes_are_left_out_on_demand():
    assert "Coffee" in read(mail_of(ANSWER)).text
    assert read(mail_of(ANSWER), quotes=False).text.split() == ["Yes,", "at", "four.", "Bob"]


def test_flowed_text_with_words_broken_for_transport_is_joined():
    head = b"From: ada@example.org\nMIME-Version: 1.0\nContent-Type: text/plain; format=flowed; delsp=yes\n\n"
    assert read(head + b"a sur \nprise  \nfor all\n").text == "a surprise for all\n\n"


def test_a_mail_is_recognised_by_its_headers_whatever_its_name():
    assert recognise(mail_of("Dear Ada"), "17").name == "eml"
    assert recognise(mail_of("Dear Ada"), "17.txt").name == "eml"
    assert recognise(b"From: the board\nTo: all\nSubject: tea\n\nDear all", "memo.txt") is None
    assert refusal(b"no mail at all", "x.eml") == "unknown format"
    assert refusal(b"\0\1\2", "x.eml") == "unknown format"


def test_a_mail_of_apple_mail_is_read():
    mail = mail_of("Dear Ada")
    assert (
        read(b"%d\n" % len(mail) + mail + b"<?xml version='1.0'?><plist/>", "1.emlx").text == "Dear Ada\n\n"
    )


def test_encrypted_and_empty_mails_say_why_they_have_no_text():
    head = b"From: ada@example.org\nMIME-Version: 1.0\nContent-Type: "
    encrypted = b"multipart/encrypted; boundary=b\n\n--b\nContent-Type: application/x\n\nVersion: 1\n--b--\n"
    assert refusal(head + encrypted) == "encrypted"
    assert refusal(head + b"text/plain\n\n") == "no text"


def test_each_message_of_a_mailbox_is_a_part(tmp_path):
    box = mailbox.mbox(tmp_path / "box")
    texts = ["Dear Ada", "From here on\n\nFrom Monday at 10:00 to 2026\nX: all", "yours"]
    for text in texts:
        box.add(mail_of(text))
    box.close()
    found = read((tmp_path / "box").read_bytes(), "Inbox")
    assert (found.text, found.reading) == ("", "mbox-1")
    assert [part.name for part in found.parts] == ["message 1", "message 2", "message 3"]
    read_again = [extracted_from(Source(part.data, format=part.format)).text for part in found.parts]
    assert [text.split() for text in read_again] == [text.split() for text in texts]


def test_a_letter_and_a_patch_are_no_mailbox():
    assert recognise(b"From Ada at 10:00\nDear Bob", "x.txt") is None
    patch = b"From 0123456789 Mon Sep 17 00:00:00 2001\nFrom: Ada <a@b.c>\nSubject: [PATCH] Tea\n\n---\n"
    assert recognise(patch, "1.patch") is None


def test_hostile_mails_are_bounded():
    head = b"From: ada@example.org\nMIME-Version: 1.0\nSubject: " + b"=?utf-8?q?=41?= " * 5_000 + b"\n"
    nested = b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(20_000)
    )
    wide = b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\nx\n" * 300_000
    odd = b"Content-Type: text/plain" + b"; " * 100_000 + b"\n\nDear Ada"
    begun = time.monotonic()
    for body in (nested, wide, odd):
        found = outcome(head + body)
        assert found in ("no text", "damaged") or len(found) < 100_000
    assert time.monotonic() - begun < 10


def test_mails_are_read_faster_than_by_python_with_a_large_attachment():
    mail = mail_of("Dear Ada", attachments=[("x.bin", bytes(range(256)) * 40_000)])
    begun = time.perf_counter()
    email.message_from_bytes(mail, policy=email.policy.default).get_payload(1).get_content()
    between = time.perf_counter()
    assert len(read(mail).parts[0].data) == 10_240_000
    assert time.perf_counter() - between < between - begun


# The example of Microsoft's specification, MS-OXRTFCP.
RTF = base64.b64decode("LQAAACsAAABMWkZ18cXHpwMACgByY3BnMTI1QjIK8yBoZWwJACBidwWwbGR9CoAPoA==")


def utf16(text):
    return text.encode("utf-16-le")


def test_a_message_of_outlook_has_its_text_title_and_attachments():
    paragraphs = letter(400)
    text = "\r\n\r\n".join(paragraphs)
    first = {"3707001F": utf16("brief für Bob.txt"), "37010102": b"Dear Bob"}
    second = {
        "3001001F": utf16("Tea"),
        "3701000D": {
            "__properties_version1.0": bytes(24),
            "__substg1.0_0037001F": utf16("Tea"),
            "__substg1.0_1000001F": utf16("At four, Größe."),
        },
    }
    found = read(outlook_message_of("Grüße", [("1000001F", utf16(text))], [first, second]), "x.msg")
    assert containment(paragraphs, found.text) == 1.0
    assert (found.title, found.reading) == ("Grüße", "msg-1")
    assert [(part.name, part.format) for part in found.parts] == [("brief für Bob.txt", None), ("Tea", "eml")]
    attached = extracted_from(Source(found.parts[1].data, format="eml"))
    assert (attached.text, attached.title) == ("At four, Größe.\n\n", "Tea")


def test_strings_of_8_bits_are_read_in_the_code_page_of_the_message():
    page = bytes(32) + (0x3FFD0003).to_bytes(4, "little") + bytes(4) + (1251).to_bytes(8, "little")
    streams = [("1000001E", "Привет".encode("cp1251"))]
    data = outlook_message_of("x", streams, properties=page)
    assert read(data, "x.msg").text == "Привет\n\n"
    for charset in ("utf-8", "cp1252"):
        unnamed = outlook_message_of("x", [("1000001E", "Größe".encode(charset))])
        assert read(unnamed, "x.msg").text == "Größe\n\n"


def test_other_ole_files_are_no_messages():
    data = outlook_message_of("x", [("1000001F", utf16("Dear Ada"))])
    assert recognise(data, "17").name == "msg"
    assert recognise(data.replace(utf16("__prop"), utf16("__prod")), "17") is None
    assert refusal(data.replace(utf16("__prop"), utf16("__prod")), "x.msg") == "unknown format"
    assert refusal(data[:700], "x.msg") in ("damaged", "unknown format")
    assert refusal(outlook_message_of("x"), "x.msg") == "no text"


def nested_messages(depth):
    folder = {"__properties_version1.0": bytes(32), "__substg1.0_1000001F": utf16("Dear Ada")}
    for _ in range(depth):
        attachment = {"__substg1.0_3701000D": folder}
        folder = {"__properties_version1.0": bytes(32), "__attach_version1.0_#00000000": attachment}
    return compound_file_of(folder)


def test_messages_attached_to_messages_are_bounded_in_depth():
    data, depth = read(nested_messages(5), "x.msg").parts[0].data, 1
    while parts := extracted_from(Source(data, format="eml")).parts:
        data, depth = parts[0].data, depth + 1
    assert depth == 5
    assert extracted_from(Source(data, format="eml")).text == "Dear Ada\n\n"
    assert outcome(nested_messages(30), "x.msg") == ""
    assert refusal(nested_messages(200), "x.msg") == "too large"


def test_a_stream_that_is_a_loop_ends():
    data = bytearray(outlook_message_of("x", [("1000001F", utf16("Dear Ada " * 1000))]))
    entry = data.index(utf16("__substg1.0_1000001F"))
    data[entry + 120 : entry + 124] = (0x7FFFFFFF).to_bytes(4, "little")
    begun = time.monotonic()
    assert refusal(bytes(data), "x.msg") == "damaged"
    assert time.monotonic() - begun < 1


def test_mutated_mails_have_a_text_or_a_reason(tmp_path):
    box = mailbox.mbox(tmp_path / "box")
    mails = [mail_of(ANSWER, attachments=[("a.txt", b"x" * 500)]), mail_of("Größe " * 50, subject="ü" * 300)]
    for mail in mails:
        box.add(mail)
    box.close()
    expected = {"text", "damaged", "no text", "unknown format", "encrypted", "too large"}
    assert set(outcomes_of_mutations(mails, "eml")) <= expected
    assert set(outcomes_of_mutations([(tmp_path / "box").read_bytes()], "mbox")) <= expected


def test_mutated_messages_of_outlook_have_a_text_or_a_reason():
    attachment = {"3707001F": utf16("a.txt"), "37010102": b"Dear Bob" * 1000}
    plain = outlook_message_of("x", [("1000001F", utf16("Dear Ada " * 100))], [attachment])
    packed = outlook_message_of("x", [("10090102", RTF)], [attachment])
    found = outcomes_of_mutations([plain, packed], "msg")
    assert set(found) <= {"text", "damaged", "no text", "unknown format", "too large"}
    assert found["text"] > 30


def test_a_body_in_html_or_rtf_only_is_read():
    mail = email.message.EmailMessage()
    mail["From"] = "ada@example.org"
    mail.set_content("<title>x</title><p>Dear <b>B</b>ob,<p>Größe", subtype="html", charset="iso-8859-1")
    assert read(mail.as_bytes()).text == "Dear Bob,\n\nGröße\n\n"
    page = "<meta charset=utf-8><p>Größe".encode()
    assert read(outlook_message_of("x", [("10130102", page)]), "x.msg").text == "Größe\n\n"
    assert read(outlook_message_of("x", [("10090102", RTF)]), "x.msg").text == "hello world\n\n"


def test_a_subject_in_an_encoding_with_an_impossible_name_stays_as_it_is_written():
    data = mail_of("Dear Ada").replace(b"Subject: A letter", b"Subject: =?utf-\xbf?q?A_letter?=")
    assert read(data).title == "=?utf-\N{REPLACEMENT CHARACTER}?q?A_letter?="
