"""What must go on standing in which part of which lesson, where no test reads it.

    "#price"        an element by its id: a cell, a figure, a widget, a box; or any CSS selector
    "@jain2019"     a source that is cited
    "=erasure"      a term, marked and linked to the glossary
    "$e^{s_i - c}"  a formula, or a part of one, in TeX
    "343.6"         a number

The tests of the lessons say whether numbers are right.
"""

from tests.conftest import ROOT

LESSONS = {folder.name[:3]: folder.name for folder in sorted(ROOT.glob("modules/m*_*"))}
# A page that goes on from a lesson.
FURTHER = {"longer": "longer.html"}

CONTENTS = {
    "m00": {
        "#step-roles": ["#tour-roles", "$W_Q"],
        "#tour-roles": ["2.00"],
        "main": ["#step-mask"],
        "#tour": [
            "[href='#step-why']", "[href='#step-roles']", "[href='#step-scores']",
            "[href='#step-softmax']", "[href='#step-heads']", "[href='#step-mask']",
            "[href='#step-code']", "[href='#step-patterns']",
        ],
    },
    "m01": {
        "#sec-path": ["#figure-it"],
        "#sec-letters": ["#figure-places"],
        "#sec-price": ["#price"],
    },
    "m02": {
        "#sec-play": [".q", ".k", ".v"],
        "main": ["@ramsauer2021"],
        "#sec-made": ["=grammar-model"],
    },
    "m03": {
        "main": [r"$w^\top \tanh(W_q^\top q_i + W_k^\top k_j)", "@bahdanau2015", "$W_O"],
        "#sec-beyond": [r"$q_i^\top k_j", "@luong2015", "2.1", "8.7", "3.2", "#four-steps"],
        "#sec-formula": [r"$\operatorname{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}}\right)V"],
        "#sec-sum": ["0.045", "0.768", "0.187"],
    },
    "m04": {
        "#sec-variance": ["#figure-histograms"],
        "main": [
            r"$\frac{\partial w_i}{\partial s_j} = w_i\,(\delta_{ij} - w_j)",
            "=nat", "=bit", "@vaswani2017",
        ],
        "#jacobian-of-softmax": [r"$1 - \sum_i w_i^2"],
        "#sec-stable": ["$e^{s_i - c}", "@blanchard2021"],
        "#sec-temperature": [r"$\frac{s}{T}", "@hinton2015"],
    },
    "m05": {
        "#sec-self": ["#layer"],
        "#sec-formula": [r"$\operatorname{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + M\right)V"],
        "#sec-full-marks": ["=causal"],
        "#sec-more": ["#figure-ends", "#shapes"],
        "#sec-dialects": ["#moved", "#sec-empty"],
    },
    "m06": {
        "#sec-layers": [r"$\text{head}_h", r"$\operatorname{MultiHead}(X)"],
        "main": ["#production"],
        "#sec-more": ["#numpy", "#demonstration .cell-output", "#decided"],
    },
    "m07": {
        "#sec-shuffle": ["=equivariant"],
        "main": [r"$P^\top P = I", r"$\theta_i = 10000^{-2i/E}"],
        "#sec-clocks": ["=sinusoidal"],
        "#sec-rotary": ["=rotary", r"$a\,\cos φ - b\,\sin φ", r"$a\,\sin φ + b\,\cos φ"],
    },
    "m08": {
        "#sec-larger": ["#figure-marks", "@clark2019", "@voita2019"],
        "#sec-zoo": ["#found"],
        "main": ["#layers", "#rivals"],
        "#sec-lab": ["#goal-blind"],
        "#sec-matrices": [r"$W_Q W_K^\top", "$W_V W_O", "#figure-circuits", "#circuits"],
        "#in-larger": ["#local", "#figure-heads"],
    },
    "m09": {
        "#sec-two": ["#predict-erase"],
        "#sec-truth": ["=erasure", "=integrated-gradients", "=attribution"],
        "main": ["#by-hand", "=classifier", "=padding"],
        "#two-more": ["=gradient-input", "=rollout", "$R = A_2 A_1", "#finds"],
        "#sec-other": ["#search"],
        "#sec-patch": ["#patch"],
        "#sec-debate": [
            "@jain2019", "@wiegreffe2019", "@serrano2019", "@brunner2020", "@abnar2020",
        ],
    },
    "m10": {
        "#sec-kinds": [r"$8\,n d^2 + 4\,n^2 d", "#long .cell-output", "$O(n^2d)"],
        "#sec-clock": ["#clock"],
        "#seven": [".cell-output", "343.6", "33.6"],
        "#sec-token": ["#figure-fetch"],
        "#sec-roof": ["=ridge-point", "=arithmetic-intensity", "#figure-kitchen"],
    },
    "m12": {
        "#sec-cache": ["#cache-flow", "#new-cache"],
        "#sec-size": ["0.131"],
        "#sec-bug": ["#bug-starts"],
    },
    "m13": {
        "#sec-linear": [r"$\phi(x) = \operatorname{elu}(x) + 1"],
    },
    "longer": {
        "main": ["#sec-others"],
    },
}  # fmt: skip
