"""Compiles a LightGBM model with lleaves into an object file: compile_lleaves.py MODEL.txt OBJECT"""

import sys

import lleaves

path, made = sys.argv[1:]
lleaves.Model(model_file=path).compile(cache=made, raw_score=True)
