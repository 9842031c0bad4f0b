#include "discover/pins.h"

#include <doctest/doctest.h>

#include "base/strings.h"

using namespace shardlint;

namespace {

// "megatron-lm 0.17.0 uv.lock:4; ! a note"
std::string text_of(const Pins& pins) {
  std::vector<std::string> out;
  for (const Pin& pin : pins.pins) {
    out.push_back(pin.framework + " " + pin.version + " " + pin.place);
  }
  for (const std::string& note : pins.notes) {
    out.push_back("! " + note);
  }
  return join(out, "; ");
}

}  // namespace

TEST_SUITE("pins") {
  TEST_CASE("each kind of file") {
    const struct {
      const char *file, *text, *expected;
    } rows[] = {
        {"requirements.txt", "torch==2.9.0\nverl==0.8.0\n", "verl 0.8.0 requirements.txt:2"},
        {"requirements-gpu.txt",
         "# ours\nMegatron_Core[dev, mlm] == 0.17.0 ; python_version >= '3.12'  # pinned\n",
         "megatron-lm 0.17.0 requirements-gpu.txt:2"},
        {"requirements.txt",
         "megatron-bridge==0.5.1 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\nverl==0.7.0\n",
         "megatron-bridge 0.5.1 requirements.txt:1; verl 0.7.0 requirements.txt:4"},
        {"requirements.txt", "-r base.txt\n--index-url https://h/verl==1\n#verl==0.8.0\n", ""},
        {"requirements.txt", "verl>=0.7,<0.9\nverl-extra==1.0\nmegatron-core\n", ""},
        {"requirements.txt", "verl>=0.7,==0.8.0\n", "verl 0.8.0 requirements.txt:1"},
        {"requirements.txt", "verl===0.8.0\n", "verl 0.8.0 requirements.txt:1"},
        {"requirements.txt", "verl==0.8.0\r\n", "verl 0.8.0 requirements.txt:1"},
        {"requirements.txt", "verl==0.8.*\n",
         "! requirements.txt:1: `==0.8.*` is no single version of verl; left out"},
        {"requirements.txt", "verl==newest\n",
         "! requirements.txt:1: `newest` is no version of verl; left out"},
        {"requirements.txt", "verl[gpu==0.8.0\n",
         "! requirements.txt:1: `verl[gpu==0.8.0` cannot be read; left out"},
        {"requirements.txt", "megatron-core @ git+https://h/NVIDIA/Megatron-LM.git@core_v0.17.0\n",
         "megatron-lm 0.17.0 requirements.txt:1"},
        {"requirements.txt", "verl @ git+ssh://git@h/verl.git\n",
         "! requirements.txt:1: verl comes from `git+ssh://git@h/verl.git`, which names no "
         "released "
         "version; left out"},
        {"requirements.txt",
         "verl==0.8.0; os_name == 'a'\nverl==0.8\nverl==0.7.0; os_name == 'b'\n",
         "! requirements.txt:3: 0.8.0 and 0.7.0 are both pinned for verl; left out"},
        {"uv.lock",
         "version = 1\n[[package]]\nname = \"megatron-core\"\nversion = \"0.17.0\"\n"
         "source = { registry = \"https://h/simple\" }\n[package.metadata]\n"
         "requires-dist = [{ name = \"verl\", specifier = \"==0.1\" }]\n"
         "[[package]]\nname = \"verl\"\nversion = \"0.8.0\"\nsource = { editable = \".\" }\n",
         "megatron-lm 0.17.0 uv.lock:4"},
        {"poetry.lock",
         "[[package]]\nname = \"verl\"\nversion = \"0.7.1\"\n[package.dependencies]\n"
         "version = \">=1\"\n\n[[package]]\nname = \"megatron-bridge\"\nversion = \"0.5.0\"\n"
         "[package.source]\ntype = \"directory\"\nurl = \"mine\"\n[metadata]\nname = \"x\"\n",
         "verl 0.7.1 poetry.lock:3"},
        {"uv.lock", "[[package]]\nname = \"verl\"\nversion = \"?\"\n",
         "! uv.lock:3: `?` is no version of verl; left out"},
        {"uv.lock", "[[package]]\nname = \"verl\nversion = \n\n[[[", ""},
        {"pyproject.toml",
         "[project]\nname = \"mine\"\ndependencies = [\n  \"verl[gpu]==0.8.0\",\n  \"torch\",\n]\n"
         "[project.optional-dependencies]\nmegatron = [\"megatron-core==0.17.0\"]\n"
         "[dependency-groups]\ndev = [{include-group = \"x\"}, \"megatron-bridge==0.5.1\"]\n",
         "verl 0.8.0 pyproject.toml:4; megatron-lm 0.17.0 pyproject.toml:8; "
         "megatron-bridge 0.5.1 pyproject.toml:10"},
        {"pyproject.toml",
         "[tool.poetry.dependencies]\nverl = \"0.8.0\"\nmegatron-core = {version = \"==0.17.0\"}\n"
         "megatron-bridge = \"^0.5\"\n",
         "megatron-lm 0.17.0 pyproject.toml:3; verl 0.8.0 pyproject.toml:2"},
        {"pyproject.toml", "dependencies = [\"verl==0.8.0\"\n[",
         "! pyproject.toml:2: no TOML; left out"},
        {"pyproject.toml", "[project\n", ""},  // none of our packages in it
    };
    for (const auto& row : rows) {
      CAPTURE(row.text);
      CHECK(text_of(read_pins(row.file, row.text)) == row.expected);
    }
  }

  TEST_CASE("the closest file of the repository decides, for each framework") {
    MemoryDisk disk;
    disk.write("/home/requirements.txt", "megatron-bridge==0.3.0\n");
    disk.write("/home/repo/.git", "gitdir: elsewhere\n");
    disk.write("/home/repo/pyproject.toml", "[project]\ndependencies = [\"verl==0.7.0\"]\n");
    disk.write("/home/repo/uv.lock", "[[package]]\nname = \"verl\"\nversion = \"0.8.0\"\n");
    disk.write("/home/repo/team/requirements.txt", "megatron-core==0.16.0\n");
    disk.write("/home/repo/team/conf/requirements-a.txt", "megatron-core==0.17.0\n");
    disk.write("/loose/requirements.txt", "verl==0.6.0\n");
    const struct {
      const char *path, *expected;
    } rows[] = {
        {"/home/repo/team/conf/a.yaml",
         "megatron-lm 0.17.0 /home/repo/team/conf/requirements-a.txt:1; verl 0.8.0 "
         "/home/repo/uv.lock:3"},
        {"/home/repo/team/a.yaml",
         "megatron-lm 0.16.0 /home/repo/team/requirements.txt:1; verl 0.8.0 /home/repo/uv.lock:3"},
        {"/home/repo/a.yaml", "verl 0.8.0 /home/repo/uv.lock:3"},
        {"/loose/a.yaml", "verl 0.6.0 /loose/requirements.txt:1"},  // no repository: its own folder
        {"/loose/deeper/a.yaml", ""},
    };
    PinFinder finder(disk);
    for (const auto& row : rows) {
      CAPTURE(row.path);
      CHECK(text_of(finder.find(row.path)) == row.expected);
    }
  }
}
