"""Trainings of many kinds, written for any device: what others may bring.

Each is ``function(device) -> list of losses``, seeded, of a few steps.  No bias stands before a
norm: its gradient is 0 but for rounding, and optimisers that divide by its size make that large.
"""

import math
from copy import deepcopy
from functools import partial

import torch

from tests.texts import table_beside

nn, F, optim = torch.nn, torch.nn.functional, torch.optim
TRAININGS = {}


def training(function):
    """Put a training into the table."""
    TRAININGS[function.__name__] = function
    return function


def mark():
    """Mark a step, where there is a chip."""
    from trainium_edu.torch import core as cores

    if cores.is_there():
        cores.current().mark_step()


def steps(model, optimiser, loss_of, count=5, before=None, after=None):
    """Train; return the losses."""
    losses = []
    for step in range(count):
        optimiser.zero_grad()
        loss = loss_of(step)
        loss.backward()
        if before:
            before()
        optimiser.step()
        if after:
            after()
        mark()
        losses.append(loss.detach())
    return [float(one) for one in losses]


def classify(model, device, shape, optimiser=None, classes=4, **more):
    """Train a classifier on random data that stay the same."""
    model = model.to(device)
    x, y = torch.randn(shape).to(device), (torch.arange(shape[0]) % classes).to(device)
    optimiser = (optimiser or (lambda p: optim.SGD(p, 0.05)))(model.parameters())
    return steps(model, optimiser, lambda _: F.cross_entropy(model(x), y), **more)


class LastOf(nn.Module):
    """What a recurrent network knows in the end, classified."""

    def __init__(self, kind, **more):
        super().__init__()
        self.words = nn.Embedding(20, 12, padding_idx=0)
        self.inner = kind(12, 16, batch_first=True, **more)
        self.out = nn.Linear(16 * (2 if more.get("bidirectional") else 1), 2)

    def forward(self, x):
        return self.out(self.inner(self.words(x))[0][:, -1])


@training
def lstm_with_clipping_and_a_schedule(device):
    model = LastOf(nn.LSTM, num_layers=2).to(device)
    text, labels = torch.randint(20, (8, 10)).to(device), (torch.arange(8) % 2).to(device)
    optimiser = optim.Adam(model.parameters(), 0.01)
    schedule = optim.lr_scheduler.StepLR(optimiser, 2, 0.5)

    def clip():
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)

    return steps(model, optimiser, lambda _: F.cross_entropy(model(text), labels), before=clip,
                 after=schedule.step)  # fmt: skip


@training
def sequences_of_several_lengths_packed(device):
    rnn = nn.utils.rnn
    model, out = nn.LSTM(6, 8, batch_first=True).to(device), nn.Linear(8, 2).to(device)
    x, labels = torch.randn(4, 5, 6).to(device), (torch.arange(4) % 2).to(device)
    optimiser = optim.SGD([*model.parameters(), *out.parameters()], 0.1)

    def loss_of(_):
        packed = rnn.pack_padded_sequence(x, torch.tensor([5, 2, 4, 3]), True, False)
        found, lengths = rnn.pad_packed_sequence(model(packed)[0], batch_first=True)
        return F.cross_entropy(out(found.sum(1) / lengths.to(device)[:, None]), labels)

    return steps(model, optimiser, loss_of)


@training
def gru_both_ways(device):
    model = LastOf(nn.GRU, bidirectional=True).to(device)
    text, labels = torch.randint(20, (8, 6)).to(device), (torch.arange(8) % 2).to(device)
    optimiser = optim.RMSprop(model.parameters(), 0.01)
    return steps(model, optimiser, lambda _: F.cross_entropy(model(text), labels))


class UNet(nn.Module):
    """Down, up again, with a way around."""

    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU()
        )
        self.down = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1, bias=False),
                                  nn.BatchNorm2d(16), nn.ReLU(inplace=True))  # fmt: skip
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.last = nn.Conv2d(16, 1, 1)

    def forward(self, x):
        kept = self.first(x)
        return self.last(torch.cat([kept, self.up(self.down(kept))], dim=1))


