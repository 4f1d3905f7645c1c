"""Cost: complete each function, then run

    python3 -m course exercise m10

A function counts as begun when its "..." is gone.
"""


def layer_flops(seq_len, embed_dim, num_heads, num_kv_heads, head_dim):
    """Count the FLOPs of an attention layer.

    The layer reads one text. Its vectors are `embed_dim` wide. Several heads may share their keys
    and values: it has `num_heads` heads for queries, but only `num_kv_heads` for keys and values.
    Each has `head_dim` numbers. A multiplication is one FLOP, an addition another. Count every
    pair, and the matrix products alone.

    Return: the FLOPs of the four projections, then those of scores and mix, two integers.
    """
    ...


def decode_ms(parameters, kept, tokens, group, batch, flops, bandwidth):
    """Model one step of decoding.

    A model writes one token for each of `batch` texts. All numbers have 2 bytes. Each of its
    `parameters` takes part in a multiplication and an addition for each text. Each text has a cache
    of its own, with `kept` numbers for each of its `tokens` tokens. Several heads share a kept
    number: it takes part in a multiplication and an addition for each of `group` queries. The
    machine does `flops` FLOPs and reads `bandwidth` bytes a second, both at once. Nothing else
    counts.

    Return: how many milliseconds the parameters take at least, then the caches.
    """
    ...


def benchmark(device, rounds):
    """Repair a benchmark.

    Like a GPU, `device` works on its own: `device.run()` hands over one call and returns at
    once, `device.synchronize()` waits until all work is done, and `device.clock()` is the time in
    seconds. Its first call is slower than the others. Warm up with one call or more, then time
    `rounds` calls (an odd number), one by one, each from its start until its work is done. The code
    in `exercises/m10.py` forgets all of this.

    Return: the seconds of the fastest call, of the median, and of the slowest.
    """
    ...
    start = device.clock()
    for _ in range(rounds):
        device.run()
    mean = (device.clock() - start) / rounds
    return mean, mean, mean
