"""What a prefix cache could have reused, exactly, and where the rest was lost: from hashes of prompts, offline."""