@training
def unet_with_evaluation(device):
    model = UNet().to(device)
    x = torch.randn(4, 1, 16, 16).to(device)
    y = (torch.rand(4, 1, 16, 16) > 0.5).float().to(device)
    optimiser = optim.RMSprop(model.parameters(), 0.01)

    def loss_of(_):
        out = model(x)
        part = torch.sigmoid(out)
        dice = 1 - (2 * (part * y).sum() + 1) / (part.sum() + y.sum() + 1)
        return F.binary_cross_entropy_with_logits(out, y) + dice

    losses = steps(model, optimiser, loss_of)
    model.eval()
    with torch.no_grad():
        right = ((model(x) > 0) == (y > 0.5)).float().mean()
    mark()
    return [*losses, float(right)]


class Decoder(nn.Module):
    """A GPT from scratch, with tied weights."""

    def __init__(self, vocabulary=30, wide=16, length=12, heads=4, drop=0.0):
        super().__init__()
        self.heads, self.drop = heads, nn.Dropout(drop)
        self.words, self.places = nn.Embedding(vocabulary, wide), nn.Embedding(length, wide)
        self.qkv, self.project = nn.Linear(wide, 3 * wide, bias=False), nn.Linear(wide, wide)
        self.first, self.second, self.end = (nn.LayerNorm(wide) for _ in range(3))
        self.mlp = nn.Sequential(
            nn.Linear(wide, 4 * wide), nn.GELU("tanh"), nn.Linear(4 * wide, wide)
        )
        self.out = nn.Linear(wide, vocabulary, bias=False)
        self.out.weight = self.words.weight
        self.register_buffer("mask", torch.tril(torch.ones(length, length)))

    def forward(self, text):
        count, length = text.shape
        x = self.words(text) + self.places(torch.arange(length, device=text.device))
        q, k, v = (one.view(count, length, self.heads, -1).transpose(1, 2)
                   for one in self.qkv(self.first(x)).chunk(3, dim=-1))  # fmt: skip
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        scores = scores.masked_fill(self.mask[:length, :length] == 0, float("-inf"))
        found = (self.drop(scores.softmax(-1)) @ v).transpose(1, 2).reshape(x.shape)
        x = x + self.project(found)
        return self.out(self.end(x + self.mlp(self.second(x))))


def decoded(device, drop=0.0, accumulate=2):
    """Train a decoder, with warm-up, gradients added up, two groups of parameters."""
    model = Decoder(drop=drop).to(device)
    model.out.weight = model.words.weight  # a move to the chip unties them, also the real one
    decayed = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() < 2]
    optimiser = optim.AdamW(
        [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}], lr=0.01
    )
    schedule = optim.lr_scheduler.LambdaLR(optimiser, lambda n: min(1.0, (n + 1) / 3))
    texts = torch.randint(30, (accumulate, 4, 13))
    losses = []
    for _ in range(5):
        for text in texts:
            text = text.to(device)
            out = model(text[:, :-1])
            loss = F.cross_entropy(out.reshape(-1, 30), text[:, 1:].reshape(-1)) / accumulate
            loss.backward()
            losses.append(loss.detach())
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        optimiser.zero_grad(set_to_none=True)
        mark()
    return [float(one) for one in losses]


@training
def gpt_from_scratch_with_gradients_added_up(device):
    return decoded(device)


@training
def gpt_with_dropout(device):
    return decoded(device, drop=0.2, accumulate=1)


