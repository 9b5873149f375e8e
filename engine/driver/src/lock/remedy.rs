//! Commands that mend an entry of a lock, as lines for a shell.

use super::EntryKey;
use std::path::Path;

/// The lock that commands use if they name none.
const DEFAULT_LOCK: &str = "schedc.lock";

/// The commands for a lock's file.
#[derive(Clone, Copy)]
pub struct LockRemedies<'a> {
    lock: &'a Path,
}

impl<'a> LockRemedies<'a> {
    /// The commands for the lock at a path.
    pub fn of(lock: &'a Path) -> LockRemedies<'a> {
        LockRemedies { lock }
    }

    /// The command that measures an entry again.
    pub fn upgrade(self, key: &EntryKey) -> String {
        match self.lock.as_os_str() == DEFAULT_LOCK {
            true => format!("`schedc lock --upgrade {key}`"),
            false => format!("`schedc lock {} --upgrade {key}`", self.lock.display()),
        }
    }

    /// The command that searches a schedule for a model of the lock, whose path is relative to the lock's
    /// folder. `options` are further options, each after a blank.
    pub fn tune(self, model: &str, options: &str) -> String {
        let model = self.lock.parent().map_or_else(|| model.into(), |folder| folder.join(model));
        format!("`schedc tune {}{options} --lock {}`", model.display(), self.lock.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_name_the_lock() {
        let key: EntryKey = "cpu:m.json:1:1".parse().expect("a key");
        let here = LockRemedies::of(Path::new(DEFAULT_LOCK));
        assert_eq!(here.upgrade(&key), "`schedc lock --upgrade cpu:m.json:1:1`");
        assert_eq!(here.tune("m.json", ""), "`schedc tune m.json --lock schedc.lock`");
        let there = LockRemedies::of(Path::new("models/l.lock"));
        assert_eq!(there.upgrade(&key), "`schedc lock models/l.lock --upgrade cpu:m.json:1:1`");
        assert_eq!(
            there.tune("m.json", " --threads 2"),
            "`schedc tune models/m.json --threads 2 --lock models/l.lock`"
        );
    }
}
