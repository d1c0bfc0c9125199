"""Front ends for mail: messages, mailboxes, and Outlook's files."""