@training
def encoder_and_decoder_of_pytorch(device):
    model = nn.Transformer(16, 2, 1, 1, 32, dropout=0.0, batch_first=True).to(device)
    words = nn.Embedding(20, 16).to(device)
    source, target = torch.randint(20, (2, 3, 7)).to(device)
    mask = nn.Transformer.generate_square_subsequent_mask(6).to(device)
    padding = (source == 0).to(device)
    optimiser = optim.Adam([*model.parameters(), *words.parameters()], 0.005, (0.9, 0.98), 1e-9)

    def loss_of(_):
        out = model(words(source), words(target[:, :-1]), tgt_mask=mask,
                    src_key_padding_mask=padding, memory_key_padding_mask=padding)  # fmt: skip
        scores = out @ words.weight.T
        return F.cross_entropy(
            scores.transpose(1, 2), target[:, 1:], label_smoothing=0.1, ignore_index=0
        )

    return steps(model, optimiser, loss_of)


@training
def attention_by_einsum(device):
    weights = [nn.Parameter(torch.randn(8, 2, 4).to(device) / 3) for _ in range(3)]
    x, y = torch.randn(2, 3, 5, 8).to(device)[:2]

    def loss_of(_):
        q, k, v = (torch.einsum("btc,chd->bhtd", x, one) for one in weights)
        shares = torch.einsum("bhtd,bhsd->bhts", q, k).div(2).softmax(-1)
        out = torch.einsum("bhts,bhsd->bthd", shares, v).flatten(2)
        return F.smooth_l1_loss(out, y)

    return steps(None, optim.SGD(weights, 0.1, momentum=0.9), loss_of)


@training
def autoencoder(device):
    model = nn.Sequential(
        nn.Flatten(), nn.Linear(64, 16), nn.Tanh(), nn.Linear(16, 3), nn.Linear(3, 16),
        nn.LeakyReLU(), nn.Linear(16, 64), nn.Sigmoid(), nn.Unflatten(1, (8, 8)),
    ).to(device)  # fmt: skip
    x = torch.rand(16, 8, 8).to(device)
    optimiser = optim.Adagrad(model.parameters(), 0.05)
    return steps(model, optimiser, lambda _: F.mse_loss(model(x), x))


@training
def variational_autoencoder(device):
    encoder, decoder = nn.Linear(16, 6).to(device), nn.Linear(3, 16).to(device)
    x = torch.rand(8, 16).to(device)
    optimiser = optim.Adam([*encoder.parameters(), *decoder.parameters()], 0.01)

    def loss_of(_):
        mean, log = encoder(x).chunk(2, -1)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * log)
        apart = -0.5 * torch.sum(1 + log - mean.pow(2) - log.exp())
        return F.binary_cross_entropy(torch.sigmoid(decoder(z)), x, reduction="sum") + apart

    return steps(encoder, optimiser, loss_of)


class Block(nn.Module):
    """A block of a ResNet, whose ways differ in width."""

    def __init__(self, before, after, stride):
        super().__init__()
        self.one = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.two = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(after) for _ in range(3))
        self.way = nn.Conv2d(before, after, 1, stride, bias=False)

    def forward(self, x):
        y = F.relu(self.norms[0](self.one(x)))
        y = self.norms[1](self.two(y))
        y += self.norms[2](self.way(x))
        return F.relu(y)


@training
def resnet_in_one_cycle(device):
    model = nn.Sequential(
        Block(3, 8, 1), Block(8, 16, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 4)
    ).to(device)
    x, y = torch.randn(8, 3, 12, 12).to(device), (torch.arange(8) % 4).to(device)
    optimiser = optim.SGD(model.parameters(), 0.1, 0.9, weight_decay=5e-4, nesterov=True)
    schedule = optim.lr_scheduler.OneCycleLR(optimiser, 0.1, total_steps=8)
    return steps(model, optimiser, lambda _: F.cross_entropy(model(x), y), after=schedule.step)


@training
def lamb_by_hand(device):
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).to(device)
    x, y = torch.randn(16, 8).to(device), (torch.arange(16) % 4).to(device)
    state = {p: (torch.zeros_like(p), torch.zeros_like(p)) for p in model.parameters()}
    losses = []
    for step in range(1, 7):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        with torch.no_grad():
            for p, (mean, square) in state.items():
                mean.mul_(0.9).add_(p.grad, alpha=0.1)
                square.mul_(0.99).addcmul_(p.grad, p.grad, value=0.01)
                way = mean / (1 - 0.9**step) / ((square / (1 - 0.99**step)).sqrt() + 1e-6)
                way = way + 0.01 * p
                size, length = p.norm(), way.norm()
                trust = torch.where((size > 0) & (length > 0), size / length, torch.ones_like(size))
                p.sub_(0.02 * trust * way)
                p.grad = None
        mark()
        losses.append(loss.detach())
    return [float(one) for one in losses]


