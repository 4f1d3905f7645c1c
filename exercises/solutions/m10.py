"""m10: worked solutions, inputs, hints and usual mistakes."""

from dataclasses import dataclass

from course.exercises import Task


def layer_flops(seq_len, embed_dim, num_heads, num_kv_heads, head_dim):
    qkv = (num_heads + 2 * num_kv_heads) * head_dim  # q, k, v
    mixed = num_heads * head_dim
    projections = 2 * seq_len * embed_dim * (qkv + mixed)
    pairs = 2 * 2 * num_heads * seq_len * seq_len * head_dim
    return projections, pairs


def decode_ms(parameters, kept, tokens, group, batch, flops, bandwidth):
    cache = batch * tokens * kept
    matrices = 2 * parameters * max(batch / flops, 1 / bandwidth)
    caches = 2 * cache * max(group / flops, 1 / bandwidth)
    return 1000 * matrices, 1000 * caches


def benchmark(device, rounds):
    device.run()  # warm up
    device.synchronize()
    times = []
    for _ in range(rounds):
        start = device.clock()
        device.run()
        device.synchronize()
        times.append(device.clock() - start)
    return min(times), sorted(times)[rounds // 2], max(times)


def by_pytorch(seq_len, embed_dim, num_heads, num_kv_heads, head_dim):
    """PyTorch's counter, around each matrix product on tensors without numbers."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    def counted(*products):
        with torch.device("meta"), FlopCounterMode(display=False) as counter:
            for left, right in products:
                torch.empty(left) @ torch.empty(right)
        return counter.get_total_flops()

    S, E, H, G, D = seq_len, embed_dim, num_heads, num_kv_heads, head_dim
    key_or_value = (S, E), (E, G * D)
    projections = ((S, E), (E, H * D)), key_or_value, key_or_value, ((S, H * D), (H * D, E))
    pairs = ((H, S, D), (H, D, S)), ((H, S, S), (H, S, D))
    return counted(*projections), counted(*pairs)


def by_roofline(parameters, kept, tokens, group, batch, flops, bandwidth):
    from course.page.costs import Machine, least_seconds

    machine = Machine("", flops, bandwidth, 0, "")
    kinds = [
        (sum(2 * parameters for _ in range(batch)), 2 * parameters),
        (sum(2 * group * tokens * kept for _ in range(batch)), 2 * batch * tokens * kept),
    ]
    return tuple(1000 * least_seconds(machine, *kind) for kind in kinds)


HAND_OVER = 1e-5  # seconds until a call is handed over


@dataclass
class Device:
    """A simulated processor with known times, to check a benchmark against."""

    first_call: float
    seconds: list[float]
    calls: int = 0
    now: float = 0.0
    free: float = 0.0

    def clock(self):
        return self.now

    def run(self):
        self.now += HAND_OVER
        # In a circle, so that the times are the same after any number of warm-up calls.
        later = self.seconds[(self.calls - 1) % len(self.seconds)]
        work = later if self.calls else self.first_call
        self.free = max(self.free, self.now) + work
        self.calls += 1

    def synchronize(self):
        self.now = max(self.now, self.free)

    def __repr__(self):
        times = ", ".join(f"{1000 * s:.2f}" for s in self.seconds[:6])
        return f"first call {1000 * self.first_call:.1f} ms, then {times}… ms"


def known_times(device, rounds):
    """Return a call's seconds: its work, and handing it over."""
    times = sorted(work + HAND_OVER for work in device.seconds)
    return times[0], times[rounds // 2], times[-1]


def timed(device, rounds, *, warm=1, wait=True, wait_first=True, give=None):
    for _ in range(warm):
        device.run()
    if wait_first:
        device.synchronize()
    times = []
    for _ in range(rounds):
        start = device.clock()
        device.run()
        if wait:
            device.synchronize()
        times.append(device.clock() - start)
    middle = sorted(times)[rounds // 2] if give is None else give(times)
    return min(times), middle, max(times)


def never_waited(device, rounds):
    return timed(device, rounds, wait=False)


def mean_of_all(device, rounds):
    device.run()
    device.synchronize()
    start = device.clock()
    for _ in range(rounds):
        device.run()
    device.synchronize()
    mean = (device.clock() - start) / rounds
    return mean, mean, mean


def layers(rng, size):
    groups, shared = int(rng.integers(1, 5)), [2, 1, 3, 2, 4, 1, 8, 4][size - 1]
    head_dim, seq_len = int(rng.integers(2, 12)), int(rng.integers(3, 40))
    embed_dim = groups * shared * head_dim + size  # a head's size is free
    return seq_len, embed_dim, groups * shared, groups, head_dim


def decoders(rng, size):
    """Memory holds back both kinds of work, or arithmetic both, or each holds back one."""
    ridge, batch, group = [
        (100, rng.integers(2, 9), rng.integers(2, 9)),
        (1.5, rng.integers(2, 9), rng.integers(2, 9)),
        (6, rng.integers(16, 33), rng.integers(2, 5)),
        (6, rng.integers(2, 5), rng.integers(8, 17)),
    ][(size - 1) % 4]
    parameters, kept = int(rng.integers(1, 9)) * 10**8, int(rng.integers(1, 9)) * 10**4
    tokens, bandwidth = int(rng.integers(1, 9)) * 1000, int(rng.integers(1, 5)) * 10**11
    return parameters, kept, tokens, int(group), int(batch), ridge * bandwidth, bandwidth


def devices(rng, size):
    rounds = 2 * size + 1
    seconds = (1e-3 * rng.uniform(1, 1.2, size=rounds)).round(6)
    seconds[int(rng.integers(rounds))] *= 3  # a slow spell
    return Device(float(rng.integers(5, 9)) * 1e-2, seconds.tolist()), rounds


TASKS = [
    Task(
        layer_flops,
        inputs=layers,
        truth=by_pytorch,
        hints=[
            "A product of m × k and k × n takes 2 · m · k · n FLOPs.",
            "Queries take a matrix of `embed_dim` × `num_heads · head_dim`, keys and values one "
            "of `embed_dim` × `num_kv_heads · head_dim` each; W_O leads back from "
            "`num_heads · head_dim` to `embed_dim`.",
            "Each head has two products of pairs: (S × D) · (D × S) and (S × S) · (S × D).",
        ],
        why="Heads that share keys and values make the projections smaller. The pairs stay: every "
        "query head still compares with every token.",
        mistakes={
            "you counted multiplications alone; an addition is a FLOP too":
                lambda *sizes: tuple(part // 2 for part in layer_flops(*sizes)),
            "you left out W_O, the projection of the output":
                lambda S, E, H, G, D: (2 * S * E * (H + 2 * G) * D, 4 * H * S * S * D),
            "you gave every query head keys and values of its own":
                lambda S, E, H, G, D: layer_flops(S, E, H, H, D),
            "you let heads that share keys share their scores: each query head has its own":
                lambda S, E, H, G, D: (layer_flops(S, E, H, G, D)[0], 4 * G * S * S * D),
            "pairs take two products, scores and mix; you counted one":
                lambda *sizes: (layer_flops(*sizes)[0], layer_flops(*sizes)[1] // 2),
            "you took the width of the vectors for that of the heads; they may differ":
                lambda S, E, H, G, D: (4 * S * E * E + 4 * S * E * G * D, 4 * S * S * E),
        },
    ),
    Task(
        decode_ms,
        inputs=decoders,
        truth=by_roofline,
        absolute=1e-9,
        hints=[
            "Count FLOPs and bytes of each of the two kinds of work first. Divide the FLOPs by "
            "`flops` and the bytes by `bandwidth`.",
            "Both happen at once, so the longer of the two times counts: `max`.",
            "All texts share one reading of the parameters. Each has a cache of its own.",
        ],
        why="Texts share the parameters, so their bytes don't grow with `batch` while the FLOPs "
        "do. With the caches both grow, and only `group` changes their ratio.",
        mistakes={
            "you read the parameters once for each text; all texts share one reading":
                lambda P, kept, tokens, group, B, f, b:
                    (max(2000 * P * B / f, 2000 * P * B / b),
                     decode_ms(P, kept, tokens, group, B, f, b)[1]),
            "you read one cache for all texts; each has its own":
                lambda P, kept, tokens, group, B, f, b:
                    (decode_ms(P, kept, tokens, group, B, f, b)[0],
                     max(2000 * B * tokens * kept * group / f, 2000 * tokens * kept / b)),
            "you added the two times; both go on at once, so the longer one counts":
                lambda P, kept, tokens, group, B, f, b:
                    (2000 * P * B / f + 2000 * P / b,
                     2000 * B * tokens * kept * group / f + 2000 * B * tokens * kept / b),
            "you took the shorter of the two times; the machine has to wait for the longer":
                lambda P, kept, tokens, group, B, f, b:
                    (min(2000 * P * B / f, 2000 * P / b),
                     min(2000 * B * tokens * kept * group / f, 2000 * B * tokens * kept / b)),
            "you left out that several queries use each kept number":
                lambda P, kept, tokens, group, B, f, b: decode_ms(P, kept, tokens, 1, B, f, b),
            "a number has 2 bytes":
                lambda P, kept, tokens, group, B, f, b:
                    decode_ms(P, kept, tokens, group, B, f, 2 * b),
            "you returned seconds; the task asks for milliseconds":
                lambda *given: tuple(part / 1000 for part in decode_ms(*given)),
        },
    ),
    Task(
        benchmark,
        inputs=devices,
        truth=known_times,
        absolute=1e-9,
        hints=[
            "Before the first time is taken: a `device.run()`, and `device.synchronize()`.",
            "Read the clock, run, synchronise, read the clock again. Keep each difference.",
            "The median is the middle one of the sorted list.",
        ],
        why="Without the second `synchronize` you time how fast work is handed over. Without the "
        "first, the warm-up is still running when the clock starts. The median stays where it is "
        "when one call meets a slow spell; the mean doesn't.",
        mistakes={
            "you never waited for the work: that is the time to hand it over": never_waited,
            "you timed the first call too: warm up":
                lambda device, rounds: timed(device, rounds, warm=0),
            "the warm-up was still running when you read the clock: synchronise after it too":
                lambda device, rounds: timed(device, rounds, wait_first=False),
            "you returned the mean of each call's time, not the median":
                lambda device, rounds: timed(device, rounds, give=lambda t: sum(t) / len(t)),
            "you timed all calls together: that has a mean, and no spread": mean_of_all,
        },
    ),
]  # fmt: skip
