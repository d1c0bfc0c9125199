"""Designs of sorted tables, for hypothesis."""

from hypothesis import strategies as st

from docindex.simhashing.table_design import TableDesign


@st.composite
def table_designs(draw, most_bits: int = 64, most_tables: int = 300) -> TableDesign:
    bits = draw(st.integers(1, most_bits))
    within = draw(st.integers(0, min(8, bits - 1)))
    design = TableDesign(bits, within)
    while draw(st.booleans()):
        blocks = draw(st.integers(within + 1, max(within + 1, min(bits, within + 6))))
        try:
            deeper = TableDesign(bits, within, (*design.blocks, blocks))
        except ValueError:
            break
        if deeper.tables > most_tables:
            break
        design = deeper
    return design
