"""Predicts rows with the library that trained a model.

usage: trainer.py LIBRARY MODEL ROWS.npy RESULT

Writes RESULT.leaf.npy, RESULT.raw.npy and RESULT.value.npy, as far as the library supports them: the leaf of
each tree, the margins, and the predictions. LIBRARY is a Python package, and the name of the function below
that predicts with it.
Exit status 3: Python does not have the library.
"""

import json
import sys


def xgboost(numpy, library, model, rows):
    booster = library.Booster()
    booster.load_model(model)
    types = booster.feature_types
    names = booster.feature_names
    data = library.DMatrix(rows, feature_names=names, feature_types=types, enable_categorical=True)
    yield "leaf", lambda: booster.predict(data, pred_leaf=True)
    yield "raw", lambda: booster.predict(data, output_margin=True)
    yield "value", lambda: booster.predict(data)


def lightgbm(numpy, library, model, rows):
    booster = library.Booster(model_file=model)
    yield "leaf", lambda: booster.predict(rows, pred_leaf=True, num_iteration=-1)
    yield "raw", lambda: booster.predict(rows, raw_score=True, num_iteration=-1)
    yield "value", lambda: booster.predict(rows, num_iteration=-1)


def onnxruntime(numpy, library, model, rows):
    # Several threads add the trees of a row in another order.
    options = library.SessionOptions()
    options.intra_op_num_threads = 1
    session = library.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    types = {"tensor(double)": numpy.float64, "tensor(float)": numpy.float32}

    def feeds():
        given, start = {}, 0
        for one in session.get_inputs():
            if one.type not in types:
                raise ValueError(f"it reads {one.type}, and the rows of --trainer are floats")
            width = one.shape[1] if len(one.shape) > 1 and isinstance(one.shape[1], int) else rows.shape[1]
            given[one.name] = rows[:, start : start + width].astype(types[one.type])
            start += width
        return given

    def value():
        # Outputs of labels are left out. Margins are the prediction if no other output has numbers.
        numbers = [one.name for one in session.get_outputs() if "float" in one.type or "double" in one.type]
        if not numbers:
            raise ValueError("the file has no output of numbers")
        first = [name for name in numbers if not name.endswith("margins")] or numbers
        (found,) = session.run(first[:1], feeds())
        if isinstance(found, list):
            found = [[row[label] for label in row] for row in found]
        return numpy.asarray(found)

    yield "value", value


def catboost(numpy, library, model, rows):
    booster = library.CatBoost()
    booster.load_model(model, format="json")
    if booster.get_cat_feature_indices():
        raise ValueError("it reads names of categories, and the rows of --trainer are floats")

    def leaf():
        with open(model, encoding="utf-8") as file:
            if "oblivious_trees" not in json.load(file):
                raise ValueError("CatBoost numbers the leaves of such trees anew when it reads a file")
        return booster.calc_leaf_indexes(library.Pool(rows))

    yield "leaf", leaf
    yield "raw", lambda: booster.predict(rows, prediction_type="RawFormulaVal")


def treelite(numpy, library, model, rows):
    forest = library.Model.deserialize(model)
    yield "leaf", lambda: library.gtil.predict_leaf(forest, rows)
    yield "raw", lambda: library.gtil.predict(forest, rows, pred_margin=True)
    # Treelite's softmax is in single precision for every model.
    yield "value", lambda: library.gtil.predict(forest, rows, pred_margin=False).astype(numpy.float32)


def main():
    name, model, rows, result = sys.argv[1:]
    ask = globals()[name]
    try:
        import importlib

        import numpy

        library = importlib.import_module(name)
        if name == "treelite":
            importlib.import_module("treelite.gtil")
    except ImportError as error:
        print(error, file=sys.stderr)
        sys.exit(3)
    rows = numpy.load(rows)
    print(f"{name} {getattr(library, '__version__', '')}")
    for output, predict in ask(numpy, library, model, rows):
        try:
            found = numpy.asarray(predict())
        except Exception as error:  # One missing output does not prevent the others.
            print(f"{output}: {error}".splitlines()[0], file=sys.stderr)
            continue
        if output == "leaf":
            found = found.astype(numpy.int32)
        numpy.save(f"{result}.{output}.npy", numpy.ascontiguousarray(found.reshape(len(rows), -1)))


if __name__ == "__main__":
    main()
