"""Planted faults: each a one-line change to a copy of the modules, which the tests must catch.

    python3 -m tests.faults            all of them, two at a time
    python3 -m tests.faults rotary     those whose name has the word

Prints which test caught which fault; exits with 1 where one survives. Each runs the test that it
names, in a process of its own, up to the first failure."""

import contextlib
import gc
import os
import re
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from course.render.read.names import MODULES
from tests.attention.processes import context

ROOT = Path(__file__).resolve().parent.parent

# [module], then "# name: file::test", a part of one line, and what stands there instead. A fault
# runs that test alone: another one may catch it too, and takes longer.
FAULTS = r"""
[attention.py]
# softmax over the queries: masks::test_masked_softmax_leaves_hidden_keys_out
- -torch.inf).softmax(-1)
+ -torch.inf).softmax(-2)
# scale dropped: attention::test_every_path_matches_the_reference
- query @ key.mT * scale
+ query @ key.mT
# fused scale by the padded size: attention::test_any_layout_and_size_of_values
- scale = D**-0.5
+ scale = max(D, value.shape[-1]) ** -0.5
# causal off by one: masks::test_causal_mask_of_four_tokens
- device=device).tril(S - L)
+ device=device).tril(S - L - 1)
# a band off by one: attention::test_every_path_matches_the_reference
- visible.tril(offset) if
+ visible.tril(offset - 1) if
# causal aligned at the start: masks::test_causal_mask_of_four_tokens
- device=device).tril(S - L)
+ device=device).tril(0)
# explicit causal aligned at the start: attention::test_every_path_matches_the_reference
- band = _band(L, S, S - L,
+ band = _band(L, S, 0,
# fused causal aligned at the start: attention::test_every_path_matches_the_reference
- offset = S - L
+ offset = 0
# PyTorch's causal flag with unequal lengths: attention::test_every_path_matches_the_reference
- and L == S and not masks
+ and not masks
# window open to the future: masks::test_masks_align_the_ends
- .tril(offset + window - 1)
+ 
# mask sense swapped: masks::test_masked_softmax_leaves_hidden_keys_out
- masked_fill(~(mask | empty)
+ masked_fill((mask | empty)
# fused mask sense swapped: attention::test_every_path_matches_the_reference
- attn_mask = mask | empty
+ attn_mask = ~mask | empty
# masks joined with or: attention::test_every_path_matches_the_reference
- visible = band if visible is None else visible & band
+ visible = band if visible is None else visible | band
# empty rows uniform: masks::test_masked_softmax_of_a_hidden_row_is_zero_with_finite_gradients
- return weights.masked_fill(empty, 0.0)
+ return weights
# empty rows NaN: masks::test_masked_softmax_of_a_hidden_row_is_zero_with_finite_gradients
- masked_fill(~(mask | empty), -torch.inf)
+ masked_fill(~mask, -torch.inf)
# fused empty rows filled: attention::test_every_path_matches_the_reference
- empty is None else output.masked_fill(empty, 0.0)
+ empty is None else output
# -1e9 for hidden: masks::test_masked_softmax_leaves_hidden_keys_out
- masked_fill(~(mask | empty), -torch.inf)
+ masked_fill(~(mask | empty), -10.0)
# weights after dropout: attention::test_dropout_hides_once_and_leaves_the_weights_shown
- output = F.dropout(weights, dropout_p) @ value
+ output = (weights := F.dropout(weights, dropout_p)) @ value
# dropout applied twice: attention::test_dropout_hides_once_and_leaves_the_weights_shown
- F.dropout(weights, dropout_p) @ value
+ F.dropout(F.dropout(weights, dropout_p), dropout_p) @ value
# dropout in eval mode: layers::test_dropout_applies_once_and_in_training_alone
- dropout_p = layer.dropout if layer.training else 0.0
+ dropout_p = layer.dropout
# fused dropout forgotten: attention::test_dropout_hides_once_and_leaves_the_weights_shown
- attn_mask, dropout_p, is_causal)
+ attn_mask, 0.0, is_causal)
# shared heads repeated in the wrong order: attention::test_every_path_matches_the_reference
- shared.repeat_interleave(query.shape[-3] // shared.shape[-3], dim=-3)
+ torch.cat([shared] * (query.shape[-3] // shared.shape[-3]), dim=-3)
# half precision not widened: attention::test_scores_beyond_half_precision
- query.to(wide), key.to(wide), value.to(wide)
+ query, key, value
# chunks skip a query: attention::test_every_path_matches_the_reference
- stop = min(start + QUERY_CHUNK, L)
+ stop = min(start + QUERY_CHUNK - 1, L)
# the last visible key cut off: attention::test_every_path_matches_the_reference
- last = stop + offset
+ last = stop + offset - 1
# chunks kept for the backward pass: memory::test_training_keeps_neither_weights_nor_masks
- if learns and torch.is
+ if not learns and torch.is
# one mask for long inputs: memory::test_fused_attention_takes_little
- if most >= L * S:
+ if True:
# three dimensions lose the fast kernel: backends::test_the_fast_kernel_runs
- return tensor.reshape(-1, heads, *tensor.shape[-2:])
+ return tensor if tensor.ndim == 3 else tensor.reshape(-1, heads, *tensor.shape[-2:])
# backend ignored: backends::test_a_backend_can_be_chosen
- with sdpa_kernel(BACKENDS[backend]) if backend else
+ with sdpa_kernel(BACKENDS[backend]) if False else
# heads merged without the transpose: layers::test_matches_the_formula_by_hand
- heads = heads.transpose(-3, -2)  # (..., L, H, D)
+ heads = heads
# keys and values exchanged: layers::test_matches_the_formula_by_hand
- query, key, value = self.project(x, context)
+ query, value, key = self.project(x, context)
# context ignored: layers::test_matches_the_formula_by_hand
- self.qkv_proj(context)
+ self.qkv_proj(context * 0)
# cache overwrites its start: caching::test_any_history_leaves_each_text_as_if_alone
- keys[:, :, start:end], values[:, :, start:end] = key, value
+ keys[:, :, : end - start], values[:, :, : end - start] = key, value
# cache shows its whole memory: caching::test_any_history_leaves_each_text_as_if_alone
- return keys[:, :, :end], values[:, :, :end]
+ return keys, values
# reset forgets one layer: caching::test_any_history_leaves_each_text_as_if_alone
- self.lengths[:] = [min(count, int(length)) for count in self.lengths]
+ self.lengths[0] = min(self.lengths[0], int(length))
# rotary restarts at each step: caching::test_any_history_leaves_each_text_as_if_alone
- positions = placement.positions if position_ids is None else position_ids
+ positions = 0 if position_ids is None else position_ids
# float masks taken: errors::test_attention
- if name == "mask" and tensor.dtype != torch.bool:
+ if tensor.dtype is None:
# autocast narrows the products: attention::test_autocast_narrows_the_fused_path_alone
- return torch.autocast(device_type, enabled=False)
+ return contextlib.nullcontext()
# sinks take no share: attention::test_combinations_match_in_values_and_gradients
- masked_softmax(scores, torch.cat([visible, is_there], -1))[..., :-1]
+ masked_softmax(scores[..., :-1], visible)
# a chunk's weights that don't sum to 1: attention::test_combinations_match_in_values_and_gradients
- [..., : key.shape[-2]]
+ .div(1 - 1e-3)[..., : key.shape[-2]]
# log-sum-exp of a hidden row is that of an open one: attention::test_log_sum_exp_is_wide
- lse = torch.where(empty, left, lse)
+ lse = lse
# a layer without its soft cap: layers::test_matches_the_formula_by_hand
- "softcap": layer.softcap, "sinks": layer.sinks}
+ "softcap": None, "sinks": layer.sinks}
# no gradient through the log-sum-exp: lse::test_parts_of_the_keys_merge_into_the_whole
- value = F.pad(value, (0, 1), value=1.0)
+ value = F.pad(value, (0, 1))
# a sink's share taken twice: attention::test_combinations_match_in_values_and_gradients
- output * (lse - sinks).sigmoid(), torch
+ output * (lse - sinks).sigmoid().square(), torch
# shared heads copied: backends::test_shared_heads_are_not_copied
- if not _reads_shared_heads(query, attn_mask, backend):
+ if True:
# a mask with two readings taken: errors::test_attention
- len(have) == 3 and len(want) == 4 and have[0] != 1
+ False
# documents see padding: masks::test_document_and_block_sparse_masks_by_their_definitions
- (same & (documents >= 0)[:, None, :])
+ (same & (documents >= -1)[:, None, :])
# keys left as they are where queries are normed: layers::test_matches_the_formula_by_hand
- key = self.key_norm(key).type_as(value)
+ key = key
# jagged positions that run on: layers::test_a_jagged_batch_is_attended_sequence_by_sequence
- query = torch.cat([layer.rotary(part) for part in query.split(lengths, dim=-2)], dim=-2)
+ query = layer.rotary(query)
# documents see their future: varlen::test_each_document_is_attended_alone
- options = {"is_causal": is_causal, "window": window, "scale": scale}
+ options = {"is_causal": False, "window": window, "scale": scale}
# documents that are one: varlen::test_each_document_is_attended_alone
- sizes = (lengths[0], lengths[1], lengths[1])
+ sizes = [[sum(n)] for n in (lengths[0], lengths[1], lengths[1])]
# another flash taken for FlashAttention-3: backends::test_flash_attention_3_needs_flash_s_place
- if backend in FLASH_IMPLS and
+ if False and
# a jagged view read with its holes: layers::test_a_jagged_view_with_holes_is_attended_too
- x = x.contiguous()  # a view may have holes
+ x = x
# beams keep their own past: caching::test_any_history_leaves_each_text_as_if_alone
- memory.copy_(memory.index_select(1, index))
+ memory.copy_(memory)
[caching.py]
# padding stored: caching::test_padding_is_a_query_that_sees_nothing_and_a_mask_still_hides
- (positions >= start) & (positions < end), positions, -1)
+ (positions >= start), positions, -1)
# left padding taken for right: caching::test_any_history_leaves_each_text_as_if_alone
- if self.padding_side == "left":
+ if self.padding_side == "neither":
# reorder leaves the lengths: caching::test_any_history_leaves_each_text_as_if_alone
- self.lengths[:] = [[held[b] for b in order] for held in self.lengths]
+ order = order
# a windowed cache keeps the first: caching::test_any_history_leaves_each_text_as_if_alone
- recent.copy_(joined[:, :, -self.window :])
+ recent.copy_(joined[:, :, : self.window])
# beams begin with lengths of others: caching::test_any_history_leaves_each_text_as_if_alone
- beams.lengths = [[held[b] for b in order] for held in self.lengths]
+ beams.lengths = [[held[0] for b in order] for held in self.lengths]
# sinks forgotten with the rest: caching::test_a_window_with_sinks_attends_as_its_mask_says
- sinks = keys < self.sinks
+ sinks = keys < 0
# sinks seen before they stand there: caching::test_a_window_with_sinks_attends_as_its_mask_says
- sinks = sinks & (keys <= positions[count:, None])
+ sinks = sinks
# a static cache shows its empty end: caching::test_a_layer_that_is_not_causal_sees_every_key_so_far
- torch.where(positions < queries[0] + query_len, positions, -1)
+ positions
# a static cache counts what it gets twice: caching::test_one_static_graph_serves_a_whole_generation
- self.lengths[self.layer] += key.shape[-2]
+ self.lengths[self.layer] += 2 * key.shape[-2]
[flex.py]
# flex causal aligned at the start: flex::test_bands_align_the_ends
- _mask_mod(mask_mod, start, S - L,
+ _mask_mod(mask_mod, start, 0,
# flex's chunks all stand at the start: flex::test_functions_come_after_the_cap_in_every_chunk
- torch.tensor(first, device
+ torch.tensor(0, device
# flex's scores all at once: flex::test_no_mask_of_all_queries_is_made
- L if compiled else QUERY_CHUNK
+ L
# flex's sink takes its share twice: flex::test_sinks_and_log_sum_exp_by_the_reference
- (output * share[..., None])
+ (output * share.square()[..., None])
[positions.py]
# halves paired as neighbours: positions::test_rotate_half_is_llama_s
- first, second = turned.chunk(2, dim=-1)
+ second, first = turned.chunk(2, dim=-1)
# rotary sign: positions::test_rotate_half_is_llama_s
- (turned * cos + partner * sin)
+ (turned * cos + partner * sin.abs())
# partial rotary turns the last numbers: positions::test_a_part_is_turned_and_the_rest_is_left
- heads[..., : self.rotary_dim]
+ heads[..., -self.rotary_dim :]
# YaRN without its ramp: positions::test_scalings_by_their_published_formulas
- keep = _yarn_ramp(size, base, original, scaling)
+ keep = [0.0] * (size // 2)
# kept angles of another base: positions::test_angles_are_kept_by_all_that_they_depend_on
- (self.rotary_dim, self.base, interleaved, tuple
+ (self.rotary_dim, 10000.0, interleaved, tuple
# sinusoidal sine and cosine exchanged: positions::test_sinusoidal_by_the_formula
- (angles.sin(), angles.cos())
+ (angles.cos(), angles.sin())
# ALiBi rewards distance: positions::test_alibi_slopes_of_the_paper
- (-slope * distance)
+ (slope * distance)
[variants.py]
# linear attention without its denominator: variants::test_linear_attention_by_hand
- output[..., :-1] / total.masked_fill(total == 0, 1.0)
+ output[..., :-1]
# parts merged with equal shares: lse::test_parts_of_the_keys_merge_into_the_whole
- shares = (sums / total)[..., None]
+ shares = (sums / sums).nan_to_num()[..., None] / len(outputs)
# linear chunks see their own future: variants::test_linear_attention_by_hand
- (q_ @ k_.mT).tril() @ v_
+ (q_ @ k_.mT) @ v_
# linear sums narrowed under autocast: variants::test_autocast_narrows_no_sums
- with without_autocast(x.device.type):  # it would narrow the sums
+ if True:
# latents' keys without their positions: variants::test_latent_attention_by_hand
- shared = rotate(self.rotary, shared, placement.positions)
+ shared = shared
# latents left as they are: variants::test_latent_attention_by_hand
- latent if self.latent_norm is None else self.latent_norm(latent)
+ latent
# the context's values made from keys: interchange::test_torch_with_widths_of_their_own_both_ways
- self._heads(self.v_proj(source))
+ self._heads(self.v_proj(context))
[analysis.py]
# bits called nats: analysis::test_entropy_of_known_rows
- if unit == "bits" else nats
+ if unit == "nats" else nats
# rollout in the wrong order: analysis::test_rollout_multiplies_the_layers_in_order
- flow = mixed / total.masked_fill(total == 0, 1.0) @ flow
+ flow = flow @ (mixed / total.masked_fill(total == 0, 1.0))
[interchange.py]
# Llama's keys and values exchanged: interchange::test_llama_s_names_both_ways
- for name in "qkv"])
+ for name in "qvk"])
# Gemma's norms taken for Qwen's: interchange::test_what_models_have_of_their_own
- _copy(layer.key_norm, part["k_norm.weight"] + gemma, None)
+ _copy(layer.key_norm, part["k_norm.weight"], None)
# weights of another layer: errors::test_layers_that_compute_something_else_are_refused
- if type(layer) not in (MultiHeadAttention, CausalMultiHeadAttention, *more):
+ if False:
# GPT-2 not transposed: interchange::test_gpt2_projections
- state[f"{prefix}{name}.weight"].mT
+ state[f"{prefix}{name}.weight"].reshape(linear.weight.shape)
"""


