# megatron.bridge
import copy
import os
from functools import partial
from lib import *
from lib import base
from megatron.bridge.training.pretrain import pretrain
from megatron.bridge.recipes.llama import llama32_1b_pretrain_config


def helper(cfg, n=3, *, deep: bool = False):
    cfg.model.a += n
    if deep and os.environ.get("X"):
        return
    for key, value in zip(["b", "c"], range(2)):
        setattr(cfg.model, key, value)


def recipe() -> ConfigContainer:
    cfg = base(x=2, y=[i for i in range(4) if i % 2])
    helper(cfg, **{"n": 2 ** 3})
    other = copy.deepcopy(cfg)
    try:
        cfg.model.b = [*other.model.b, f"{cfg.model.a:02d}"]
    except (KeyError, ValueError) as error:
        raise
    while cfg.model.a < 20:
        cfg.model.a += 1
        if cfg.model.a == 15:
            break
    cfg.ddp.a = 5 if hasattr(cfg.ddp, "a") else None
    cfg.env_vars = {**cfg.env_vars, "A": 1}
    part = partial(Part, 3)
    cfg.model = part() if os.path.exists("x") else cfg.model
    with open("f") as f:
        cfg.model.c = (lambda v: v)(f)
    return cfg


def shipped():
    cfg = llama32_1b_pretrain_config()
    cfg.ddp.average_in_collective = True
    return cfg


if __name__ == "__main__":
    pretrain(recipe(), None)
