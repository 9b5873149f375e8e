//! The facts of a model between programs.

use serde_json::{Value, json};

use super::ModelFacts;

impl ModelFacts {
    /// The facts as one JSON object.
    pub fn to_json(&self) -> Value {
        json!({
            "num_trees": self.num_trees,
            "num_features": self.num_features,
            "num_classes": self.num_classes,
            "depths": self.depths,
            "leaves": self.leaves,
        })
    }

    /// The facts that [`to_json`](Self::to_json) wrote.
    pub fn from_json(value: &Value) -> Option<ModelFacts> {
        let numbers = |value: &Value| value.as_array()?.iter().map(number).collect::<Option<Vec<u32>>>();
        Some(ModelFacts {
            num_trees: number(value.get("num_trees")?)?,
            num_features: number(value.get("num_features")?)?,
            num_classes: number(value.get("num_classes")?)?,
            depths: numbers(value.get("depths")?)?,
            leaves: value.get("leaves")?.as_array()?.iter().map(numbers).collect::<Option<_>>()?,
        })
    }
}

fn number(value: &Value) -> Option<u32> {
    value.as_u64()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_survive() {
        let facts = ModelFacts {
            num_trees: 2,
            num_features: 4,
            num_classes: 1,
            depths: vec![1, 3],
            leaves: vec![vec![0, 2], vec![0, 1, 1, 2]],
        };
        assert_eq!(ModelFacts::from_json(&facts.to_json()), Some(facts));
        assert_eq!(ModelFacts::from_json(&json!({ "num_trees": -1 })), None);
    }
}
