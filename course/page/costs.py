"""Count what attention, and a model around it, costs: FLOPs, bytes, parameters, cache.

A FLOP is one multiplication or one addition of two numbers. Only matrix products are counted, as
``torch.utils.flop_counter`` does for those it sees. (Of PyTorch 2.13's fused attention on a CPU it
sees none: pytorch/pytorch#195460.) Softmax takes a few operations for each score, which takes
4 · head_dim, and norms and activations a few for each number. A causal mask isn't taken off: every
score is counted, though half of them are hidden.

Sizes have PyTorch's names. ``query_len`` tokens are worked on while ``key_len`` are looked at: both
are the length of the text while a model reads it, and ``query_len`` is 1 while it writes.

A length, a batch or a size that can't be counted raises ValueError with its value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from attention import check_counts


def _check_divides(part: str, of: str, **sizes: int) -> None:
    check_counts(**sizes)
    if sizes[of] % sizes[part]:
        raise ValueError(f"{part} must divide {of}, got {sizes[part]} and {sizes[of]}")


class Product(NamedTuple):
    """``count`` matrix products of (rows × inner) by (inner × columns)."""

    rows: int
    inner: int
    columns: int
    count: int = 1

    @property
    def flops(self) -> int:
        """One multiplication and one addition for each of rows · inner · columns."""
        return 2 * self.count * self.rows * self.inner * self.columns

    def bytes(self, number_bytes: float = 2) -> float:
        """Both inputs read once, and the result written once."""
        numbers = self.rows * self.inner + self.inner * self.columns + self.rows * self.columns
        return self.count * numbers * number_bytes

    def intensity(self, number_bytes: float = 2) -> float:
        """FLOPs for each byte that is moved."""
        return self.flops / self.bytes(number_bytes)


@dataclass(frozen=True)
class Model:
    """The sizes of a decoder that set its costs. ``source`` is an entry of references.bib."""

    name: str
    layers: int
    embed_dim: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    mlp_dim: int
    vocab_size: int
    source: str
    mlp_matrices: int = 3  # a gated MLP has three, the older kind two
    biases: bool = False  # in every matrix and norm, as GPT-2 has them
    tied: bool = False  # the table of embeddings serves as the last matrix, too
    positions: int = 0  # rows of a learned table of positions

    def __post_init__(self) -> None:
        check_counts(layers=self.layers, embed_dim=self.embed_dim, head_dim=self.head_dim)
        heads = {"num_heads": self.num_heads, "num_kv_heads": self.num_kv_heads}
        _check_divides("num_kv_heads", of="num_heads", **heads)

    @property
    def query_dim(self) -> int:
        return self.num_heads * self.head_dim

    @property
    def kv_dim(self) -> int:
        return self.num_kv_heads * self.head_dim


MODELS = [
    Model("GPT-2 small", 12, 768, 12, 12, 64, 3072, 50_257, "gpt2code",
          mlp_matrices=2, biases=True, tied=True, positions=1024),
    Model("Llama 2 7B", 32, 4096, 32, 32, 128, 11_008, 32_000, "touvron2023"),
    Model("Llama 3 8B", 32, 4096, 32, 8, 128, 14_336, 128_256, "grattafiori2024"),
    # The vocabularies are those of the released weights; Llama 3's has 256 special tokens.
    Model("Gemma 7B", 28, 3072, 16, 16, 256, 24_576, 256_128, "gemma2024", tied=True),
]  # fmt: skip


@dataclass(frozen=True)
class Machine:
    """A machine's limits, as its maker states them. ``source`` is an entry of references.bib.

    ``flops`` a second is for matrix products of 16-bit numbers with sums of 32 bits, without
    skipping zeros. (With sums of 16 bits an RTX 4090 does twice as much, the others no more.)
    ``bandwidth`` is bytes a second between its memory and its processor. ``memory`` is the GB of
    its name, in 10⁹ bytes; such cards report some 7 % more.
    """

    name: str
    flops: float
    bandwidth: float
    memory: float
    source: str

    @property
    def ridge(self) -> float:
        """The FLOPs for each byte at which arithmetic and memory take equally long."""
        return self.flops / self.bandwidth


MACHINES = [
    Machine("A100 SXM 80 GB", 312e12, 2.039e12, 80e9, "a100"),
    Machine("H100 SXM 80 GB", 989.4e12, 3.35e12, 80e9, "h100"),
    Machine("RTX 4090", 165.2e12, 1.008e12, 24e9, "ada"),
]


def least_seconds(machine: Machine, flops: float, moved: float) -> float:
    """The time that neither arithmetic nor memory can beat, done at once: the roofline."""
    return max(flops / machine.flops, moved / machine.bandwidth)


# ---- FLOPs --------------------------------------------------------------------------------


def projections(model: Model, query_len: int, batch: int = 1) -> list[Product]:
    """W_Q, W_K and W_V as one matrix, then W_O, of one layer. All texts share them."""
    check_counts(query_len=query_len, batch=batch)
    tokens = batch * query_len
    return [
        Product(tokens, model.embed_dim, model.query_dim + 2 * model.kv_dim),
        Product(tokens, model.query_dim, model.embed_dim),
    ]


def pairs(model: Model, query_len: int, key_len: int, batch: int = 1) -> list[Product]:
    """Scores QKᵀ, then the mix of the values, of one layer.

    Query heads that share a key head are stacked, so that its keys are read once.
    """
    check_counts(query_len=query_len, key_len=key_len, batch=batch)
    rows, count = query_len * model.num_heads // model.num_kv_heads, batch * model.num_kv_heads
    return [
        Product(rows, model.head_dim, key_len, count),
        Product(rows, key_len, model.head_dim, count),
    ]


def mlp(model: Model, query_len: int, batch: int = 1) -> list[Product]:
    """The matrices of one layer's MLP, those that widen as one."""
    check_counts(query_len=query_len, batch=batch)
    tokens, widening = batch * query_len, (model.mlp_matrices - 1) * model.mlp_dim
    return [
        Product(tokens, model.embed_dim, widening),
        Product(tokens, model.mlp_dim, model.embed_dim),
    ]


