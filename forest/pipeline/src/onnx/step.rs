//! Names of a pipeline's steps, from the names of nodes and weights.

/// The name of the step that a node belongs to. Names of nodes are paths, such as `vote.svc/MatMul` or
/// `/encoder/hidden/Gemm`: the step is the innermost part before the operator that is a word, here `svc` and
/// `hidden`. A name without a path is the step itself. `None` if no part is a word.
pub(super) fn step_name(node: &str) -> Option<&str> {
    match node.rsplit_once('/') {
        Some((path, _)) => innermost_word(path),
        None => innermost_word(node),
    }
}

/// The name of the step that a node belongs to, by the node's own name, or else by the names of its inputs:
/// the weights of PyTorch's layer `hidden` are called `hidden.weight`.
pub(super) fn step_of<'a>(node: &'a str, mut inputs: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let of_path = node.contains('/').then(|| step_name(node)).flatten();
    let of_weights = || inputs.find_map(|input| innermost_word(input.strip_suffix(".weight")?));
    of_path.or_else(of_weights).or_else(|| step_name(node))
}

/// The last part of a path that is a word: letters, digits and underscores, with a letter first.
fn innermost_word(path: &str) -> Option<&str> {
    let is_word = |part: &&str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic())
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    path.rsplit(['/', '.']).find(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_the_innermost_words_of_paths() {
        let names = [
            ("svc/MatMul", Some("svc")),
            ("vote.svc/MatMul_1", Some("svc")),
            ("/encoder/hidden/Gemm", Some("hidden")),
            ("/net/net.0/Gemm", Some("net")),
            ("/0/Gemm", None),
            ("MatMul1", Some("MatMul1")),
            ("a b/Gemm", None),
            ("", None),
        ];
        for (node, step) in names {
            assert_eq!(step_name(node), step, "{node}");
        }
    }

    #[test]
    fn weights_name_the_step_of_nodes_without_a_path() {
        let step = |node, input| step_of(node, ["x", input].into_iter());
        assert_eq!(step("node_linear_1", "net.hidden.weight"), Some("hidden"));
        assert_eq!(step("/head/Gemm", "net.hidden.weight"), Some("head"));
        assert_eq!(step("/0/Gemm", "hidden.weight"), Some("hidden"));
        assert_eq!(step("Gemm", "W"), Some("Gemm"));
    }
}
