import enum
class E(enum.Enum):
    one = 1
    two = "2"
class A:
    x = E.one
    def __init__(self, *a, **k):
        self.v = a
        super().__init__()
    @property
    def p(self):
        return self.v[0]
    @classmethod
    def make(cls):
        return cls(1, 2)
def f() -> "ConfigContainer":
    from lib import ConfigContainer, Proxy
    c = ConfigContainer(ddp=Proxy())
    c.model.a = A.make().p
    c.ddp.zz = E(1).value
    del c.env_vars["k"]
    assert c.model.a == 1, "no"
    global g
    g = c
    return g
