import pickle
import re

import pytest

from strongroom.crypto import errors

CLASSES = [
    value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, errors.StrongroomError)
]


def test_the_tree_at_the_top_names_every_class_and_nothing_else() -> None:
    drawn = set(re.findall(r"\b[A-Z][A-Za-z]+(?= {2}|\n|$)", errors.__doc__ or ""))
    assert {cls.__name__ for cls in CLASSES} <= drawn
    assert all(issubclass(cls, errors.CryptoError) for cls in CLASSES if cls is not errors.StrongroomError)


@pytest.mark.parametrize("cls", [cls for cls in CLASSES if cls is not errors.StrongroomError])
def test_the_message_is_fixed_and_takes_no_input(cls: type[errors.CryptoError]) -> None:
    assert str(cls()) == cls.message
    assert str(pickle.loads(pickle.dumps(cls()))) == cls.message
    with pytest.raises(TypeError):
        cls("the passphrase was hunter2")  # type: ignore[call-arg]  # what must not be possible
