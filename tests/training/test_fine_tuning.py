"""An encoder that has read, and what few labels teach it.

Judges: the loss of guessing words by how often they come (a closed form), held-out passages, the
file's own command run again for a few steps, and PyTorch's encoder with the stored weights.
"""

import numpy as np
import pytest

from trainium_edu.training import fine_tuning, nn, pretrained, text
from trainium_edu.training.checkpoint import load_checkpoint
from trainium_edu.training.fine_tuning import few_authors, fine_tune, from_pretrained
from trainium_edu.training.pretrained import HIDDEN_WORDS, hidden_words, pretrained_weights
from trainium_edu.xla.device import Device
from trainium_edu.xla.tensor import as_tensor


def said_by(weights, passages):
    """Return the logits of an encoder with these weights."""
    with nn.shapes_only():
        model = HIDDEN_WORDS.model().to(Device()).eval()
    model.load_state_dict(weights)
    device = model.parameters()[0].device
    logits = model(as_tensor(passages, device))
    device.mark_step()
    return logits.numpy()


def losses_of(weights, passages, asked):
    """Return the loss of each hidden word, in float64 from the logits."""
    logits = said_by(weights, passages)[asked >= 0].astype(np.float64)
    top = logits.max(axis=1, keepdims=True)
    said = logits - top - np.log(np.exp(logits - top).sum(axis=1, keepdims=True))
    return -said[np.arange(len(said)), asked[asked >= 0]]


class TestHiddenWords:
    def test_a_fifth_of_the_known_words_of_training_passages_is_hidden_and_asked(self):
        passages = text.authors()[2]
        inputs, asked = hidden_words(passages, 0)
        hidden = asked >= 0
        assert (inputs[hidden] == 1).all()
        assert (asked[hidden] == passages[hidden]).all()
        assert (passages[hidden] > 1).all()
        assert (inputs[~hidden] == passages[~hidden]).all()
        passages = text.authors()[0]
        known = (passages > 1).sum()
        asked = (hidden_words(passages, 1)[1] >= 0).sum()
        assert abs(asked - 0.2 * known) < 4 * np.sqrt(0.16 * known)
        read = {sample.tobytes() for sample in text.authors()[0]}
        assert not any(sample.tobytes() in read for sample in text.authors()[2])
        assert len(HIDDEN_WORDS.data()[0]) == 8 * len(text.authors()[0])


class TestStoredWeights:
    def test_it_is_small_whole_and_names_its_command(self):
        path = pretrained.stored_file()
        assert path.stat().st_size < 400_000
        held = load_checkpoint(path)  # checks every sum
        assert held.state["job"]["command"] == pretrained.COMMAND
        assert held.step == pretrained.STEPS

    def test_it_guesses_hidden_words_of_passages_that_it_never_read(self):
        """Better than by how often words come, by far more than chance makes of so many words."""
        passages, _, held_out, _ = text.authors()
        inputs, asked = hidden_words(held_out, 0)
        counts = np.bincount(passages[passages > 1], minlength=len(text.vocabulary())) + 1.0
        counts[:2] = 0
        words = asked[asked >= 0]
        by_frequency = -np.log(counts[words] / counts.sum())
        gain = by_frequency - losses_of(pretrained_weights(), inputs, asked)
        assert gain.mean() > 4 * gain.std(ddof=1) / np.sqrt(len(gain))

    def test_its_command_gives_the_same_bits_twice(self):
        first, again = (pretrained.as_checkpoint(pretrained.pretrain(2)) for _ in range(2))
        assert first == again

    def test_an_encoder_that_begins_with_it_has_a_head_of_its_own(self):
        nn.manual_seed(0)
        state, stored = from_pretrained().state_dict(), pretrained_weights()
        assert state["head.weight"].shape == (3, 64)
        for name in state.keys() - {"head.weight", "head.bias"}:
            assert (state[name] == stored[name]).all(), name


class TestFewAuthors:
    def test_beginnings_share_passages_and_seeds_do_not(self):
        one, other = (few_authors(8, seed=3, beginning=b) for b in fine_tuning.BEGINNINGS)
        assert all((a == b).all() for a, b in zip(one.data(), other.data(), strict=True))
        inputs, labels, *test = one.data()
        assert np.bincount(labels).tolist() == [8, 8, 8]
        assert (test[0] == text.authors()[2]).all()
        whole = {
            (sample.tobytes(), label) for sample, label in zip(*text.authors()[:2], strict=True)
        }
        assert {(s.tobytes(), k) for s, k in zip(inputs, labels, strict=True)} <= whole
        assert not (few_authors(8, seed=0).data()[0] == few_authors(8, seed=1).data()[0]).all()


class TestStoredCurve:
    def test_every_number_of_labels_has_both_beginnings_and_all_seeds(self):
        rows = fine_tuning.stored_fine_tuning()
        assert [(row.per_author, row.beginning) for row in rows] == [
            (n, b) for n in fine_tuning.LABELS for b in fine_tuning.BEGINNINGS
        ]
        assert {len(row.accuracies) for row in rows} == {len(fine_tuning.SEEDS)}

    @pytest.mark.slow
    def test_a_stored_seed_comes_back_within_what_blas_changes(self):
        """Matrix products' last bits differ by processor: a few passages of 460."""
        for beginning in fine_tuning.BEGINNINGS:
            row = next(r for r in fine_tuning.stored_fine_tuning()
                       if (r.per_author, r.beginning) == (16, beginning))  # fmt: skip
            found = 100 * fine_tune(16, beginning, seed=0, ranks=1).accuracy[-1][1]
            assert found == pytest.approx(row.accuracies[0], abs=3)


@pytest.mark.judge
def test_the_stored_encoder_says_what_pytorchs_says():
    """Judge: PyTorch's encoder layers, given the stored weights."""
    torch = pytest.importorskip("torch")
    from tests.training.test_against_torch import TorchGuesser

    words = len(text.vocabulary())
    theirs = TorchGuesser(words, 33, words, 64, 2, 4, 128)
    theirs.load_state_dict({n: torch.tensor(w) for n, w in pretrained_weights().items()})
    passages = text.authors()[2][:8]
    with torch.no_grad():
        wanted = theirs(torch.tensor(passages.astype(np.int64)))
    found = said_by(pretrained_weights(), passages)
    np.testing.assert_allclose(found, wanted.numpy(), atol=2e-4)
