import copy
import pickle

import pytest

from strongroom.crypto.secret import Secret


def test_only_reveal_shows_it() -> None:
    secret = Secret("hunter2")
    assert secret.reveal() == "hunter2"
    assert "hunter2" not in repr(secret) + str(secret) + repr([secret]) + repr({"passphrase": secret})


def test_it_cannot_be_formatted_pickled_copied_or_hashed() -> None:
    secret = Secret(b"hunter2")
    with pytest.raises(TypeError):
        f"{secret}"
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    with pytest.raises(TypeError):
        copy.deepcopy(secret)
    with pytest.raises(TypeError):
        hash(secret)


def test_equality() -> None:
    assert Secret("a") == Secret("a")
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"
    assert Secret("\ud800") == Secret("\ud800")