@training
def saved_and_loaded_halfway(device):
    def made():
        layers = nn.Linear(8, 8, bias=False), nn.BatchNorm1d(8), nn.Linear(8, 4)
        model = nn.Sequential(*layers).to(device)
        return model, optim.Adam(model.parameters(), 0.01)

    x, y = torch.randn(8, 8).to(device), (torch.arange(8) % 4).to(device)
    model, optimiser = made()
    first = steps(model, optimiser, lambda _: F.cross_entropy(model(x), y))
    kept = deepcopy(model.state_dict()), deepcopy(optimiser.state_dict())
    other, second = made()
    other.load_state_dict(kept[0])
    second.load_state_dict(kept[1])
    return first + steps(other, second, lambda _: F.cross_entropy(other(x), y))


@training
def pictures_made_larger(device):
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.Upsample(scale_factor=2), nn.SiLU(), nn.Conv2d(4, 4, 8),
        nn.Flatten(),
    )  # fmt: skip
    return classify(model, device, (8, 1, 4, 4))


@training
def pictures_normed_one_by_one(device):
    model = nn.Sequential(
        nn.Conv2d(1, 8, 4, 2, 1, bias=False), nn.InstanceNorm2d(8, affine=True), nn.LeakyReLU(0.2),
        nn.Conv2d(8, 4, 4), nn.Flatten(),
    )  # fmt: skip
    return classify(model, device, (8, 1, 8, 8))


@training
def two_that_play(device):
    maker = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Linear(8, 2)).to(device)
    judge = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1)).to(device)
    first, second = (optim.Adam(m.parameters(), 0.01, (0.5, 0.999)) for m in (maker, judge))
    real, ones, zeros = torch.randn(8, 2).to(device), torch.ones(8, 1, device=device), None
    zeros = torch.zeros_like(ones)
    losses = []
    for _ in range(4):
        made = maker(torch.randn(8, 4).to(device))
        second.zero_grad()
        loss = F.binary_cross_entropy_with_logits(judge(real), ones)
        loss = loss + F.binary_cross_entropy_with_logits(judge(made.detach()), zeros)
        loss.backward()
        second.step()
        first.zero_grad()
        fooled = F.binary_cross_entropy_with_logits(judge(made), ones)
        fooled.backward()
        first.step()
        mark()
        losses += [loss.detach(), fooled.detach()]
    return [float(one) for one in losses]


@training
def contrast_of_pairs(device):
    model = nn.Linear(8, 4).to(device)
    x = torch.randn(2, 6, 8).to(device)

    def loss_of(_):
        first, second = (F.normalize(model(one), dim=-1) for one in x)
        scores = first @ second.T / 0.1
        labels = torch.arange(6, device=device)
        return (F.cross_entropy(scores, labels) + F.cross_entropy(scores.T, labels)) / 2

    return steps(model, optim.AdamW(model.parameters(), 0.01), loss_of)


@training
def teacher_and_student(device):
    teacher, student = (nn.Linear(8, 5).to(device) for _ in range(2))
    x = torch.randn(6, 8).to(device)

    def loss_of(_):
        with torch.no_grad():
            wanted = F.softmax(teacher(x) / 2, dim=-1)
        found = F.log_softmax(student(x) / 2, dim=-1)
        return 4 * F.kl_div(found, wanted, reduction="batchmean")

    return steps(student, optim.SGD(student.parameters(), 0.5), loss_of)


