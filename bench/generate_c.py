"""Generates C from an XGBoost model with tl2cgen: generate_c.py MODEL.json FOLDER FILES"""

import sys

import tl2cgen
import treelite

path, folder, files = sys.argv[1:]
tl2cgen.generate_c_code(treelite.frontend.load_xgboost_model(path), dirpath=folder,
                        params={"parallel_comp": int(files)}, verbose=False)
