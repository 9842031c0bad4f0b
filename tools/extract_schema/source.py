"""Upstream source at one commit, read from a git directory; nothing is checked out or imported."""
import ast
import functools
import subprocess


class Checkout:
    """One repository at one commit."""

    def __init__(self, git_dir, commit):
        self.git_dir, self.name = git_dir, commit
        self.commit = self._git("rev-parse", commit + "^{commit}").strip()
        self._files = None
        self._batch = None

    def _git(self, *args):
        return subprocess.run(["git", "-C", self.git_dir, *args], check=True,
                              capture_output=True).stdout.decode()

    def files(self):
        if self._files is None:
            self._files = set(self._git("ls-tree", "-r", "--name-only", self.commit).splitlines())
        return self._files

    @functools.lru_cache(maxsize=None)
    def read(self, path):
        if self._batch is None:
            self._batch = subprocess.Popen(["git", "-C", self.git_dir, "cat-file", "--batch"],
                                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._batch.stdin.write(f"{self.commit}:{path}\n".encode())
        self._batch.stdin.flush()
        header = self._batch.stdout.readline().split()
        if header[-1] == b"missing":
            return None
        text = self._batch.stdout.read(int(header[2]))
        self._batch.stdout.read(1)
        return text.decode()

    def submodule(self, path):
        line = self._git("ls-tree", self.commit, path)
        return line.split()[2] if line else None

    def close(self):
        if self._batch is not None:
            self._batch.stdin.close()
            self._batch.wait()


class Program:
    """Python modules found under roots: (package prefix, checkout, folder of the top package)."""

    def __init__(self, roots):
        self.roots = roots
        self._modules = {}

    def module(self, name):
        if name not in self._modules:
            self._modules[name] = self._load(name)
        return self._modules[name]

    def _load(self, name):
        for prefix, checkout, folder in self.roots:
            if name == prefix or name.startswith(prefix + "."):
                base = folder + name.replace(".", "/")
                for path, package in ((base + ".py", False), (base + "/__init__.py", True)):
                    if path in checkout.files():
                        return Module(self, name, checkout, path, package)
        return None


class Module:
    """Top-level names of one file: definitions, assignments, imports (also inside if/try)."""

    def __init__(self, program, name, checkout, path, package):
        self.program, self.name, self.checkout, self.path = program, name, checkout, path
        self.package = name if package else name.rpartition(".")[0]
        self.names = {}
        self.tree = ast.parse(checkout.read(path))
        self._collect(self.tree.body)

    def _collect(self, body):
        for node in body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                self.names[node.name] = node
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        self.names[target.id] = node.value
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
                self.names[node.target.id] = node.value
            elif isinstance(node, ast.ImportFrom):
                self._import_from(node)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    self.names[alias.asname or alias.name.partition(".")[0]] = (
                        "module", alias.name if alias.asname else alias.name.partition(".")[0])
            elif isinstance(node, ast.If):
                self._collect(node.orelse)
                self._collect(node.body)
            elif isinstance(node, ast.Try):
                for handler in node.handlers:
                    self._collect(handler.body)
                self._collect(node.body)

    def _import_from(self, node):
        base = node.module or ""
        if node.level:
            parts = self.package.split(".")
            parts = parts[:len(parts) - node.level + 1]
            base = ".".join(parts + ([base] if base else []))
        for alias in node.names:
            if alias.name == "*":
                other = self.program.module(base)
                if other:
                    for name in other.names:
                        self.names.setdefault(name, ("from", base, name))
            else:
                self.names[alias.asname or alias.name] = ("from", base, alias.name)

    def resolve(self, name, depth=0):
        """(module, node) of a dotted name, or None. A module itself is (module, None)."""
        if depth > 20:
            return None
        head, _, rest = name.partition(".")
        found = self.names.get(head)
        if found is None:
            return None
        if isinstance(found, tuple):
            if found[0] == "module":
                module = self.program.module(found[1])
                while module and rest:
                    head, _, tail = rest.partition(".")
                    deeper = self.program.module(module.name + "." + head)
                    if deeper is None:
                        return module.resolve(rest, depth + 1)
                    module, rest = deeper, tail
                return (module, None) if module else None
            module = self.program.module(found[1])
            target = module.resolve(found[2], depth + 1) if module else None
            if target is None:
                sub = self.program.module(found[1] + "." + found[2])
                if sub is None:
                    return None
                return sub.resolve(rest, depth + 1) if rest else (sub, None)
            if rest and target[1] is None:
                return target[0].resolve(rest, depth + 1)
            return self._member(target, rest)
        if isinstance(found, (ast.Name, ast.Attribute)):  # an alias
            alias = dotted(found)
            if alias and alias != name:
                target = self.resolve(alias, depth + 1)
                return self._member(target, rest) if target else (self, found)
        return self._member((self, found), rest)

    def _member(self, target, rest):
        if not rest or target is None:
            return target
        module, node = target
        if isinstance(node, ast.ClassDef):
            for item in node.body:
                if isinstance(item, ast.Assign) and any(
                        isinstance(t, ast.Name) and t.id == rest for t in item.targets):
                    return module, item.value
                if isinstance(item, ast.ClassDef) and item.name == rest:
                    return module, item
        return None


def dotted(node):
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return base and base + "." + node.attr
    return None
