"""Start processes for tests: where the system can fork, what all need is imported once."""

import multiprocessing
import multiprocessing.context


def context() -> multiprocessing.context.BaseContext:
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    chosen = multiprocessing.get_context("forkserver")
    # What tests import, and what PyTorch imports late: for assert_close, layouts and compiling.
    late = ["distributed.tensor", "utils.checkpoint", "nested._internal.nested_tensor"]
    late += ["_dynamo.testing", "nn.attention.flex_attention", "nn.attention.varlen"]
    torch = ["torch", *(f"torch.{module}" for module in late)]
    chosen.set_forkserver_preload([*torch, "pytest"])
    return chosen
