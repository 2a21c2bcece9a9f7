"""One way into the attention of a model: see each call of it, replace heads, cut edges.

The function that is registered with transformers here, under the name "eager", runs the
`eager_attention_forward` of the model's own module: every number is the model's own, to the bit,
and no configuration changes. In a pass that is watched (`Attention.watch`), each run of it is a
`Call`, which watchers see twice: `before`, when they may change what goes in, and `after`, when
they see weights and output and may change the output. Calls are not kept, so that only the weights
of one are in memory.

Models with attention code of their own (MPNet, DeBERTa, GPT-J, ...) do not run that function. In
those, a call is the product of a softmax over the tokens with the values, which torch shows to a
mode that is active in watched passes only.

The function stays registered until the interpreter exits, and keeps this module alive. So nothing
may be imported here that crashes when it is freed that late, as DuckDB's bindings do.

In shapes, B is the number of inputs, H of heads, G of heads with keys and values of their own (each
serves H / G heads), Q of attending and K of attended tokens, and V the size of a head's values.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from transformers import AttentionInterface

from attnbank.ingest.models.runtime import ModelError, is_out_of_memory

# Masks are added to scores. None of a model's own biases is as low, and its exp() is 0 in float32.
_MASKED = -1e4
_SOFTMAX = frozenset({torch.softmax, torch.nn.functional.softmax, Tensor.softmax})
_PRODUCT = frozenset({
    torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.bmm, Tensor.bmm
})  # fmt: skip
_SAME = 1e-5  # how far apart two computations of the same weights may be
# The first arguments of a function that computes attention for transformers.
_ARGUMENTS = ["module", "query", "key", "value"]
# Arguments by which an attention module is given the states of an encoder.
_FROM_ENCODER = ("key_value_states", "encoder_hidden_states")
_NUMBERED = re.compile(r"\.\d+(?=\.|$)")

Watcher = Callable[["Call"], object]


@dataclass
class Call:
    """One run of attention; `weights` and `output` are there once it has run.

    In models with attention code of their own, there are no module, query, key and mask, but the
    weights are there before.
    """

    module: Any = None
    query: Tensor | None = None  # [B, H, Q, D]
    key: Tensor | None = None  # [B, G, K, D]
    value: Tensor | None = None  # [B, G, K, V]
    mask: Tensor | None = None  # [B or 1, H or 1, Q, K], added to the scores; None masks nothing
    named: Mapping[str, Any] = field(default_factory=dict)  # scaling, softcap, ...
    number: int = 0  # 0-based, in the order of a pass: ALBERT calls one module once for each layer
    weights: Tensor | None = None  # [B, H, Q, K]
    output: Tensor | None = None  # [B, Q, H, V], before the output projection
    lost: Tensor | None = None  # rows of which all edges were cut: bool, [B or 1, H or 1, Q, 1]

    @property
    def heads(self) -> int:
        """The number of heads that attend."""
        shaped = self.weights if self.query is None else self.query
        assert shaped is not None
        return shaped.shape[1]

    @property
    def reach(self) -> Tensor:
        """What each token may attend to: bool, [B or 1, H or 1, Q, K]."""
        if self.mask is not None:
            return self.mask > _MASKED
        if self.query is None:  # weights of what is masked are 0 in all heads
            assert self.weights is not None
            return (self.weights > 0).any(1, keepdim=True)
        assert self.key is not None
        return self.query.new_ones(1, 1, self.query.shape[2], self.key.shape[2]).bool()

    def values_of(self, heads: Sequence[int]) -> Tensor:
        """Return the values of some heads, [B, len(heads), K, V]; several may share them."""
        assert self.value is not None
        shared_by = self.heads // self.value.shape[1]
        return self.value[:, [head // shared_by for head in heads]]

    def run(self) -> None:
        """Run the model's own eager attention on what is here now."""
        inputs = self.module, self.query, self.key, self.value, self.mask
        self.output, self.weights = _own_function(type(self.module))(*inputs, **self.named)
        if self.lost is not None:
            self.weights = self.weights.masked_fill(self.lost, 0)
            self.output = self.output.masked_fill(self.lost.transpose(1, 2), 0)