@training
def values_of_actions(device):
    net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3)).to(device)
    target = deepcopy(net)
    state, after = torch.randn(2, 8, 4).to(device)
    action, reward = torch.randint(3, (8, 1)).to(device), torch.randn(8, 1).to(device)

    def loss_of(_):
        with torch.no_grad():
            goal = reward + 0.9 * target(after).max(1, keepdim=True).values
            for slow, fast in zip(target.parameters(), net.parameters(), strict=True):
                slow.mul_(0.9).add_(0.1 * fast)
        return F.huber_loss(net(state).gather(1, action), goal)

    return steps(net, optim.Adam(net.parameters(), 0.01), loss_of)


@training
def policy_by_its_gradient(device):
    net = nn.Linear(4, 3).to(device)
    state, gain = torch.randn(8, 4).to(device), torch.randn(8).to(device)
    action = torch.randint(3, (8,)).to(device)

    def loss_of(_):
        policy = torch.distributions.Categorical(logits=net(state), validate_args=False)
        return -(policy.log_prob(action) * gain).mean() - 0.01 * policy.entropy().mean()

    return steps(net, optim.SGD(net.parameters(), 0.1), loss_of)


@training
def sounds_in_one_dimension(device):
    return classify(nn.Sequential(
        nn.Conv1d(1, 8, 5, 2), nn.BatchNorm1d(8), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(8, 8, 3),
        nn.GroupNorm(2, 8), nn.ELU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(8, 4),
    ), device, (8, 1, 40))  # fmt: skip


@training
def pixels_shuffled(device):
    model = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.PixelShuffle(2), nn.PReLU(),
                          nn.Conv2d(3, 3, 3, padding=1)).to(device)  # fmt: skip
    x, y = torch.rand(2, 3, 8, 8).to(device), torch.rand(2, 3, 16, 16).to(device)
    return steps(model, optim.Adam(model.parameters(), 0.01), lambda _: F.l1_loss(model(x), y))


@training
def squeezed_and_excited(device):
    class Excite(nn.Module):
        def __init__(self):
            super().__init__()
            self.down, self.up = nn.Conv2d(8, 2, 1), nn.Conv2d(2, 8, 1)

        def forward(self, x):
            share = x.mean((2, 3), keepdim=True)
            return x * torch.sigmoid(self.up(F.silu(self.down(share))))

    return classify(nn.Sequential(
        nn.Conv2d(3, 8, 3, 2, 1), nn.Hardswish(), nn.Conv2d(8, 8, 3, 1, 1, groups=8), nn.ReLU6(),
        Excite(), nn.Mish(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(32, 4),
    ), device, (8, 3, 8, 8), lambda p: optim.Adadelta(p))  # fmt: skip


@training
def weights_with_norms(device):
    normed = nn.utils.parametrizations.weight_norm(nn.Linear(8, 8))
    return classify(nn.Sequential(normed, nn.Softplus(), nn.Linear(8, 4)), device, (8, 8))


@training
def recomputed_in_backward(device):
    from torch.utils.checkpoint import checkpoint

    class Recomputed(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.out = nn.Sequential(nn.Linear(8, 8), nn.GELU()), nn.Linear(8, 4)

        def forward(self, x):
            return self.out(checkpoint(self.inner, x, use_reentrant=False))

    return classify(Recomputed(), device, (8, 8))


@training
def factors_of_a_matrix(device):
    users, things = nn.Embedding(10, 4).to(device), nn.Embedding(12, 4).to(device)
    who, what = torch.randint(10, (20,)).to(device), torch.randint(12, (20,)).to(device)
    stars = torch.randint(1, 6, (20,)).to(device)
    optimiser = optim.NAdam([*users.parameters(), *things.parameters()], 0.02)

    def loss_of(_):
        return F.mse_loss((users(who) * things(what)).sum(1), stars.float())

    return steps(None, optimiser, loss_of)


@training
def many_labels_with_weights(device):
    model = nn.Linear(8, 5).to(device)
    x, y = torch.randn(6, 8).to(device), (torch.rand(6, 5) > 0.5).float().to(device)
    judge = nn.BCEWithLogitsLoss(pos_weight=torch.arange(1.0, 6).to(device))
    return steps(model, optim.Adamax(model.parameters(), 0.05), lambda _: judge(model(x), y))


@training
def margins_of_triplets(device):
    model = nn.Linear(8, 4).to(device)
    x = torch.randn(3, 6, 8).to(device)
    judge = nn.TripletMarginLoss(margin=1.0)

    def loss_of(_):
        return judge(*(model(one) for one in x))

    return steps(model, optim.RAdam(model.parameters(), 0.05), loss_of)


@training
def a_penalty_on_gradients(device):
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)).to(device)
    x = torch.randn(6, 4).to(device)

    def loss_of(_):
        point = x.clone().requires_grad_()
        out = model(point)
        (slope,) = torch.autograd.grad(out.sum(), point, create_graph=True)
        return out.mean() + 10 * ((slope.norm(2, dim=1) - 1) ** 2).mean()

    return steps(model, optim.Adam(model.parameters(), 0.01), loss_of)


