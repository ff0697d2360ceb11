"""English: the language that every other one is checked against."""

from __future__ import annotations

MESSAGES: dict[str, str] = {
    # plot
    "plot.title": "Roofline: {machine}",
    "plot.versus": " vs ",
    "plot.subtitle": "{basis} peaks, operators in {dtypes}",
    "plot.subtitle_bare": "{basis} peaks: {dtypes}",
    "plot.x": "Arithmetic intensity (FLOP/byte)",
    "plot.y": "Performance (FLOP/s)",
    "plot.ridge": "ridge {intensity}",
    "plot.above_roof": "{label}: above its roof",
    "plot.above_attainable": "{label}, {ratio} of attainable",
    "plot.slope": "{level} {access} {rate}",
    "plot.roof": "{names} {rate}",
    "level.main": "memory",
    "access.read": "read",
    "access.write": "write",
    "access.copy": "copy",
    "access.triad": "triad",
    "path.matrix": "tensor",
    "path.vector": "vector",
    "style.sustained": "sustained",
    "style.measured": "measured",
    "style.burst": "burst",
    "style.spec": "datasheet",
    "style.derived": "derived",
    "style.assumed": "assumed",
    "key.measured_point": "measured operator",
    "key.attainable_point": "attainable (priced, not run)",
    "key.above": "above its roof: a finding",
    "key.launch": "launch floor {time}: its cap here",
    "key.gemm": "fastest compute-bound run",
    "key.power": "power roof{watts}: sustained",
    "key.link": "link slope (FLOP per link byte)",
    "note.share": "% = share of the {basis} compute roof of the operator's dtype",
    "note.share.best": "% = share of the {basis} compute roof of the operator's dtype, at its best sample",
    "note.untrusted": "not drawn because not trusted: {names}",
    "note.no_path": "no such path: {names}",
    "note.off_plot": "not on a log plot (no FLOP or no bytes): {names}",
    "note.unnamed": "without room at their lines: {names}",
    "note.launch_floor": "launch floor {time} a kernel: it caps no point here",
    "note.launch_bound": "launch-bound, whatever the slope says: {names}",
    "note.more": "{names} and {count} more",
    # sentences
    "bound.compute": "compute",
    "bound.memory": "memory",
    "bound.link": "link",
    "bound.launch": "launch",
    "line.no_intensity": "no bytes move",
    "sentence.compute": "{name} is compute-bound: at {intensity} it {verb} {rate}, {share} of the {dtype} roof. "
    "More bandwidth would not help; less arithmetic, a faster dtype or a faster chip would.",
    "sentence.memory": "{name} is memory-bound: at {intensity} it {verb} {rate}, {share} of the {dtype} roof; "
    "the bytes it must move allow {attainable}. Moving fewer bytes helps; more FLOP/s would not.",
    "sentence.link": "{name} is link-bound: it {verb} {rate}, {share} of the {dtype} roof; the bytes on the link "
    "allow {attainable}. Sending less, or overlapping it, helps.",
    "sentence.launch": "{name} is launch-bound: it takes {time}, and starting the kernel{floor} is over half of that. "
    "Fusing, batching or a graph helps; neither bandwidth nor FLOP/s would.",
    "sentence.below-roof": "{name} is below the roof: it {verb} {rate}, {reached} of the {attainable} that {bound} "
    "allows at {intensity}, and {share} of the {dtype} roof. The kernel, not the machine, is what to improve.",
    "sentence.other": "{name}: at {intensity} it {verb} {rate}, {share} of the {dtype} roof ({regime}).",
    "sentence.launch_floor": " ({time})",
    "verb.measured": "reached",
    "verb.attainable": "could reach at most",
    "finding.above": "{name} reached {ratio} of what {bound} allows. That is a finding, not a result: look for a wrong "
    "peak, a buffer that stayed in cache, or a sparse figure beside a dense one.",
    # tables
    "table.unknown": "-",
    "table.yes": "yes",
    "table.no": "no",
    "table.empty": "(nothing to show)",
}
