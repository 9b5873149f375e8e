"""Draws the pictures of docs/performance.

    python3 docs/performance/pictures/draw.py

Boxes bring their own background, so that their text is readable on a light and on a dark page. Lines and free
text have a grey with enough contrast to both.
"""

from pathlib import Path
from xml.sax.saxutils import escape

GREY, INK = "#7d8590", "#1f2328"
PLAIN, BLUE, GREEN, ORANGE, RED = "#eaeef2", "#b6d7ff", "#b4e6c0", "#ffd8a8", "#ffc9c9"


class Picture:
    """One SVG file: boxes, texts and arrows at given places."""

    def __init__(self, name, width, height, title, description):
        self.name, self.parts = name, []
        self.head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
            f' height="{height}" role="img"\n     aria-labelledby="title description" font-size="13"\n    '
            " font-family=\"system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif\">\n  <title"
            f' id="title">{escape(title)}</title>\n'
            f'  <desc id="description">{escape(description)}</desc>\n  <defs>\n '
            '   <marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"'
            f' orient="auto">\n      <path d="M0 0 8 4 0 8z" fill="{GREY}"/>\n    </marker>\n  </defs>\n'
        )

    def box(self, x, y, width, height, text="", fill=PLAIN):
        self.parts.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="3" fill="{fill}" stroke="{GREY}"/>'
        )
        if text != "":
            self.parts.append(
                f'<text x="{x + width / 2:g}" y="{y + height / 2 + 4.5:g}" text-anchor="middle" fill="{INK}">'
                f"{escape(str(text))}</text>"
            )

    def boxes(self, x, y, width, height, texts, fill=PLAIN):
        """Boxes side by side; a fill for all of them, or one for each."""
        for number, text in enumerate(texts):
            one = fill if isinstance(fill, str) else fill[number]
            self.box(x + number * width, y, width, height, text, one)

    def text(self, x, y, text, anchor="start", bold=False):
        weight = ' font-weight="600"' if bold else ""
        self.parts.append(
            f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{GREY}"{weight}>{escape(text)}</text>'
        )

    def arrow(self, *points, tip=True, dashed=False):
        path = "M" + "L".join(f"{x} {y}" for x, y in points)
        end = ' marker-end="url(#tip)"' if tip else ""
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        self.parts.append(f'<path d="{path}" fill="none" stroke="{GREY}" stroke-width="1.5"{end}{dash}/>')

    def node(self, x, y, text, fill=PLAIN):
        self.box(x - 17, y - 13, 34, 26, text, fill)

    def save(self):
        body = "".join(f"  {part}\n" for part in self.parts)
        (Path(__file__).parent / f"{self.name}.svg").write_text(f"{self.head}{body}</svg>\n")