@training
def averages_of_weights(device):
    model = nn.Linear(8, 4).to(device)
    x, y = torch.randn(8, 8).to(device), (torch.arange(8) % 4).to(device)
    average = optim.swa_utils.get_ema_multi_avg_fn(0.9)
    slow = optim.swa_utils.AveragedModel(model, multi_avg_fn=average)
    optimiser = optim.SGD(model.parameters(), 0.1)
    losses = steps(model, optimiser, lambda _: F.cross_entropy(model(x), y),
                   after=lambda: slow.update_parameters(model))  # fmt: skip
    return [*losses, float(F.cross_entropy(slow(x), y).detach())]


@training
def some_layers_frozen(device):
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4))
    for one in model[0].parameters():
        one.requires_grad = False
    return classify(model, device, (8, 8), lambda p: optim.Adam([q for q in p if q.requires_grad]))


@training
def adam_by_one_kernel(device):
    layers = [nn.Linear(8, 8).to(device) for _ in range(4)]
    x, y = torch.randn(8, 8).to(device), (torch.arange(8) % 4).to(device)
    kinds = [
        optim.AdamW(layers[0].parameters(), 0.01, weight_decay=0.1, fused=True),
        optim.Adam(layers[1].parameters(), 0.01, weight_decay=0.1, amsgrad=True, fused=True),
        optim.Adam(layers[2].parameters(), torch.tensor(0.01), fused=True),
        optim.AdamW(layers[3].parameters(), 0.01, maximize=True, fused=True),
    ]
    losses = []
    for _ in range(5):
        out = x
        for layer in layers:
            layer.zero_grad()
            out = layer(out).tanh()
        loss = F.cross_entropy(out, y)
        loss.backward()
        for optimiser in kinds:
            optimiser.step()
        losses.append(loss.detach())
        mark()
    return [float(loss) for loss in losses]


@training
def numbers_told_and_plateaus(device):
    model = nn.Linear(8, 4).to(device)
    x, y = torch.randn(8, 8).to(device), (torch.arange(8) % 4).to(device)
    optimiser = optim.SGD(model.parameters(), 0.1)
    schedule = optim.lr_scheduler.ReduceLROnPlateau(optimiser, patience=0, threshold=0.5)
    told = []
    for _ in range(5):
        optimiser.zero_grad()
        out = model(x)
        loss = F.cross_entropy(out, y)
        loss.backward()
        optimiser.step()
        schedule.step(loss.item())
        first_two = (out.topk(2, dim=1).indices == y[:, None]).any(1).float().mean()
        told += [loss.item(), (out.argmax(1) == y).sum().item() / len(y), first_two.item()]
        mark()
    return told


# -- optimisers and layers, each in a small classifier ---------------------------------------------

TABLES = table_beside(__file__, "trainings.toml")


def optimiser_of(parameters, kind, **options):
    return getattr(optim, kind)(parameters, **options)


