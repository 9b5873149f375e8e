"""Makes the files of this folder: two small models with named categories, and typical files of rows.

Run it in an environment with lightgbm 4.7.0, xgboost 3.2.0, pandas and pyarrow: `python make.py`.

"""

import pathlib

import lightgbm as lgb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet
import xgboost as xgb

HERE = pathlib.Path(__file__).parent
RNG = np.random.default_rng(18)
# "NA" is a country here, not a missing value. Columns have the types of the model's categories.
COUNTRIES, SIZES, FLOORS = ["DE", "NA", "NL", "none"], ["S", "M", "L"], [10, 20, 30]


def frame(rows, extra=()):
    """Rows of a country, a size, a floor and an area. `extra` are countries that no model knows."""
    countries = RNG.choice([*COUNTRIES, *extra], rows).astype(object)
    sizes = RNG.choice(SIZES, rows).astype(object)
    countries[RNG.random(rows) < 0.1] = None
    sizes[RNG.random(rows) < 0.1] = None
    return pd.DataFrame({
        "country": pd.Categorical(countries, categories=[*extra, *COUNTRIES]),
        "size": pd.Categorical(sizes, categories=SIZES[::-1]),
        "floor": pd.Categorical(RNG.choice(FLOORS, rows), categories=FLOORS[::-1]),
        "area": np.round(RNG.uniform(20, 200, rows), 1),
    })


def known(data):
    """Rows whose columns have the categories of the training frame, in the same order."""
    return data.assign(
        country=data["country"].cat.set_categories(COUNTRIES),
        size=data["size"].cat.set_categories(SIZES),
        floor=data["floor"].cat.set_categories(FLOORS),
    )


def save(name, data):
    """Saves rows with other orders of columns and categories than in training, and an additional column."""
    mixed = data[["area", "floor", "size", "country"]]
    mixed.insert(0, "id", [f"h{row}" for row in range(len(data))])
    if name == "rows":
        mixed.to_csv(HERE / f"{name}.csv", index=False)
    table = pa.Table.from_pandas(mixed, preserve_index=False)
    pa.parquet.write_table(table, HERE / f"{name}.parquet", row_group_size=16)
    text = table.set_column(4, "country", table["country"].cast(pa.string()))
    text = text.set_column(3, "size", text["size"].cast(pa.large_string()))
    feather.write_feather(text, HERE / f"{name}.arrow", compression="zstd", chunksize=10)


def predictions(name, values):
    lines = [np.format_float_positional(value, unique=True, trim="-") for value in values]
    (HERE / name).write_text("\n".join(["prediction", *lines]) + "\n")


train = known(frame(600))
price = (
    train["area"] * 10
    + train["country"].cat.codes.map({-1: 0, 0: 300, 1: -200, 2: 450, 3: -50}).astype(float)
    + train["size"].cat.codes.map({-1: 90, 0: -70, 1: 30, 2: 0}).astype(float)
    + train["floor"].cat.codes.map({0: 5, 1: -40, 2: 60}).astype(float)
)
options = {"num_leaves": 8, "min_data_per_group": 1, "cat_smooth": 1, "max_cat_to_onehot": 1, "verbose": -1}
light = lgb.train({"objective": "regression", **options}, lgb.Dataset(train, price), 8)
text = light.model_to_string()
start, end = text.index("\nparameters:"), text.index("end of parameters")
(HERE / "lightgbm.txt").write_text(text[:start] + "\nparameters:\n" + text[end:])
options = {"max_depth": 3, "max_cat_to_onehot": 1, "base_score": 1000}
extreme = xgb.train(options, xgb.DMatrix(train, price, enable_categorical=True), 8)
extreme.save_model(HERE / "xgboost.json")

rows = frame(40)
save("rows", rows)
predictions("lightgbm.csv", light.predict(rows))
predictions("xgboost.csv", extreme.predict(xgb.DMatrix(rows, enable_categorical=True)))
# LightGBM treats unknown categories as missing. XGBoost should refuse them, but release 3.2.0 uses the next
# category of the alphabet. The files have its predictions for missing values and for codes of no category.
rows = frame(12, extra=("FR", "IT"))
save("unseen", rows)
predictions("unseen-lightgbm.csv", light.predict(rows))
predictions("unseen-xgboost.csv", extreme.predict(xgb.DMatrix(known(rows), enable_categorical=True)))
codes = known(rows)
for name in ("country", "size", "floor"):
    codes[name] = codes[name].cat.codes.astype(np.float32).where(rows[name].notna())
types = ["c", "c", "c", "float"]
values = codes.to_numpy(np.float32)
plain = xgb.DMatrix(values, feature_names=list(codes), feature_types=types, enable_categorical=True)
predictions("other-xgboost.csv", extreme.predict(plain))
