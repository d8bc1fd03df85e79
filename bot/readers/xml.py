"""XML into elements, with limits: entities stay as they are, nothing is loaded from elsewhere. Knows no format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.events import UserError

if TYPE_CHECKING:
    from lxml.etree import _Element as Element


def parsed(name: str, data: bytes) -> Element:
    """The root element of `data`. Raises UserError: "library.file_bomb", "library.file_damaged"."""
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as fault:
        if fault.code == etree.ErrorTypes.ERR_NO_MEMORY:
            raise MemoryError from fault
        # Entities of entities, or elements in elements in elements (256 deep).
        limit = fault.code in (etree.ErrorTypes.ERR_RESOURCE_LIMIT, etree.ErrorTypes.ERR_ENTITY_LOOP)
        raise UserError(f"library.file_{'bomb' if limit else 'damaged'}", name=name) from fault
