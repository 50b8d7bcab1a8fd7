"""Public-domain books as samples.

Judges: the share of the most frequent author, counted here; years that catalogues give.
"""

import numpy as np
import pytest

from trainium_edu.training import nn, text
from trainium_edu.training.tasks import TASKS
from trainium_edu.training.trainer import Job, Trainer
from trainium_edu.xla.device import Device
from trainium_edu.xla.tensor import as_tensor


def trained(task, steps, **how):
    trainer = Trainer(Job(**({"task": task, "ranks": 4, "batch": 4, "dtype": "float32",
                              "optimizer": "adamw", "lr": 4e-3} | how)))  # fmt: skip
    return trainer, [trainer.step().loss for _ in range(steps)]


@pytest.mark.parametrize("book", text.BOOKS, ids=lambda book: book.name)
class TestBooks:
    def test_is_free_of_what_publishers_added(self, book):
        content = text.read(book.name)
        assert content.isascii()
        for word in ("gutenberg", " etext", "copyright", "edition 2.9", "chapter", "dramatis"):
            assert word not in content.lower()

    def test_its_copyright_has_ended(self, book):
        assert book.died + 100 < 2026  # the longest term of a country is a hundred years
        assert book.printed < 1900

    def test_is_long_enough_for_an_epoch_on_32_ranks(self, book):
        assert len(text.read(book.name)) > 100_000


def test_books_take_less_than_a_quarter_of_a_megabyte():
    folder = text.files("trainium_edu.training").joinpath("texts")
    packed = [len(path.read_bytes()) for path in folder.iterdir()]
    assert len(packed) == len(text.BOOKS)
    assert sum(packed) < 250_000


class TestAuthors:
    def test_hides_the_words_that_give_a_book_away(self):
        known = text.vocabulary()
        assert "the" in known
        assert not {"alice", "rosalind", "satan", "orlando", "rabbit", "adam"} & known.keys()

    def test_guessing_the_largest_book_is_right_as_often_as_the_note_says(self):
        labels = text.authors()[3]
        share = np.bincount(labels).max() / len(labels)
        assert f"{share:.0%}".replace("%", " %") in TASKS["authors"].note

    def test_every_passage_begins_with_its_class_token(self):
        for passages in text.authors()[::2]:
            assert (passages[:, 0] == text.CLS).all()
            assert (passages[:, 1:] != text.CLS).all()

    def test_a_few_steps_beat_always_naming_the_same_author(self):
        trainer, _ = trained("authors", 25, batch=8, lr=2e-3)
        assert trainer.evaluate() > 0.6

    @pytest.mark.slow
    def test_training_names_most_authors_right(self):
        trainer, _ = trained("authors", 200, ranks=32, **TASKS["authors"].settings)
        assert trainer.evaluate() > 0.8


class TestModels:
    def test_an_encoder_looks_at_what_follows(self):
        nn.manual_seed(0)
        model = nn.Encoder(9, 5, 3).to(Device())
        device = model.parameters()[0].device
        words = np.arange(10).reshape(2, 5) % 9
        words[1] = words[0]
        words[1, -1] = 8
        logits = model(as_tensor(words.astype(np.int32), device))
        device.mark_step()
        one, other = logits.numpy()
        far = np.abs(one - other) > 1e-4  # products of other rows are summed in other orders
        assert far.any()


def test_an_unknown_book_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="use alice, as_you_like_it, paradise_lost"):
        text.read("hamlet")
