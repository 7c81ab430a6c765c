#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
#   make_cases.py    writes vocab.json, merges.txt and cases.json beside itself; needs `pip install tokenizers`
#
# A small vocabulary of this test's own, and what Hugging Face's tokenizers 0.23 makes of many texts with it and the
# patterns of GPT-2 and Qwen. Normal forms are those of Python's unicodedata.
import json
import pathlib
import random
import unicodedata

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

HERE = pathlib.Path(__file__).parent
QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CORPUS = [
    "The optimizer's momentum is orthogonalized, and they're told that it'll converge; we've seen 1024 of 65536 steps.",
    "    for (int i = 0; i < 10; ++i) {\n        total += weights[i] * gradients[i];\n    }\n\n\n",
    "Größe, naïve café, déjà vu, São Paulo, Ελληνικά, русский язык, 中文字符, 日本語, 한국어, العربية, हिन्दी",
    "It isn't what I'd do. THEY'LL SAY WE'RE LATE, DON'T THEY? 3.14159, 2^16 = 65,536 (again: 65536)...",
] * 4
TEXTS = [
    "",
    " ",
    "   ",
    "\n",
    " \n",
    "a",
    " a",
    "  a",
    "   \n\n  a  ",
    "\t\ta\u00a0b\u3000 c",
    "they're THEY'RE they'Ve 'sound 'Sound '\u017fa 'l 'll 'LL '",
    "x=1+22+333",
    "don't\r\n\r\nstop!!!\n\n?",
    "Gr\u00f6\u00dfe und Gro\u0308\u00dfe",
    "\u1112\u1161\u11ab \ud55c \u1100\u1161\u1100",
    "a\u0323\u0307 a\u0307\u0323 \u212b \ufb01 \u0344",
    "\U0001f600\U0001f468\u200d\U0001f469 \u2167 \u00b2\u00bd \u0660\u0661",
    "<|endoftext|> is text",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "\x00\x01\x1c\x1f\x7f\x85\u2028\u2029\ufeff",
]


def random_texts():
    """Texts of characters on which the patterns turn; new combining marks are left out, on which versions differ."""
    draw = random.Random(1)
    sharp = "aAsStTdDmMlLrReEvV''' \n\r\t  019.,!-_\u00a0\u2028\u3000\u017f\u0301\u00e9\u212a\u200b\u4e2d\uac00\u1100\u1161\u11a8\u0308\u0323\x0b\x1c\x85"
    wide = [chr(c) for c in range(0x21, 0x3000) if unicodedata.category(chr(c)) not in ("Cn", "Mn")]
    for pool in (sharp, list(sharp) + wide, wide):
        for _ in range(60):
            yield "".join(draw.choice(pool) for _ in range(draw.randrange(24)))


def tokenizer(model, split, normalizer=None):
    result = Tokenizer(model)
    result.pre_tokenizer = split
    if normalizer:
        result.normalizer = normalizer
    return result


words = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
trained = tokenizer(models.BPE(), words)
alphabet = pre_tokenizers.ByteLevel.alphabet()
trained.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=420, initial_alphabet=alphabet, show_progress=False))
trained.model.save(str(HERE))

files = str(HERE / "vocab.json"), str(HERE / "merges.txt")
gpt2 = tokenizer(models.BPE.from_file(*files), words)
split = pre_tokenizers.Split(Regex(QWEN), behavior="isolated", invert=False)
plain = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
qwen = tokenizer(models.BPE.from_file(*files), pre_tokenizers.Sequence([split, plain]), normalizers.NFC())
cases = [
    {
        "text": text,
        "nfc": unicodedata.normalize("NFC", text),
        "gpt2": gpt2.encode(text).ids,
        "qwen": qwen.encode(text).ids,
    }
    for text in TEXTS + list(random_texts())
]
lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
(HERE / "cases.json").write_text("[\n" + lines + "\n]\n")
