"""The official figures of one benchmark, from gold answers and predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from canopy.contracts import BENCHMARKS
from canopy.errors import UserError
from canopy.metrics import hotpotqa, lvbench, mmqa, nq, ottqa
from canopy.metrics.normalise import normalise, normalise_nfd
from canopy.metrics.records import GoldAnswer, Prediction, Predictions

Figures = dict[str, float]


def question_scores(benchmark: str, prediction: Prediction | None, gold: GoldAnswer) -> Figures:
    """The scores of one question with gold answers, each in [0, 1]; ``None`` is a missing prediction.

    ``em`` and ``f1``, with ``prec`` and ``recall`` for HotpotQA; for LVBench ``accuracy`` (official
    letter extraction) and ``accuracy_spoken`` (also reads "The answer is B").

    Raises:
        UserError: a list was predicted where the benchmark knows single strings only.
    """
    return _SCORES[benchmark](prediction, gold)


def report(benchmark: str, golds: Sequence[GoldAnswer], predictions: Predictions) -> dict[str, Any]:
    """All official figures, as fractions of 1, with the counts they rest on.

    Every benchmark but LVBench divides by all questions with gold answers, so that a missing prediction
    scores 0. LVBench's ``accuracy`` divides by the questions that have a prediction, as its official
    script does (null when there is none); ``accuracy_all`` divides by all. ``empty_gold`` lists the questions
    of :func:`empty_golds`, ``unknown`` counts predictions for ids that the gold does not have. With HotpotQA's
    supporting facts, ``missing_sp`` and ``unknown_sp`` count the same of them.

    Raises:
        UserError: no question has a gold answer, or a prediction has the wrong form.
    """
    if benchmark not in BENCHMARKS:
        raise UserError(f"unknown benchmark {benchmark!r}: one of {', '.join(BENCHMARKS)}")
    scored = [gold for gold in golds if gold.answers]
    if not scored:
        raise UserError(f"{benchmark}: none of the {len(golds)} questions has a gold answer, so nothing can be scored")
    scores = {g.qid: question_scores(benchmark, predictions.answers.get(g.qid), g) for g in scored}
    answered = [g for g in scored if g.qid in predictions.answers]
    counts: dict[str, Any] = {
        "questions": len(scored),
        "missing": len(scored) - len(answered),
        "without_gold": len(golds) - len(scored),
        "unknown": len(predictions.answers.keys() - {g.qid for g in golds}),
        "empty_gold": empty_golds(benchmark, scored),
    }
    if benchmark == "lvbench":
        present = {g.qid for g in answered}

        def figures_of(group: Sequence[GoldAnswer]) -> dict[str, Any]:
            return _accuracies(group, [g for g in group if g.qid in present], scores)

        return figures_of(scored) | counts | _by_label(scored, figures_of)
    figures = _means(scored, scores)
    if benchmark == "hotpotqa" and predictions.supporting is not None:
        figures |= _supporting_figures(scored, predictions.supporting, predictions.answers)
        counts["missing_sp"] = sum(g.qid not in predictions.supporting for g in scored)
        counts["unknown_sp"] = len(predictions.supporting.keys() - {g.qid for g in golds})
    # OTT-QA's table and passage figures are over answered questions only; its totals are over all.
    grouped = answered if benchmark == "ottqa" else scored
    return figures | counts | _by_label(grouped, lambda group: _means(group, scores))


def empty_golds(benchmark: str, golds: Iterable[GoldAnswer]) -> list[str]:
    """Ids of questions none of whose gold answers has anything left after normalisation.

    They can never score an F1 (or, where the official rule allows it, only by an empty prediction).
    """
    form = _NORMAL_FORMS[benchmark]
    return [g.qid for g in golds if g.answers and not any(form(answer) for answer in g.answers)]


def _means(group: Sequence[GoldAnswer], scores: Mapping[str, Figures]) -> Figures:
    names = scores[group[0].qid]
    return {name: sum(scores[g.qid][name] for g in group) / len(group) for name in names}


def _accuracies(
    group: Sequence[GoldAnswer], answered: Sequence[GoldAnswer], scores: Mapping[str, Figures]
) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for name in ("accuracy", "accuracy_spoken"):
        right = sum(scores[g.qid][name] for g in group)
        figures[name] = right / len(answered) if answered else None
        figures[f"{name}_all"] = right / len(group)
    return figures


def _by_label(
    golds: Sequence[GoldAnswer], figures: Callable[[Sequence[GoldAnswer]], Mapping[str, Any]]
) -> dict[str, dict[str, dict[str, Any]]]:
    groups: dict[str, dict[str, list[GoldAnswer]]] = {}
    for gold in golds:
        for breakdown, label in dict.fromkeys(gold.labels):
            groups.setdefault(f"by_{breakdown}", {}).setdefault(label, []).append(gold)
    return {
        breakdown: {label: {"questions": len(group), **figures(group)} for label, group in sorted(labels.items())}
        for breakdown, labels in groups.items()
    }


def _supporting_figures(
    golds: Sequence[GoldAnswer], supporting: Mapping[str, Sequence[hotpotqa.Fact]], answers: Mapping[str, Prediction]
) -> Figures:
    total = dict.fromkeys((f"{part}_{name}" for part in ("sp", "joint") for name in _HOTPOTQA), 0.0)
    for gold in golds:
        if gold.qid not in supporting:
            continue
        facts = hotpotqa.supporting_scores(supporting[gold.qid], gold.supporting)
        _add(total, "sp", facts)
        if gold.qid in answers:
            answer = hotpotqa.answer_scores(_text(answers[gold.qid], gold), gold.answers[0])
            _add(total, "joint", hotpotqa.joint_scores(answer, facts))
    return {name: value / len(golds) for name, value in total.items()}


def _add(total: Figures, part: str, scores: hotpotqa.Scores) -> None:
    for name, attribute in _HOTPOTQA.items():
        total[f"{part}_{name}"] += getattr(scores, attribute)


# The official script's names of the figures.
_HOTPOTQA = {"em": "em", "f1": "f1", "prec": "precision", "recall": "recall"}


def _text(prediction: Prediction, gold: GoldAnswer) -> str:
    if not isinstance(prediction, str):
        raise UserError(f"the prediction of {gold.qid} is a list, and this benchmark takes one string a question")
    return prediction


def _nq(prediction: Prediction | None, gold: GoldAnswer) -> Figures:
    if prediction is None:
        return {"em": 0.0, "f1": 0.0}
    text = _text(prediction, gold)
    return {"em": nq.exact_match(text, gold.answers), "f1": nq.squad_f1(text, gold.answers)}


def _hotpotqa(prediction: Prediction | None, gold: GoldAnswer) -> Figures:
    scores = hotpotqa.ZERO
    if prediction is not None:
        scores = hotpotqa.answer_scores(_text(prediction, gold), gold.answers[0])
    return {name: getattr(scores, attribute) for name, attribute in _HOTPOTQA.items()}


def _ottqa(prediction: Prediction | None, gold: GoldAnswer) -> Figures:
    if prediction is None:
        return {"em": 0.0, "f1": 0.0}
    text = _text(prediction, gold)
    return {"em": ottqa.exact_match(text, gold.answers[0]), "f1": ottqa.f1(text, gold.answers[0])}


def _mmqa(prediction: Prediction | None, gold: GoldAnswer) -> Figures:
    if prediction is None:
        return {"em": 0.0, "f1": 0.0}
    return {"em": mmqa.exact_match(prediction, gold.answers), "f1": mmqa.f1(prediction, gold.answers)}


def _lvbench(prediction: Prediction | None, gold: GoldAnswer) -> Figures:
    text = "" if prediction is None else _text(prediction, gold)
    return {
        "accuracy": float(lvbench.official_letter(text) == gold.answers[0]),
        "accuracy_spoken": float(lvbench.spoken_letter(text) == gold.answers[0]),
    }


_SCORES: dict[str, Callable[[Prediction | None, GoldAnswer], Figures]] = {
    "nq": _nq,
    "hotpotqa": _hotpotqa,
    "ottqa": _ottqa,
    "mmqa": _mmqa,
    "lvbench": _lvbench,
}
_NORMAL_FORMS: dict[str, Callable[[str], str]] = {
    "nq": normalise_nfd,
    "hotpotqa": normalise,
    "ottqa": normalise,
    "mmqa": mmqa.normalise,
    "lvbench": str.strip,
}
