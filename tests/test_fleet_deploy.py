"""deploy/fleet: nodes measured without Ray, by whatever starts a program on each; tried with stand-ins for srun."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from rooflens import artefacts
from rooflens.roofline.absent import SCHEMA as ABSENT
from rooflens.roofline.absent import Absent

DEPLOY = Path(__file__).resolve().parents[1] / "deploy" / "fleet"
NODE, SBATCH = DEPLOY / "measure-node.sh", DEPLOY / "slurm.sbatch"
ROOFLENS = f'#!/bin/sh\nexec "{sys.executable}" -m rooflens "$@"\n'


def program(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def node(tmp_path):
    """measure-node.sh on a node of this name: exit code and what it said."""

    def run(name, *more, does=ROOFLENS, limit=60):
        own = {"NODE": name, "ROOFLENS": program(tmp_path / "bin" / f"rooflens-{name}", does), "LIMIT_S": str(limit)}
        done = subprocess.run(
            ["sh", NODE, tmp_path / "nodes", *more],
            env={**os.environ, **own},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout == ""
        return done.returncode, done.stderr

    return run


def absent(tmp_path, name):
    return artefacts.load(tmp_path / "nodes" / f"{name}.absent.json", Absent, ABSENT)


@pytest.mark.parametrize(("shell", "script"), [("sh", NODE), ("bash", SBATCH)])
def test_scripts_are_ones_that_their_shell_reads(shell, script):
    assert subprocess.run([shell, "-n", script], check=False).returncode == 0


def test_a_node_lands_once(node, tmp_path):
    (tmp_path / "nodes").mkdir()
    (tmp_path / "nodes" / "a.absent.json").write_text("{}", encoding="utf-8")  # of an earlier run
    code, _ = node("a", "--device", "fake:a", "--quick")
    assert code == 0
    assert [path.name for path in (tmp_path / "nodes").iterdir()] == ["a.json"]
    assert len(artefacts.profile(tmp_path / "nodes" / "a.json").together) == 8
    code, said = node("a", does="#!/bin/sh\nexit 1\n")
    assert (code, said.strip()) == (0, f"{tmp_path}/nodes/a.json is there: a is not measured again")


@pytest.mark.parametrize(
    ("does", "state", "why"),
    [
        ("echo warm >&2; echo 'rooflens: cuda:0 cannot be measured: no \"driver\"' >&2; exit 2", "refused",
         "cuda:0 cannot be measured: no driver"),
        ("echo ' 43 %  memory read' >&2; exec sleep 60", "hung",
         "no answer within 1 s; the last it said: 43 %  memory read"),
        ("kill -9 $$", "died", "the measurement ended with exit code 137; the last it said: "),
        ("echo Traceback >&2; exit 1", "died", "the measurement ended with exit code 1; the last it said: Traceback"),
    ],
)  # fmt: skip
def test_a_node_that_gives_no_profile_says_why_and_ends_nobody_elses_run(node, tmp_path, does, state, why):
    code, _ = node("a", does=f"#!/bin/sh\n{does}\n", limit=1 if "sleep" in does else 60)
    assert code == 0
    found = absent(tmp_path, "a")
    assert (found.node, found.state, found.attempts) == ("a", state, 1)
    assert found.why.removesuffix("Killed") == why  # a word of the shell
    assert [path.name for path in (tmp_path / "nodes").iterdir()] == ["a.absent.json"]


@pytest.mark.parametrize(("tasks", "given", "left"), [("3", "1", "none"), ("3", "4", "4"), ("1", "1", "1")])
def test_threads_that_torchrun_sets_by_itself_do_not_limit_the_measurement(
    node, tmp_path, monkeypatch, tasks, given, left
):
    """It sets one for each of several tasks of a node, where nobody has said how many."""
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "7")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", tasks)
    monkeypatch.setenv("OMP_NUM_THREADS", given)
    node("a", does='#!/bin/sh\necho "${OMP_NUM_THREADS:-none}" >&2\nexit 2\n')
    assert absent(tmp_path, "a").why == left


def test_a_device_that_is_none_is_refused_by_rooflens_itself(node, tmp_path):
    node("a", "--device", "fake:a:clok")
    assert absent(tmp_path, "a").state == "refused"
    assert absent(tmp_path, "a").why.startswith("--device fake: 'clok' is no fault")


SRUN = """#!/bin/sh
while [ "${1#--}" != "$1" ]; do shift; done
for node in a b c; do
  [ $node = b ] || SLURMD_NODENAME=$node "$@" &
