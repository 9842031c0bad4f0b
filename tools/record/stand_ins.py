"""Stand-ins for the packages that upstream imports and a recorder does without.

A missing package becomes a module whose every attribute is a placeholder: a class that can be
subclassed, called, indexed, compared and used as a decorator, and that decides nothing. Whatever a
verdict hangs on (versions, ranks, devices, dtypes) the recorders spell out on top of it.
"""
import importlib.abc
import importlib.machinery
import pathlib
import sys
import types
import typing

HERE = pathlib.Path(__file__).parent
REAL = {"packaging", "yaml", "numpy", "omegaconf", "hydra", "antlr4"}  # used where installed


class _Meta(type(typing.Protocol)):  # so that upstream may mix a stand-in with a protocol
    def __getattr__(cls, name):
        if name.startswith("__") or not cls.__dict__.get("_placeholder"):
            raise AttributeError(name)
        value = placeholder(f"{cls.__qualname__}.{name}")
        type.__setattr__(cls, name, value)
        return value

    def __call__(cls, *args, **kwargs):
        if not cls.__dict__.get("_placeholder"):
            return super().__call__(*args, **kwargs)
        if len(args) == 1 and not kwargs and _decorated(args[0]):
            return args[0]
        return placeholder(cls.__qualname__ + "()")

    def __instancecheck__(cls, other):
        return not cls.__dict__.get("_placeholder") and super().__instancecheck__(other)

    def __subclasscheck__(cls, other):
        if cls.__dict__.get("_placeholder"):
            return cls in other.__mro__
        return super().__subclasscheck__(other)

    def register(cls, *args, **kwargs):  # what ABCMeta has would hide a package's own `register`
        if not cls.__dict__.get("_placeholder"):
            return super().register(*args, **kwargs)
        return cls(*args, **kwargs)

    def __iter__(cls):
        return iter(())

    def __await__(cls):
        return cls
        yield

    __or__ = __ror__ = lambda cls, other: object
    __getitem__ = __enter__ = lambda cls, *a: cls
    __len__ = lambda cls: 0
    __bool__ = __ge__ = lambda cls, *a: True
    __lt__ = __gt__ = __le__ = __exit__ = __contains__ = lambda cls, *a: False
    __int__ = __index__ = lambda cls: 1
    __float__ = lambda cls: 1.0
    __setitem__ = lambda cls, *a: None
    __deepcopy__ = lambda cls, memo: cls
    __eq__ = lambda cls, other: cls is other
    __hash__ = type.__hash__


for _operator in ("add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow "
                  "and rand xor rxor neg pos invert matmul").split():
    setattr(_Meta, f"__{_operator}__", lambda cls, *a: cls)


class Base(metaclass=_Meta):
    """What upstream's classes really inherit from."""
    _placeholder = False

    def __init__(self, *args, **kwargs):
        pass

    def __init_subclass__(cls, **kwargs):
        pass

    @classmethod
    def apply(cls, *args, **kwargs):  # of an autograd function
        pass


def _decorated(value):
    return isinstance(value, types.FunctionType) or (
        isinstance(value, type) and not value.__dict__.get("_placeholder"))


def placeholder(name):
    return _Meta(name.rpartition(".")[2], (Base,),
                 {"_placeholder": True, "__module__": "stand_in", "__qualname__": name})


class Module(types.ModuleType):
    def __init__(self, name):
        super().__init__(name)
        self.__path__, self.__file__, self.__version__ = [], f"<{name}>", "99.0.0"

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        full = f"{self.__name__}.{name}"
        if full in sys.modules:
            return sys.modules[full]
        if full in ABSENT:
            raise AttributeError(name)
        value = placeholder(full)
        setattr(self, name, value)
        return value


ABSENT = {"attr", "attrs"}  # modules and attributes that are to be missing


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers for every package that is neither upstream's, nor the language's, nor REAL."""

    def __init__(self, upstream, unneeded):
        self.upstream, self.unneeded = upstream, unneeded

    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if any((name + ".").startswith(prefix + ".") for prefix in self.unneeded):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        if top in self.upstream or top in REAL or top in sys.stdlib_module_names:
            return None
        if name in ABSENT or top in ABSENT or (HERE / f"{top}.py").exists():
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return Module(spec.name)

    def exec_module(self, module):
        pass


class Dtype:
    """torch.dtype: equal by identity, printed as torch prints it."""
    known = {}

    def __init__(self, name):
        self.name = name
        Dtype.known[name] = self

    def __repr__(self):
        return f"torch.{self.name}"

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return (Dtype.known.__getitem__, (self.name,))

    is_floating_point = property(lambda self: "int" not in self.name and self.name != "bool")
    itemsize = property(lambda self: 8 if "64" in self.name else 4 if "32" in self.name else
                        1 if "8" in self.name or self.name == "bool" else 2)


def install(upstream, unneeded=()):
    """Puts the finder in; returns the stand-in of torch with its dtypes. `unneeded`: packages of
    upstream's own that the verdict does not pass through."""
    if not hasattr(typing, "override"):  # Python 3.12
        typing.override = lambda method: method
    sys.dont_write_bytecode = True
    sys.meta_path.insert(0, Finder(set(upstream), tuple(unneeded)))
    import torch
    import torch.cuda
    import torch.distributed
    for name in ("float32 float16 bfloat16 float64 uint8 int8 int16 int32 int64 bool complex64 "
                 "float8_e4m3fn float8_e5m2").split():
        setattr(torch, name, Dtype(name))
    torch.float, torch.half, torch.double = torch.float32, torch.float16, torch.float64
    torch.int, torch.long, torch.short, torch.dtype = torch.int32, torch.int64, torch.int16, Dtype
    torch.is_grad_enabled = lambda: True
    return torch
