//! The schedc command line.

fn main() {}
