"""Writes a model2vec model of two words, for run_semble.py: stub_model.py FOLDER, run by a Python that has semble installed."""
import sys
import numpy as np
from model2vec import StaticModel
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
tok = Tokenizer(WordLevel({"[UNK]": 0, "[PAD]": 1, "code": 2}, unk_token="[UNK]"))
tok.pre_tokenizer = Whitespace()
StaticModel(np.eye(3, 4, dtype="float32"), tok).save_pretrained(sys.argv[1])
