"""English of what `decide` and `simulate` say: the decision, the recommendation, the tables around them."""

from typing import Final

UNTRUSTED: Final = "Not to be trusted on this traffic: {why:join; }"
DECIDE: Final[dict[str, str]] = {
    "decide.title": "Decision",
    "decide.warning": "Warning: {text:phrase}",
    "decide.written": "{path}: written",
    "decide.nothing": "Decision: nothing to decide.",
    "decide.healthy": "Nothing is wrong: leave production alone.",
    "decide.unknown": "The cause is not known: nothing to decide yet.",
    "decide.no-setting": "No setting can mend {cause}: {why:phrase}.[[ What can be done: {instead:join; }.]]",
    "decide.no-traffic": "Nothing can be simulated for {cause}: {reason:phrase}.",
    "decide.unseen": (
        "What a change would gain for {cause} cannot be simulated: which prompts share a prefix is not in the "
        "evidence; a request dump, prompts in the request log or a routing key for each request would tell."
    ),
    "decide.change": "{head}[[; needs {needs:join; needs }]].[[ {beside:join }]][[ Risk: {risks:join; }.]]",
    "decide.head": "{action}: {gain}",
    "decide.head.untrusted": (
        f"{UNTRUSTED}; at most worth trying {{where:phrase}} first: {{action}} (in the simulation {{gain}})"
    ),
    "decide.set": "Set {flags:join and }",
    "decide.flags": "{flags:join and }",
    "decide.let-go": "Let the clients or the gateway stop asking for a DP rank[[, and set {flags:join and }]]",
    "decide.let-go.try": "let the clients or the gateway stop asking for a DP rank[[, and set {flags:join and }]]",
    "decide.less": "For less: {run}.",
    "decide.more": "More is gained with {run}.",
    "decide.equal": "Equal within noise: {runs:join; }[[ and {more} more]].",
    "decide.cheaper": "Chosen because it is cheaper ({cost:phrase}).",
    "decide.because": "Chosen because {why:phrase}.",
    "decide.run": "{what:join and } ([[{share:+.0%}, ]]{cost:phrase})",
    "decide.remedy": (
        "The diagnosis' remedy, {flag}, was tried alone and {judged:phrase} ({low:+.1%}[[ to {high:+.1%}]])"
        "[[: {asked} requests ask for a rank, and no method moves those]]."
    ),
    "decide.none": "Not worth touching production for {cause}[[; {near}]].[[ {remedy:join }]]",
    "decide.none.untrusted": (
        f"{UNTRUSTED}; nothing is recommended for {{cause}}[[; in the simulation {{near}}]].[[ {{remedy:join }}]]"
    ),
    "decide.none.hurts": (
        "None of the settings the cause suggests helps on this traffic ({cause}; {near}).[[ {remedy:join }]]"
    ),
    "decide.near": "the best of {n}, {name:phrase}, gives {gain}",
    "gain.none": "no figure",
    "gain.goodput": (
        "{after:.1%} of the requests within the limits instead of {before:.1%}[[ ({low:+.1%} to {high:+.1%})]]"
    ),
    "gain.share": "{figure:phrase} {before:.1%} → {after:.1%}[[ ({low:+.1%} to {high:+.1%})]]",
    "gain.time": (
        "{figure:phrase} {before:.3g} s → {after:.3g} s[[ ({share:+.0%})]]"
        "[[ ({surely:+.0%}, 95 % interval {low:+.0%} to {high:+.0%})]]"
    ),
    "advise.nothing": "Nothing to compare: only the base setting was run.",
    "advise.none": "No change is worth it: {closest}.",
    "advise.none.untrusted": f"{UNTRUSTED}; nothing is recommended: in the simulation {{closest}}.",
    "advise.none.hurts": "None of the settings tried helps on this traffic: {closest}.",
    "advise.closest": "the best, {name:phrase}, gives {gain}",
    "advise.change": "{head}[[; needs {needs:join and }]][[; pays: {pays:join, }]][[; {nobody:phrase}]].",
    "advise.unseen": "On this traffic in the simulation, never compared with a server: {sentence}",
    "gate.unseen": "Fidelity: the scenario holds no observed times; nothing tells how true these figures are.",
    "gate.mean": ("mean {name} of the {n} requests seen to their end {predicted:.3g} s, observed {observed:.3g} s"),
    "gate.trusted": (
        "Fidelity: the baseline is reproduced[[ ({told})]][[, and {held:phrase}]]: the comparison can be trusted on "
        "this traffic."
    ),
    "gate.untrusted": "Fidelity: NOT to be trusted ({told:phrase}): {why:join; }.",
    "tried.apart": (
        "The table's base is not the fidelity line's figure: it counts [[the {over} of {n} requests of the incident]]"
        "[[{every:phrase}]][[, {unseen} of them without {name} in the evidence]][[, mean of {repeats} repeats]]. On "
        "the {seen} observed, as they came: {figure:phrase} {observed:.3g} s observed, {simulated:.3g} s simulated."
    ),
    "tried.counted": (
        "[[{over} of ]]{n} requests[[ ({which:phrase})]], {repeats:#repeat}, seconds, best first by {figure:phrase}; "
        "time model: {model:phrase}"
    ),
    "tried.more": "{n} more settings: --format json has them all",
    "tried.rank": "rank",
    "tried.setting": "setting",
    "tried.goodput": "goodput/s",
    "tried.change": "change of {figure:phrase}",
    "tried.base": "base",
    "tried.seconds": "{delta:+.3g} s",
    "tried.moved": "{share:+.1%} ({low:+.1%} to {high:+.1%})",
    "tried.moved.alone": "{share:+.1%} (no interval)",
    "tried.classes": "Mean {figure:phrase} by class under {name:phrase}:",
    "tried.class": (
        "{class:phrase} ({of:.0%} of the requests): {before:.4g} s → {after:.4g} s[[ ({share:+.0%})]]"
        "[[, {unsure:phrase}]]"
    ),
    "run.one": (
        "{requests} requests, {span_s:.1f} s simulated in {cpu_s:.3g} CPU s ({settings:join, }; time model: "
        "{model:phrase})"
    ),
    "run.seconds": "seconds",
    "run.outcomes": (
        "outcomes: {outcomes:phrase}; cache hits: {hits:phrase}; retractions: {retractions}; most KV in use: "
        "{kv} tokens"
    ),
    "run.goodput": (
        "goodput: {goodput:.3g} requests per second within the limits ({share:.1%} of all; the limits are "
        "{kept:phrase})"
    ),
    "run.interrupted": "Interrupted: {done} of {planned} runs are kept.",
    "run.bundle": "{path}: a bundle; next: ridgeline diagnose {path}",
}