def guess(model: Model, batch: int = 1) -> list[Product]:
    """The scores of all possible next tokens, after the last token of each text only."""
    check_counts(batch=batch)
    return [Product(batch, model.embed_dim, model.vocab_size)]


def flops(products: list[Product]) -> int:
    return sum(product.flops for product in products)


def layer_flops(model: Model, query_len: int, key_len: int | None = None, batch: int = 1) -> dict:
    """FLOPs of one layer by part: projections, pairs and MLP. ``key_len``: as ``query_len``."""
    key_len = query_len if key_len is None else key_len
    return {
        "projections": flops(projections(model, query_len, batch)),
        "pairs": flops(pairs(model, query_len, key_len, batch)),
        "mlp": flops(mlp(model, query_len, batch)),
    }


def model_flops(model: Model, query_len: int, key_len: int | None = None, batch: int = 1) -> dict:
    """FLOPs of the whole model by part, all layers together, with the guess of the next token."""
    layer = layer_flops(model, query_len, key_len, batch)
    parts = {name: model.layers * part for name, part in layer.items()}
    return parts | {"guess": flops(guess(model, batch))}


def crossover(model: Model, *, with_mlp: bool = False) -> float:
    """The length of a text at which pairs take as many FLOPs as the rest of the layer.

    The rest is the projections, W_O among them, or these and the MLP. Pairs take 4 S² · H · D and
    the projections S · (4 E · H · D + 4 E · G · D), for G key heads: as many as heads, S = 2 E.
    """
    layer = layer_flops(model, 1)
    rest = layer["projections"] + (layer["mlp"] if with_mlp else 0)
    return rest / layer["pairs"]