class Residual(nn.Module):
    def __init__(self, wide, groups=1):
        super().__init__()
        self.inner = nn.Sequential(
            nn.Conv2d(wide, wide, 3, padding=1, groups=groups, bias=False), nn.BatchNorm2d(wide),
            nn.ReLU(inplace=True), nn.Conv2d(wide, wide, 3, padding=1), nn.BatchNorm2d(wide),
        )  # fmt: skip

    def forward(self, x):
        return F.relu(x + self.inner(x), inplace=True)


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.inner, self.out = kind(3 * 16, 8, batch_first=True), nn.Linear(8, 4)

    def forward(self, x):
        return self.out(self.inner(x.permute(0, 2, 1, 3).flatten(2))[0][:, -1])


MODELS = {
    "convolutions": lambda: nn.Sequential(
        nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1), Residual(8),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)),
    "by channel, in groups, dilated": lambda: nn.Sequential(
        nn.Conv2d(3, 8, 1), Residual(8, 8), Residual(8, 2), nn.GroupNorm(2, 8), nn.SiLU(),
        nn.Conv2d(8, 8, 3, dilation=2), nn.Hardswish(), nn.AvgPool2d(2), nn.Flatten(),
        nn.LazyLinear(4)),
    "up and down": lambda: nn.Sequential(
        nn.Conv2d(3, 4, 4, 2, 1), nn.InstanceNorm2d(4, affine=True), nn.LeakyReLU(0.2),
        nn.ConvTranspose2d(4, 4, 4, 2, 1), nn.Upsample(scale_factor=2, mode="bilinear"),
        nn.PReLU(), nn.Conv2d(4, 4, 3, 2), nn.ELU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        nn.Linear(16, 4), nn.Softplus()),
    "RNN": lambda: Recurrent(nn.RNN), "LSTM": lambda: Recurrent(nn.LSTM),
    "GRU": lambda: Recurrent(nn.GRU),
    "patches": lambda: nn.Sequential(
        nn.Conv2d(3, 16, 4, 4), nn.Flatten(2), nn.LayerNorm(16), nn.Linear(16, 16), nn.Tanh(),
        nn.RMSNorm(16), nn.Flatten(), nn.Linear(256, 4)),
}  # fmt: skip


def mlp():
    return nn.Sequential(
        nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 4)
    )


def of_images(make, device):
    model = make()
    model(torch.randn(1, 3, 16, 16))  # lazy layers take their sizes
    return classify(model, device, (8, 3, 16, 16))


TRAININGS |= {
    name: lambda device, row=row: classify(mlp(), device, (8, 12), partial(optimiser_of, **row))
    for name, row in TABLES["optimisers"].items()
}
TRAININGS |= {name: partial(of_images, make) for name, make in MODELS.items()}


# -- models of Hugging Face -----------------------------------------------------------------------

LANGUAGE, PADDED = TABLES["language"], TABLES["padded"]  #: on texts of one length, or of several


def language(name, device):
    """Train a model of Hugging Face, small and with random weights."""
    import transformers

    row = (LANGUAGE | PADDED)[name]
    config = getattr(transformers, row["config"])(**row["sizes"])
    model = getattr(transformers, name)(config).to(device)
    model.tie_weights()  # a move to the chip unties them, also the real one
    text = torch.randint(2, 50, (4, 10)).to(device)
    given = {"labels": torch.arange(4).to(device) % 2 if "Sequence" in name else text}
    if "Token" in name:
        given = {"labels": text % 2}
    if "Question" in name:
        given = {"start_positions": text[:, 0] % 10, "end_positions": text[:, 1] % 10}
    optimiser = optim.AdamW(model.parameters(), 0.005)
    if name in PADDED:
        lengths = torch.tensor([[10], [7], [9], [3]])
        given["attention_mask"] = torch.arange(10).lt(lengths).to(device)
        optimiser = optim.SGD(model.parameters(), 0.1)
    return steps(model, optimiser, lambda _: model(input_ids=text, **given).loss)
