"""A notes app with docindex inside: it suggests similar notes while somebody types.

    python -m tests.apps.notes FILE                 # needs a screen, and pip install PySide6-Essentials
    python -m tests.apps.notes --measure            # times the suggestions during an import; needs no screen
    pyinstaller --noconfirm --name notes tests/apps/notes/__main__.py && dist/notes/notes FILE

`notebook` is the part without a window: the notes, the index and the threads that may use them. `window` is
what a person sees. `help(docindex.embedding)` explains the rules that both follow.
"""
