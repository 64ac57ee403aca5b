"""The words the rest of the package shares: how strictly to read, how to write artefacts, which strategies exist."""

from enum import Enum
from typing import Literal


class Mode(Enum):
    """STRICT opens only what this profile writes; COMPAT, asked for per call, also what other ports wrote."""

    STRICT = "strict"
    COMPAT = "compat"


class ArtefactFormat(Enum):
    """How the artefact hash is written. Every reader takes both; the Ruby port since 0.6 reads only BSON."""

    YAML = "yaml"
    BSON = "bson"


Strategy = Literal["Aes256Gcm", "Rsa4096"]
