//! The block with the largest key, kept up to date block by block.

/// A tree of winners over the blocks' keys.
#[derive(Debug, Clone)]
pub(super) struct Tournament {
    /// Node 1 is the root, the leaves are the last half.
    nodes: Vec<(f64, u32)>,
    /// True if of equal keys the later block wins.
    later: bool,
}

/// Key of a block that does not take part.
const OUT: f64 = f64::NEG_INFINITY;

impl Tournament {
    pub(super) fn new(later: bool) -> Self {
        Self {
            nodes: vec![(OUT, 0); 2],
            later,
        }
    }

    fn leaves(&self) -> usize {
        self.nodes.len() / 2
    }

    /// Makes room for this many blocks. Keys are lost where it grows: true if so.
    pub(super) fn reserve(&mut self, blocks: usize) -> bool {
        if blocks <= self.leaves() {
            return false;
        }
        let leaves = blocks.next_power_of_two();
        self.nodes.clear();
        self.nodes.resize(2 * leaves, (OUT, 0));
        for (block, leaf) in self.nodes[leaves..].iter_mut().enumerate() {
            leaf.1 = block as u32;
        }
        true
    }

    /// Sets a key without replaying; [`Tournament::replay`] must follow.
    pub(super) fn enter(&mut self, block: usize, key: Option<f64>) {
        let leaf = self.leaves() + block;
        self.nodes[leaf] = (key.unwrap_or(OUT), block as u32);
    }

    pub(super) fn replay(&mut self) {
        for node in (1..self.leaves()).rev() {
            self.nodes[node] = self.winner_at(node);
        }
    }

    pub(super) fn set(&mut self, block: usize, key: Option<f64>) {
        self.enter(block, key);
        let mut node = (self.leaves() + block) / 2;
        while node > 0 {
            self.nodes[node] = self.winner_at(node);
            node /= 2;
        }
    }

    #[inline]
    fn winner_at(&self, node: usize) -> (f64, u32) {
        let (left, right) = (self.nodes[2 * node], self.nodes[2 * node + 1]);
        let first = if self.later {
            left.0 > right.0
        } else {
            left.0 >= right.0
        };
        if first { left } else { right }
    }

    /// The winning block and its key, if any block takes part.
    #[inline]
    pub(super) fn winner(&self) -> Option<(usize, f64)> {
        let (key, block) = self.nodes[1];
        (key > OUT).then_some((block as usize, key))
    }
}
