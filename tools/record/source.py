"""A checkout of upstream: its commit, and places in it as records name them."""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "anchors"))
from statements import Statements  # noqa: E402


class Source:
    def __init__(self, folder, tag=""):
        self.root = str(pathlib.Path(folder).resolve()) + "/"
        self.tag = tag  # before paths of another repository than the recorded one
        self._files = {}
        self.commit = subprocess.run(["git", "-C", folder, "rev-parse", "HEAD"], capture_output=True,
                                     text=True).stdout.strip() or pathlib.Path(folder).name

    def owns(self, path):
        return path.startswith(self.root)

    def anchor(self, frame):
        return self._place(frame.filename, frame.lineno)

    def caller(self):
        """The innermost frame of the checkout that is being executed."""
        frame = sys._getframe(2)
        while frame and not self.owns(frame.f_code.co_filename):
            frame = frame.f_back
        return frame and self._place(frame.f_code.co_filename, frame.f_lineno)

    def _place(self, path, line):
        if path not in self._files:
            self._files[path] = Statements(pathlib.Path(path).read_text())
        statement = self._files[path].at(line)
        return f"{self.tag}{path[len(self.root):]}:{statement.line if statement else line}"
