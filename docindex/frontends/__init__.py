"""Front ends: extract the text from the bytes of a file. Each file format has one small module.

A host registers a front end of its own with `register_front_end`. A package offers one by the entry point
``docindex.frontends``, which names a `FrontEnd`.

>>> def extract_shouting(data, options):
...     return TextBuilder().begin("all of it").add(data.decode().lower()).extracted()
>>> shouting = FrontEnd("shouting", 1, extract_shouting, extensions=frozenset({".loud"}), is_text=True)
>>> register_front_end(shouting)
>>> import docindex
>>> docindex.extract(b"DEAR ADA", name="letter.loud").text
'dear ada'
>>> unregister_front_end("shouting")
"""

from docindex.frontends.extracted import Extracted, Place, Places, SourcePart, TextBuilder
from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import ExtractionOptions, FrontEnd
from docindex.frontends.recognition import register_front_end, unregister_front_end

__all__ = [
    "Extracted",
    "ExtractionOptions",
    "FrontEnd",
    "NotExtracted",
    "Place",
    "Places",
    "SourcePart",
    "TextBuilder",
    "register_front_end",
    "unregister_front_end",
]