class Fault(NamedTuple):
    name: str
    module: str
    line: str
    broken: str
    test: str


def planted() -> list[Fault]:
    faults, module, name, test, line = [], "", "", "", ""
    for text in FAULTS.strip().splitlines():
        if text.startswith("["):
            module = text.strip("[]")
        elif text.startswith("# "):
            name, _, location = text[2:].rpartition(": ")
            file, _, test = location.partition("::")
            test = f"tests/attention/test_{file}.py::{test}"
        elif text.startswith("- "):
            line = text[2:]
        else:
            faults.append(Fault(name, module, line, text[2:], test))
    return faults


def catch(fault: Fault) -> str | None:
    """The case that fails on a copy with the fault, or None where all pass."""
    with tempfile.TemporaryDirectory(prefix="fault-") as folder:
        copy = Path(folder)
        for name in [*(f"{module}.py" for module in MODULES), "pyproject.toml"]:
            shutil.copy(ROOT / name, copy)
        unneeded = shutil.ignore_patterns("results", "__pycache__", "test_faults.py")
        for name in ("tests/attention", "benchmarks"):
            shutil.copytree(ROOT / name, copy / name, ignore=unneeded)
        (copy / "tests" / "__init__.py").touch()
        source = (copy / fault.module).read_text("utf-8")
        if source.count(fault.line) != 1:
            count = f"{fault.line!r} stands {source.count(fault.line)} times in {fault.module}"
            raise ValueError(f"{fault.name}: {count}, not once")
        (copy / fault.module).write_text(source.replace(fault.line, fault.broken), "utf-8")
        process = context().Process(target=_run_test, args=(folder, fault.test))
        process.start()
        process.join()
        output = (copy / "output").read_text("utf-8")
    if process.exitcode == 0:
        return None
    caught = re.search(r"^(?:FAILED|ERROR) tests/attention/(.+?)(?: - |$)", output, re.MULTILINE)
    if caught is None:  # PyTorch's profiler may end the process by a signal, once all is said
        raise RuntimeError(f"{fault.name}: the tests did not run\n{output[-3000:]}")
    return caught[1]