@dataclass
class _Pass:
    """The watchers of a forward pass, and the number of its next call."""

    before: Watcher | None
    after: Watcher | None
    number: int

    def begin(self, call: Call) -> None:
        """Number a call, and show it to the first watcher."""
        call.number = self.number
        self.number += 1
        if self.before is not None:
            self.before(call)

    def end(self, call: Call) -> None:
        """Show a call to the second watcher."""
        if self.after is not None:
            self.after(call)


_pass: ContextVar[_Pass | None] = ContextVar("pass", default=None)


def _attend(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Any, **named: Any
) -> tuple[Tensor, Tensor | None]:
    """Run the model's own eager attention, and show it to the watchers of the pass."""
    now = _pass.get()
    if now is None:
        own = _own_function(type(module))
        return own(module, query, key, value, attention_mask, **named)
    call = Call(module, query, key, value, attention_mask, named)
    now.begin(call)
    call.run()
    now.end(call)
    assert call.output is not None
    return call.output, None  # the model would keep the weights until the end of the layer


def _own_function(kind: Any) -> Callable[..., tuple[Tensor, Tensor]]:
    """Return the eager attention function that a class of modules names in its `forward`."""
    forward = inspect.unwrap(kind.forward)  # a subclass elsewhere may not have the function
    for name in forward.__code__.co_names:
        if name.endswith("eager_attention_forward"):
            function: Callable[..., tuple[Tensor, Tensor]] = forward.__globals__[name]
            return function
    for name in forward.__code__.co_names:  # code outside of transformers may call it otherwise
        own = forward.__globals__.get(name)
        if inspect.isfunction(own) and [*inspect.signature(own).parameters][:4] == _ARGUMENTS:
            return own
    raise ModelError(
        f"{kind.__name__} asks transformers for its eager attention, and has none of its own.",
        "Use a model whose code comes with transformers.",
    )


# "eager" and no name of our own: some models (DeepSeek 3.2) compute otherwise for other names, and
# some (T5) hold copies of the configuration in which the name stays.
AttentionInterface.register("eager", _attend)


class _OwnCode(TorchFunctionMode):
    """Makes calls of the products of softmax and values in models with attention code of their own.

    `heads` is the number of heads, by which maps are recognised.
    """

    def __init__(self, watched: _Pass, heads: int) -> None:
        super().__init__()
        self._pass, self._heads = watched, heads
        self._weights: Tensor | None = None  # of the last softmax, until it is multiplied

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        weights = self._weights
        if (
            weights is not None
            and function in _PRODUCT
            and len(args) == 2
            and _share_memory(args[0], weights)
        ):
            self._weights = None
            return self._multiply(function, weights, *args)
        result = function(*args, **(kwargs or {}))
        if function in _SOFTMAX and self._is_map(result.shape):
            self._weights = result
        return result

    def _is_map(self, shape: Sequence[int]) -> bool:
        """Whether a shape is [B, H, T, T], or [B * H, T, T]."""
        is_by_head = (len(shape) == 4 and shape[1] == self._heads) or (
            len(shape) == 3 and shape[0] % self._heads == 0
        )
        return is_by_head and shape[-2] == shape[-1]

    def _multiply(self, function: Any, softmax: Tensor, one: Tensor, other: Tensor) -> Tensor:
        """Multiply weights and values, as the watchers want them."""
        weights = softmax.reshape(-1, self._heads, *softmax.shape[-2:])
        value = other.reshape(len(weights), -1, *other.shape[-2:])
        call = Call(weights=weights, value=value)
        self._pass.begin(call)
        assert call.weights is not None and call.value is not None
        one = one if call.weights is weights else call.weights.reshape(one.shape)
        other = other if call.value is value else call.value.reshape(other.shape)
        product: Tensor = function(one, other)
        by_head = product.reshape(*weights.shape[:2], *product.shape[-2:])
        output = call.output = by_head.transpose(1, 2)
        self._pass.end(call)
        if call.output is output:
            return product
        return call.output.transpose(1, 2).reshape(product.shape)


def _share_memory(one: Any, other: Tensor) -> bool:
    return (
        isinstance(one, Tensor)
        and one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()
    )


