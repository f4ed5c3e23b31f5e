from __future__ import annotations

import shutil

from testbed import programs

MODULES = ("coredns", "etcd", "jobset", "kube", "kuberay")


def test_another_version_of_one_module_leaves_the_others_programs_as_they_are(tmp_path, monkeypatch):
    shutil.copytree(programs._SOURCES, tmp_path / "go")
    monkeypatch.setattr(programs, "_SOURCES", tmp_path / "go")
    before = {module: programs.folder(module) for module in MODULES}

    with (tmp_path / "go/jobset/go.sum").open("a") as sums:
        sums.write("example.org/new v1.0.0 h1:=\n")

    changed = [module for module in MODULES if programs.folder(module) != before[module]]
    assert changed == ["jobset"]
    assert sorted(path.name for path in (tmp_path / "go").iterdir()) == list(MODULES)
