"""What stands in which part of which lesson, and must go on standing there.

    "#price"        an element by its id: a cell, a figure, a widget, a box; or any CSS selector
    "@jain2019"     a source that is cited
    "=erasure"      a term, marked and linked to the glossary
    "$e^{s_i - c}"  a formula, or a part of one, in TeX
    "343.6"         a number

The tests of the lessons say whether numbers are right.
"""

LESSONS = {
    "m00": "m00_tour",
    "m01": "m01_why_attention",
    "m02": "m02_query_key_value",
    "m03": "m03_scaled_dot_product",
    "m04": "m04_softmax_and_scale",
    "m05": "m05_masks",
    "m06": "m06_multi_head",
    "m07": "m07_position",
    "m08": "m08_patterns",
    "m09": "m09_interpretation",
    "m10": "m10_cost",
    "m11": "m11_fast_and_exact",
    "m12": "m12_inference",
    "m13": "m13_beyond_softmax",
    "m14": "m14_hybrids",
    "m15": "m15_sparse_attention",
}
# A page that goes on from a lesson.
FURTHER = {"longer": "longer.html"}

IN_EVERY_LESSON = [
    ".exercise", "#recap", ".quarto-color-scheme-toggle", ".notebook-link[href$=ipynb][download]",
]  # fmt: skip
CONTENTS = {
    "m00": {
        "#step-why": ["#tour-why"],
        "#tour-why": [".static-form", ".source"],
        "#step-roles": ["#tour-roles", "#roles", "$W_Q"],
        "#tour-roles": ["table", "2.00"],
        "main": ["#step-mask"],
        "#tour": [
            "[href='#step-why']", "[href='#step-roles']", "[href='#step-scores']",
            "[href='#step-softmax']", "[href='#step-heads']", "[href='#step-mask']",
            "[href='#step-code']", "[href='#step-patterns']",
        ],
    },
    "m01": {
        "#sec-path": ["#path-tracer", "#longest", "#it", "#figure-it", "#pairs"],
        "#sec-letters": ["#figure-places"],
        "#sec-price": ["#price"],
        "#sec-flow": ["#flow-map", "#figure-flow", "0.7"],
    },
    "m02": {
        "#sec-play": [".q", ".k", ".v", "#soft-lookup"],
        "#soft-lookup": [".static-form"],
        "main": ["#limit", "@ramsauer2021", "#memory", "#memory-repaired"],
        "#sec-focus": ["#token-focus .source"],
        "#sec-made": ["=grammar-model", "#embeddings", "#learned-lookup"],
    },
    "m03": {
        "main": [
            r"$w^\top \tanh(W_q^\top q_i + W_k^\top k_j)", "#additive", "@bahdanau2015",
            "#numpy .cell-output", "#attention-source", "#same .cell-output",
            "#shapes .cell-output", "2048", "$W_O",
        ],
        "#sec-beyond": [
            r"$q_i^\top k_j", "@luong2015", "2.1", "8.7", "3.2", "#worked .cell-output", "0.258",
            "0.46", "0.282", "#four-steps",
        ],
        "#sec-formula": [r"$\operatorname{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}}\right)V"],
        "#sec-play": ["#step-slider"],
        "#sec-sum": ["#weighted-sum .cell-output", "0.045", "0.768", "0.187"],
    },
    "m04": {
        "#sec-variance": ["#figure-histograms", "#variance"],
        "#gradient-lottery": ["#figure-maps", "#backward"],
        "main": [
            r"$\frac{\partial w_i}{\partial s_j} = w_i\,(\delta_{ij} - w_j)", "#jacobian",
            "#temperatures .cell-output", "=nat", "=bit",
        ],
        "#sec-saturation": ["#saturation"],
        "#sec-stable": ["#half", "88.72", "#overflow", "$e^{s_i - c}"],
        "#sec-temperature": ["#temperature", r"$\frac{s}{T}"],
    },
    "m05": {
        "#sec-self": ["#layer"],
        "#sec-formula": [r"$\operatorname{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + M\right)V"],
        "#sec-full-marks": ["=causal", "#full-marks", "#figure-copying"],
        "#sec-more": [
            "#marks", "#leak", "#in-code-each-word-in-turn", "#figure-readers", "#figure-reversal",
        ],
        "#sec-leak": ["#leak-test"],
        "#sec-dialects": ["#mask-conventions", "#dialects", "#mistakes", "#sec-empty", "#pitfalls"],
        "#sec-play": ["#mask-builder"],
        "#sec-cross": ["#figure-phrases", "#predict-cross"],
    },
    "m06": {
        "#sec-layers": [r"$\text{head}_h", r"$\operatorname{MultiHead}(X)", "#layer"],
        "main": ["#models .cell-output", "#production"],
        "#sec-play": ["#layer-steps"],
        "#sec-more": [
            "#numpy", "#parity .cell-output", "#demonstration .cell-output",
            "#demonstration-causal .cell-output", "#decided", "#figure-questions",
        ],
        "#sec-trained": ["#head-maps .source"],
        "#parameters": ["16,640", "1,048,576", "80,770"],
    },
    "m07": {
        "#sec-shuffle": ["#word-order", "=equivariant"],
        "main": [
            r"$P^\top P = I", "#equivariance .cell-output", r"$\theta_i = 10000^{-2i/E}",
            "#shift .cell-output",
        ],
        "#sec-clocks": ["#clock-hands", "=sinusoidal", "#sec-learned"],
        "#sec-score": ["#sec-relative", "#sec-alibi"],
        "#sec-rotary": ["=rotary", "#rotary-hands"],
        "#sec-longer": ["#figure-longer", "#methods", "#seeds"],
    },
    "m08": {
        "#sec-larger": ["#figure-marks", "@clark2019", "@voita2019", "#larger"],
        "#sec-zoo": ["#pattern-zoo .static-form", "#found"],
        "main": ["#layers", "#seeds", "#rivals", "#switched-off"],
        "#sec-lab": ["#induction-lab", "#goal-blind"],
        "#sec-two": ["#two-steps", "#exchange"],
        "#sec-matrices": [r"$W_Q W_K^\top", "$W_V W_O", "#figure-circuits", "#circuits"],
        "#in-larger": ["#local", "#figure-heads"],
    },
    "m09": {
        "#sec-two": ["#figure-two", "#predict-erase", "#erase-not"],
        "#sec-truth": ["=erasure", "=integrated-gradients", "=attribution"],
        "main": [
            "#two-more", "#by-hand", "#grammar-all", "=classifier", "=padding", "#pooled",
            "#figure-finds .source",
        ],
        "#sec-play": ["#attributions", "=rollout", "=gradient-input"],
        "#sec-other": ["#search", "#figure-other"],
        "#sec-patch": ["#patch", "#figure-patch"],
        "#sec-grammar": ["#figure-grammar"],
        "#sec-debate": [
            "@jain2019", "@wiegreffe2019", "@serrano2019", "@brunner2020", "@abnar2020",
        ],
    },
    "m10": {
        "#sec-kinds": [r"$8\,n d^2 + 4\,n^2 d", "#long .cell-output", "$O(n^2d)", "#cost-curves"],
        "#sec-memory": ["#memory-bars .static-form"],
        "#sec-clock": ["#figure-clock", "#clock"],
        "#seven": [".cell-output", "343.6", "33.6"],
        "#sec-token": ["=ridge-point", "=arithmetic-intensity", "#figure-fetch"],
        "#sec-batch": ["#roofline", "#intensity", "0.99"],
    },
    "m11": {
        "#sec-production": ["#production", "#backends", "#ran"],
        "#sec-tiles": ["#flash-stepper", "#sec-carried"],
        "main": ["#tiled", "#take-in", "#again", "#products"],
    },
    "m12": {
        "#sec-patterns": ["#sparse-patterns .static-form"],
        "#sec-cache": ["#cached-writing", "#cache-flow", "#new-cache", "#same-text"],
        "#sec-size": ["0.131"],
        "#sec-room": ["#kv-calculator"],
        "#sec-bug": ["#bug-starts"],
    },
    "m13": {
        "#sec-linear": [
            r"$\phi(x) = \operatorname{elu}(x) + 1", "#linear", "#figure-recall", "#without-heads",
        ],
    },
    "longer": {
        "#sec-move": ["#moved-pair .source"],
        "#other-ways": ["#ways-open"],
        "main": ["#in-practice", "#beyond", "#sec-others"],
    },
}  # fmt: skip
