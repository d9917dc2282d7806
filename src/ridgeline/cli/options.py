"""Options that several verbs share, each with its one line of help: what evidence is, and how the answer is shown."""

from typing import Annotated, Literal

from cyclopts import Parameter

Evidence = Annotated[str, Parameter(help="Files, folders, globs, - for standard input, or one bundle.")]
Label = Annotated[tuple[str, ...], Parameter(help="ROLE=FILE or ROLE:NAME=FILE where content does not tell.")]
Zone = Annotated[str | None, Parameter(help="Zone of log times that name none, such as Asia/Shanghai or +08:00.")]
Year = Annotated[int | None, Parameter(help="Year of log times that name none.")]
Format = Annotated[
    Literal["text", "json", "md"], Parameter(help="text for a terminal, json for programs, md for a ticket.")
]
Hardware = Annotated[
    tuple[str, ...],
    Parameter(
        name="--hardware",
        help="KEY=VALUE with units, such as bandwidth=3.35TB/s weights=16GB: step times are fitted no faster than the "
        "accelerator allows. Keys: bandwidth, flops (989TFLOP/s), weights, kv (128KiB per token), parameters (8B), "
        "layers and hidden (attention), devices (that share one replica).",
    ),
]
Quiet = Annotated[bool, Parameter(help="Print nothing but errors.")]
Seed = Annotated[int, Parameter(help="Of every random draw.")]
