"""Artefacts: the small hash beside a ciphertext or a salt, read by strict readers of these fixed shapes.

A general YAML or BSON loader on text a server supplied costs seconds for a few kilobytes, or worse.
"""

from collections.abc import Mapping
from typing import Final

from strongroom.crypto.artefacts.bson_hash import read_bson, write_bson
from strongroom.crypto.artefacts.fields import Scalar
from strongroom.crypto.artefacts.yaml_hash import read_yaml, write_yaml
from strongroom.crypto.errors import MalformedArtefacts
from strongroom.crypto.formats import ArtefactFormat, Mode

__all__ = ["DERIVATION", "ENCRYPTION", "SIZE_LIMIT", "Scalar", "read_artefacts", "write_artefacts"]

SIZE_LIMIT: Final = 1024
# The byte in front of a BSON document says what it belongs to. No YAML form of these hashes starts with a capital.
ENCRYPTION: Final = b"A"
DERIVATION: Final = b"K"


def read_artefacts(
    data: bytes, mode: Mode = Mode.STRICT, version: bytes = ENCRYPTION
) -> tuple[dict[str, Scalar], ArtefactFormat]:
    """The fields and the format they came in; at most 1 KiB, linear time. Anything else is MalformedArtefacts.

    COMPAT also takes a missing `---`, CRLF, folded and escaped scalars, untagged ASCII for binary, and 64-bit integers.
    """
    if not 1 <= len(data) <= SIZE_LIMIT:
        raise MalformedArtefacts
    if data[:1] == version:
        return read_bson(data[1:], mode), ArtefactFormat.BSON
    return read_yaml(data, mode), ArtefactFormat.YAML


def write_artefacts(
    fields: Mapping[str, Scalar], artefact_format: ArtefactFormat = ArtefactFormat.YAML, version: bytes = ENCRYPTION
) -> bytes:
    """The bytes of the hash, fields in the given order. MalformedArtefacts if a reader would not take them back."""
    written = write_yaml(fields) if artefact_format is ArtefactFormat.YAML else version + write_bson(fields)
    if len(written) > SIZE_LIMIT:
        raise MalformedArtefacts
    return written
