"""Models in XGBoost's JSON format, for the programs that generate random trees or convert trees."""

import json

NO_PARENT = 2147483647


def tree(number, left, right, features, indices, conditions, default_left, weights=None, margins=1):
    """A tree from lists with an element for each node. `conditions` has the thresholds of inner nodes and the
    values of leaves; leaf vectors are in `weights`."""
    count, parents = len(left), [NO_PARENT] * len(left)
    for node, children in enumerate(zip(left, right)):
        for child in children:
            if child >= 0:
                parents[child] = node
    return {
        "base_weights": weights or [0.0] * count, "categories": [], "categories_nodes": [],
        "categories_segments": [], "categories_sizes": [], "default_left": default_left, "id": number,
        "left_children": left, "loss_changes": [0.0] * count, "parents": parents, "right_children": right,
        "split_conditions": conditions, "split_indices": indices, "split_type": [0] * count,
        "sum_hessian": [0.0] * count,
        "tree_param": {"num_deleted": "0", "num_feature": str(features), "num_nodes": str(count),
                       "size_leaf_vector": str(margins)},
    }


def document(trees, features, base="5E-1", margins=1):
    """The text of a regression model."""
    model = {
        "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(trees))},
        "iteration_indptr": list(range(len(trees) + 1)), "tree_info": [0] * len(trees), "trees": trees,
    }
    learner = {
        "attributes": {}, "feature_names": [], "feature_types": [],
        "gradient_booster": {"model": model, "name": "gbtree"},
        "learner_model_param": {"base_score": base, "boost_from_average": "1", "num_class": "0",
                                "num_feature": str(features), "num_target": str(margins)},
        "objective": {"name": "reg:squarederror", "reg_loss_param": {"scale_pos_weight": "1"}},
    }
    return json.dumps({"learner": learner, "version": [2, 1, 0]})