def _run_test(folder: str, test: str) -> None:
    os.chdir(folder)
    sys.path[:] = [folder, *(p for p in sys.path if p and Path(p).resolve() != ROOT)]
    for name in [name for name in sys.modules if name.split(".")[0] in ("tests", "attention")]:
        del sys.modules[name]
    gc.freeze()  # pytest collects garbage at its end, which would look at all of PyTorch
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    import pytest

    with open("output", "w", encoding="utf-8") as output, contextlib.redirect_stdout(output):
        code = pytest.main(["-x", "-q", "--assert=plain", "-p", "no:cacheprovider", test])
    sys.exit(int(code))


def survivors(word: str = "", workers: int = 2) -> list[str]:
    """Plant each fault whose name has ``word``, print what caught it, return those none caught."""
    chosen = [fault for fault in planted() if word in fault.name]
    missed = []
    with ThreadPoolExecutor(workers) as pool:
        for fault, caught in zip(chosen, pool.map(catch, chosen), strict=True):
            print(f"{fault.name:<46} {caught or 'SURVIVED'}", flush=True)
            if caught is None:
                missed.append(fault.name)
    print(f"{len(chosen) - len(missed)} of {len(chosen)} faults caught")
    return missed


if __name__ == "__main__":
    sys.exit(bool(survivors(*sys.argv[1:2])))
