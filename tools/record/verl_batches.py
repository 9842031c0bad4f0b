"""One training step of verl without tensors: the arithmetic of batches is verl's own, and where a
tensor would be needed the step has come through."""
import importlib
import types

from verl_surroundings import quiet


class Through(BaseException):
    """The step has come as far as configuration decides."""


def stop(*args, **kwargs):
    raise Through()


class Lengths(list):
    def tolist(self):
        return list(self)

    def max(self, *axis):
        return types.SimpleNamespace(item=lambda: max(list(self)))

    def diff(self):
        return self

    sum = stop


def nested_tensor(torch):
    class Nested(torch.Tensor):
        is_nested = True

        def __init__(self, count, length):
            self.count, self.length = count, length

        def offsets(self):
            return Lengths([self.length] * self.count)

        def __getattr__(self, name):
            return quiet
    return Nested


def batch_class(torch):
    nested = nested_tensor(torch)

    class Batch:
        """So many sequences of one length."""

        def __init__(self, count, length, extra=None):
            self.shape, self.length, self.extra = (count,), length, dict(extra or {})

        def __len__(self):
            return self.shape[0]

        def keys(self):
            return [*self.extra, "input_ids", "loss_mask"]

        def __contains__(self, key):
            return key in self.extra

        def __getitem__(self, key):
            if key == "input_ids":
                return nested(self.shape[0], self.length)
            return self.extra.get(key, quiet)

        def __setitem__(self, key, value):
            self.extra[key] = value

        def get(self, key, default=None):
            return self[key] if key == "input_ids" else self.extra.get(key, default)

        def pop(self, key, default=None):
            return self.extra.pop(key, default)

        def to(self, *args, **kwargs):
            return self

        contiguous = to
    return Batch


class Described:
    """What the driver hands to a group of workers: a batch by its size."""

    def __init__(self, count, length, parallel):
        self.count, self.length, self.parallel = count, length, parallel
        self.extra_info, self.keys, self.tags, self.partition_id = {}, [], [], "train"

    def __len__(self):
        return self.count


def install(torch):
    batch = batch_class(torch)
    tools = importlib.import_module("verl.utils.tensordict_utils")
    tools.pop = lambda data, key, default=None, **k: data.extra.pop(key, default)
    tools.get = tools.get_non_tensor_data = lambda data, key, default=None, **k: data.extra.get(key, default)
    tools.assign_non_tensor = lambda data, **k: data.extra.update(k)
    tools.assign_non_tensor_data = lambda tensor_dict, key, val: tensor_dict.extra.__setitem__(key, val)
    tools.make_iterator = lambda data, mini_batch_size=None, **k: [
        batch(mini_batch_size, data.length, data.extra)]
    tools.chunk_tensordict = stop
    return batch


def train(trainer):
    """A step of the driver's loop on a batch as large as the configuration says."""
    config = trainer.config
    size = config.data.train_batch_size
    if trainer.trainer_mode == "separate_async":
        size //= trainer.parameter_sync_step
    parallel = trainer.actor_rollout_wg.inner.actor.engine.get_data_parallel_size()
    multiple = trainer._get_required_batch_multiple(parallel)
    total = -(-size * config.actor_rollout_ref.rollout.n // multiple) * multiple
    steps = [trainer._compute_old_log_prob]
    if trainer.use_reference_policy:
        steps.append(trainer._compute_ref_log_prob)
    if trainer.use_critic:
        steps += [trainer._compute_values, trainer._update_critic]
    if config.trainer.critic_warmup <= trainer.global_steps:
        steps.append(trainer._update_actor)
    for step in steps:
        length = config.data.max_prompt_length + config.data.max_response_length
        try:
            step(Described(total, length, parallel), {})
        except Through:
            pass