done
wait
"""  # node b is dead: nothing of it is heard
OWN_DEVICES = '[ "$1" = measure ] && set -- "$@" --device "fake:$SLURMD_NODENAME"\nexec'  # no two nodes measure alike


@pytest.mark.slow
def test_a_job_of_slurm_measures_all_nodes_says_who_is_dead_and_reports(tmp_path):
    bin_ = tmp_path / "bin"
    program(bin_ / "srun", SRUN)
    program(bin_ / "scontrol", "#!/bin/sh\nprintf 'a\\nb\\nc\\n'\n")
    program(bin_ / "rooflens", ROOFLENS.replace("exec", OWN_DEVICES))
    own = {
        "PATH": f"{bin_}:{os.environ['PATH']}", "SLURM_JOB_NODELIST": "[a-c]", "SLURM_JOB_ID": "7",
        "ROOFLENS_FLEET": str(DEPLOY),
    }  # fmt: skip
    command = ["bash", SBATCH, tmp_path / "nodes", "--quick"]
    done = subprocess.run(command, env={**os.environ, **own}, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr  # the report's: not all are well
    assert sorted(path.name for path in (tmp_path / "nodes").iterdir()) == ["a.json", "b.absent.json", "c.json"]
    assert absent(tmp_path, "b") == Absent("b", "died", "its task of job 7 ended without a word")
    assert "devices: 16" in done.stdout


# What Kubernetes requires of these kinds, and no key that it does not know: enough to catch a slip without a cluster.
POD = {
    "restartPolicy": str, "affinity?": dict, "tolerations?": [{"key": str, "operator": str, "effect": str}],
    "containers": [{
        "name": str, "image": str, "command?": [str], "resources?": {"limits": dict},
        "env?": [{"name": str, "value?": str, "valueFrom?": {"fieldRef": {"fieldPath": str}}}],
        "volumeMounts?": [{"name": str, "mountPath": str}],
    }],
    "volumes?": [{
        "name": str, "persistentVolumeClaim?": {"claimName": str}, "configMap?": {"name": str},
        "hostPath?": {"path": str, "type": str}, "emptyDir?": {"medium": str},
    }],
}  # fmt: skip
META = {"name": str, "labels?": dict}
KINDS = {
    "Job": {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": META,
        "spec": {
            "completionMode": "Indexed", "completions": int, "parallelism": int, "backoffLimitPerIndex": int,
            "maxFailedIndexes": int, "activeDeadlineSeconds": int,
            "template": {"metadata": {"labels": dict}, "spec": POD},
        },
    },
    "PersistentVolumeClaim": {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": META,
        "spec": {"accessModes": [str], "resources": {"requests": dict}},
    },
    "Kustomization": {
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": [str],
        "configMapGenerator": [{"name": str, "files": [str]}],
    },
}  # fmt: skip


def fits(found, wanted, at=""):
    """Every fault of a manifest, by its path."""
    if isinstance(wanted, dict):
        if not isinstance(found, dict):
            return [f"{at}: no mapping"]
        names = {name.rstrip("?"): name for name in wanted}
        faults = [f"{at}.{name}: not known" for name in found if name not in names]
        faults += [f"{at}.{name}: missing" for name in wanted if not name.endswith("?") and name not in found]
        return faults + [
            x for name, key in names.items() if name in found for x in fits(found[name], wanted[key], f"{at}.{name}")
        ]
    if isinstance(wanted, list):
        if not isinstance(found, list) or not found:
            return [f"{at}: no list"]
        return [x for i, one in enumerate(found) for x in fits(one, wanted[0], f"{at}[{i}]")]
    right = isinstance(found, wanted) if isinstance(wanted, type) else found == wanted
    return [] if right else [f"{at}: {found!r} is not {wanted}"]


def manifest(name):
    return yaml.safe_load((DEPLOY / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", sorted(DEPLOY.glob("*.yaml")), ids=lambda path: path.name)
def test_manifests_have_what_kubernetes_requires_and_nothing_that_it_does_not_know(path):
    found = manifest(path.name)
    assert fits(found, KINDS[found["kind"]]) == []


def test_the_check_of_manifests_finds_slips():
    job = manifest("job.yaml")
    job["spec"]["template"]["spec"]["container"] = job["spec"]["template"]["spec"].pop("containers")
    job["spec"]["completions"] = "four"
    assert fits(job, KINDS["Job"]) == [
        ".spec.completions: 'four' is not <class 'int'>",
        ".spec.template.spec.container: not known",
        ".spec.template.spec.containers: missing",
    ]


def test_the_job_is_one_pod_a_node_at_once_and_its_parts_belong_together():
    spec, kustomization = manifest("job.yaml")["spec"], manifest("kustomization.yaml")
    assert spec["completions"] == spec["parallelism"]
    pod = spec["template"]["spec"]
    (rule,) = pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert rule["topologyKey"] == "kubernetes.io/hostname"
    assert rule["labelSelector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()
    (container,) = pod["containers"]
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
    held = {name: one for volume in pod["volumes"] for name, one in volume.items() if name != "name"}
    assert held["persistentVolumeClaim"]["claimName"] == manifest("results.yaml")["metadata"]["name"]
    (made,) = kustomization["configMapGenerator"]
    assert made["name"] == held["configMap"]["name"]
    assert container["command"][1] == f"/scripts/{made['files'][0]}"
    assert all((DEPLOY / name).is_file() for name in (*kustomization["resources"], *made["files"]))


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubectl_builds_what_is_applied():
    done = subprocess.run(["kubectl", "kustomize", DEPLOY], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    kinds = [one["kind"] for one in yaml.safe_load_all(done.stdout)]
    assert sorted(kinds) == ["ConfigMap", "Job", "PersistentVolumeClaim"]
