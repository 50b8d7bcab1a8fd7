"""Train small networks in a fixed order of additions, so that every processor gives the same bits.

One epoch for many replicas: forward, backward and update, as in :mod:`.reference` line by line.
Each sum runs over its index from 0 upwards, one product after the other and never fused; only
*independent* sums share a vector register.  The last index of every array is the one that runs
side by side, which is why activations are stored ``[features, batch]``.
"""

import trainium_edu.numerics.launch  # noqa: F401  (loads Numba)

# isort: split
import numpy as np
from numba import njit, prange

_ZERO = np.float32(0)
_HALF = np.float32(0.5)
_ONE = np.float32(1)
_LOG2_E = np.float32(1.4426950408889634)
_LN2_HIGH = np.float32(0.693145751953125)
_LN2_LOW = np.float32(1.428606765330187e-06)
_LOWEST = np.float32(-60)  # e**-60 moves no weight, and its products stay clear of subnormals
_C2, _C3, _C4 = np.float32(1 / 2), np.float32(1 / 6), np.float32(1 / 24)
_C5, _C6 = np.float32(1 / 120), np.float32(1 / 720)


@njit(cache=True)
def _bf16_nearest(x):
    """Round one float32 to BF16, ties to even; infinities and NaN stay what they are."""
    bits = np.uint32(np.float32(x).view(np.uint32))
    kept = (bits >> np.uint32(16)) & np.uint32(1)
    rounded = np.uint32((bits + np.uint32(0x7FFF) + kept) & np.uint32(0xFFFF0000))
    return np.uint32(rounded).view(np.float32) if x == x else x


@njit(cache=True)
def _bf16_stochastic(x, drawn):
    """Round one float32 to BF16: add 16 random bits below the cut, then cut."""
    bits = np.uint32((np.float32(x).view(np.uint32) + np.uint32(drawn)) & np.uint32(0xFFFF0000))
    return np.uint32(bits).view(np.float32) if x == x else x


@njit(cache=True)
def _exp(x):
    """Return e**x for x <= 0: 2**n times a polynomial on [-ln2/2, ln2/2], twin of `exp`."""
    x = _LOWEST if x < _LOWEST else x
    n = np.floor(x * _LOG2_E + _HALF)
    r = (x - n * _LN2_HIGH) - n * _LN2_LOW
    p = _C6 * r + _C5
    p = p * r + _C4
    p = p * r + _C3
    p = p * r + _C2
    p = p * r + _ONE
    p = p * r + _ONE
    return p * np.int32((np.int32(n) + 127) << 23).view(np.float32)


@njit(cache=True)
def _matmul(a, b, out):
    """Fill out[m, n] = sum over k of a[m, k] * b[k, n], k rising; a has an even number of rows."""
    columns = b.shape[1]
    unrolled = a.shape[1] - a.shape[1] % 4
    for m in range(0, a.shape[0], 2):
        for n in range(columns):
            out[m, n] = _ZERO
            out[m + 1, n] = _ZERO
        for k in range(0, unrolled, 4):  # four terms per visit to memory, still one by one
            u0, u1, u2, u3 = a[m, k], a[m, k + 1], a[m, k + 2], a[m, k + 3]
            v0, v1, v2, v3 = a[m + 1, k], a[m + 1, k + 1], a[m + 1, k + 2], a[m + 1, k + 3]
            for n in range(columns):
                b0, b1, b2, b3 = b[k, n], b[k + 1, n], b[k + 2, n], b[k + 3, n]
                out[m, n] = (((out[m, n] + u0 * b0) + u1 * b1) + u2 * b2) + u3 * b3
                out[m + 1, n] = (((out[m + 1, n] + v0 * b0) + v1 * b1) + v2 * b2) + v3 * b3
        for k in range(unrolled, a.shape[1]):
            for n in range(columns):
                out[m, n] += a[m, k] * b[k, n]
                out[m + 1, n] += a[m + 1, k] * b[k, n]


@njit(cache=True)
def _add_bias_relu(z, bias, bf16):
    """Replace z by max(z + bias, 0), rounded to BF16 if asked."""
    for m in range(z.shape[0]):
        for n in range(z.shape[1]):
            value = z[m, n] + bias[m]
            value = _ZERO if value < _ZERO else value
            z[m, n] = _bf16_nearest(value) if bf16 else value


@njit(cache=True)
def _row_sums(a, out):
    """Fill out[m] = sum over n of a[m, n], n rising."""
    for m in range(a.shape[0]):
        out[m] = _ZERO
        for n in range(a.shape[1]):
            out[m] += a[m, n]


@njit(cache=True)
def _softmax_gradient(z, labels, bf16, chosen):
    """Replace logits z[class, n] by the loss gradient; chosen[n] gets the label's probability."""
    classes, batch = z.shape
    scale = _ONE / np.float32(batch)
    for n in range(batch):
        largest = z[0, n]
        for m in range(1, classes):
            largest = z[m, n] if z[m, n] > largest else largest
        total = _ZERO
        for m in range(classes):
            z[m, n] = _exp(z[m, n] - largest)
            total += z[m, n]
        chosen[n] = z[labels[n], n] / total
        for m in range(classes):
            wanted = _ONE if m == labels[n] else _ZERO
            value = (z[m, n] / total - wanted) * scale
            z[m, n] = _bf16_nearest(value) if bf16 else value


