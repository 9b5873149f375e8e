//! The nest for programs.

use serde_json::{Value, json};

use super::{axis_name, sym_value};
use crate::{
    Accumulation, AnnotationValue, Annotations, Body, Layout, Loop, LoopId, Nest, StageNest, TreeOrder,
};

/// The nest as one JSON object. Loops refer to each other by number. Bounds are integers if known, else
/// expressions in the language's syntax.
pub fn nest_json(nest: &Nest) -> Value {
    let loops: Vec<Value> = nest.loops.iter().enumerate().map(|(id, this)| loop_json(id, this)).collect();
    let constraints: Vec<Value> = nest
        .constraints
        .iter()
        .map(|constraint| json!({ "loops": ids(&constraint.loops), "below": sym_value(&constraint.bound) }))
        .collect();
    let (order, why) = match &nest.accumulation {
        Accumulation::Exact => ("exact", None),
        Accumulation::Reassociated(why) => ("reassociated", Some(why)),
    };
    let stages = nest.stages.iter().map(|StageNest { stage, nest }| {
        json!({
            "name": stage.name,
            "steps": stage.steps,
            "kind": stage.kind.word(),
            "nest": nest_json(nest),
        })
    });
    let mut value = json!({
        "roots": ids(&nest.roots),
        "loops": loops,
        "constraints": constraints,
        "tree_order": match nest.tree_order {
            TreeOrder::Model => "model",
            TreeOrder::ByDepth => "by_depth",
        },
        "representation": nest.representation.map(Layout::word),
        "tile_trees": nest.tile_trees.map(|tiles| {
            let how = if tiles.by_probability { "probability" } else { "uniform" };
            json!({ "nodes": tiles.nodes, "how": how })
        }),
        "batch_size": nest.batch_size,
        "accumulation": { "order": order, "why": why },
    });
    if nest.computed_columns > 0 {
        value["computed_columns"] = nest.computed_columns.into();
    }
    if !nest.stages.is_empty() {
        value["stages"] = stages.collect();
    }
    value
}

fn ids(loops: &[LoopId]) -> Vec<u32> {
    loops.iter().map(|id| id.0).collect()
}

fn loop_json(id: usize, this: &Loop) -> Value {
    let body = match &this.body {
        Body::Walk => json!({ "kind": "walk" }),
        Body::Seq(list) => json!({ "kind": "sequence", "loops": ids(list) }),
        Body::Cases(cases) => {
            json!({ "kind": "cases", "cases": cases.iter().map(|case| ids(case)).collect::<Vec<_>>() })
        }
    };
    json!({
        "id": id,
        "name": this.name,
        "sort": axis_name(this.axis),
        "start": sym_value(&this.start),
        "stop": sym_value(&this.stop),
        "step": sym_value(&this.step),
        "body": body,
        "facts": annotations_json(&this.annotations),
    })
}

/// Annotations of a loop by the names of their directives. Missing ones are left out.
fn annotations_json(annotations: &Annotations) -> Value {
    let entry = |(name, value): (&str, AnnotationValue)| {
        let value = match value {
            AnnotationValue::Flag => true.into(),
            AnnotationValue::Number(n) => n.into(),
            AnnotationValue::Word(word) => word.into(),
        };
        (name.to_owned(), value)
    };
    Value::Object(annotations.by_directive().into_iter().map(entry).collect())
}
