"""`rooflens fleet VERB`: many machines, one report. Its verbs load when they are called, as those above it."""

from __future__ import annotations

import click

from rooflens.cli import Verbs

PARTS = {
    "measure": ("fleet_measure", "Measure every node at the same time, over Ray; one file a node."),
    "report": ("fleet_report", "Who is slow, why, and what does it cost? Exits 1 when anybody is out."),
    "simulate": ("fleet_simulate", "A made-up fleet with faults that are known: files as if they had been measured."),
}


@click.group("fleet", cls=Verbs, verbs=PARTS, epilog="Example:  rooflens fleet report nodes/")
def command() -> None:
    """Which of my machines is slow, why, and what does that cost? Many measured, one report.

    A folder holds one file a node: what `rooflens measure -o FOLDER/NODE.json` writes on it, started by srun, mpirun,
    torchrun, a Kubernetes job or `rooflens fleet measure`.
    """