@njit(cache=True)
def _gradient(x, labels, weights, hidden, bf16, gradient, chosen, h, z, scratch):
    """Fill the gradient of one batch x[batch, inputs]; all parameters lie in one flat array."""
    batch, inputs = x.shape
    classes = z.shape[0]
    end1 = hidden * inputs
    end2 = end1 + hidden
    end3 = end2 + classes * hidden
    w1 = weights[:end1].reshape(hidden, inputs)
    w2 = weights[end2:end3].reshape(classes, hidden)
    turned = scratch[: batch * inputs].reshape(inputs, batch)
    for n in range(batch):
        for k in range(inputs):
            turned[k, n] = x[n, k]
    _matmul(w1, turned, h)
    _add_bias_relu(h, weights[end1:end2], bf16)
    _matmul(w2, h, z)
    for m in range(classes):
        for n in range(batch):
            z[m, n] += weights[end3 + m]
    _softmax_gradient(z, labels, bf16, chosen)
    turned_h = scratch[: batch * hidden].reshape(batch, hidden)
    for n in range(batch):
        for m in range(hidden):
            turned_h[n, m] = h[m, n]
    _matmul(z, turned_h, gradient[end2:end3].reshape(classes, hidden))
    _row_sums(z, gradient[end3:])
    turned_w2 = scratch[batch * hidden : batch * hidden + classes * hidden].reshape(hidden, classes)
    for k in range(classes):
        for m in range(hidden):
            turned_w2[m, k] = w2[k, m]
    dh = scratch[: batch * hidden].reshape(hidden, batch)
    _matmul(turned_w2, z, dh)
    for m in range(hidden):
        for n in range(batch):
            value = dh[m, n] if h[m, n] > _ZERO else _ZERO
            dh[m, n] = _bf16_nearest(value) if bf16 else value
    _matmul(dh, x, gradient[:end1].reshape(hidden, inputs))
    _row_sums(dh, gradient[end1:end2])
    if bf16:
        for i in range(gradient.size):
            gradient[i] = _bf16_nearest(gradient[i])


@njit(cache=True)
def _update(stored, weights, gradient, rate, narrow, master, bits):
    """Step downhill: `stored` is what is kept, `weights` what the next step computes with."""
    if not narrow or master:
        for i in range(stored.size):
            stored[i] -= rate * gradient[i]
            weights[i] = _bf16_nearest(stored[i]) if narrow else stored[i]
    elif bits.size:
        for i in range(stored.size):
            stored[i] = _bf16_stochastic(stored[i] - rate * gradient[i], bits[i])
            weights[i] = stored[i]
    else:
        for i in range(stored.size):
            stored[i] = _bf16_nearest(stored[i] - rate * gradient[i])
            weights[i] = stored[i]


@njit(cache=True)
def _train_replica(images, labels, order, hidden, rate, narrow, master, bits, stored, chosen):
    """Run one replica through order[steps, batch]; `stored` changes in place."""
    steps, batch = order.shape
    inputs = images.shape[1]
    classes = (stored.size - hidden * (inputs + 1)) // (hidden + 1)
    x = np.empty((batch, inputs), np.float32)
    targets = np.empty(batch, np.int64)
    h = np.empty((hidden, batch), np.float32)
    z = np.empty((classes, batch), np.float32)
    scratch = np.empty(batch * (hidden + inputs) + classes * hidden, np.float32)
    gradient = np.empty(stored.size, np.float32)
    weights = np.empty(stored.size, np.float32)
    for i in range(stored.size):
        weights[i] = _bf16_nearest(stored[i]) if narrow else stored[i]
    for step in range(steps):
        for n in range(batch):
            image = order[step, n]
            targets[n] = labels[image]
            for k in range(inputs):
                x[n, k] = images[image, k]
        _gradient(x, targets, weights, hidden, narrow, gradient, chosen[step], h, z, scratch)
        row = bits[step] if bits.shape[0] else bits.reshape(-1)
        _update(stored, weights, gradient, rate, narrow, master, row)


@njit(cache=True)
def train_serial(images, labels, order, hidden, rate, narrow, master, bits, stored, chosen):
    """Train replicas one after the other.

    images float32[n, inputs], labels int64[n], order int64[replicas, steps, batch],
    bits uint16[replicas, steps or 0, parameters], stored float32[replicas, parameters] (changed
    in place), chosen float32[replicas, steps, batch] (the probability given to the right class).
    """
    for r in range(stored.shape[0]):
        _train_replica(
            images, labels, order[r], hidden, rate, narrow, master, bits[r], stored[r], chosen[r]
        )


@njit(cache=True, parallel=True)
def train_parallel(images, labels, order, hidden, rate, narrow, master, bits, stored, chosen):
    """Train replicas side by side; the same bits as `train_serial`."""
    for r in prange(stored.shape[0]):
        _train_replica(
            images, labels, order[r], hidden, rate, narrow, master, bits[r], stored[r], chosen[r]
        )


@njit(cache=True)
def logits(turned_images, weights, hidden, bf16, h, out):
    """Fill out[replicas, classes, n] for turned_images[inputs, n], weights[replicas, parameters].

    h float32[hidden, n] is scratch; with bf16 the weights have been rounded before.
    """
    inputs = turned_images.shape[0]
    classes = out.shape[1]
    end1 = hidden * inputs
    end2 = end1 + hidden
    end3 = end2 + classes * hidden
    for r in range(weights.shape[0]):
        row = weights[r]
        _matmul(row[:end1].reshape(hidden, inputs), turned_images, h)
        _add_bias_relu(h, row[end1:end2], bf16)
        _matmul(row[end2:end3].reshape(classes, hidden), h, out[r])
        for m in range(classes):
            for n in range(out.shape[2]):
                out[r, m, n] += row[end3 + m]