def replace_heads(
    call: Call, heads: Sequence[int], by: Literal["zero", "uniform"] | Tensor
) -> None:
    """Replace the outputs of 0-based heads (after).

    By zero; by the mean of the values that each token may attend to; or by given outputs,
    [len(heads), V].
    """
    assert call.output is not None
    heads = list(heads)
    output = call.output.clone()
    if isinstance(by, Tensor):
        output[:, :, heads] = by.to(output)
    elif by == "zero":
        output[:, :, heads] = 0
    else:
        reach = call.reach if call.reach.shape[1] == 1 else call.reach[:, heads]
        values = call.values_of(heads)
        # In float64 the order of a sum hardly matters, so other inputs do not. MPS has none.
        wide = torch.float32 if output.device.type == "mps" else torch.float64
        total = (reach.to(wide) @ values.to(wide)).to(output)
        count = reach.sum(-1, keepdim=True).clamp(min=1)  # padding may reach nothing
        output[:, :, heads] = (total / count).transpose(1, 2)
    call.output = output


def cut_edges(call: Call, edges: Tensor) -> None:
    """Cut edges, bool [B or 1, H or 1, Q, K], so that other weights of a row grow (before).

    This equals a softmax over the others. A token that has no edge left has weights and output of
    zero.
    """
    if call.query is None:
        assert call.weights is not None
        kept = call.weights.masked_fill(edges, 0)
        kept = kept / kept.sum(-1, keepdim=True).clamp(min=torch.finfo(kept.dtype).tiny)
        call.weights = torch.where(edges.any(-1, keepdim=True), kept, call.weights)
        return
    # The weights of a row that lost all would be even: `Call.run` sets them to zero.
    lost = call.reach.any(-1, keepdim=True) & ~(call.reach & ~edges).any(-1, keepdim=True)
    call.lost = lost if call.lost is None else lost | call.lost
    # Scores are set, not lowered: lowest + lowest would be -inf, and a row of these NaN.
    scores = call.query.new_zeros(()) if call.mask is None else call.mask
    call.mask = torch.where(edges, torch.finfo(scores.dtype).min, scores)


def drop_edges(call: Call, edges: Tensor) -> None:
    """Set the weights of edges, bool [B or 1, H or 1, Q, K], to 0 and leave others as they are.

    Call it before and after: models differ in when they show their weights.
    """
    if call.weights is None:
        return
    if call.query is None:  # weights are there before, and what is multiplied with the values
        call.weights = call.weights.masked_fill(edges, 0)
    elif call.output is not None:
        lost = call.weights.masked_fill(~edges, 0)
        call.weights = call.weights - lost
        values = call.values_of(range(call.heads))
        call.output = call.output - (lost.to(values) @ values).transpose(1, 2)


def zero_values(call: Call, tokens: Tensor) -> None:
    """Set the values of tokens, bool [B, K], to zero in all heads (before)."""
    assert call.value is not None
    call.value = call.value.masked_fill(tokens[:, None, :, None], 0)


@dataclass(frozen=True)
class Site:
    """A call that every pass of a model makes.

    It `is_linear` if what it adds to the output is the sum, over heads and tokens, of weights x
    values x W_O, and a bias.
    """

    name: str  # of its module; in models with attention code of their own, the innermost that runs
    heads: int
    is_cross: bool  # keys and values come from an encoder
    layer: str | None = None  # the name of its layer
    projection: Any = None  # the Linear or Conv1D that is called on its output, if there is one
    is_linear: bool = False

    def output_weights(self) -> Tensor:
        """W_O of each head, [H, V, hidden]."""
        weight: Tensor = self.projection.weight.detach()
        # GPT-2 has a Conv1D, which is transposed.
        weight = weight.T if isinstance(self.projection, torch.nn.Linear) else weight
        return weight.reshape(self.heads, -1, weight.shape[1])


