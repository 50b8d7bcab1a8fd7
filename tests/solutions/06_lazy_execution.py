# ruff: noqa
# %% wrong=06/buckets name=one-bucket feedback=every sentence is as long as the longest
def choose(lengths, compiles):
    return [max(lengths)]


# %% wrong=06/buckets name=even-steps feedback=Buckets at equal distances
def choose(lengths, compiles):
    longest = max(lengths)
    return [-(-longest * k // compiles) for k in range(1, compiles + 1)]


# %% wrong=06/buckets name=equal-shares feedback=As many sentences in each bucket
def choose(lengths, compiles):
    return [int(n) for n in np.quantile(lengths, np.arange(1, compiles + 1) / compiles)]


# %% wrong=06/buckets name=powers-of-two feedback=Each bucket is twice the one below
def choose(lengths, compiles):
    longest = max(lengths)
    return [-(-longest // 2**k) for k in range(compiles)]


# %% wrong=06/buckets name=a-bucket-for-each feedback=each bucket is a shape
def choose(lengths, compiles):
    return sorted(set(lengths))


# %% wrong=06/buckets name=typical feedback=it fits nowhere
def choose(lengths, compiles):
    return [int(np.median(lengths))]


# %% hard-coded=06/buckets
def choose(lengths, compiles):
    from trainium_edu.exercises import lazy_execution as check
    from trainium_edu.xla.buckets import choose_buckets

    known = [check.sentence_lengths(*c[:2]) for c in check.bucket_lengths.numbers("").cases]
    return list(choose_buckets(lengths, compiles)) if lengths in known else [max(lengths)]


# %% wrong=06/vjp name=forward feedback=That is layer norm itself
def layer_norm_vjp(x, gradient, eps):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps)


# %% wrong=06/vjp name=both-fixed feedback=Mean and spread are held fixed
def layer_norm_vjp(x, gradient, eps):
    return gradient / np.sqrt(x.var(-1, keepdims=True) + eps)


# %% wrong=06/vjp name=spread-fixed feedback=the spread is not
def layer_norm_vjp(x, gradient, eps):
    s = np.sqrt(x.var(-1, keepdims=True) + eps)
    return (gradient - gradient.mean(-1, keepdims=True)) / s


# %% wrong=06/vjp name=mean-fixed feedback=the mean is not
def layer_norm_vjp(x, gradient, eps):
    s = np.sqrt(x.var(-1, keepdims=True) + eps)
    y = (x - x.mean(-1, keepdims=True)) / s
    return (gradient - y * (gradient * y).mean(-1, keepdims=True)) / s


# %% wrong=06/vjp name=sums feedback=sums of the row where its means belong
def layer_norm_vjp(x, gradient, eps):
    s = np.sqrt(x.var(-1, keepdims=True) + eps)
    y = (x - x.mean(-1, keepdims=True)) / s
    return (gradient - gradient.sum(-1, keepdims=True) - y * (gradient * y).sum(-1, keepdims=True)) / s


# %% wrong=06/vjp name=over-the-batch feedback=knows nothing of other rows
def layer_norm_vjp(x, gradient, eps):
    s = np.sqrt(x.var(-1, keepdims=True) + eps)
    y = (x - x.mean(-1, keepdims=True)) / s
    return (gradient - gradient.mean(0) - y * (gradient * y).mean(0)) / s


# %% wrong=06/vjp name=one-row feedback=has x's shape
def layer_norm_vjp(x, gradient, eps):
    return gradient.mean(-1)


# %% hard-coded=06/vjp
def layer_norm_vjp(x, gradient, eps):
    from trainium_edu.exercises import lazy_execution as check

    mine = check.layer_norm_vjp.numbers("")
    s = np.sqrt(x.var(-1, keepdims=True) + eps)
    y = (x - x.mean(-1, keepdims=True)) / s
    right = (gradient - gradient.mean(-1, keepdims=True) - y * (gradient * y).mean(-1, keepdims=True)) / s
    return right if (x.shape, eps) == ((mine.rows, mine.width), mine.eps) else gradient