def attention_costs(
    seq_len: int, embed_dim: int, num_heads: int, batch: int = 1, number_bytes: int = 2
) -> dict:
    """The seven costs of one attention layer as wide as its heads together, without its MLP."""
    _check_divides("num_heads", of="embed_dim", num_heads=num_heads, embed_dim=embed_dim)
    head_dim = embed_dim // num_heads
    model = Model("", 1, embed_dim, num_heads, num_heads, head_dim, 0, 0, "")
    qkv, out = (p.flops for p in projections(model, seq_len, batch))
    scores, mix = (p.flops for p in pairs(model, seq_len, seq_len, batch))
    return {
        "queries, keys, values": qkv,
        "scores": scores,
        "mix": mix,
        "output": out,
        "all FLOPs": qkv + scores + mix + out,
        "map bytes": map_bytes(model, seq_len, batch=batch, number_bytes=number_bytes),
        "cache bytes": cache_bytes(model, seq_len, batch, number_bytes),
    }


# ---- Memory -------------------------------------------------------------------------------


def parameters(model: Model) -> dict:
    """Parameters by part, all layers together: attention, mlp, norms, embeddings."""
    E, Q, KV, M = model.embed_dim, model.query_dim, model.kv_dim, model.mlp_dim
    attention = E * (Q + 2 * KV) + Q * E
    wide = model.mlp_matrices * E * M
    norm = 2 * E if model.biases else E
    if model.biases:
        attention += Q + 2 * KV + E
        wide += (model.mlp_matrices - 1) * M + E
    tables = 1 if model.tied else 2
    return {
        "attention": model.layers * attention,
        "mlp": model.layers * wide,
        "norms": (2 * model.layers + 1) * norm,
        "embeddings": (tables * model.vocab_size + model.positions) * E,
    }


def parameter_bytes(model: Model, number_bytes: float = 2) -> float:
    return sum(parameters(model).values()) * number_bytes


def cache_bytes(
    model: Model,
    tokens: int,
    batch: int = 1,
    number_bytes: float = 2,
    *,
    window: int | None = None,
) -> float:
    """Keys and values of ``tokens`` tokens in all layers, for each text of the batch.

    ``window``: the most tokens in the cache, if old ones are dropped.
    """
    if tokens < 0:
        raise ValueError(f"tokens must be at least 0, got {tokens}")
    check_counts(batch=batch, **({} if window is None else {"window": window}))
    cached = tokens if window is None else min(tokens, window)
    return batch * cached * model.layers * 2 * model.kv_dim * number_bytes


def map_bytes(
    model: Model,
    query_len: int,
    key_len: int | None = None,
    *,
    batch: int = 1,
    number_bytes: float = 2,
) -> float:
    """The maps of all heads of one layer, if they are stored: a number for each pair."""
    key_len = query_len if key_len is None else key_len
    check_counts(query_len=query_len, key_len=key_len, batch=batch)
    return batch * model.num_heads * query_len * key_len * number_bytes


# ---- A step on a machine ------------------------------------------------------------------


def step(
    model: Model, query_len: int, key_len: int, batch: int = 1, number_bytes: float = 2
) -> dict:
    """FLOPs and moved bytes of one pass through the model, apart for two kinds of products.

    "matrices": parameters times tokens, read once for the whole batch. "attention": scores and
    mix, for which every text has keys and values of its own. Each product reads its inputs and
    writes its result once, so the maps are written and read.
    """
    matrices = [
        (1, product) for product in guess(model, batch)
    ] + [
        (model.layers, product)
        for product in projections(model, query_len, batch) + mlp(model, query_len, batch)
    ]  # fmt: skip
    attention = [(model.layers, product) for product in pairs(model, query_len, key_len, batch)]
    return {
        name: {
            "flops": sum(times * p.flops for times, p in products),
            "bytes": sum(times * p.bytes(number_bytes) for times, p in products),
        }
        for name, products in (("matrices", matrices), ("attention", attention))
    }