@dataclass(frozen=True)
class Attention:
    """The attention of a model, as `find_attention` found it by running the model.

    `can_replay` says whether the outputs of layers can be used again.
    """

    sites: tuple[Site, ...]  # in the order of their calls
    heads: int
    is_own_code: bool
    layers: tuple[Any, ...]  # the modules of the layers of the sites
    can_replay: bool = False

    @cached_property
    def output_weights(self) -> list[Tensor]:
        """W_O of each site and head, [H, V, hidden]."""
        return [site.output_weights() for site in self.sites]

    @cached_property
    def output_factors(self) -> list[Tensor]:
        """R [H, V', V] for each site, such that a sum of v R^T has the norm of that of v W_O.

        It is shorter, so norms are cheaper: W_O of a head is [V, hidden], and W_O^T = Q R, where
        the columns of Q are orthonormal.
        """
        return [
            torch.linalg.qr(weight.transpose(1, 2).double().cpu())[1]
            for weight in self.output_weights
        ]

    @contextmanager
    def watch(
        self,
        before: Watcher | None = None,
        after: Watcher | None = None,
        *,
        outputs: list[Any] | None = None,
        below: int = 0,
    ) -> Iterator[None]:
        """Context manager for one forward pass, whose calls of attention the watchers see.

        `outputs` has the output of each layer in an earlier pass over the same inputs, and is
        filled if it is empty. The first `below` layers are not run, and their calls are not made:
        their outputs are used again.
        """
        below = below if outputs is not None and self.can_replay else 0
        watched = _Pass(before, after, below)
        with ExitStack() as stack:
            if outputs is not None and self.can_replay:
                stack.enter_context(_replay_layers(self.layers, outputs, below))
            if self.is_own_code:
                stack.enter_context(_OwnCode(watched, self.heads))
            else:
                stack.callback(_pass.reset, _pass.set(watched))
            yield


@contextmanager
def _replay_layers(layers: Sequence[Any], outputs: list[Any], below: int) -> Iterator[None]:
    """Context manager in which the first `below` calls of the layers return cached `outputs`.

    The other calls run, and fill `outputs` if it is empty. Calls are counted, not layers, because
    ALBERT calls one layer several times.
    """
    calls = 0

    def replay(forward: Callable[..., Any]) -> Callable[..., Any]:
        def replay(*arguments: Any, **named: Any) -> Any:
            nonlocal calls
            at, calls = calls, calls + 1
            if at < below:
                return outputs[at]
            output = forward(*arguments, **named)
            if at == len(outputs):
                outputs.append(output)
            return output

        return replay

    with ExitStack() as stack:
        for layer in dict.fromkeys(layers):
            layer.forward = replay(layer.forward)
            stack.callback(delattr, layer, "forward")
        yield


def find_attention(module: Any, inputs: Mapping[str, Any], maps: Sequence[Tensor]) -> Attention:
    """Find the calls of attention of a model by running it.

    `maps` are those that the model returns for the inputs. Raises ModelError unless each call has
    the weights of one map, in the same order.
    """
    heads = maps[0].shape[1]
    for is_own_code in (False, True):
        attention = Attention((), heads, is_own_code, ())
        finding = _Finding(module, maps)
        with finding, attention.watch(after=finding.add), torch.inference_mode():
            module(**inputs)
        if finding.sites:
            break
    sites = _with_layers(finding.sites)
    if not sites:
        why = "it computes attention in another way than as a softmax and its product with values"
    elif len(sites) != len(maps):
        why = f"it computes attention {len(sites)} times for {len(maps)} maps"
    elif not finding.is_same:
        why = "it does not compute with the attention that it returns"
    else:
        layers = tuple(module.get_submodule(site.layer) for site in sites if site.layer)
        attention = Attention(sites, heads, is_own_code, layers, len(layers) == len(sites))
        can_replay = attention.can_replay and _replays_to_the_bit(attention, module, inputs)
        return replace(attention, can_replay=can_replay)
    raise ModelError(
        f"The heads of {type(module).__name__} ({module.config.model_type}) cannot be reached:"
        f" {why}.",
        "Use another model, such as BERT, RoBERTa, GPT-2 or Llama.",
    )


def _with_layers(sites: Sequence[Site]) -> tuple[Site, ...]:
    """Add the layer of each site: the outermost numbered module around its attention alone.

    T5 has numbered parts within its layers. If there is none, it is the innermost.
    """
    placed = []
    for site in sites:
        around = [site.name[: match.end()] for match in _NUMBERED.finditer(site.name)]
        others = {other.name for other in sites} - {site.name}
        alone = (name for name in around if not any(_is_in(other, name) for other in others))
        placed.append(replace(site, layer=next(alone, around[-1] if around else None)))
    return tuple(placed)


