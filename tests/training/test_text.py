"""Public-domain books as samples.

Judges: entropies of letters and pairs of letters, and the share of the most frequent author, both
counted here; years that catalogues give.
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


def entropies():
    """Return bits per test letter of two models counted on the training letters (add-one)."""
    inputs, labels, test_inputs, test_labels = text.letters()
    size = len(text.alphabet(text.read("alice")))
    pairs = np.ones((size, size))
    np.add.at(pairs, (inputs, labels), 1)
    alone, after = pairs.sum(0) / pairs.sum(), pairs / pairs.sum(1, keepdims=True)
    return (-np.log2(alone[test_labels]).mean(), -np.log2(after[test_inputs, test_labels]).mean())


@pytest.mark.parametrize("book", text.BOOKS, ids=lambda book: book.name)
class TestBooks:
    def test_is_long_free_of_additions_and_out_of_copyright(self, book):
        content = text.read(book.name)
        assert content.isascii()
        for word in ("gutenberg", " etext", "copyright", "edition 2.9", "chapter", "dramatis"):
            assert word not in content.lower()
        assert book.died + 100 < 2026  # the longest term of a country is a hundred years
        assert book.printed < 1900
        assert len(text.read(book.name)) > 100_000


def test_books_take_less_than_a_quarter_of_a_megabyte():
    folder = text.files("trainium_edu.training").joinpath("texts")
    packed = [len(path.read_bytes()) for path in folder.iterdir()]
    assert len(packed) == len(text.BOOKS)
    assert sum(packed) < 250_000


class TestLetters:
    def test_labels_follow_and_pairs_tell_more_than_letters(self):
        for inputs, labels in zip(*[iter(text.letters())] * 2, strict=True):
            np.testing.assert_array_equal(inputs[:, 1:], labels[:, :-1])
        alone, after = entropies()
        assert 4.2 < alone < 4.7
        assert 3.2 < after < 3.7

    def test_no_stretch_of_the_test_was_trained_on(self):
        inputs, _, test_inputs, _ = text.letters()
        known = text.alphabet(text.read("alice"))
        seen = {"".join(known[i] for i in window[:40]) for window in inputs[:, :40]}
        held_out = {"".join(known[i] for i in window[:40]) for window in test_inputs}
        assert not seen & held_out

    def test_a_few_steps_beat_letters_that_are_drawn_blindly(self):
        _, losses = trained("letters", 25)
        size = len(text.alphabet(text.read("alice")))
        assert losses[0] == pytest.approx(np.log(size), rel=0.2)
        assert np.mean(losses[-3:]) / np.log(2) < entropies()[0]

    @pytest.mark.slow
    @pytest.mark.soak
    def test_training_beats_pairs_of_letters_on_the_test(self):
        trainer, _ = trained("letters", 200, ranks=32, **TASKS["letters"].settings)
        with nn.shapes_only():
            model = trainer.task.model().to(Device())
        model.load_state_dict(trainer.weights())
        inputs, labels = trainer.test
        device = model.parameters()[0].device
        loss = nn.cross_entropy(model(as_tensor(inputs, device)), as_tensor(labels, device))
        device.mark_step()
        assert loss.item() / np.log(2) < entropies()[1]


class TestAuthors:
    def test_passages_begin_with_a_token_and_hide_what_gives_a_book_away(self):
        known = text.vocabulary()
        assert "the" in known
        assert not {"alice", "rosalind", "satan", "orlando", "rabbit", "adam"} & known.keys()
        labels = text.authors()[3]
        share = np.bincount(labels).max() / len(labels)
        assert f"{share:.0%}".replace("%", " %") in TASKS["authors"].note
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
    @pytest.mark.parametrize(("causal", "reached"), [(True, False), (False, True)])
    def test_only_an_encoder_looks_at_what_follows(self, causal, reached):
        nn.manual_seed(0)
        model = nn.Decoder(9, 5) if causal else nn.Encoder(9, 5, 3)
        model.to(Device())
        device = model.parameters()[0].device
        words = np.arange(10).reshape(2, 5) % 9
        words[1] = words[0]
        words[1, -1] = 8
        logits = model(as_tensor(words.astype(np.int32), device))
        device.mark_step()
        one, other = logits.numpy()
        far = np.abs(one - other) > 1e-4  # products of other rows are summed in other orders
        assert (far[:-1] if causal else far).any() == reached
