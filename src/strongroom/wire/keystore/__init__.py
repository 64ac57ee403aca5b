"""The contract of the key store: records and endpoints, a module for each resource in the order of the specification.

The whole area is one namespace, `keystore.STORE_KEYPAIR`.
"""

# ruff: noqa: F403, I001  # all that the modules define is the contract, and their order is that of the endpoints
from strongroom.wire.keystore.fields import *
from strongroom.wire.keystore.admission_tokens import *
from strongroom.wire.keystore.users import *
from strongroom.wire.keystore.session import *
from strongroom.wire.keystore.passphrase_derivation_artefact import *
from strongroom.wire.keystore.key_encryption_key import *
from strongroom.wire.keystore.data_encryption_keys import *
from strongroom.wire.keystore.keypairs import *
from strongroom.wire.keystore.external_admission_tokens import *
from strongroom.wire.keystore.between_areas import *
from strongroom.wire.endpoint import named

ENDPOINTS = named(globals())
