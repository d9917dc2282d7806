"""How `bpe.json` was made: byte-level BPE over this project's own prose (`python -m ridgeline.lab.serve.train`).

Same sources, same bytes: the trainer draws nothing.
"""

from pathlib import Path

from ridgeline.lab.serve.text import PLACE

VOCABULARY = 4096


def main() -> None:
    """Train on the sources and pages of the checkout and write the vocabulary."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    root = Path(__file__).resolve().parents[4]
    files = sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md"), *(root / "src").rglob("*.py")])
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator((path.read_text(encoding="utf-8") for path in files), trainer)
    PLACE.write_text(tokenizer.to_str(), encoding="utf-8")


if __name__ == "__main__":
    main()
