"""The text of subtitles is what is spoken, at the times when it appears."""

from tests.frontends.markup import extracted, places

SRT = """1
00:00:01,000 --> 00:00:02,500
<i>Hello</i> {\\an8}there,
Ada.

2
00:01:02,000 --> 00:01:03,000
42

3
01:00:00,000 --> 01:00:01,000
Bye &amp; thanks.
"""

VTT = """WEBVTT - Tea
Kind: captions

STYLE
::cue { color: red }

NOTE a comment
of two lines

intro
00:01.000 --> 00:02.500 align:start
<v Ada>Hello &amp; <c.loud>welcome</c>

00:01:02.000 --> 00:01:03.000
Hello <00:01:02.500><c>again</c>

NOTE the end
"""


def test_srt_gives_the_spoken_lines_at_their_times():
    for source in (SRT, SRT.replace("\n", "\r\n"), "\ufeff" + SRT):
        assert places(extracted(source, "a.srt")) == [
            ("00:00:01", "Hello there,\nAda.\n"),
            ("00:01:02", "42\n"),
            ("01:00:00", "Bye &amp; thanks.\n"),
        ]


def test_vtt_leaves_out_names_notes_and_styles():
    assert places(extracted(VTT, "a.vtt")) == [
        *(("00:00:01", "Hello & welcome\n"), ("00:01:02", "Hello again\n")),
    ]


def test_automatic_subtitles_do_not_say_a_line_twice():
    rolling = "WEBVTT\n\n00:01.000 --> 00:02.000\none\n\n00:02.000 --> 00:03.000\none\ntwo\n"
    assert extracted(rolling, "a.vtt").text == "one\ntwo\n"


def test_subtitles_are_recognised_by_their_content():
    assert extracted(SRT, "a.txt").reading == extracted(VTT, "a").reading == "subtitles-1"


def test_a_text_with_the_extension_of_subtitles_stays_as_it_is():
    assert extracted("Dear Ada,\nbye", "a.srt").text == "Dear Ada,\nbye"


def test_an_address_between_angle_brackets_is_no_mark():
    text = extracted("1\n00:00:01,000 --> 00:00:02,000\nWrite <B>to</B> <ada@example.org>\n", "a.srt").text
    assert text == "Write to <ada@example.org>\n"
