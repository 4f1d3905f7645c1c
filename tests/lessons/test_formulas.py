"""Each lesson sets the formulas that its papers have, and that its code computes."""

import pytest

from tests.lessons.conftest import LESSONS

ATTENTION = r"\operatorname{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}}\right)V"
MASKED = r"\operatorname{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + M\right)V"
FORMULAS = {
    "m00": [MASKED],
    "m02": [r"w_j = \frac{\exp(q \cdot k_j / T)}{\sum_i \exp(q \cdot k_i / T)}"],
    "m03": [ATTENTION, r"w^\top \tanh(W_q^\top q_i + W_k^\top k_j)"],
    "m04": [
        r"\frac{\partial w_i}{\partial s_j} = w_i\,(\delta_{ij} - w_j)", r"1 - \sum_i w_i^2",
        r"\operatorname{diag}(w) - w w^\top", r"H = -\sum_i w_i \ln\,w_i", "e^{s_i - c}",
    ],
    "m05": [MASKED],
    "m06": [
        r"\text{head}_h = \operatorname{Attention}(X W_Q^h,\; X W_K^h,\; X W_V^h)",
        r"\operatorname{MultiHead}(X) = \left[\,\text{head}_1 \;\dots\; \text{head}_H\,\right] W_O",
    ],
    "m07": [
        r"P^\top P = I", r"\theta_i = 10000^{-2i/E}",
        r"(a\,\cos φ - b\,\sin φ,\;\; a\,\sin φ + b\,\cos φ)",
        r"(R_m\, q) \cdot (R_n\, k) \;=\; (R_{m-n}\, q) \cdot k",
    ],
    "m08": [r"\frac{x_i \, W_Q W_K^\top \, x_j^\top}{\sqrt{d_k}}", r"x_j \, W_V W_O"],
    "m09": [r"A = \tfrac12 I + \tfrac12 \overline{A}", "R = A_2 A_1"],
    "m10": [r"8\,n d^2 + 4\,n^2 d", "O(n^2d)"],
    "m11": [
        r"m' &= \max(m,\ \max_j\, s_j)",
        r"e^{m-m'} \cdot \text{mix} + \textstyle\sum_j e^{s_j-m'}\,v_j",
    ],
    "m12": [r"q \cdot (cW) = (qW^\top) \cdot c"],
    "m13": [
        r"\phi(x) = \operatorname{elu}(x) + 1", r"S_t = S' + \beta_t\, k_t^\top (v_t - k_t S')",
    ],
    "m15": [r"\sum_h f_h \max(0, q_h \cdot k)"],
}  # fmt: skip


@pytest.mark.parametrize("lesson", FORMULAS)
def test_a_lesson_has_its_formulas(read, lesson):
    [page] = [page for page in LESSONS if f"/{lesson}_" in page]
    shown = [" ".join(tex.get_text().split()) for tex in read(page).select("annotation")]
    for formula in FORMULAS[lesson]:
        assert any(formula in tex for tex in shown), formula
