"""Mails, mailboxes and Outlook messages for tests."""

import email.message
import email.policy
import struct

FREE, END, FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD  # marks in the table of blocks


def mail_of(text, subject="A letter", html=None, attachments=()):
    """The bytes of a mail that Python's email package writes."""
    mail = email.message.EmailMessage(policy=email.policy.SMTP)
    mail["From"], mail["To"], mail["Subject"] = "Ada <ada@example.org>", "bob@example.org", subject
    mail["Message-ID"] = "<1@example.org>"
    mail.set_content(text)
    if html is not None:
        mail.add_alternative(html, subtype="html")
    for name, data in attachments:
        mail.add_attachment(data, "application", "octet-stream", filename=name)
    return mail.as_bytes()


def outlook_message_of(subject, streams=(), attachments=(), properties=bytes(32)):
    """The bytes of an Outlook message: its properties as (tag, bytes), its attachments as folders of such."""
    folder = {"__properties_version1.0": properties}
    folder |= {
        f"__substg1.0_{tag}": data for tag, data in [("0037001F", subject.encode("utf-16-le")), *streams]
    }
    for number, attachment in enumerate(attachments):
        folder[f"__attach_version1.0_#{number:08X}"] = {
            f"__substg1.0_{tag}": data for tag, data in attachment.items()
        }
    return compound_file_of(folder)


def compound_file_of(folder):
    """The bytes of an OLE file (MS-CFB version 3). Folders are dicts, and streams are bytes."""
    entries = [["Root Entry", 5, [], b""]]
    _add_entries(entries, 0, folder)
    small = _Blocks(64)
    starts = {n: small.add(each[3]) for n, each in enumerate(entries) if each[1] == 2 and len(each[3]) < 4096}
    entries[0][3] = b"".join(small.blocks)
    large = _Blocks(512)
    starts |= {number: large.add(each[3]) for number, each in enumerate(entries) if number not in starts}
    short_table = large.add(struct.pack(f"<{len(small.chain)}I", *small.chain))
    directory = large.add(b"".join(_entry(entries, n, starts[n]) for n in range(len(entries))))
    count = 1
    while len(large.chain) + count > count * 128:
        count += 1
    chain = [*large.chain, *[FAT] * count]
    chain += [FREE] * (count * 128 - len(chain))
    places = [len(large.blocks) + number for number in range(count)]
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16)
    header += struct.pack("<5H", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    short_count = -(-len(small.chain) // 128)
    header += struct.pack("<9I", 0, count, directory, 0, 4096, short_table, short_count, END, 0)
    header += struct.pack("<109I", *places, *[FREE] * (109 - count))
    return header + b"".join(large.blocks) + struct.pack(f"<{len(chain)}I", *chain)


class _Blocks:
    def __init__(self, size):
        self.size, self.blocks, self.chain = size, [], []

    def add(self, data):
        """Add a stream; returns the number of its first block."""
        first, count = len(self.blocks), -(-len(data) // self.size)
        padded = data + bytes(count * self.size - len(data))
        self.blocks += [padded[at : at + self.size] for at in range(0, len(padded), self.size)]
        self.chain += [*range(first + 1, first + count), *[END] * (count > 0)]
        return first if count else END


def _add_entries(entries, parent, folder):
    for name, data in folder.items():
        number = len(entries)
        entries.append([name, 1, [], b""] if isinstance(data, dict) else [name, 2, [], data])
        entries[parent][2].append(number)
        if isinstance(data, dict):
            _add_entries(entries, number, data)


def _entry(entries, number, start):
    """A directory entry. The children of a folder form a list to the right."""
    name, kind, children, data = entries[number]
    siblings = next((each[2] for each in entries if number in each[2]), [number])
    at = siblings.index(number)
    right = siblings[at + 1] if at + 1 < len(siblings) else FREE
    written = name.encode("utf-16-le")
    return struct.pack(
        "<64sHBB3I16xI16xIQ",
        *(written, len(written) + 2, kind, 1, FREE, right, children[0] if children else FREE, 0),
        *(start, len(data)),
    )
