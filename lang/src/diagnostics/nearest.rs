//! "Did you mean": the known word that is nearest to a misspelt one.

/// The candidate nearest to `word`, if it is near enough.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LONGEST: usize = 64;
    let word: Vec<char> = word.chars().flat_map(char::to_lowercase).take(LONGEST).collect();
    let allowed = (word.len() / 3).max(1);
    let scored = candidates.into_iter().filter_map(|candidate| {
        let other: Vec<char> = candidate.chars().flat_map(char::to_lowercase).take(LONGEST).collect();
        let distance = distance(&word, &other);
        (distance <= allowed && distance < other.len()).then_some((distance, candidate))
    });
    scored.min().map(|(_, candidate)| candidate)
}

/// Number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut best = (row[j] + 1).min(last[j + 1] + 1).min(last[j] + usize::from(x != y));
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn finds_what_was_meant() {
        let words = ["parallel", "tile", "split", "b0", "tree"];
        assert_eq!(nearest("paralel", words), Some("parallel"));
        assert_eq!(nearest("Tile", words), Some("tile"));
        assert_eq!(nearest("tlie", words), Some("tile"));
        assert_eq!(nearest("treee", words), Some("tree"));
        assert_eq!(nearest("gpuDimension", words), None);
        assert_eq!(nearest("", words), None);
    }
}