def _is_in(name: str, other: str) -> bool:
    return name == other or name.startswith(f"{other}.")


class _Finding:
    """Context manager for a watched pass that records the site of each call."""

    def __init__(self, module: Any, maps: Sequence[Tensor]) -> None:
        self.sites: list[Site] = []
        self.is_same = True  # all calls have the weights of the maps
        self._maps = maps
        self._names = {submodule: name for name, submodule in module.named_modules()}
        self._running: list[tuple[Any, bool]] = []  # modules, and whether states of an encoder came
        self._output: Tensor | None = None  # of the last call, until it is projected
        self._mixed: Tensor | None = None  # its weights x values, [B, Q, H, V]
        self._hooks = ExitStack()

    def __enter__(self) -> _Finding:
        for module in self._names:
            enter = module.register_forward_pre_hook(self._enter, with_kwargs=True)
            self._hooks.enter_context(enter)
            self._hooks.enter_context(module.register_forward_hook(self._leave))
        return self

    def __exit__(self, *error: object) -> None:
        self._hooks.close()

    def add(self, call: Call) -> None:
        """Record the site of a call (after)."""
        assert call.weights is not None and call.output is not None
        if call.number < len(self._maps):  # to the bit, but for additions on a GPU in any order
            maps = self._maps[call.number]
            self.is_same = (
                self.is_same
                and call.weights.shape == maps.shape
                and torch.allclose(call.weights, maps, rtol=0, atol=_SAME)
            )
        module, is_cross = self._running[-1]
        assert call.module in (None, module)
        self.sites.append(Site(self._names[module], call.heads, is_cross))
        # GPT-2 returns a transposed view, which the next reshape would copy.
        self._output = call.output = call.output.contiguous()
        self._mixed = (call.weights @ call.values_of(range(call.heads))).transpose(1, 2)

    def _enter(self, module: Any, inputs: tuple[Any, ...], named: dict[str, Any]) -> None:
        is_cross = any(named.get(name) is not None for name in _FROM_ENCODER)
        self._running.append((module, is_cross))
        weight, output = getattr(module, "weight", None), self._output
        if (
            inputs
            and output is not None
            and isinstance(weight, Tensor)
            and weight.ndim == 2
            and _share_memory(inputs[0], output)
            and inputs[0].shape[-1] == output.shape[2] * output.shape[3]
        ):
            self.sites[-1] = replace(self.sites[-1], projection=module)
            self._output = None

    def _leave(self, module: Any, inputs: tuple[Any, ...], output: Any) -> None:
        self._running.pop()
        if self._mixed is not None and module is self.sites[-1].projection:
            mixed, self._mixed = self._mixed, None
            expected = torch.einsum("bqhv,hvm->bqm", mixed, self.sites[-1].output_weights())
            bias = getattr(module, "bias", None)
            if isinstance(output, Tensor):
                difference = output - (expected if bias is None else expected + bias)
                is_linear = bool(difference.abs().max() <= 1e-4 * output.abs().max())
                self.sites[-1] = replace(self.sites[-1], is_linear=is_linear)


def _replays_to_the_bit(attention: Attention, module: Any, inputs: Mapping[str, Any]) -> bool:
    """Whether a model computes the same if the outputs of layers are used again.

    It does not if a layer changes the output of the one below in place.
    """
    outputs: list[Any] = []
    copies: list[Tensor] = []

    def copy(layer: Any, arguments: Any, output: Any) -> None:
        copies.append(_first_tensor(output).clone())

    try:
        with ExitStack() as hooks, attention.watch(outputs=outputs), torch.inference_mode():
            for layer in dict.fromkeys(attention.layers):
                hooks.enter_context(layer.register_forward_hook(copy))
            whole = module(**inputs)[0]
        if len(outputs) != len(attention.sites):
            return False
        with attention.watch(outputs=outputs, below=len(outputs)), torch.inference_mode():
            replayed = module(**inputs)[0]
    except Exception as error:  # of the model's own code
        if is_out_of_memory(error):
            raise
        return False
    stay = all(map(torch.equal, copies, map(_first_tensor, outputs)))
    return stay and torch.equal(whole, replayed)


def _first_tensor(output: Any) -> Tensor:
    tensor: Tensor = output[0] if isinstance(output, tuple | list) else output
    return tensor