def tree(picture, x, y, spread, texts, fills=None):
    """A complete tree in level order; returns where its nodes are."""
    places = []
    for number, text in enumerate(texts):
        level = (number + 1).bit_length() - 1
        place = number + 1 - (1 << level)
        at = (x + spread * (2 * place + 1 - (1 << level)) / (1 << level), y + 46 * level)
        if number:
            above = places[(number - 1) // 2]
            picture.arrow((above[0], above[1] + 13), (at[0], at[1] - 13), tip=False)
        places.append(at)
    for number, (at, text) in enumerate(zip(places, texts)):
        picture.node(*at, text, fills[number] if fills else PLAIN)
    return places


def caching():
    p = Picture(
        "caching",
        640,
        210,
        "Rows outside or trees outside",
        "On the left each row visits all trees before the next row. On the right a block of rows visits one"
        " tree before the next tree, so that a tree is read from the first-level cache.",
    )
    for left, title, block in ((20, "row by row", False), (340, "a block of rows, tree by tree", True)):
        p.text(left, 20, title, bold=True)
        for row in range(6):
            p.text(left, 52 + 22 * row, f"row {row}")
            for column in range(8):
                first = row * 8 + column
                second = column * 3 + row % 3 + 24 * (row // 3)
                number = (second if block else first) + 1
                fill = (BLUE if (second // 3) % 2 else GREEN) if block else (BLUE if row % 2 else GREEN)
                p.box(left + 50 + 28 * column, 36 + 22 * row, 28, 22, number, fill)
    p.text(20, 190, "columns are trees; numbers are the order of walks")
    p.save()


def interleaving():
    p = Picture(
        "interleaving",
        640,
        230,
        "One walk at a time and four interleaved walks",
        "A single walk waits for each load. Four interleaved walks fill that time with the loads of the"
        " others.",
    )
    p.text(10, 20, "one walk: load, wait, test, load, wait, test", bold=True)
    for step in range(3):
        x = 70 + 180 * step
        p.boxes(x, 32, 40, 24, ["load"], BLUE)
        p.arrow((x + 40, 44), (x + 138, 44), dashed=True)
        p.box(x + 140, 32, 40, 24, "test", ORANGE)
    p.text(10, 49, "row 0")
    p.text(10, 92, "four interleaved walks: each waits while the others work", bold=True)
    for row in range(4):
        p.text(10, 121 + 26 * row, f"row {row}")
        for step in range(3):
            x = 70 + 180 * step + 20 * row
            p.box(x, 104 + 26 * row, 40, 24, "load", BLUE)
            if step < 2 or row == 0:
                p.box(x + 140 if x + 180 <= 630 else 590, 104 + 26 * row, 40, 24, "test", ORANGE)
    p.text(70, 224, "time")
    p.arrow((105, 220), (240, 220))
    p.save()


def row_vectors():
    p = Picture(
        "row-vectors",
        640,
        240,
        "Rows in lanes with gathers",
        "Eight lanes hold the current nodes of eight rows. Thresholds, features and values are gathered"
        " from memory, one load per lane, and one comparison makes eight decisions.",
    )
    p.text(10, 36, "row")
    p.boxes(110, 20, 60, 24, range(8), PLAIN)
    p.text(10, 68, "node n")
    p.boxes(110, 52, 60, 24, [4, 6, 4, 7, 5, 6, 7, 4], BLUE)
    p.text(10, 128, "threshold[n]")
    for lane, node in enumerate([4, 6, 4, 7, 5, 6, 7, 4]):
        p.arrow((140 + 60 * lane, 76), (140 + 60 * lane, 108))
        p.box(110 + 60 * lane, 112, 60, 24, f"t{node}", GREEN)
    p.text(10, 97, "gather")
    p.text(10, 162, "value")
    p.boxes(110, 146, 60, 24, [f"x{lane}" for lane in range(8)], GREEN)
    p.text(10, 206, "2n + (t ≤ x)")
    p.boxes(110, 190, 60, 24, [9, 12, 8, 15, 10, 13, 14, 9], BLUE)
    p.arrow((350, 170), (350, 186))
    p.save()


def level_lookup():
    p = Picture(
        "level-lookup",
        640,
        190,
        "A level of nodes as a table in a register",
        "The four thresholds of level 2 lie in a register. Each lane's decisions so far are the index, and"
        " a shuffle selects the threshold of each lane without touching memory.",
    )
    p.text(10, 36, "level 2, in a register")
    p.boxes(150, 20, 60, 24, ["t4", "t5", "t6", "t7"], GREEN)
    p.text(10, 86, "decisions so far")
    indices = [0, 2, 0, 3, 1, 2, 3, 0]
    p.boxes(150, 70, 60, 24, [format(index, "02b") for index in indices], BLUE)
    p.text(10, 156, "selected")
    for lane, index in enumerate(indices):
        p.arrow((180 + 60 * lane, 94), (180 + 60 * lane, 136))
        p.box(150 + 60 * lane, 140, 60, 24, f"t{4 + index}", GREEN)
    p.arrow((270, 44), (270, 66), dashed=True)
    p.text(420, 36, "one shuffle, no load")
    p.save()


def transposed():
    p = Picture(
        "transposed-blocks",
        640,
        190,
        "A block of rows and its transposed copy",
        "The input has the features of a row side by side. The copy has the values of one feature of all"
        " rows side by side, so that a vector load reads one feature of all lanes.",
    )
    fills = [BLUE, GREEN, ORANGE, PLAIN]
    p.text(20, 20, "input: row by row", bold=True)
    for row in range(4):
        p.boxes(20, 32 + 30 * row, 58, 30, [f"r{row} f{feature}" for feature in range(4)], fills)
    p.arrow((262, 92), (358, 92))
    p.text(310, 82, "transpose", "middle")
    p.text(370, 20, "copy: feature by feature", bold=True)
    for feature in range(4):
        p.boxes(370, 32 + 30 * feature, 58, 30, [f"r{row} f{feature}" for row in range(4)], fills[feature])
    p.text(370, 176, "one line: one vector load for all lanes")
    p.save()


def quantization():
    p = Picture(
        "quantization",
        640,
        220,
        "Values become bins",
        "The distinct thresholds of a feature cut the number line into bins. A value becomes the number of"
        " thresholds that it is right of, a threshold its position, and both compare as before.",
    )
    p.text(20, 20, "distinct thresholds of one feature", bold=True)
    p.arrow((30, 80), (620, 80))
    for number, (x, value) in enumerate([(140, "0.3"), (270, "0.9"), (400, "1.4"), (520, "2.0")]):
        p.arrow((x, 60), (x, 92), tip=False)
        p.text(x, 52, value, "middle")
        p.text(x, 110, f"threshold bin {number}", "middle")
    for number, x in enumerate([85, 205, 335, 460, 570]):
        p.text(x, 75, f"bin {number}", "middle")
    p.text(20, 152, "value < threshold")
    p.box(170, 136, 110, 24, "1.1 < 1.4", BLUE)
    p.text(296, 152, "is")
    p.box(322, 136, 180, 24, "bin 2 ≤ threshold bin 2", GREEN)
    p.text(20, 196, "64 rows fit a register")
    p.boxes(200, 180, 26, 24, [2, 0, 4, 1, 3, 2, 2, 0, 1, 4, 0, 3, 2, 1, 1, 4], GREEN)
    p.save()


def node_sweep():
    p = Picture(
        "node-sweep",
        640,
        240,
        "All nodes tested by all rows",
        "A tree with nodes in preorder, and a table of which rows stand at each node when it is tested."
        " Rows that are elsewhere are masked off.",
    )
    leaves = {3: "L0", 4: "L1", 5: "L2", 6: "L3"}
    names = ["n0", "n1", "n2"] + [leaves[number] for number in range(3, 7)]
    tree(p, 110, 50, 90, names, [BLUE, BLUE, BLUE, GREEN, GREEN, GREEN, GREEN])
    p.text(20, 20, "nodes in preorder", bold=True)
    p.text(250, 20, "leftmost leaf that each row can still reach", bold=True)
    p.text(250, 52, "row")
    p.boxes(340, 36, 44, 24, [f"r{row}" for row in range(6)])
    states = [
        ("start", [0] * 6, []),
        ("after n0", [0, 2, 0, 2, 0, 2], [1, 3, 5]),
        ("after n1", [1, 2, 0, 2, 1, 2], [0, 4]),
        ("after n2", [1, 3, 0, 2, 1, 3], [1, 5]),
    ]
    for number, (name, row, changed) in enumerate(states):
        y = 70 + 34 * number
        p.text(250, y + 16, name)
        fills = [ORANGE if at in changed else PLAIN for at in range(6)]
        p.boxes(340, y, 44, 24, [f"L{leaf}" for leaf in row], fills)
    p.text(250, 228, "orange: the row stood at the node and went right")
    p.save()


def test_masks():
    p = Picture(
        "test-masks",
        640,
        230,
        "All tests of a tree become the bits of a word",
        "A single row makes all tests of a tree at once. The results are bits of a word. The path follows"
        " bit n of the word from node n to node 2n or 2n + 1.",
    )
    names = [1, 2, 3, 4, 5, 6, 7]
    right = {1: 1, 2: 0, 3: 0, 4: 1, 5: 1, 6: 1, 7: 0}
    tree(p, 120, 50, 100, names, [ORANGE if number in (1, 3, 6) else PLAIN for number in names])
    p.text(20, 20, "nodes; orange: the path", bold=True)
    p.text(270, 20, "all tests of the row at once", bold=True)
    p.text(270, 56, "node")
    p.boxes(330, 40, 40, 24, names)
    p.text(270, 92, "test")
    p.boxes(
        330,
        76,
        40,
        24,
        [right[number] for number in names],
        [ORANGE if number in (1, 3, 6) else BLUE for number in names],
    )
    p.text(270, 138, "n = 1")
    p.text(330, 138, "bit 1 is 1: n = 3")
    p.text(330, 162, "bit 3 is 0: n = 6")
    p.text(330, 186, "bit 6 is 1: n = 13, leaf 5")
    p.text(20, 215, "no step waits for memory: the word is in a register")
    p.save()


def tree_vectors():
    p = Picture(
        "tree-vectors",
        640,
        200,
        "One row, a tree in each lane",
        "Eight trees are walked by the same row, one in each lane. Their leaf values are added lane by"
        " lane, in the order of the trees.",
    )
    p.box(20, 77, 70, 30, "one row", ORANGE)
    for lane in range(8):
        x = 150 + 60 * lane
        p.node(x + 17, 40, f"T{lane}", BLUE)
        for side in (2, 32):
            p.arrow((x + 17, 53), (x + side, 82), tip=False)
            p.box(x + side - 10, 82, 20, 20)
    p.arrow((90, 92), (138, 92))
    p.text(20, 150, "leaf values")
    p.boxes(137, 134, 60, 24, [f"v{lane}" for lane in range(8)], GREEN)
    p.text(20, 188, "sum, in order")
    p.text(137, 188, "((((base + v0) + v1) + v2) + v3) + ...")
    p.save()


def node_tiles():
    p = Picture(
        "node-tiles",
        640,
        240,
        "A tile of nodes is passed in one step",
        "Seven nodes of a tree form a tile. All seven tests are one vector comparison. The bits are an"
        " index into a table for the tile's shape that says which child tile follows.",
    )
    p.box(20, 30, 240, 150, "", BLUE)
    tree(p, 140, 55, 100, ["a", "b", "c", "d", "e", "f", "g"])
    for at in range(8):
        x = 52.5 + 25 * at
        p.arrow((x, 180), (x, 200))
        p.text(x, 216, str(at), "middle")
    p.text(20, 20, "one tile: 7 nodes, 8 children", bold=True)
    p.text(310, 50, "thresholds")
    p.boxes(400, 34, 30, 24, "abcdefg")
    p.text(310, 84, "values")
    p.boxes(400, 68, 30, 24, [f"x{at}" for at in range(7)])
    p.text(310, 130, "tests")
    p.boxes(400, 114, 30, 24, [1, 0, 0, 1, 1, 1, 0], ORANGE)
    p.arrow((505, 92), (505, 110))
    p.text(310, 176, "table")
    p.box(400, 160, 210, 24, "shape, 1001110 → child 5", GREEN)
    p.arrow((505, 138), (505, 156))
    p.save()


def unroll_and_jam():
    p = Picture(
        "unroll-and-jam",
        640,
        200,
        "The same number of vectors, from rows or from trees",
        "With many rows, four vectors of rows walk one tree together. With few rows, two vectors of rows"
        " walk two trees together.",
    )
    p.text(20, 20, "64 rows: four vectors, one tree", bold=True)
    p.text(340, 20, "32 rows: two vectors, two trees", bold=True)
    for number in range(4):
        y = 34 + 34 * number
        p.box(20, y, 150, 26, f"rows {16 * number} to {16 * number + 15}", BLUE)
        p.box(190, y, 60, 26, "tree 0", GREEN)
        p.box(340, y, 150, 26, f"rows {16 * (number % 2)} to {16 * (number % 2) + 15}", BLUE)
        p.box(510, y, 60, 26, f"tree {number // 2}", GREEN if number < 2 else ORANGE)
    p.text(20, 190, "four vectors advance together in both cases; sums are added tree by tree")
    p.save()


def small_batches():
    p = Picture(
        "small-batches",
        640,
        130,
        "Variants by number of rows",
        "A compiled model has several variants of its code. The number of rows of a call chooses one.",
    )
    p.text(20, 20, "rows of the call", bold=True)
    p.box(20, 36, 150, 34, "1 to 8", ORANGE)
    p.box(170, 36, 450, 34, "more", BLUE)
    p.text(20, 96, "one row at a time:")
    p.text(20, 114, "trees in lanes, or test masks")
    p.text(220, 96, "vectors of rows:")
    p.text(220, 114, "level look-ups or node sweeps over transposed blocks")
    p.save()


def sparse_nodes():
    p = Picture(
        "sparse-nodes",
        640,
        150,
        "A sparse node as one word",
        "A node of 64 bits: threshold or leaf value in the low half, feature and the number of the left"
        " child in the high half. One gather of 64-bit elements fetches it.",
    )
    p.text(20, 20, "three gathers of 32 bits", bold=True)
    p.boxes(20, 32, 95, 26, ["threshold"], BLUE)
    p.boxes(125, 32, 95, 26, ["feature"], GREEN)
    p.boxes(230, 32, 95, 26, ["child"], ORANGE)
    p.text(20, 92, "one gather of 64 bits", bold=True)
    p.box(20, 104, 304, 26, "threshold or leaf value: 32 bits", BLUE)
    p.box(324, 104, 160, 26, "feature, missing", GREEN)
    p.box(484, 104, 140, 26, "left child", ORANGE)
    p.save()


def parallel():
    p = Picture(
        "parallel",
        640,
        200,
        "Threads share rows, or trees",
        "On the left, two threads have half of the rows each and all trees. On the right, two threads have"
        " all rows and half of the trees each, and their partial sums are added at the end.",
    )
    for left, title, by_rows in ((20, "threads share rows", True), (340, "threads share trees", False)):
        p.text(left, 20, title, bold=True)
        for row in range(4):
            for column in range(6):
                second = row >= 2 if by_rows else column >= 3
                p.box(left + 36 * column, 34 + 26 * row, 36, 26, "", ORANGE if second else BLUE)
        p.text(left, 158, "lines are rows, columns are trees")
    p.text(20, 184, "each sum has one owner")
    p.text(340, 184, "partial sums, added in order at the end")
    p.save()


def compile_time():
    p = Picture(
        "compile-time",
        640,
        150,
        "Code in proportion to the schedule",
        "If-else code grows with the nodes of a model. Here nodes are tables, and the code is one loop for"
        " all trees.",
    )
    p.text(20, 20, "if-else code: grows with the model", bold=True)
    p.boxes(20, 32, 60, 26, [f"tree {number}" for number in range(9)] + ["..."], RED)
    p.text(20, 92, "tables and one loop", bold=True)
    p.box(20, 104, 60, 26, "code", BLUE)
    p.box(90, 104, 530, 26, "tables of nodes: data that nobody compiles", GREEN)
    p.save()


if __name__ == "__main__":
    for draw in (
        caching,
        interleaving,
        row_vectors,
        level_lookup,
        transposed,
        quantization,
        node_sweep,
        test_masks,
        tree_vectors,
        node_tiles,
        unroll_and_jam,
        small_batches,
        sparse_nodes,
        parallel,
        compile_time,
    ):
        draw()
