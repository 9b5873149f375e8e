"""Generates C from a model of XGBoost (JSON) or LightGBM (text) with tl2cgen.

    generate_c.py MODEL FOLDER FILES
"""

import sys

import tl2cgen
import treelite

path, folder, files = sys.argv[1:]
frontend = treelite.frontend
load = frontend.load_lightgbm_model if path.endswith(".txt") else frontend.load_xgboost_model
tl2cgen.generate_c_code(load(path), dirpath=folder, params={"parallel_comp": int(files)}, verbose=False)
